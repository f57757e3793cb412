"""Regular expressions, by RE2: linear in the text, whatever the pattern.

A pattern is compiled once and kept. RE2 is told to keep its complaints off standard error.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import re2

from webhook.cel.library.table import Function, Overload
from webhook.cel.types import BOOL, INT, STRING, list_of
from webhook.cel.values import EvaluationError, no_such_overload


def _options() -> Any:
    options = re2.Options()
    options.log_errors = False
    return options


_QUIET = _options()


class PatternError(Exception):
    """The pattern is no regular expression; the text says why."""


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> Any:
    """The compiled pattern. PatternError when it is none."""
    try:
        return re2.compile(pattern, _QUIET)
    except re2.error as error:
        text = error.args[0].decode(errors="replace") if isinstance(error.args[0], bytes) else str(error)
        raise PatternError(f"error parsing regexp: {text}") from None


def _pattern(pattern: str, prefix: str = "") -> Any:
    try:
        return compiled(pattern)
    except PatternError as error:
        raise EvaluationError(f"{prefix}{error}") from None


def _matches(text: Any, pattern: Any) -> bool:
    if type(text) is not str:
        raise no_such_overload("matches")
    if type(pattern) is not str:
        raise no_such_overload()
    return _pattern(pattern).search(text) is not None


def _find(text: str, pattern: str) -> str:
    return _first(_pattern(pattern, "Illegal regex: "), text)


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    return _all(_pattern(pattern, "Illegal regex: "), text, limit)


def _found(pattern: Any, text: str) -> bool:
    return pattern.search(text) is not None


def _first(pattern: Any, text: str) -> str:
    found = pattern.search(text)
    return found[0] if found is not None else ""


def _all(pattern: Any, text: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    found: list[str] = []
    end = -1
    for match in pattern.finditer(text):
        if match.end() == match.start() == end:  # an empty match right behind the last match does not count
            continue
        end = match.end()
        found.append(match[0])
        if len(found) == limit:
            break
    return found


_STRINGS = list_of(STRING)

FUNCTIONS: tuple[Function, ...] = (
    Function(
        "matches",
        (
            Overload("matches", (STRING, STRING), BOOL),
            Overload("matches_string", (STRING, STRING), BOOL, member=True),
        ),
        shared=_matches,
    ),
    Function("find", (Overload("string_find_string", (STRING, STRING), STRING, _find, member=True),)),
    Function(
        "findAll",
        (
            Overload("string_find_all_string", (STRING, STRING), _STRINGS, _find_all, member=True),
            Overload("string_find_all_string_int", (STRING, STRING, INT), _STRINGS, _find_all, member=True),
        ),
        grows=True,
    ),
)

#: As it was before Kubernetes 1.37, when its worst case was not known to depend on the pattern unless it was a member.
OLDER: tuple[Function, ...] = (
    Function(
        "matches",
        (
            Overload("matches_of_old", (STRING, STRING), BOOL),
            Overload("matches_string", (STRING, STRING), BOOL, member=True),
        ),
        shared=_matches,
    ),
)

# With a constant pattern (always the second argument, the receiver included) the pattern is compiled with the expression
# and these are called: (compiled pattern, text, other arguments).
WITH_PATTERN: dict[str, Callable[..., Any]] = {"matches": _found, "find": _first, "findAll": _all}


def with_pattern(function: str, pattern: Any) -> Callable[..., Any]:
    """`function` for one compiled pattern, testing the types of its other arguments."""
    search = WITH_PATTERN[function]

    def call(text: Any, *rest: Any) -> Any:
        if type(text) is not str or not all(type(number) is int for number in rest):
            raise no_such_overload()
        return search(pattern, text, *rest)

    return call
