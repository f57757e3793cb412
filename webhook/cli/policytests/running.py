"""A policy test and the policies -> what is not as it should be. Pure: files are read by whoever calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from webhook.cli.asking import Manner, ask_all, user_of
from webhook.cli.judging import Bench, Verdict, judge_all
from webhook.cli.outputs.documents import as_json_line
from webhook.cli.outputs.places import steps_of
from webhook.cli.policytests.format import Expectation, PolicyTest
from webhook.errors import InputError
from webhook.fleet.build import build_fleet
from webhook.folder.manifests import FileObject
from webhook.rulekit.policies import PolicySet


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """The objects of a test, read."""

    object: FileObject
    old: Mapping[str, Any] | None
    fleet: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a test: `failures` is empty when it passed, `error` says why it could not be run."""

    test: PolicyTest
    source: str
    failures: tuple[str, ...] = ()
    error: str = ""

    @property
    def passed(self) -> bool:
        """Whether everything was as expected."""
        return not self.failures and not self.error


def run_test(test: PolicyTest, source: str, loaded: Loaded, policies: PolicySet, now: datetime) -> Outcome:
    """Judge the test's object and compare. `now` counts where the test says none."""
    manner = Manner(
        operation=test.operation,
        user=user_of(test.user, test.groups),
        old=() if loaded.old is None else (loaded.old,),
    )
    asked, faults = ask_all([loaded.object], manner)
    if faults:
        raise InputError(faults[0][1])
    bench = Bench(fleet=build_fleet(loaded.fleet, server=test.server), policies=policies, now=test.now or now)
    verdict = judge_all(asked, bench)[0]
    return Outcome(
        test=test,
        source=source,
        failures=tuple(failures(test.expect, verdict)),
        error=verdict.decision.internal_error,
    )


def failures(expect: Expectation, verdict: Verdict) -> Iterator[str]:
    """Each thing that is not as expected, in a sentence or two."""
    decision = verdict.decision
    if verdict.word != expect.decision:
        yield f"decision: expected {expect.decision}, got {verdict.word}{_said(verdict)}"
    found = list(dict.fromkeys(item.finding.reason for item in decision.findings))
    for reason in expect.reasons:
        if reason not in found:
            yield f"reasons: {reason} is missing; found {', '.join(found) or 'none'}"
    for reason in expect.without_reasons:
        if reason in found:
            yield f"withoutReasons: {reason} was found"
    for part in expect.message:
        if part not in decision.message:
            yield f"message: it does not contain {part!r}; it is{_indented(decision.message) or ' empty'}"
    for part in expect.warnings:
        if not any(part in line for line in decision.warnings):
            there = _indented("\n".join(decision.warnings))
            yield f"warnings: none contains {part!r}; there are{there or ' none'}"
    for path, value in expect.fields.items():
        held = field(verdict.stored, path)
        if held != value:
            yield f"fields: {path} should be {as_json_line(value)}, it is {as_json_line(held)}"


def field(body: Any, path: str) -> Any:
    """What a field path names in an object, None when nothing is there."""
    here = body
    for step in steps_of(path):
        if isinstance(here, dict):
            here = here.get(step)
        elif isinstance(here, list) and step.isdigit() and int(step) < len(here):
            here = here[int(step)]
        else:
            return None
    return here


def _said(verdict: Verdict) -> str:
    return _indented(verdict.decision.message or "\n".join(verdict.decision.warnings))


def _indented(text: str) -> str:
    return "".join(f"\n  {line}" for line in text.splitlines())
