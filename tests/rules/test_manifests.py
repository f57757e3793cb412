"""Every rule's own manifests: what passes, what fails and with which words, what is changed into what."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.harness import NOW, ask, documents, header, policies_of, reasons, server, without_digests
from webhook.engine import Admission
from webhook.rules import ALL

HERE = Path(__file__).parent
FOLDERS = sorted(path for path in HERE.iterdir() if path.is_dir() and not path.name.startswith("__"))


def files(kind: str) -> list[Any]:
    found = [path for folder in FOLDERS for path in sorted((folder / kind).glob("*.yaml")) if ".expected." not in path.name]
    return [pytest.param(path, id=f"{path.parent.parent.name}/{path.stem}") for path in found]


def admission(path: Path) -> tuple[Admission, Any]:
    folder, said = path.parent.parent, header(path)
    *others, body = documents(path)
    now = said.get("now", NOW)
    answer = ask(
        body,
        cluster=[*documents(folder / "cluster.yaml"), *others],
        policies=policies_of(folder / "policy.yaml"),
        at=server(str(said.get("server", "1.36")), said.get("gates")),
        now=now if isinstance(now, datetime) else datetime.fromisoformat(str(now)),
        operation=said.get("operation", "CREATE"),
        old=said.get("old"),
        user=said.get("user", "tests"),
    )
    return answer, body


def test_every_rule_has_a_folder_and_every_folder_a_rule() -> None:
    assert [folder.name for folder in FOLDERS] == sorted(rule.id for rule in ALL)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_folder_has_passing_and_failing_files(folder: Path) -> None:
    assert list((folder / "pass").glob("*.yaml"))
    assert list((folder / "fail").glob("*.yaml")) or list((folder / "mutate").glob("*.yaml"))


@pytest.mark.parametrize("path", files("pass"))
def test_passes(path: Path) -> None:
    answer, body = admission(path)
    assert answer.decision.allowed
    assert answer.decision.warnings == ()
    assert answer.decision.patch == ()
    assert answer.decision.internal_error == ""
    assert answer.object == body


@pytest.mark.parametrize("path", files("fail"))
def test_fails_by_this_rule_alone_and_in_these_words(path: Path) -> None:
    answer, _ = admission(path)
    said, decision = header(path), answer.decision
    effect = said.get("effect", "deny")
    wanted = said["reason"] if isinstance(said["reason"], list) else [said["reason"]]
    assert decision.internal_error == ""
    assert decision.findings, "nothing was found: are apiVersion and kind right, and is the policy for this namespace?"
    assert {item.finding.rule for item in decision.findings} == {path.parent.parent.name}
    assert reasons(decision) == sorted(wanted)
    assert decision.allowed == (effect != "deny")
    assert effect in {item.effect for item in decision.findings}
    if "message" in said:
        text = decision.message if effect == "deny" else "\n".join(decision.warnings)
        assert without_digests(text).rstrip("\n") == without_digests(said["message"]).rstrip("\n")
    for key in ("detail", "remedy"):
        if key in said:
            assert said[key].strip() in [getattr(item.finding, key).strip() for item in decision.findings]


@pytest.mark.parametrize("path", files("mutate"))
def test_is_changed_into_what_is_expected(path: Path) -> None:
    answer, _ = admission(path)
    said = header(path)
    expected = yaml.safe_load(path.with_suffix("").with_suffix(".expected.yaml").read_text())
    assert answer.decision.internal_error == ""
    assert answer.decision.allowed
    assert _comparable(answer.object) == _comparable(expected)
    if "reason" in said:
        wanted = said["reason"] if isinstance(said["reason"], list) else [said["reason"]]
        assert reasons(answer.decision) == sorted(wanted)


def _comparable(body: Any) -> Any:
    return yaml.safe_load(without_digests(yaml.safe_dump(body)))
