"""The JSON Schema and the reference: up to date, and of one mind with the reader."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from docs.generate import ROOT, policy_format
from webhook.policyfile import json_schema, parse_policies_with_warnings, policy_reference
from webhook.policyfile.kinds import KINDS
from webhook.policyfile.yaml_nodes import plain
from webhook.policyfile.yaml_reading import read_documents

VALID = [*Path(__file__).parent.glob("valid/*.yaml"), *(ROOT / "tests/cases/policies").glob("*.yaml")]


def documents(text: str | bytes) -> list[Any]:
    found = read_documents("p.yaml", text if isinstance(text, bytes) else text.encode())
    assert found.problems == []
    return [plain(document) for document in found.documents]


@pytest.fixture(scope="module")
def validator() -> Draft7Validator:
    return Draft7Validator(json_schema())


def errors(validator: Draft7Validator, document: Any) -> list[str]:
    return [error.message for error in validator.iter_errors(document)]


@pytest.mark.parametrize(("path", "text"), list(policy_format()), ids=lambda item: getattr(item, "name", ""))
def test_what_is_published_is_up_to_date(path: Path, text: str) -> None:
    assert path.read_text() == text, "run `make docs`"


def test_the_schema_is_a_schema() -> None:
    Draft7Validator.check_schema(json_schema())


@pytest.mark.parametrize("path", sorted(VALID), ids=lambda path: path.stem)
def test_files_that_load_fit_the_schema(path: Path, validator: Draft7Validator) -> None:
    for document in documents(path.read_bytes()):
        assert errors(validator, document) == []


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_the_examples_of_the_reference_fit_the_schema(kind: Any, validator: Draft7Validator) -> None:
    [document] = documents(kind.example)
    assert document["kind"] == kind.name
    assert errors(validator, document) == []


def test_the_examples_of_the_reference_load_together(rules: Any) -> None:
    text = "---\n".join(kind.example for kind in KINDS)
    _, problems = parse_policies_with_warnings([("reference.yaml", text.encode())], rules=rules)
    assert problems == ()


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("mode: enforce", "mode: strict", "'strict' is not one of ['enforce', 'warn', 'audit']"),
        ("tier: research", "tier: a/b", "'a/b' is not valid under any of the given schemas"),
        ("name: any-big", "name: Any", r"'Any' does not match '^(?:[a-z0-9]([-a-z0-9]*[a-z0-9])?)$'"),
        ("count: 1", "count: 0", "0 is less than the minimum of 1"),
        ("count: 1", "counts: 1", "Additional properties are not allowed ('counts' was unexpected)"),
        ("  asks:", "  ask:", "'asks' is a required property"),
        ("kind: TierFallback", "kind: Tier", None),
        ("apiVersion: fallgate.dev/v1alpha1", "apiVersion: v1", "'fallgate.dev/v1alpha1' was expected"),
        ("metadata: {name: research-gpus}", "metadata: {}", "'name' is a required property"),
    ],
)
def test_editors_are_told_of_mistakes(before: str, after: str, message: str | None, validator: Draft7Validator) -> None:
    [example] = [kind.example for kind in KINDS if kind.name == "TierFallback"]
    assert before in example
    [document] = documents(example.replace(before, after))
    found = errors(validator, document)
    assert message in found if message else len(found) == 1


def test_every_pattern_is_one_that_editors_understand() -> None:
    """JSON Schema's regular expressions are JavaScript's: no inline flags, no look-behind, no \\Z."""
    patterns = re.findall(r"'pattern': '([^']*)'", str(json_schema()))
    assert len(patterns) > 10
    assert [pattern for pattern in patterns if re.search(r"\(\?[^:]|\\[AZz]", pattern)] == []


def test_every_key_is_in_the_reference() -> None:
    page = policy_reference()
    for kind in KINDS:
        for key in kind.spec.keys:
            assert f"`spec.{key.name}`" in page
    for link in re.findall(r"\]\(#([^)]*)\)", page):
        headings = [line.lstrip("# ").lower().replace(" ", "-") for line in page.splitlines() if line.startswith("#")]
        assert link in headings
