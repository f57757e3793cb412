"""`fallgate check`: problems with carets, and what was loaded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

BAD = """\
apiVersion: fallgate.dev/v1alpha1
kind: FallbackCompatibility
metadata: {name: wrong}
spec: {mod: enforce}
"""
MORE = """\
apiVersion: fallgate.dev/v1alpha1
kind: ModeCap
metadata: {name: quiet}
spec: {mode: audit, until: 2027-02-01}
---
apiVersion: fallgate.dev/v1alpha1
kind: Exemptions
metadata: {name: platform}
spec:
  exemptions:
  - {namespaces: [gpu-operator], rules: [device-ownership], reason: its validator asks both ways, owner: me,
     expires: 2027-06-30}
"""


def test_good_files_are_summed_up(run: Any, folder: Path) -> None:
    (folder / "policies" / "more.yaml").write_text(MORE)
    result = run("check", "policies")
    assert (result.exit_code, result.stderr) == (0, "")
    first, *rest = result.stdout.splitlines()
    assert first.startswith("2 files: policy set ")
    assert rest == [
        "  ShapeCatalog           2 models                     h100-80gb, a100-40gb",
        "  FallbackCompatibility  declared-fallbacks  enforce",
        "  TierFallback           dev-gpus            enforce",
        "  DeviceOwnership        nvidia-gpus         enforce",
        "  Exemptions             platform                     its validator asks both ways until 2027-06-30",
        "  ModeCap                quiet               audit    caps every rule until 2027-02-01",
    ]


def test_mistakes_are_shown_with_a_caret(run: Any, folder: Path) -> None:
    (folder / "bad.yaml").write_text(BAD)
    result = run("check", "bad.yaml")
    assert result.exit_code == 1
    assert result.stdout == (
        'bad.yaml:4:8: unknown key "mod" in spec\n'
        "    spec: {mod: enforce}\n"
        "           ^\n"
        '  did you mean "mode"?\n'
        "1 file: 1 mistake, nothing is loaded\n"
    )


def test_json_of_good_and_bad_files(run: Any, folder: Path) -> None:
    good = json.loads(run("check", "policies", "-o", "json").stdout)
    assert list(good) == ["ok", "files", "digest", "loaded", "problems"]
    assert (good["ok"], good["files"], good["problems"]) == (True, ["policies/policy.yaml"], [])
    assert {"kind": "TierFallback", "name": "dev-gpus", "mode": "enforce"} in good["loaded"]
    (folder / "bad.yaml").write_text(BAD)
    bad = json.loads(run("check", "bad.yaml", "-o", "json").stdout)
    assert (bad["ok"], bad["digest"], bad["loaded"]) == (False, "", [])
    assert bad["problems"] == [
        {
            "source": "bad.yaml",
            "line": 4,
            "column": 8,
            "severity": "error",
            "message": 'unknown key "mod" in spec',
            "hint": 'did you mean "mode"?',
        }
    ]


def test_junit_has_a_case_for_each_file(run: Any, folder: Path) -> None:
    (folder / "policies" / "bad.yaml").write_text(BAD)
    result = run("check", "policies", "-o", "junit")
    assert result.exit_code == 1
    cases = {case.get("name"): case for case in ElementTree.fromstring(result.stdout).iter("testcase")}
    assert list(cases) == ["policies/bad.yaml", "policies/policy.yaml"]
    assert cases["policies/bad.yaml"].find("failure") is not None
    assert cases["policies/policy.yaml"].find("failure") is None


def test_sarif_points_to_the_mistake(run: Any, folder: Path) -> None:
    (folder / "bad.yaml").write_text(BAD)
    (found,) = json.loads(run("check", "bad.yaml", "-o", "sarif").stdout)["runs"][0]["results"]
    assert (found["ruleId"], found["level"]) == ("policy-mistake", "error")
    assert found["message"]["text"] == 'unknown key "mod" in spec (did you mean "mode"?)'
    assert found["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "bad.yaml"},
        "region": {"startLine": 4, "startColumn": 8},
    }


def test_several_folders_are_one_set(run: Any, folder: Path) -> None:
    (folder / "other").mkdir()
    (folder / "other" / "policy.yaml").write_text(MORE)
    result = run("check", "policies", "other", "-o", "json")
    assert json.loads(result.stdout)["files"] == ["policies/policy.yaml", "other/policy.yaml"]


def test_nothing_to_check_is_bad_usage(run: Any, folder: Path) -> None:
    result = run("check")
    assert result.exit_code == 2
    assert result.stderr == ("error: there is nothing to check: name a folder of policy files, a file, or a pack with --pack\n")
    (folder / "empty").mkdir()
    result = run("check", "empty")
    assert result.exit_code == 2
    assert result.stderr == "error: empty: there is no policy file in this folder (no file ends in .yaml or .yml)\n"


LABELLED = """\
apiVersion: v1
kind: Namespace
metadata:
  name: team-b
  labels: {fallgate.dev/mode: enfroce, fallgate.dev/tier: development, fallgate.dev/mode.zero-match: audit}
"""
MEANS_NOTHING = (
    'warning: Namespace team-b, label fallgate.dev/mode: "enfroce" is no mode (enforce, warn, audit or off): '
    "the label counts for nothing (write fallgate.dev/mode: enforce)\n"
    'warning: Namespace team-b, label fallgate.dev/tier: no policy names the tier "development" (known tiers: dev)\n'
)


def test_labels_of_namespaces_are_checked_with_a_fleet(run: Any, folder: Path) -> None:
    (folder / "labelled.yaml").write_text(LABELLED)
    result = run("check", "policies", "--fleet", "fleet", "--fleet", "labelled.yaml")
    assert (result.exit_code, result.stderr) == (0, MEANS_NOTHING)
    assert run("check", "policies", "--fleet", "fleet").stderr == ""
    (folder / "bad.yaml").write_text(BAD)
    assert "enfroce" not in run("check", "bad.yaml", "--fleet", "labelled.yaml").stderr


def test_review_says_it_of_the_fleets_namespaces(run: Any, folder: Path) -> None:
    (folder / "labelled.yaml").write_text(LABELLED)
    (folder / "one.yaml").write_text("apiVersion: v1\nkind: Namespace\nmetadata: {name: team-c}\n")
    result = run("review", "one.yaml", "--policies", "policies", "--fleet", "labelled.yaml")
    assert (result.exit_code, result.stderr) == (0, MEANS_NOTHING)
