"""docs/cli.md and docs/exit-codes.md tell of everything there is."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import click
import pytest

from tests.build import exactly, fleet_of, template
from webhook.cli.app import COMMANDS
from webhook.cli.asking import Manner, ask_all
from webhook.cli.explaining import explain, explanation_document
from webhook.cli.judging import Bench, judge_all
from webhook.cli.policytests.format import read_instant, read_policy_tests
from webhook.cli.verdicts import verdict_document
from webhook.folder.manifests import FileObject
from webhook.policyfile import parse_policies

DOCS = Path(__file__).resolve().parents[2] / "docs"
CLI = (DOCS / "cli.md").read_text()


def section(name: str) -> str:
    """What the page says of a command."""
    found = re.search(rf"^## {name}$(.*?)(?=^## |\Z)", CLI, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_section_with_an_example_and_exit_codes(name: str) -> None:
    assert f"fallgate {name}" in section(name)
    assert f"| [`{name}`](#{name}) | {COMMANDS[name][:1].lower()}{COMMANDS[name][1:-1]} |" in CLI
    assert f"`{name}`" in (DOCS / "exit-codes.md").read_text()


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in ("serve", "certs")])
def test_every_option_is_told(name: str) -> None:
    command: click.Command = import_module(f"webhook.cli.{name}").command
    options = {option for parameter in command.params for option in parameter.opts if option.startswith("--")}
    common = section("What they have in common") + section("review")
    missing = {option for option in options - {"--output"} if option not in section(name) and option not in common}
    assert missing == set()


def test_every_key_of_review_and_explain_is_told() -> None:
    asked, _ = ask_all([FileObject(template("t", exactly()), "in.yaml", 1)], Manner())
    policies, now = parse_policies([]), read_instant("2027-01-01")
    (verdict,) = judge_all(asked, Bench(fleet=fleet_of(), policies=policies, now=now))
    explanation = explain(asked[0], fleet_of(), policies, now)
    assert explanation is not None
    document = explanation_document(explanation)
    (request,) = document["requests"]
    for name, keys in {
        "review": verdict_document(verdict).keys(),
        "explain": document.keys() | request.keys() | request["alternatives"][0].keys(),
    }.items():
        assert {key for key in keys if f"`{key}`" not in section(name)} == set()


def test_the_example_of_tests_yaml_is_a_good_one() -> None:
    text = (DOCS / "testing-policies.md").read_text()
    example = text.partition("```yaml\n")[2].partition("```")[0]
    tests, problems = read_policy_tests(example, "tests.yaml")
    assert problems == ()
    assert [test.name for test in tests.tests] == ["a list of fallbacks without a declaration is refused"]
