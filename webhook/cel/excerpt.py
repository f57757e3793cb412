"""A mistake as people see it: the line of the expression, cut to a readable length, and a caret under its place.

Whatever shows a mistake of an expression shows it through here: findings, policy files, annotations, the command line.
"""

from __future__ import annotations

import unicodedata

from webhook.cel.problems import CompileProblem

#: Characters of a line that are shown; longer lines are cut around the mistake.
_WIDTH = 100
_CUT = "..."


def excerpt(problem: CompileProblem, text: str, note: str = "") -> str:
    """Two lines: that of the mistake, and a caret with `note` behind it. "" when the text has no such line."""
    line = line_of(problem, text)
    if not line.strip():
        return ""
    shown, caret = pointed(line, problem.column)
    return f"{shown}\n{caret} {note}".rstrip()


def line_of(problem: CompileProblem, text: str) -> str:
    """The line of an expression that a problem is about, "" when there is none. Lines end as the parser counts them."""
    lines = text.split("\n")
    return lines[problem.line - 1] if 0 < problem.line <= len(lines) else ""


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
    return " " * sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me"):  # it is drawn over the one before
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
