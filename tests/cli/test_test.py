"""`fallgate test`: tests.yaml read and run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from tests.build import alternative, claim, exactly, first_available, namespace
from webhook.cli.policytests.format import read_instant, read_policy_tests

BOTH = claim("both", first_available("gpu", alternative("big", "h100.example.com"), alternative("x", "a100.example.com")))
PLAIN = claim(
    "plain", exactly(), namespace="dev-a", annotations={"fallgate.dev/compatible-shapes": "h100-80gb, 1-2x a100-40gb"}
)


def file_of(*tests: Any, **more: Any) -> str:
    head = {"apiVersion": "fallgate.dev/v1alpha1", "kind": "PolicyTests", "fleet": ["../fleet/cluster.yaml"]}
    return yaml.safe_dump({**head, **more, "tests": list(tests)}, sort_keys=False)


@pytest.fixture
def tested(run: Any, folder: Path) -> Any:
    """Runs these tests beside the policies."""

    def tested(*tests: Any, args: tuple[str, ...] = (), **more: Any) -> Any:
        (folder / "policies" / "tests.yaml").write_text(file_of(*tests, **more))
        return run("test", "policies", *args)

    return tested


def test_passing_tests_are_listed(tested: Any) -> None:
    denied = {
        "name": "an undeclared list is refused",
        "object": BOTH,
        "expect": {"decision": "deny", "reasons": ["shape-undeclared"], "message": ["is not declared", "h100-80gb"]},
    }
    changed = {
        "name": "a plain ask gets the tier's list",
        "object": PLAIN,
        "expect": {
            "decision": "mutate",
            "withoutReasons": "shape-undeclared",
            "fields": {
                "spec.devices.requests[0].firstAvailable[1].deviceClassName": "a100.example.com",
                "spec.devices.requests[0].exactly": None,
            },
        },
    }
    result = tested(denied, changed)
    assert result.exit_code == 0
    assert result.stdout == (
        "policies/tests.yaml\n"
        "  ok   an undeclared list is refused\n"
        "  ok   a plain ask gets the tier's list\n"
        "2 passed, 0 failed\n"
    )


def test_every_kind_of_failure_says_what_was_found(tested: Any) -> None:
    expect = {
        "decision": "warn",
        "reasons": ["nothing-like-it"],
        "withoutReasons": ["inject-default-list"],
        "message": "denied",
        "warnings": "careful",
        "fields": {"metadata.name": "other", "spec.nope[3]": 1},
    }
    result = tested({"name": "all wrong", "object": PLAIN, "expect": expect})
    assert result.exit_code == 1
    assert result.stdout == (
        "policies/tests.yaml\n"
        "  FAIL all wrong  policies/tests.yaml:6\n"
        "       decision: expected warn, got mutate\n"
        "       reasons: nothing-like-it is missing; found inject-default-list\n"
        "       withoutReasons: inject-default-list was found\n"
        "       message: it does not contain 'denied'; it is empty\n"
        "       warnings: none contains 'careful'; there are none\n"
        '       fields: metadata.name should be "other", it is "plain"\n'
        "       fields: spec.nope[3] should be 1, it is null\n"
        "0 passed, 1 failed\n"
    )


def test_a_wrong_decision_shows_what_was_said(tested: Any) -> None:
    result = tested({"name": "t", "object": BOTH, "expect": {"decision": "allow"}})
    assert '       decision: expected allow, got deny\n         ResourceClaim "both" may hand out ' in result.stdout


def test_a_tests_own_fleet_server_user_and_old_object_count(tested: Any) -> None:
    expect = {"decision": "allow"}
    result = tested(
        {"name": "no tier", "object": PLAIN, "fleet": [namespace("dev-a")], "expect": expect},
        {"name": "old server", "object": PLAIN, "server": "1.33", "expect": expect},
        {"name": "gate", "object": PLAIN, "featureGates": {"DRAPrioritizedList": False}, "expect": expect},
        {"name": "update", "object": PLAIN, "old": PLAIN, "expect": expect},
        {"name": "excluded", "object": {**PLAIN, "metadata": {"name": "x", "namespace": "kube-system"}}, "expect": expect},
        server="1.36",
    )
    assert result.stdout.endswith("5 passed, 0 failed\n")


def test_objects_may_be_files_beside_the_tests(tested: Any, folder: Path) -> None:
    (folder / "policies" / "objects").mkdir()
    (folder / "policies" / "objects" / "both.yaml.txt").write_text(yaml.safe_dump(BOTH))
    result = tested({"name": "t", "object": "objects/both.yaml.txt", "expect": {"decision": "deny"}})
    assert result.exit_code == 0


def test_a_file_that_cannot_be_used_fails_its_test_alone(tested: Any, folder: Path) -> None:
    (folder / "policies" / "two.json").write_text(json.dumps([BOTH, BOTH]))
    (folder / "policies" / "bad.json").write_text("{")
    ok = {"name": "good", "object": BOTH, "expect": {"decision": "deny"}}
    result = tested(
        *({"name": name, "object": name, "expect": {"decision": "deny"}} for name in ("gone.yaml", "two.json", "bad.json")), ok
    )
    assert result.exit_code == 1
    assert "error: policies/gone.yaml: cannot be read: no such file or directory" in result.stdout
    assert "error: two.json holds 2 objects; name a file with one, and put the others into fleet" in result.stdout
    assert "error: policies/bad.json:1: this is not JSON: " in result.stdout
    assert result.stdout.endswith("1 passed, 3 failed\n")


def test_json_junit_and_sarif(tested: Any) -> None:
    tests = (
        {"name": "good", "object": BOTH, "expect": {"decision": "deny"}},
        {"name": "wrong", "object": PLAIN, "expect": {"decision": "deny"}},
    )
    found = [json.loads(line) for line in tested(*tests, args=("-o", "json")).stdout.splitlines()]
    assert found[0] == {"source": "policies/tests.yaml:6", "name": "good", "passed": True, "failures": [], "error": ""}
    assert found[1]["failures"] == ["decision: expected deny, got mutate"]
    cases = list(ElementTree.fromstring(tested(*tests, args=("-o", "junit")).stdout).iter("testcase"))
    assert [(case.get("name"), case.find("failure") is not None) for case in cases] == [("good", False), ("wrong", True)]
    (result,) = json.loads(tested(*tests, args=("-o", "sarif")).stdout)["runs"][0]["results"]
    assert result["message"]["text"] == "wrong: decision: expected deny, got mutate"


def test_policies_may_be_written_out_beside_files(tested: Any) -> None:
    cap = {"apiVersion": "fallgate.dev/v1alpha1", "kind": "ModeCap", "metadata": {"name": "quiet"}, "spec": {"mode": "audit"}}
    capped = {"name": "t", "object": BOTH, "expect": {"decision": "allow", "reasons": ["shape-undeclared"]}}
    assert tested(capped, policies=[".", cap]).stdout.endswith("1 passed, 0 failed\n")
    assert "expected allow, got deny" in tested(capped, policies=".").stdout
    alone = {"name": "t", "object": BOTH, "expect": {"decision": "allow", "withoutReasons": ["shape-undeclared"]}}
    assert tested(alone, policies=[cap]).stdout.endswith("1 passed, 0 failed\n")


def test_a_mistake_in_a_policy_that_is_written_out_is_told_with_its_place(tested: Any) -> None:
    cap = {"apiVersion": "fallgate.dev/v1alpha1", "kind": "ModeCap", "metadata": {"name": "quiet"}, "spec": {"mode": "off"}}
    result = tested({"name": "t", "object": BOTH, "expect": {"decision": "deny"}}, policies=[".", cap])
    assert result.exit_code == 2
    assert "policies/tests.yaml policies[1]:6:9: spec.mode" in result.stderr


def test_policies_elsewhere_may_be_named(run: Any, folder: Path) -> None:
    (folder / "tests").mkdir()
    body = {"name": "t", "object": BOTH, "expect": {"decision": "deny"}}
    (folder / "tests" / "tests.yaml").write_text(file_of(body, policies=["../policies"]))
    assert run("test", "tests").exit_code == 0


def test_without_a_folder_the_current_one_is_searched(run: Any, folder: Path) -> None:
    body = {"name": "t", "object": BOTH, "expect": {"decision": "deny"}}
    (folder / "policies" / "tests.yaml").write_text(file_of(body))
    assert run("test").stdout == "policies/tests.yaml\n  ok   t\n1 passed, 0 failed\n"


def test_no_tests_is_bad_usage(run: Any) -> None:
    result = run("test", "policies")
    assert result.exit_code == 2
    assert result.stderr == ("error: there is no tests.yaml in policies: see docs/testing-policies.md for how to write one\n")


def test_a_mistake_in_tests_yaml_is_told_with_its_line_and_the_rest_is_run(run: Any, folder: Path) -> None:
    good = {"name": "good", "object": BOTH, "expect": {"decision": "deny"}}
    (folder / "policies" / "tests.yaml").write_text(file_of({**good, "name": "bad", "expekt": 1}, good))
    result = run("test", "policies")
    assert result.exit_code == 2
    assert result.stderr == "error: policies/tests.yaml:6: test 'bad': unknown key expekt; did you mean expect?\n"
    assert result.stdout.endswith("1 passed, 0 failed\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("- 1", "this must be a mapping with apiVersion: fallgate.dev/v1alpha1 and kind: PolicyTests"),
        ("kind: PolicyTests", "this must be a mapping with apiVersion: fallgate.dev/v1alpha1 and kind: PolicyTests"),
        (file_of(), "there are no tests: add a list `tests`"),
        (file_of("x"), "a test is a mapping with a name, an object and what to expect"),
        (file_of({"name": "t"}), "test 't': object is missing: a file name, or the object written out"),
        (file_of({"name": "t", "object": 3}), "test 't': expect is missing: say at least which decision"),
        (
            file_of({"name": "t", "object": 3, "expect": {}}),
            "test 't': object must be a file name, or a Kubernetes object written out",
        ),
        (
            file_of({"name": "t", "object": "f", "expect": {"decision": "no"}}),
            "test 't': expect.decision must be one of allow, warn, mutate, deny, not 'no'",
        ),
        (
            file_of({"name": "t", "object": "f", "expect": {"reasons": []}}),
            "test 't': expect.decision is missing: one of allow, warn, mutate, deny",
        ),
        (
            file_of({"name": "t", "object": "f", "server": 1.36, "expect": {"decision": "deny"}}),
            "test 't': server (in quotes: \"1.36\") must be text, not 1.36",
        ),
        (
            file_of({"name": "t", "object": "f", "now": "soon", "expect": {"decision": "deny"}}),
            "test 't': 'soon' is no time; write 2027-01-15T08:00:00Z or 2027-01-15",
        ),
        (
            file_of({"name": "t", "object": "f", "as": {"name": "x"}, "expect": {"decision": "deny"}}),
            "test 't': as must be a mapping with user and groups",
        ),
        (
            file_of({"name": "t", "object": "f", "featureGates": {"A": 1}, "expect": {"decision": "deny"}}),
            "test 't': featureGates must be a mapping of gates to true or false",
        ),
        (
            file_of({"name": "t", "object": "f", "expect": {"decision": "deny", "fields": []}}),
            "test 't': expect.fields must be a mapping of field paths to values",
        ),
        (file_of(fleet={}), "fleet must be a list"),
        (
            file_of(quux=1),
            "unknown key quux; known are apiVersion, kind, metadata, policies, fleet, server, featureGates, now, tests",
        ),
    ],
)
def test_mistakes_in_the_format(text: str, message: str) -> None:
    _, problems = read_policy_tests(text, "tests.yaml")
    assert message in [problem.message for problem in problems]
    assert {problem.source for problem in problems} == {"tests.yaml"}


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("2027-01-15", "2027-01-15T00:00:00+00:00"),
        ("2027-01-15T08:00:00Z", "2027-01-15T08:00:00+00:00"),
        ("2027-01-15T08:00:00+02:00", "2027-01-15T08:00:00+02:00"),
        ("2027-01-15T08:00:00", "2027-01-15T08:00:00+00:00"),
    ],
)
def test_times(written: str, read: str) -> None:
    assert read_instant(written).isoformat() == read


def test_a_test_file_that_is_no_text_or_not_there_is_bad_input(run: Any, folder: Path) -> None:
    (folder / "policies" / "tests.yaml").write_bytes(b"\xff\xfe")
    assert run("test", "policies").stderr == "error: policies/tests.yaml: this is not UTF-8 text\n"
    assert run("test", "policies/tests.yaml").exit_code == 2
    assert run("test", "gone").stderr == "error: gone: there is no such file or folder\n"


def test_policies_with_mistakes_are_told_and_end_with_2(run: Any, folder: Path) -> None:
    body = {"name": "t", "object": BOTH, "expect": {"decision": "deny"}}
    (folder / "policies" / "tests.yaml").write_text(file_of(body))
    (folder / "policies" / "bad.yaml").write_text("kind: Nonsense\n")
    found = run("test", "policies")
    assert (found.exit_code, found.stdout) == (2, "")
    assert found.stderr.endswith(" and are not in force: nothing was judged\n")
