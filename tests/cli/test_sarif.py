"""SARIF 2.1.0."""

from __future__ import annotations

import json

import pytest

from webhook.cli.outputs.sarif import Result, SarifRule, artifact_uri, as_sarif

RULES = (SarifRule(id="b-rule", summary="b"), SarifRule(id="a-rule", summary="a"))


def test_a_log_has_its_rules_sorted_and_results_that_point_to_them() -> None:
    results = [
        Result(rule="b-rule", level="error", message="no", source="a b/c.yaml", line=7, column=3, logical="spec.x"),
        Result(rule="new", level="note", message="hm", source="-", fingerprint="f", properties={"mode": "audit"}),
    ]
    log = json.loads(as_sarif(results, rules=RULES, version="0.1.0"))
    run = log["runs"][0]
    assert log["version"] == "2.1.0"
    assert log["$schema"] == "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["a-rule", "b-rule", "new"]
    assert run["invocations"] == [{"executionSuccessful": True}]
    assert run["results"] == [
        {
            "ruleId": "b-rule",
            "ruleIndex": 1,
            "level": "error",
            "message": {"text": "no"},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": "a%20b/c.yaml"},
                        "region": {"startLine": 7, "startColumn": 3},
                    },
                    "logicalLocations": [{"fullyQualifiedName": "spec.x"}],
                }
            ],
        },
        {
            "ruleId": "new",
            "ruleIndex": 2,
            "level": "note",
            "message": {"text": "hm"},
            "locations": [{"physicalLocation": {"artifactLocation": {"uri": "-"}}}],
            "partialFingerprints": {"fallgate/v1": "f"},
            "properties": {"mode": "audit"},
        },
    ]


def test_what_could_not_be_read_makes_the_run_unsuccessful() -> None:
    log = json.loads(as_sarif([], rules=(), version="1", failed=["a.yaml:1: not YAML"]))
    assert log["runs"][0]["results"] == []
    assert log["runs"][0]["invocations"] == [
        {
            "executionSuccessful": False,
            "toolExecutionNotifications": [{"level": "error", "message": {"text": "a.yaml:1: not YAML"}}],
        }
    ]


@pytest.mark.parametrize(
    ("source", "uri"),
    [
        ("claims/a.yaml", "claims/a.yaml"),
        ("a#b?.yaml", "a%23b%3F.yaml"),
        ("a:b.yaml", "a%3Ab.yaml"),
        ("/tmp/a b.yaml", "file:///tmp/a%20b.yaml"),
    ],
)
def test_artifact_uri(source: str, uri: str) -> None:
    assert artifact_uri(source) == uri
