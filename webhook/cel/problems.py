"""What is wrong with an expression before it runs.

`CompileProblem` is what callers see; the exceptions stay inside this package.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from webhook.cel.cost import LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from webhook.cel.ast import Position

_COUNTLESS = 10**12
_ENDLESS = (
    "of a text that orValue(), string() or + gives no length is known, and what reads all of it may cost without end: "
    "guard an attribute with has() and use it itself"
)

TOO_DEEP = "expression is nested too deeply"
#: Longer names are no misspelt ones, and looking for their like would take long.
_LONGEST_NAME = 64


@dataclass(frozen=True, slots=True)
class CompileProblem:
    """One mistake in an expression, at a place counted from 1. `hint` says what to write instead, where that can be told."""

    message: str
    line: int
    column: int
    hint: str = ""


class ExpressionError(Exception):
    """The expression cannot be compiled, for these reasons."""

    def __init__(self, *problems: CompileProblem) -> None:
        super().__init__(*(problem.message for problem in problems))
        self.problems = problems


def problem(message: str, at: Position, hint: str = "") -> CompileProblem:
    """A problem at the place of a node."""
    return CompileProblem(message, at.line, at.column, hint)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint to append to a message, or ""."""
    if len(name) > _LONGEST_NAME:
        return ""
    close = get_close_matches(name, sorted(known), n=1, cutoff=0.7)
    return f'; did you mean "{close[0]}"?' if close else ""


def too_costly(most: int) -> CompileProblem:
    """The API server's refusal of an expression that can cost that much."""
    hint = _ENDLESS
    if most < _COUNTLESS:
        hint = f"it can cost {most:,}, {LIMIT:,} are allowed: what stands in a loop counts for each element it can have"
    return CompileProblem("too complex, exceeds cost limit", 1, 1, hint)
