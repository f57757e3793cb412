"""A problem as text: place, message, the line with a caret under the mistake, a hint."""

from __future__ import annotations

import unicodedata

from webhook.errors import Problem

#: Characters of a line that are shown; longer lines are cut around the mistake.
_WIDTH = 100
_CUT = "..."


def render_problem(problem: Problem) -> str:
    """Plain text over one to four lines, without a line break at its end."""
    place = ":".join(str(part) for part in (problem.source, problem.line, problem.column) if part)
    weight = "warning: " if problem.warning else ""
    lines = [f"{place}: {weight}{problem.message}" if place else f"{weight}{problem.message}"]
    if problem.line and problem.excerpt.strip():
        lines += [f"    {line}" for line in pointed(problem.excerpt, problem.column)]
    if problem.hint:
        lines.append(f"  {problem.hint}")
    return "\n".join(lines)


def pointed(text: str, column: int) -> tuple[str, str]:
    """A line without its indentation, cut to a readable length, and a caret under `column` (from 1) of it."""
    indentation = len(text) - len(text.lstrip())
    at = max(column - 1, 0)
    shown = "".join(" " if unicodedata.category(character).startswith("C") else character for character in text.rstrip())
    start = min(indentation, at)
    if len(shown) - start > _WIDTH:
        start = max(start, at - _WIDTH // 2)
        cut_before = start > indentation
        end = start + _WIDTH
        before, after = _CUT if cut_before else "", _CUT if len(shown) > end else ""
        return f"{before}{shown[start:end]}{after}", f"{_blank(before + shown[start:at])}^"
    return shown[start:], f"{_blank(shown[start:].ljust(at - start)[: at - start])}^"


def _blank(text: str) -> str:
    """Blanks as wide as `text` on a terminal."""
    return "".join("  " if unicodedata.east_asian_width(character) in "WF" else " " for character in text)
