"""Findings as text: the denial a pod's author reads, and the one-line warnings kubectl prints.

A warning with a newline or a tab is dropped by the API server without a word, and more than 4096 characters of warnings are
cut to 256 each (apiserver warning recorder): lines are made to fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from webhook.model.finding import Finding, Judged

#: Findings spelt out in one denial; the rest is counted.
MOST_FINDINGS = 20
#: Characters of one warning, and of all warnings of an answer.
WARNING_LENGTH, WARNINGS_LENGTH = 480, 4000


def denial(judged: Sequence[Judged], *, review: str = "", help_line: str = "") -> str:
    """The text of a refusal: every denying finding, grouped by rule and headline, with remedies and who said so.

    `review` is the request uid ("" when there is none); its first eight characters lead to the log.
    """
    denying = [item.finding for item in judged if item.effect == "deny"]
    shown, left = denying[:MOST_FINDINGS], len(denying) - MOST_FINDINGS
    blocks = [_block(group, review) for group in _grouped(shown)]
    if left > 0:
        blocks.append(f"and {left} more finding{'' if left == 1 else 's'}")
    if help_line:
        blocks.append(help_line)
    return "\n".join(blocks)


def warning_lines(judged: Iterable[Judged]) -> tuple[str, ...]:
    """One line per finding that warns, within what the API server lets through."""
    lines: list[str] = []
    room = WARNINGS_LENGTH
    for item in judged:
        if item.effect != "warn":
            continue
        line = warning(item.finding)
        room -= len(line)
        if room < 0:
            break
        lines.append(line)
    return tuple(lines)


def warning(finding: Finding) -> str:
    """A finding as a single line: rule, place, what is wrong, what to write instead."""
    place = finding.place or finding.path
    where = f"{place}: " if place else ""
    via = f"{'; '.join(finding.via)}: " if finding.via else ""
    remedy = f" ({_run_on(finding.remedy)})" if finding.remedy else ""
    line = one_line(f"[{finding.rule}] {via}{where}{finding.detail}{remedy}")
    return line if len(line) <= WARNING_LENGTH else line[: WARNING_LENGTH - 3] + "..."


def one_line(text: str) -> str:
    """`text` without line breaks and tabs, runs of blanks folded."""
    return " ".join(text.split())


def _run_on(remedy: str) -> str:
    """The lines of a remedy as one: a colon leads to the next, anything else is set apart; carets point at nothing here."""
    lines = [one_line(line).removeprefix("^").lstrip() for line in remedy.splitlines()]
    joined = "; ".join(line for line in lines if line)
    return joined.replace(":; ", ": ")


def _grouped(findings: Iterable[Finding]) -> list[list[Finding]]:
    groups: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.rule, finding.policy, finding.headline), []).append(finding)
    return list(groups.values())


def _block(group: Sequence[Finding], review: str) -> str:
    first = group[0]
    lines = [first.headline] if first.headline else []
    lines += _places(group)
    lines += ["  " + line for remedy in dict.fromkeys(item.remedy for item in group) for line in remedy.splitlines()]
    lines.append("  [" + ", ".join(part for part in (first.rule, _policy(first), _review(review)) if part) + "]")
    return "\n".join(lines)


def _places(group: Sequence[Finding]) -> list[str]:
    lines: list[str] = []
    last: tuple[str, ...] = ()
    for finding in group:
        if finding.via != last:
            lines += ["  " * (depth + 1) + step for depth, step in enumerate(finding.via)]
            last = finding.via
        place = finding.place or finding.path
        indent = "  " * (len(finding.via) + 1)
        lines.append(f"{indent}{place + ' ' if place else ''}{finding.detail}")
    return lines


def _policy(finding: Finding) -> str:
    return f"policy {finding.policy}" if finding.policy else ""


def _review(uid: str) -> str:
    return f"review {uid[:8]}" if uid else ""
