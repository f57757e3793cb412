"""Regular expressions, by RE2: linear in the text, whatever the pattern.

A pattern is compiled once and kept. RE2 is told to keep its complaints off standard error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import re2

from webhook.cel.library.go_patterns import PatternError, translated
from webhook.cel.library.table import Function, Overload
from webhook.cel.types import BOOL, INT, STRING, list_of
from webhook.cel.values import EvaluationError, Optional, TypeValue, no_such_overload, take

#: RE2's budget for one pattern, some twenty thousand instructions: it takes seconds for larger ones.
_MOST_MEMORY = 512 * 1024


def _options() -> Any:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MOST_MEMORY
    return options


_QUIET = _options()


_LARGE = 2_000  # instructions, 16 bytes each

#: Steps for reading a pattern: any one, for each instruction that it comes to, and for one that proves to be too large.
_READING, _PER_INSTRUCTION, _TOO_LARGE = 50, 4, 200_000


def compiled(pattern: str) -> Any:
    """The compiled pattern. PatternError when it is none."""
    return _kept(pattern) or _read(pattern)


@lru_cache(maxsize=1024)
def _kept(pattern: str) -> Any:
    """The compiled pattern, unless it is so large (`[a-z]{1000}{2}`) that only a few may be kept."""
    found = _read(pattern)
    return found if found.programsize <= _LARGE else None


@lru_cache(maxsize=16)
def _read(pattern: str) -> Any:
    try:
        found = re2.compile(translated(pattern), _QUIET)
    except re2.error as error:
        text = error.args[0].decode(errors="replace") if isinstance(error.args[0], bytes) else str(error)
        raise PatternError(f"error parsing regexp: {text}") from None
    return BetweenCharacters(found) if "\\B" in pattern else found


class BetweenCharacters:
    """A pattern with `\\B`, which RE2 also finds between the bytes of one character: such matches do not count."""

    def __init__(self, pattern: Any) -> None:
        self._pattern = pattern
        self.programsize = pattern.programsize

    def search(self, text: str) -> Any:
        """The first match, if there is one."""
        return next(self.finditer(text), None)

    def finditer(self, text: str) -> Iterator[Any]:
        """All matches."""
        data = text.encode("utf-8", "replace")
        for match in self._pattern.finditer(data):
            if match.start() == len(data) or data[match.start()] & 0xC0 != 0x80:
                yield _Match(match)


class _Match:
    """A match in bytes as one in a text."""

    __slots__ = ("_match", "end", "start")

    def __init__(self, match: Any) -> None:
        self._match, self.start, self.end = match, match.start, match.end

    def __getitem__(self, group: int) -> str:
        return str(self._match[group], "utf-8")


def _pattern(frame: list[Any], pattern: str, prefix: str = "") -> Any:
    """A pattern that is made while the expression runs. Its time is charged, whether or not it is remembered."""
    take(frame, _READING)
    try:
        found = compiled(pattern)
    except PatternError as error:
        take(frame, _TOO_LARGE if "too large" in str(error) else 0)
        raise EvaluationError(f"{prefix}{error}") from None
    take(frame, found.programsize * _PER_INSTRUCTION)
    return found


def _matches(frame: list[Any], text: Any, pattern: Any) -> bool:
    if type(text) is not str:
        raise no_such_overload("matches")
    if type(pattern) is not str:
        raise no_such_overload()
    return _pattern(frame, pattern).search(text) is not None


def _find(frame: list[Any], text: str, pattern: str) -> str:
    return _first(_pattern(frame, pattern, "Illegal regex: "), text)


def _find_all(frame: list[Any], text: str, pattern: str, limit: int = -1) -> list[str]:
    return _all(_pattern(frame, pattern, "Illegal regex: "), text, limit)


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
        takes_frame=True,
    ),
    Function("find", (Overload("string_find_string", (STRING, STRING), STRING, _find, member=True),), takes_frame=True),
    Function(
        "findAll",
        (
            Overload("string_find_all_string", (STRING, STRING), _STRINGS, _find_all, member=True),
            Overload("string_find_all_string_int", (STRING, STRING, INT), _STRINGS, _find_all, member=True),
        ),
        grows=True,
        takes_frame=True,
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
        takes_frame=True,
    ),
)

# With a constant pattern (always the second argument, the receiver included) the pattern is compiled with the expression
# and these are called: (compiled pattern, text, other arguments).
WITH_PATTERN: dict[str, Callable[..., Any]] = {"matches": _found, "find": _first, "findAll": _all}


def _native(value: Any) -> Any:
    """What Go has behind a value. Here, and only here, a type passes for its name and an optional value for what it holds."""
    while type(value) is Optional:
        value = value.value
    return value.name if type(value) is TypeValue else value


def with_pattern(function: str, pattern: str) -> Callable[..., Any]:
    """`function` for one pattern, testing the types of its other arguments. PatternError when it is none."""
    search, kept = WITH_PATTERN[function], _kept(pattern)

    def call(text: Any, *rest: Any) -> Any:
        if type(text) is not str or rest:
            text, rest = _native(text), tuple(map(_native, rest))
        if type(text) is not str or not all(type(number) is int for number in rest):
            raise no_such_overload()
        return search(kept or _read(pattern), text, *rest)

    return call
