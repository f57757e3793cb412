"""Verdicts in every form `review` prints: text, documents for machines, JUnit cases, SARIF results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from typing import Any, Final

from rich.text import Text

from webhook.cli.console import STYLES
from webhook.cli.judging import Verdict
from webhook.cli.outputs.changes import Change, changes
from webhook.cli.outputs.documents import plain
from webhook.cli.outputs.junit import TestCase
from webhook.cli.outputs.sarif import Level, Result, SarifRule
from webhook.engine.render import one_line, warning
from webhook.model.finding import Judged, Severity
from webhook.rules import ALL

_LEVELS: Final[dict[Severity, Level]] = {"deny": "error", "warn": "warning", "note": "note"}
_SIGN_STYLES: Final = {"+": "green", "-": "red", " ": ""}


def verdict_document(verdict: Verdict) -> dict[str, Any]:
    """What `review -o json` prints of one object. Machines depend on its keys: docs/cli.md."""
    asked, decision = verdict.asked, verdict.decision
    return {
        "source": asked.document.place,
        "apiVersion": asked.api_version,
        "kind": asked.review.kind,
        "namespace": asked.namespace,
        "name": asked.name,
        "operation": asked.review.operation,
        "allowed": decision.allowed,
        "code": decision.code,
        "message": decision.message,
        "warnings": list(decision.warnings),
        "findings": [finding_document(item) for item in decision.findings],
        "patch": plain(decision.patch),
        "auditAnnotations": dict(decision.audit_annotations),
    }


def finding_document(judged: Judged) -> dict[str, str]:
    """One entry of `findings`. `severity` is what the finding comes to after modes and exemptions."""
    finding = judged.finding
    return {
        "rule": finding.rule,
        "reason": finding.reason,
        "detail": finding.detail,
        "severity": judged.effect,
        "mode": judged.mode,
        "path": finding.path,
        "remedy": finding.remedy,
        "policy": finding.policy,
    }


def verdict_text(verdict: Verdict) -> Text:
    """A verdict as a person reads it: one line, then what there is to say, indented."""
    asked, decision = verdict.asked, verdict.decision
    text = Text()
    text.append(f"{verdict.word:<6}", STYLES[verdict.word])
    operation = "" if asked.review.operation == "CREATE" else f", {asked.review.operation.lower()}"
    text.append(f" {asked.label}{operation}", "bold")
    text.append(f"  {asked.document.place}", "dim")
    if verdict.remark:
        text.append(f"  ({verdict.remark})", "dim")
    for line in decision.message.splitlines():
        text.append(f"\n  {line}")
    for line in decision.warnings:
        text.append("\n  warning: ", STYLES["warn"]).append(line)
    for item in decision.findings:
        if item.effect == "note":
            text.append(f"\n  {_noted(item)}", STYLES["note"])
    if decision.internal_error:
        text.append("\n  fault: ", STYLES["error"]).append(one_line(decision.internal_error))
    if decision.patch:
        text.append("\n  stored as:").append_text(changes_text(verdict.asked.review.object, verdict.stored))
    if verdict.wished is not verdict.stored:
        text.append("\n  would be stored as, were the mode enforce:")
        text.append_text(changes_text(verdict.stored, verdict.wished))
    return text


def changes_text(before: object, after: object, *, indent: str = "    ") -> Text:
    """The difference of two objects, each line on a new line."""
    text = Text()
    last = ""
    for change in changes(before, after):
        if change.title != last:
            text.append(f"\n{indent}{change.title}", "bold")
            last = change.title
        text.append_text(_signed_lines(change, indent + "  "))
    return text


def _signed_lines(change: Change, indent: str) -> Text:
    text = Text()
    for sign, line in change.lines:
        text.append(f"\n{indent}{sign} {line}", _SIGN_STYLES[sign])
    return text


def _noted(item: Judged) -> str:
    own = item.finding.severity
    held = f" (mode {item.mode}, would {own})" if own != "note" else ""
    return f"note{held}: {warning(item.finding)}"


def summary(verdicts: Sequence[Verdict]) -> str:
    """`4 objects: 1 denied, 1 changed, 2 allowed`"""
    counts = Counter(verdict.word for verdict in verdicts)
    names = {"deny": "denied", "mutate": "changed", "warn": "allowed with warnings", "allow": "allowed"}
    parts = [f"{counts[word]} {name}" for word, name in names.items() if counts[word]]
    return f"{len(verdicts)} object{'' if len(verdicts) == 1 else 's'}: {', '.join(parts) or 'nothing to judge'}"


def junit_case(verdict: Verdict) -> TestCase:
    """A denial is a failure; warnings and notes are its output."""
    decision = verdict.decision
    denying = [item.finding.reason for item in decision.findings if item.effect == "deny"]
    notes = (_noted(item) for item in decision.findings if item.effect == "note")
    return TestCase(
        name=verdict.asked.label,
        group=verdict.asked.document.source,
        line=verdict.asked.document.line,
        failure="" if decision.allowed else decision.message,
        failure_type=", ".join(dict.fromkeys(denying)),
        error=decision.internal_error,
        output="\n".join([*(f"warning: {line}" for line in decision.warnings), *notes]),
    )


def sarif_results(verdict: Verdict, line_of: Callable[[Verdict, str], int]) -> Iterator[Result]:
    """One result per finding. `line_of` gives the line on which a field path of the verdict's object is written."""
    asked = verdict.asked
    for item in verdict.decision.findings:
        finding = item.finding
        said = ": ".join(part for part in (*finding.via, finding.place or finding.path, finding.detail) if part)
        key = "\n".join((asked.label, finding.rule, finding.reason, finding.path, finding.detail))
        yield Result(
            rule=finding.rule,
            level=_LEVELS[item.effect],
            message=f"{asked.label}: {said}" + (f"\n{finding.remedy}" if finding.remedy else ""),
            source=asked.document.source,
            line=line_of(verdict, finding.path),
            logical=finding.path,
            fingerprint=sha256(key.encode()).hexdigest()[:32],
            properties={"reason": finding.reason, "mode": item.mode, "policy": finding.policy},
        )


def sarif_rules() -> tuple[SarifRule, ...]:
    """All rules, each with what its reasons stand for."""
    return tuple(SarifRule(id=rule.id, summary="; ".join(reason.summary for reason in rule.reasons) or rule.id) for rule in ALL)
