"""Agreement with Kubernetes' own libraries, live: a small part of `make parity`, and cel-spec's own tests.

Skipped where the oracle has not been built (`make oracle`).
"""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.oracle import client
from tests.oracle.client import Oracle, OracleDied, OracleMissing, build, build_older, built, conformance_tests
from tests.oracle.conformance import Converted, convert
from tests.oracle.expressions import expressions
from tests.oracle.ours import outcomes, selector_answer, to_device
from tests.oracle.parity import case_differs, compare_selectors, compare_values, main
from webhook.cel.library import FUNCTIONS

BARE = {"driver": "d.io", "attributes": {}, "capacity": {}}


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    """The oracle, where it is built."""
    try:
        built()
    except OracleMissing as missing:
        pytest.skip(str(missing))
    with Oracle() as running:
        yield running


def test_an_answer_has_the_form_of_the_command(oracle: Oracle) -> None:
    device = {"driver": "d.io", "attributes": {"n": {"int": 3}}, "capacity": {"m": {"value": "40Gi"}}}
    asked = {"id": "x", "expression": 'device.attributes["d.io"].n > 2', "devices": [device, BARE]}
    assert oracle.ask(asked) == {
        "id": "x",
        "maxCost": 5,
        "verdict": ["match", "error: no such key: n"],
        "cost": [5, 5],
    }
    refused = oracle.ask({"id": 2, "expression": "device.nope", "devices": [BARE]})
    assert refused["compile"].startswith("compilation failed: ERROR: <input>:1:7: undefined field 'nope'")
    assert oracle.ask({"id": 3, "value": "[1, 2].sum()"}) == {"id": 3, "value": "3"}


def test_a_question_that_is_none(oracle: Oracle) -> None:
    with pytest.raises(OracleDied, match="did not understand a question"):
        oracle.ask({"id": 1, "devices": 5})


def test_answers_come_in_the_order_of_questions(oracle: Oracle) -> None:
    asked = [{"id": i, "expression": f"{i} == {i}", "devices": [BARE]} for i in range(1200)]
    answered = list(oracle.stream(asked))
    assert [question["id"] for question, _ in answered] == list(range(1200))
    assert all(question["id"] == answer["id"] for question, answer in answered)


def test_selectors(oracle: Oracle) -> None:
    counts: Counter[str] = Counter()
    assert compare_selectors(oracle, 300, seed=1, counts=counts) == 0
    assert counts["judge says match"] > 50
    assert counts["maxCost equal"] > 100


def test_values(oracle: Oracle) -> None:
    counts: Counter[str] = Counter()
    assert compare_values(oracle, 500, seed=1, counts=counts) == 0
    assert counts["judge has a value"] > 50


@pytest.mark.parametrize(("minor", "verdict"), [(34, "compile error"), (35, "compile error"), (36, "match")])
def test_earlier_releases(minor: int, verdict: str) -> None:
    binary = client.older_binary(minor)
    if not binary.exists():
        pytest.skip("the oracle of that release is not built: python -m tests.oracle.recorded builds it")
    with Oracle(binary) as older:
        assert outcomes(older.ask({"id": 1, "expression": "[1, 2].includes(1)", "devices": [BARE]})) == [verdict]


@pytest.mark.parametrize("seed", range(4))
def test_allocations(oracle: Oracle, seed: int) -> None:
    counts: Counter[str] = Counter()
    assert [found for i in range(25) for found in case_differs(oracle, f"{seed}-{i}", counts)] == []
    assert counts["shapes handed out"] > 0


@pytest.fixture(scope="module")
def spec_tests(oracle: Oracle) -> list[Converted]:
    """cel-spec's tests as selectors."""
    try:
        return list(map(convert, conformance_tests()))
    except OracleMissing as missing:
        pytest.skip(str(missing))


def test_the_simple_tests_of_cel_spec(oracle: Oracle, spec_tests: list[Converted]) -> None:
    """Each ends as it should, or as it does in Kubernetes' environment, which has rules of its own."""
    wrong = []
    for test in spec_tests:
        if test.skipped:
            continue
        (ours,) = outcomes(selector_answer(test.expression, [to_device(BARE)]))
        if ours.replace("compile error", "error") != test.wants:
            (judged,) = outcomes(oracle.ask({"id": test.name, "expression": test.expression, "devices": [BARE]}))
            if ours != judged:
                wrong.append((test, ours, judged))
    assert wrong == []


def test_most_of_what_concerns_the_language_is_run(spec_tests: list[Converted]) -> None:
    reasons = Counter(test.skipped for test in spec_tests)
    assert reasons.pop("") > 1200
    assert set(reasons) == {
        "base64 is not in the environment",
        "cel.block is not in the environment",
        "deduced types only",
        "math is not in the environment",
        "protobuf enums",
        "protobuf messages",
        "type checking switched off",
        "variables with dotted names",
    }


# Without an oracle.


def test_random_selectors_are_the_same_for_a_seed_and_use_every_function() -> None:
    texts = list(expressions(12_000, seed=5))
    assert list(expressions(40, seed=5)) == texts[:40]
    assert list(expressions(40, seed=6)) != texts[:40]
    together = "\n".join(texts)
    names = {name.rpartition(".")[2] for name in FUNCTIONS if name.rpartition(".")[2].isalnum()}
    assert sorted(name for name in names if f"{name}(" not in together) == []


def test_without_go_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(client.shutil, "which", lambda _, path=None: None)
    for way in (build, built, lambda: build_older(36), lambda: next(conformance_tests())):
        with pytest.raises(OracleMissing, match=r"^go is neither on PATH nor in /usr/local/go/bin$"):
            way()


def test_a_brief_comparison_is_skipped_aloud_where_there_is_nobody_to_ask(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PARITY_SEED", "7")
    monkeypatch.setattr(client.shutil, "which", lambda _, path=None: None)
    assert (main(["--brief"]), main()) == (0, 2)
    assert capsys.readouterr().out.splitlines() == [
        "judge: k8s.io/dynamic-resource-allocation v0.37.2; PARITY_SEED=7",
        "SKIPPED: no live comparison with Kubernetes' libraries, the recorded answers have to do: "
        "go is neither on PATH nor in /usr/local/go/bin",
        "judge: k8s.io/dynamic-resource-allocation v0.37.2; PARITY_SEED=7",
        "no live comparison here: go is neither on PATH nor in /usr/local/go/bin",
    ]


def test_with_go_it_is_built_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    runs: list[list[str]] = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        runs.append(command)
        Path(command[command.index("-o") + 1]).write_text("binary")
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(client.shutil, "which", lambda _: "go")
    with pytest.raises(OracleMissing, match=r"^the oracle is not built: make oracle$"):
        built()
    monkeypatch.setattr(client.subprocess, "run", run)
    binary = build()
    assert (binary, binary.read_text()) == (built(), "binary")
    assert binary.is_relative_to(tmp_path / "fallgate")
    assert f"oracle-{client.VERSION}-" in binary.parent.name
    assert build() == binary
    assert len(runs) == 1


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("main.go:3: syntax error\n", "it does not build: main.go:3: syntax error"),
        ("dial tcp: no route\n", "its modules cannot be fetched, is the module proxy reachable?: dial tcp: no route"),
    ],
)
def test_what_the_compiler_says_is_passed_on(said: str, message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    failed = subprocess.CompletedProcess(["go"], 1, "", said)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(client.shutil, "which", lambda _: "go")
    monkeypatch.setattr(client.subprocess, "run", lambda *_, **__: failed)
    with pytest.raises(OracleMissing) as missing:
        build()
    assert str(missing.value) == message
