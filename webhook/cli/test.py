"""`fallgate test`: the tests of policies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from webhook.cli.app import own_version
from webhook.cli.console import STYLES, complain_about, show
from webhook.cli.exits import OK, REFUSED, UNUSABLE, worst
from webhook.cli.inputs.policies import load_policies
from webhook.cli.inputs.policy_tests import load_objects, policies_beside, read_tests_file, tests_files
from webhook.cli.options import REPORT_FORMATS, now_option, output_option
from webhook.cli.outputs.documents import as_documents
from webhook.cli.outputs.junit import TestCase, as_junit
from webhook.cli.outputs.sarif import Result, SarifRule, as_sarif
from webhook.cli.policytests.running import Outcome, run_test
from webhook.errors import InputError

_EPILOG = """\b
Examples:
  fallgate test policies/
  fallgate test policies/nvidia -o junit > report.xml

docs/testing-policies.md tells how tests are written. Exit codes: 0 all passed, 1 some failed, 2 bad usage, or tests or
policies with mistakes.
"""

_RULE = SarifRule(id="policy-test", summary="A test of the policies that failed")


@click.command(epilog=_EPILOG)
@click.argument("paths", nargs=-1, metavar="[DIR|FILE]...")
@now_option
@output_option(*REPORT_FORMATS)
@click.pass_context
def command(ctx: click.Context, /, paths: tuple[str, ...], now: datetime | None, output: str) -> None:
    """Run the tests of policies: every tests.yaml in the folders (default: the current one) and below."""
    outcomes: list[Outcome] = []
    unusable = False
    for file in tests_files(paths or (".",)):
        tests, problems = read_tests_file(file)
        complain_about(problems)
        unusable = unusable or bool(problems)
        if tests.tests:
            outcomes += _run(file, tests, now or datetime.now(UTC))
    if output == "text":
        show(*_text(outcomes))
    else:
        click.echo(_report(outcomes, output), nl=False)
    failed = any(not outcome.passed for outcome in outcomes)
    ctx.exit(worst(UNUSABLE if unusable else OK, REFUSED if failed else OK))


def _run(file: Path, tests: Any, now: datetime) -> Iterator[Outcome]:
    policies = load_policies(policies_beside(file, tests))
    for test in tests.tests:
        try:
            yield run_test(test, tests.source, load_objects(file, test), policies, now)
        except InputError as error:
            yield Outcome(test=test, source=tests.source, error=str(error))


def _text(outcomes: Sequence[Outcome]) -> Iterator[Text]:
    last = ""
    for outcome in outcomes:
        if outcome.source != last:
            yield Text(outcome.source, "bold")
            last = outcome.source
        word, style = ("ok  ", STYLES["allow"]) if outcome.passed else ("FAIL", STYLES["deny"])
        text = Text().append(f"  {word} ", style).append(outcome.test.name)
        if not outcome.passed:
            text.append(f"  {outcome.source}:{outcome.test.line}", "dim")
        for line in _failure(outcome).splitlines():
            text.append(f"\n       {line}")
        yield text
    failed = sum(not outcome.passed for outcome in outcomes)
    yield Text(f"{len(outcomes) - failed} passed, {failed} failed", STYLES["deny" if failed else "allow"])


def _failure(outcome: Outcome) -> str:
    return "\n".join([*outcome.failures, *([f"error: {outcome.error}"] if outcome.error else [])])


def _report(outcomes: Sequence[Outcome], output: str) -> str:
    match output:
        case "junit":
            return as_junit([_case(outcome) for outcome in outcomes], name="fallgate test")
        case "sarif":
            results = [_result(outcome) for outcome in outcomes if not outcome.passed]
            return as_sarif(results, rules=[_RULE], version=own_version())
        case _:
            return as_documents(map(_document, outcomes), "yaml" if output == "yaml" else "json")


def _case(outcome: Outcome) -> TestCase:
    return TestCase(
        name=outcome.test.name,
        group=outcome.source,
        line=outcome.test.line,
        failure="\n".join(outcome.failures),
        error=outcome.error,
    )


def _result(outcome: Outcome) -> Result:
    return Result(
        rule=_RULE.id,
        level="error",
        message=f"{outcome.test.name}: {_failure(outcome)}",
        source=outcome.source,
        line=outcome.test.line,
    )


def _document(outcome: Outcome) -> dict[str, Any]:
    return {
        "source": f"{outcome.source}:{outcome.test.line}",
        "name": outcome.test.name,
        "passed": outcome.passed,
        "failures": list(outcome.failures),
        "error": outcome.error,
    }
