"""Every kind of mistake, word by word: mistakes/<name>.yaml is refused with the text of mistakes/<name>.txt."""

from __future__ import annotations

from pathlib import Path

import pytest

from webhook.errors import PolicyErrors, Problem
from webhook.policyfile import parse_policies_with_warnings, render_problem
from webhook.rulekit.rule import Rule

FOLDER = Path(__file__).parent / "mistakes"


def problems(path: Path, rules: tuple[Rule, ...]) -> tuple[Problem, ...]:
    try:
        return parse_policies_with_warnings([(path.name, path.read_bytes())], rules=rules)[1]
    except PolicyErrors as errors:
        return errors.problems


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.yaml")), ids=lambda path: path.stem)
def test_mistakes_are_named_in_these_words(path: Path, rules: tuple[Rule, ...]) -> None:
    said = "\n".join(map(render_problem, problems(path, rules))) + "\n"
    assert said == path.with_suffix(".txt").read_text()


def test_every_text_has_its_file() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.txt")) == sorted(path.stem for path in FOLDER.glob("*.yaml"))


def test_warnings_alone_do_not_keep_a_set_from_loading(rules: tuple[Rule, ...]) -> None:
    policies, found = parse_policies_with_warnings([("w.yaml", (FOLDER / "warnings.yaml").read_bytes())], rules=rules)
    assert [policy.header.name for policy in policies.tier_fallback] == ["dev", "none"]
    assert {problem.warning for problem in found} == {True}
