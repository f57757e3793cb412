"""The compact form of a declaration: `h100-80gb, 2x a100-*, accelerator/gpu: 1-4x mi300x-*`.

    declaration = entry { ("," | new line) entry }
    entry       = [ [podclaim "/"] [request ":"] ] part { "+" part }
    part        = [ COUNT "x" ] MODEL
    COUNT       = N | N "-" M | "*"

MODEL is a catalog name, an alias or a glob; one that begins with `?` means devices of no model. See docs/declarations.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, reduce
from operator import or_

from webhook.rulekit.shapes.catalog import UNKNOWN, Catalog
from webhook.rulekit.shapes.shape import Shape

#: Models one entry may add up with `+`. More is no workload's wish, and covering is worked out over all subsets of them.
MOST_PARTS = 6
#: Entries and characters of one declaration, characters of one model: anybody may write one, and all of it is kept in memory.
MOST_ENTRIES, MOST_CHARACTERS, LONGEST_MODEL = 100, 10_240, 253
#: Digits of a count.
_MOST_DIGITS = 6
#: Characters of a line that are shown on each side of a mistake.
_AROUND = 60

_LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_SCOPE = re.compile(rf"\s*(?:(?P<claim>{_LABEL})/(?!/))?(?:(?P<request>{_LABEL})\s*:)?")
_BAD_SCOPE = re.compile(r"\s*([^?:+]*):")
_COUNT = re.compile(r"(?:(?P<all>\*)|(?P<low>[0-9]+)(?:-(?P<high>[0-9]+))?)\s*x(?=\s|\+|$)")
_COUNT_WITHOUT_X = re.compile(r"[0-9]+(?:-[0-9]+)?(?=\s+[^\s+])")
_NAMED = re.compile(r"[^\s,+]+")
_NAMELESS = re.compile(r"\?[^,+]*")
_NOT_IN_A_MODEL = re.compile(r"[^A-Za-z0-9._*?!\[\]-]")


@dataclass(frozen=True, slots=True)
class Part:
    """A number of devices of the models that fit `pattern`. `high` None: any number of them, also all there are."""

    pattern: str
    low: int = 1
    high: int | None = 1


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry. `text` is how it was written, without its scope; `pod_claim` and `request` are "" where it does not say."""

    text: str
    parts: tuple[Part, ...]
    pod_claim: str = ""
    request: str = ""

    @property
    def scope(self) -> str:
        """The scope as it is written in front of an entry, with the blank behind it: `accelerator/gpu: `, or ""."""
        claim = f"{self.pod_claim}/" if self.pod_claim else ""
        request = f"{self.request}:" if self.request else ""
        return f"{claim}{request} " if claim or request else ""

    def speaks_of(self, pod_claim: str, request: str) -> bool:
        """Whether it says anything about that request of that pod claim ("" = the pod claim is not known)."""
        return self.pod_claim in ("", pod_claim) and self.request in ("", request)

    def covers(self, shape: Shape, catalog: Catalog) -> bool:
        """Whether a program that runs on what this entry says runs on `shape`."""
        # Of each model, the parts it fits, as a bit set.
        fitting = [sum(1 << j for j, part in enumerate(self.parts) if catalog.fits(part.pattern, m)) for m in shape.models]
        if not all(fitting):
            return False
        if shape.every:
            used = reduce(or_, fitting)
            return all(part.high is None for part in self.parts) and used == (1 << len(self.parts)) - 1
        return self._can_be_shared_out(shape, fitting)

    def _can_be_shared_out(self, shape: Shape, fitting: list[int]) -> bool:
        # Devices go to parts so that each part gets between `low` and `high`: possible exactly when no set of parts is
        # offered too few devices, and no set of parts is the only place for too many (Hall's condition, both ways).
        offers = [(fits, count) for fits, (_, count) in zip(fitting, shape.parts, strict=True)]
        for chosen in range(1, 1 << len(self.parts)):
            parts = [part for j, part in enumerate(self.parts) if chosen >> j & 1]
            if sum(count for fits, count in offers if fits & chosen) < sum(part.low for part in parts):
                return False
            bound = sum(count for fits, count in offers if not fits & ~chosen)
            if all(part.high is not None for part in parts) and bound > sum(part.high or 0 for part in parts):
                return False
        return True


@dataclass(frozen=True, slots=True)
class Declaration:
    """The entries of a declaration, in order."""

    entries: tuple[Entry, ...]

    def about(self, pod_claim: str, request: str) -> tuple[Entry, ...]:
        """The entries that speak of a request of a pod claim."""
        return tuple(entry for entry in self.entries if entry.speaks_of(pod_claim, request))

    @property
    def patterns(self) -> tuple[str, ...]:
        """Every model name and glob in it, once, in order."""
        return tuple(dict.fromkeys(part.pattern for entry in self.entries for part in entry.parts))


@dataclass(frozen=True, slots=True)
class DeclarationProblem:
    """Why a declaration cannot be read. `line` is the line with the mistake, `column` counts from 1 in it."""

    message: str
    line: str
    column: int

    @property
    def pointed(self) -> str:
        """The line, and under it a caret with the message."""
        return point_at(self.line, self.column, self.message)


def point_at(line: str, column: int, message: str) -> str:
    """`line`, and under its `column` (from 1) a caret with `message`. Of a long line what is around the caret."""
    start = max(column - _AROUND, 0)
    shown = line[start : start + 2 * _AROUND].replace("\t", " ")
    return f"{shown}\n{' ' * (column - 1 - start)}^ {message}"


class _Mistake(Exception):
    def __init__(self, message: str, at: int) -> None:
        super().__init__(message)
        self.message, self.at = message, at


@lru_cache(maxsize=1024)
def parse_declaration(text: str) -> Declaration | DeclarationProblem:
    """The declaration that `text` writes, or the first thing that is wrong with it. Never raises."""
    if len(text) > MOST_CHARACTERS:
        return DeclarationProblem(f"it is longer than {MOST_CHARACTERS:,} characters", text[:_AROUND], 1)
    entries: list[Entry] = []
    for line in text.splitlines():
        try:
            entries.extend(_entries(line))
        except _Mistake as mistake:
            # Tabs would shift the caret.
            return DeclarationProblem(mistake.message, line.replace("\t", " "), mistake.at + 1)
    if len(entries) > MOST_ENTRIES:
        return DeclarationProblem(f"it has more than {MOST_ENTRIES} entries", text[:_AROUND].splitlines()[0], 1)
    if not entries:
        return DeclarationProblem("it is empty; name at least one shape, such as 2x a100-40gb", text.strip(), 1)
    return Declaration(tuple(entries))


def _entries(line: str) -> Iterator[Entry]:
    start = 0
    for piece in line.split(","):
        if piece.strip():
            yield _entry(line, start, start + len(piece.rstrip()))
        start += len(piece) + 1


def _entry(line: str, start: int, end: int) -> Entry:
    scope = _SCOPE.match(line, start, end)
    assert scope is not None, "every part of a scope is optional"
    at = scope.end()
    wrong = _BAD_SCOPE.match(line, at, end)
    if wrong:
        raise _Mistake('before ":" goes [podclaim/]request, in lower case letters, digits and "-"', wrong.start(1))
    first = _blanks(line, at, end)
    parts: list[Part] = []
    while True:
        part, at = _part(line, at, end)
        parts.append(part)
        if len(parts) > MOST_PARTS:
            raise _Mistake(f"an entry can add up at most {MOST_PARTS} models", at - len(part.pattern))
        at = _blanks(line, at, end)
        if at == end:
            break
        if line[at] != "+":
            raise _Mistake(f'"{part.pattern}" ends the entry: write "," or "+" before what follows', at)
        at += 1
    return Entry(line[first:end], tuple(parts), scope["claim"] or "", scope["request"] or "")


def _part(line: str, at: int, end: int) -> tuple[Part, int]:
    at = _blanks(line, at, end)
    count = _COUNT.match(line, at, end)
    if count is None:
        bare = _COUNT_WITHOUT_X.match(line, at, end)
        if bare:
            raise _Mistake(f'write the count as "{bare[0]}x"', at)
        pattern, at = _model(line, at, end)
        return Part(pattern), at
    low, high = _range(count)
    pattern, at = _model(line, count.end(), end)
    return Part(pattern, low, high), at


def _range(count: re.Match[str]) -> tuple[int, int | None]:
    if count["all"]:
        return 1, None
    if max(len(count["low"]), len(count["high"] or "")) > _MOST_DIGITS:
        raise _Mistake("the count is too large", count.start())
    low = int(count["low"])
    high = int(count["high"]) if count["high"] else low
    if low < 1:
        raise _Mistake("a count is at least 1", count.start())
    if high < low:
        raise _Mistake(f'the range is empty; write "{high}-{low}x"', count.start())
    return low, high


def _model(line: str, at: int, end: int) -> tuple[str, int]:
    at = _blanks(line, at, end)
    found = (_NAMELESS if line[at:end].startswith(UNKNOWN) else _NAMED).match(line, at, end)
    if found is None:
        raise _Mistake("a model is missing here", at)
    pattern = found[0].rstrip()
    if len(pattern) > LONGEST_MODEL:
        raise _Mistake(f"a model has at most {LONGEST_MODEL} characters", at)
    strange = None if pattern.startswith(UNKNOWN) else _NOT_IN_A_MODEL.search(pattern)
    if strange:
        hint = "; name the whole family with *" if strange[0] in "{}" else ""
        raise _Mistake(f'"{strange[0]}" cannot be part of a model name{hint}', at + strange.start())
    return pattern, at + len(pattern)


def _blanks(line: str, at: int, end: int) -> int:
    while at < end and line[at].isspace():
        at += 1
    return at
