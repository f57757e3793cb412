"""Every folder in examples/ gives the decisions its expected.yaml names, and nothing it does not name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.harness import NOW, documents, policies_of, review_of, server
from tests.test_cases import answer_of
from webhook.engine import Admission, admit
from webhook.fleet.build import build_fleet, with_objects
from webhook.model.meta import read_meta

EXAMPLES = sorted(path.parent for path in (Path(__file__).parent.parent / "examples").glob("*/expected.yaml"))


def answers(folder: Path) -> list[tuple[dict[str, Any], Admission]]:
    """What is expected of each object, and what is answered."""
    expected = yaml.safe_load((folder / "expected.yaml").read_text())
    policies = policies_of(folder / "policies.yaml")
    fleet = build_fleet(documents(folder / "fleet.yaml"), server=server(str(expected.get("server", "1.36"))))
    objects = documents(folder / "objects.yaml")
    assert [f"{item['kind']}/{read_meta(item).display_name}" for item in objects] == [
        item["object"] for item in expected["answers"]
    ]
    found = []
    for body, wanted in zip(objects, expected["answers"], strict=True):
        others = [item for item in objects if item is not body]
        review = review_of(body, user=wanted.get("user", "jane"))
        found.append((wanted, admit(review, with_objects(fleet, others), policies, NOW)))
    return found


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 10


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
def test_example(folder: Path) -> None:
    for wanted, admission in answers(folder):
        said = admission.decision
        assert said.internal_error == ""
        assert answer_of(said) == wanted["decision"], (wanted, said)
        assert sorted({item.finding.reason for item in said.findings}) == sorted(wanted["reasons"])


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
def test_example_has_a_readme(folder: Path) -> None:
    assert (folder / "README.md").read_text().startswith("# ")
