"""`fallgate cel --jsonl`: questions and answers, line by line."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from webhook.cli.cel_lines import answer
from webhook.model.server_version import Server

CARD = {"driver": "a.example.com", "attributes": {"n": {"int": 1}}, "capacity": {"memory": {"value": "40Gi"}}}


def asked(expression: object, *devices: object, **more: object) -> dict[str, Any]:
    return answer(json.dumps({"id": 7, "expression": expression, "devices": devices, **more}).encode())


def test_verdicts_and_costs_in_order() -> None:
    found = asked(
        'device.attributes["a.example.com"].n == 1',
        CARD,
        {"driver": "a.example.com"},
        {**CARD, "attributes": {"n": {"int": 2}}},
    )
    assert list(found) == ["id", "maxCost", "verdict", "cost"]
    assert found["id"] == 7
    assert found["verdict"] == ["match", "error: no such key: n", "no match"]
    assert found["cost"] == [5, 5, 5]
    assert found["maxCost"] == 5


def test_compile_errors() -> None:
    assert asked("device.x", CARD) == {"id": 7, "compile": "undefined field 'x'", "maxCost": 0, "verdict": [], "cost": []}


def hinted(expression: str, *devices: object) -> dict[str, Any]:
    return answer(json.dumps({"id": 7, "expression": expression, "devices": devices}).encode(), hints=True)


def test_hints_only_where_they_are_asked_for_and_there_is_something_to_say() -> None:
    expression = 'device.attributes["a.example.com"].n == 1'
    found = hinted(expression, CARD, {"driver": "a.example.com"}, {"driver": "b.example.com", "attributes": {"n": {"int": 1}}})
    assert list(found) == ["id", "maxCost", "verdict", "cost", "hints"]
    guarded = f'has(device.attributes["a.example.com"].n) && {expression}'
    assert found["hints"] == [
        "",
        f"other devices of a.example.com have n: write {guarded}",
        f"devices of a.example.com have n, those of b.example.com do not: write {guarded}",
    ]
    assert found["verdict"] == ["match", "error: no such key: n", "error: no such key: n"]
    assert list(hinted(expression, CARD)) == ["id", "maxCost", "verdict", "cost"]
    assert list(asked(expression, {"driver": "a.example.com"})) == ["id", "maxCost", "verdict", "cost"]


def test_hints_against_compile_errors() -> None:
    assert hinted("device.memory", CARD) == {
        "id": 7,
        "compile": "undefined field 'memory'",
        "maxCost": 0,
        "verdict": [],
        "cost": [],
        "hints": ['write device.capacity["a.example.com"].memory'],
    }
    assert "hints" not in hinted("true +", CARD)


def test_hints_on_the_command_line(run: Any) -> None:
    question = json.dumps({"id": 1, "expression": "device.memory", "devices": [CARD]}) + "\n"
    assert "hints" in json.loads(run("cel", "--jsonl", "--hints", stdin=question).stdout)
    assert "hints" not in json.loads(run("cel", "--jsonl", stdin=question).stdout)


@pytest.mark.parametrize(
    ("kind", "value", "test"),
    [
        ("string", "x", '== "x"'),
        ("int", 3, "== 3"),
        ("bool", True, "== true"),
        ("version", "1.2.3", '.isGreaterThan(semver("1.0.0"))'),
        ("strings", ["x", "y"], '.exists(s, s == "y")'),
        ("ints", [1, 2], ".exists(i, i == 2)"),
        ("bools", [True], ".exists(b, b)"),
        ("versions", ["1.2.3"], '.exists(v, v.isGreaterThan(semver("1.0.0")))'),
    ],
)
def test_kinds_of_values(kind: str, value: object, test: str) -> None:
    described = {"driver": "a.example.com", "attributes": {"v": {kind: value}}}
    assert asked(f'device.attributes["a.example.com"].v{test}', described)["verdict"] == ["match"]


def test_shared_devices_and_capacity() -> None:
    shared = {**CARD, "allowMultipleAllocations": True}
    assert asked("device.allowMultipleAllocations", shared, CARD)["verdict"] == ["match", "no match"]
    assert asked('device.capacity["a.example.com"].memory == quantity("40Gi")', CARD)["verdict"] == ["match"]


def test_what_is_null_is_not_set() -> None:
    bare = {"driver": "a.example.com", "allowMultipleAllocations": None, "attributes": None, "capacity": None}
    assert asked('device.driver == "a.example.com"', bare)["verdict"] == ["match"]


@pytest.mark.parametrize(
    ("described", "why"),
    [
        ("x", "devices[0] must be an object"),
        ({}, "devices[0].driver must be a string"),
        ({"driver": 1}, "devices[0].driver must be a string"),
        ({"driver": "a", "allowMultipleAllocations": 1}, "devices[0].allowMultipleAllocations must be true or false"),
        ({"driver": "a", "attributes": []}, "devices[0].attributes must be an object"),
        ({"driver": "a", "capacity": []}, "devices[0].capacity must be an object"),
        ({"driver": "a", "attributes": {"n": {"float": 1}}}, "devices[0].attributes[n] must have one value"),
        ({"driver": "a", "attributes": {"n": {"int": True}}}, "devices[0].attributes[n] must have one value"),
        ({"driver": "a", "attributes": {"n": {"ints": 1}}}, "devices[0].attributes[n] must have one value"),
        ({"driver": "a", "attributes": {"n": {"ints": [1, "x"]}}}, "devices[0].attributes[n] must have one value"),
        ({"driver": "a", "attributes": {"n": {"int": 1, "bool": True}}}, "devices[0].attributes[n] must have one value"),
        ({"driver": "a", "attributes": {"n": 1}}, "devices[0].attributes[n] must have one value"),
        ({"driver": "a", "capacity": {"m": {}}}, "devices[0].capacity[m] must be as in"),
    ],
)
def test_malformed_devices(described: object, why: str) -> None:
    found = asked("true", described)
    assert found["id"] == 7
    assert found["error"].startswith(why)
    assert list(found) == ["id", "error"]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"nope", "the line is not JSON: Expecting value"),
        (b"\xff", "the line is not JSON: "),
        (b"[1]", "a question is a JSON object"),
        (b'{"id": 1}', "expression must be a string"),
        (b'{"id": 1, "expression": "true", "devices": {}}', "devices must be a list"),
        (b"[" * 100_000, "the line is JSON nested too deeply"),
    ],
)
def test_malformed_lines(line: bytes, why: str) -> None:
    assert answer(line)["error"].startswith(why)


def test_a_malformed_line_does_not_end_the_stream(run: Any) -> None:
    found = run("cel", "--jsonl", stdin='{"id": 1, "expression": "true"}\nnope\n\n{"id": "b", "expression": "false"}')
    assert found.exit_code == 0
    first, second, third = map(json.loads, found.stdout.splitlines())
    assert first == {"id": 1, "maxCost": 0, "verdict": [], "cost": []}
    assert second["id"] is None
    assert third["id"] == "b"


def test_an_expression_beside_lines_is_a_mistake(run: Any) -> None:
    found = run("cel", "true", "--jsonl")
    assert found.exit_code == 2
    assert found.stderr.startswith("error: --jsonl reads its expressions from the standard input")


def test_each_answer_is_written_before_the_next_question_is_read() -> None:
    command = [sys.executable, "-c", "from webhook.cli import main; main()", "cel", "--jsonl"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for number in (1, 2):
            process.stdin.write(b'{"id": %d, "expression": "true"}\n' % number)
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["id"] == number
        process.stdin.close()
        assert process.wait() == 0


LIST = json.dumps({"id": 1, "expression": 'device.attributes["a.example.com"].l.exists(x, x == 2)', "devices": []}).encode()


@pytest.mark.parametrize(
    ("server", "compiles"),
    [
        (Server(version=(1, 34)), False),
        (Server(version=(1, 36)), False),
        (Server(version=(1, 36), gates={"DRAListTypeAttributes": True}), True),
        (Server(version=(1, 37)), True),
    ],
)
def test_the_servers_own_cel(server: Server, compiles: bool) -> None:
    assert ("compile" not in answer(LIST, server)) is compiles


def test_the_options_say_which_server(run: Any) -> None:
    found = run("cel", "--jsonl", "--server-version", "1.36", stdin=LIST.decode() + "\n")
    assert json.loads(found.stdout)["compile"] == (
        "expression of type 'any' cannot be range of a comprehension (must be list, map, or dynamic)"
    )
    gated = run(
        "cel", "--jsonl", "--server-version", "1.36", "--feature-gates", "DRAListTypeAttributes=true", stdin=LIST.decode()
    )
    assert json.loads(gated.stdout)["maxCost"] > 0
    assert gated.stderr == ""


def test_a_version_that_is_not_known_yet_is_said(run: Any) -> None:
    found = run("cel", "--jsonl", "--server-version", "1.99", stdin=LIST.decode())
    assert json.loads(found.stdout)["maxCost"] > 0
    assert found.stderr == (
        "warning: --server-version 1.99: 1.37 is the newest that is known; what 1.99 does is taken from it\n"
    )


def test_a_broken_line_is_answered_in_its_place(run: Any) -> None:
    found = run("cel", "--jsonl", stdin=LIST.decode() + "\n{nope\n\n" + LIST.decode() + "\n")
    answers = [json.loads(line) for line in found.stdout.splitlines()]
    assert [("error" in one, one["id"]) for one in answers] == [(False, 1), (True, None), (False, 1)]
    assert found.exit_code == 0


def test_text_without_end_is_refused_unread() -> None:
    assert asked("!" * 20_000 + "true")["compile"] == "expression too long: 20004 bytes, the limit is 10240"


def test_a_line_that_is_no_question_has_no_hints(run: Any) -> None:
    found = json.loads(run("cel", "--jsonl", "--hints", stdin='{"id": 2, "expression": 3}\n').stdout)
    assert found == {"id": 2, "error": "expression must be a string"}
