"""The problem cases through the command line and through the server's endpoints: the same answers as from the engine."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from tests.case_files import Case, cases, in_version
from tests.fuzz import Target, build_target, review_document
from tests.harness import server
from tests.test_cases import ANSWERED, VERSIONS
from webhook.cli.app import app
from webhook.fleet.build import build_fleet
from webhook.model.json_patch import apply_patch
from webhook.policyfile import parse_policies

_WEIGHT = ("allow", "warn", "mutate", "deny")
CASES = [case for case in cases() if case.id in ANSWERED]


def word(allowed: bool, patch: object, warnings: object) -> str:
    return "deny" if not allowed else "mutate" if patch else "warn" if warnings else "allow"


def written(case: Case, version: str, folder: Path) -> list[str]:
    """The case as files; gives the arguments of `fallgate`."""
    asked, about = case.body["request"], case.body.get("cluster", {})
    (folder / "policies").mkdir()
    for name, data in case.policy_files:
        (folder / "policies" / name).write_bytes(data)
    (folder / "fleet.yaml").write_text(yaml.safe_dump_all(case.cluster))
    (folder / "input.yaml").write_text(yaml.safe_dump_all([in_version(item, version) for item in case.inputs]))
    gates = ",".join(f"{gate}={str(value).lower()}" for gate, value in about.get("featureGates", {}).items())
    return [
        *("review", str(folder / "input.yaml"), "-o", "json", "--operation", asked["operation"]),
        *("--policies", str(folder / "policies"), "--fleet", str(folder / "fleet.yaml")),
        *("--server-version", str(about.get("version", "1.36")), "--feature-gates", gates),
        *("--as", asked.get("user", "someone"), "--now", "2027-01-01"),
    ]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_through_the_command_line(case: Case, version: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, written(case, version, tmp_path))
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    words = [word(item["allowed"], item["patch"], item["warnings"]) for item in answers]
    assert max(words, key=_WEIGHT.index) == case.body["expect"]["decision"], result.output
    assert set(case.body["expect"]["checks"]) <= {found["reason"] for item in answers for found in item["findings"]}
    assert result.exit_code == (1 if "deny" in words else 0)


def through_endpoints(target: Target, document: dict[str, Any]) -> tuple[str, str]:
    """Both calls: the word for them, and all that they say."""
    said = ""
    responses = []
    for path in ("/mutate", "/validate"):
        status, body = target.ask(path, json.dumps(document).encode())
        assert status == 200
        response = json.loads(body)["response"]
        responses.append(response)
        said += json.dumps(response)
        if not response["allowed"]:
            return "deny", said
        if "patch" in response:
            request = document["request"]
            request["object"] = apply_patch(request["object"], json.loads(base64.b64decode(response["patch"])))
    patched = any("patch" in response for response in responses)
    return word(True, patched, any(response.get("warnings") for response in responses)), said


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_through_the_server(case: Case, version: str) -> None:
    asked, about = case.body["request"], case.body.get("cluster", {})
    inputs = [in_version(item, version) for item in case.inputs]
    named = [item for item in inputs if item["metadata"].get("name") and item["kind"] != "Pod"]
    fleet = build_fleet([*case.cluster, *named], server=server(str(about.get("version", "1.36")), about.get("featureGates")))
    target = build_target(fleet, parse_policies(case.policy_files))
    words, said = [], ""
    for body in inputs:
        document = review_document(body, asked["operation"])
        document["request"]["userInfo"]["username"] = asked.get("user", "someone")
        if asked["operation"] == "UPDATE":
            document["request"]["oldObject"] = asked.get("oldObject", body)
        one, text = through_endpoints(target, document)
        words.append(one)
        said += text
    assert max(words, key=_WEIGHT.index) == case.body["expect"]["decision"], said
    for reason in case.body["expect"]["checks"]:
        assert f"/{reason} " in said or f'"{reason}"' in said, said
