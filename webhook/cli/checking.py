"""Policy files by themselves: their problems and what was loaded, in every form `check` prints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rich.text import Text

from webhook.cli.console import STYLES, stderr
from webhook.cli.outputs.junit import TestCase
from webhook.cli.outputs.sarif import Result, SarifRule
from webhook.errors import PolicyErrors, Problem
from webhook.policyfile import parse_policies_with_warnings, render_problem
from webhook.rulekit.policies import Match, PolicySet, RulePolicy

SARIF_RULES: Final = (
    SarifRule(id="policy-mistake", summary="A policy file that cannot be loaded"),
    SarifRule(id="policy-warning", summary="Something in a policy file that is probably not meant"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """One kind and name of what a policy set holds. `mode` is "" for kinds without one; `about` says what it is for."""

    kind: str
    name: str
    mode: str = ""
    about: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What came of some policy files: their names, what is wrong with them, and the set when it could be loaded."""

    files: tuple[str, ...]
    problems: tuple[Problem, ...]
    policies: PolicySet | None

    @property
    def ok(self) -> bool:
        """Whether the files can be loaded; warnings do not count."""
        return self.policies is not None


def check_files(files: Sequence[tuple[str, bytes]]) -> Checked:
    """Load the files as one policy set."""
    names = tuple(name for name, _ in files)
    try:
        policies, warnings = parse_policies_with_warnings(files)
    except PolicyErrors as errors:
        return Checked(files=names, problems=errors.problems, policies=None)
    return Checked(files=names, problems=warnings, policies=policies)


def loaded(policies: PolicySet) -> Iterator[Loaded]:
    """What a policy set holds, kind by kind in the order of the documentation."""
    if policies.catalog:
        names = [model.name for model in policies.catalog]
        yield Loaded(kind="ShapeCatalog", name=_counted(len(names), "model"), about=", ".join(names))
    kinds: Mapping[str, Sequence[RulePolicy]] = {
        "FallbackCompatibility": policies.fallback_compatibility,
        "TierFallback": policies.tier_fallback,
        "DeviceOwnership": policies.device_ownership,
        "Checks": policies.checks,
        "ClaimRule": policies.claim_rules,
    }
    for kind, members in kinds.items():
        for policy in members:
            header = policy.header
            yield Loaded(kind=kind, name=header.name, mode=header.mode, about=matched(header.match))
    for exemption in policies.exemptions:
        until = f" until {exemption.expires:%Y-%m-%d}" if exemption.expires else ""
        yield Loaded(kind="Exemptions", name=exemption.policy, about=f"{exemption.reason}{until}")
    for workload in policies.workload_kinds:
        yield Loaded(kind="WorkloadKinds", name=workload.kind, about=f"{workload.group}, pods at {workload.template}")
    for cap in policies.mode_caps:
        whom = f"rule {cap.rule}" if cap.rule else "every rule"
        until = f" until {cap.until:%Y-%m-%d}" if cap.until else ""
        yield Loaded(kind="ModeCap", name=cap.name, mode=cap.mode, about=f"caps {whom}{until}")


def matched(match: Match) -> str:
    """Which reviews a policy is for, in words; "" for all of them."""
    parts = (
        ("tiers", [tier or '""' for tier in match.tiers]),
        ("namespaces", match.namespaces),
        ("not in namespaces", match.exclude_namespaces),
        ("classes", match.device_classes),
        ("drivers", match.drivers),
        ("namespaces with labels", ["..."] if match.namespace_selector is not None else []),
    )
    return "; ".join(f"{name} {', '.join(values)}" for name, values in parts if values)


def problem_text(problem: Problem) -> Text:
    """A problem with its caret, coloured."""
    first, *rest = render_problem(problem).splitlines()
    text = Text(first, STYLES["warning" if problem.warning else "error"])
    for line in rest:
        text.append(f"\n{line}", STYLES["error"] if line.strip() == "^" else "")
    return text


def show_problems(problems: Sequence[Problem]) -> None:
    """Print problems with their carets on the standard error output."""
    console = stderr()
    for problem in problems:
        console.print(problem_text(problem))


def checked_text(checked: Checked) -> Iterator[Text]:
    """Everything there is to say, problems first."""
    for problem in checked.problems:
        yield problem_text(problem)
    mistakes = sum(not problem.warning for problem in checked.problems)
    files = _counted(len(checked.files), "file")
    if checked.policies is None:
        yield Text(f"{files}: {_counted(mistakes, 'mistake')}, nothing is loaded", STYLES["deny"])
        return
    yield Text(f"{files}: policy set {checked.policies.digest}", STYLES["allow"])
    items = list(loaded(checked.policies))
    kinds, names = (max((len(getattr(item, part)) for item in items), default=0) for part in ("kind", "name"))
    for item in items:
        yield Text(f"  {item.kind:<{kinds}}  {item.name:<{names}}  {item.mode:<7}  {item.about}".rstrip())


def checked_document(checked: Checked) -> dict[str, Any]:
    """What `check -o json` prints."""
    items = loaded(checked.policies) if checked.policies is not None else ()
    return {
        "ok": checked.ok,
        "files": list(checked.files),
        "digest": checked.policies.digest if checked.policies is not None else "",
        "loaded": [{"kind": item.kind, "name": item.name, "mode": item.mode} for item in items],
        "problems": [problem_document(problem) for problem in checked.problems],
    }


def problem_document(problem: Problem) -> dict[str, Any]:
    """One problem for machines."""
    return {
        "source": problem.source,
        "line": problem.line,
        "column": problem.column,
        "severity": "warning" if problem.warning else "error",
        "message": problem.message,
        "hint": problem.hint,
    }


def junit_cases(checked: Checked) -> list[TestCase]:
    """One case a file; its mistakes are the failure."""
    return [_junit_case(name, [problem for problem in checked.problems if problem.source == name]) for name in checked.files]


def _junit_case(name: str, problems: Sequence[Problem]) -> TestCase:
    mistakes = [problem for problem in problems if not problem.warning]
    return TestCase(
        name=name,
        group=name,
        line=mistakes[0].line if mistakes else 0,
        failure="\n".join(map(render_problem, mistakes)),
        output="\n".join(render_problem(problem) for problem in problems if problem.warning),
    )


def sarif_results(checked: Checked) -> list[Result]:
    """One result a problem."""
    return [
        Result(
            rule="policy-warning" if problem.warning else "policy-mistake",
            level="warning" if problem.warning else "error",
            message=f"{problem.message} ({problem.hint})" if problem.hint else problem.message,
            source=problem.source,
            line=problem.line,
            column=problem.column,
        )
        for problem in checked.problems
    ]


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
