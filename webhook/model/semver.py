"""Semantic versions 2.0.0, as the scheduler reads and orders them.

Parsing is strict: three numbers without leading zeros, then an optional pre-release and build. Build metadata takes no
part in comparison. Nothing here knows of attributes or CEL.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache, total_ordering
from typing import TypeAlias

_MAX = 2**64 - 1
_DIGITS = re.compile(r"[0-9]*")
_ALPHANUMERIC = re.compile(r"[0-9A-Za-z-]*")

# A numeric pre-release identifier sorts below an alphanumeric one: (0, number, "") < (1, 0, text).
PreRelease: TypeAlias = tuple[int, int, str]
_Order: TypeAlias = tuple[int, int, int, bool, tuple[PreRelease, ...]]


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Semver:
    """One version. Equality and order ignore `build`."""

    major: int
    minor: int
    patch: int
    pre_release: tuple[PreRelease, ...] = ()
    build: tuple[str, ...] = ()

    def _order(self) -> _Order:
        # A release comes after all of its pre-releases.
        return (self.major, self.minor, self.patch, not self.pre_release, self.pre_release)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Semver):
            return NotImplemented
        return self._order() == other._order()

    def __lt__(self, other: Semver) -> bool:
        return self._order() < other._order()

    def __hash__(self) -> int:
        return hash(self._order())

    def __str__(self) -> str:
        text = f"{self.major}.{self.minor}.{self.patch}"
        if self.pre_release:
            text += "-" + ".".join(name or str(number) for _, number, name in self.pre_release)
        return text + ("+" + ".".join(self.build) if self.build else "")


def parse_semver(text: str) -> Semver:
    """The version that `text` spells. ValueError says what is wrong with it."""
    if not text:
        raise ValueError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise ValueError("No Major.Minor.Patch elements found")
    rest, plus, build = parts[2].partition("+")
    patch, dash, pre_release = rest.partition("-")
    return Semver(
        major=_number(parts[0], "major"),
        minor=_number(parts[1], "minor"),
        patch=_number(patch, "patch"),
        pre_release=tuple(map(_pre_release, pre_release.split("."))) if dash else (),
        build=tuple(map(_build, build.split("."))) if plus else (),
    )


cached_semver = lru_cache(maxsize=4096)(parse_semver)
"""`parse_semver` with a bounded memory: a fleet repeats few versions many times."""


def normalized_semver(text: str) -> Semver:
    """`text` read leniently: a leading v, leading zeros and missing numbers are forgiven."""
    parts = text.removeprefix("v").split(".", 2)
    parts = [_without_zeros(part) if len(part) > 1 else part for part in parts]
    if len(parts) < 3:
        if "+" in parts[-1] or "-" in parts[-1]:
            raise ValueError("short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return parse_semver(".".join(parts))


def _without_zeros(part: str) -> str:
    stripped = part.lstrip("0")
    return stripped if stripped[:1] in tuple("0123456789") else "0" + stripped


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _number(text: str, what: str) -> int:
    if not _DIGITS.fullmatch(text):
        raise ValueError(f"Invalid character(s) found in {what} number {_quoted(text)}")
    if len(text) > 1 and text[0] == "0":
        raise ValueError(f"{what.capitalize()} number must not contain leading zeroes {_quoted(text)}")
    return _uint64(text)


def _uint64(text: str) -> int:
    if not text:
        raise ValueError('strconv.ParseUint: parsing "": invalid syntax')
    if len(text) > 20 or int(text) > _MAX:
        raise ValueError(f'strconv.ParseUint: parsing "{text}": value out of range')
    return int(text)


def _pre_release(text: str) -> PreRelease:
    if not text:
        raise ValueError("Prerelease is empty")
    if _DIGITS.fullmatch(text):
        if len(text) > 1 and text[0] == "0":
            raise ValueError(f'Numeric PreRelease version must not contain leading zeroes "{text}"')
        return (0, _uint64(text), "")
    if not _ALPHANUMERIC.fullmatch(text):
        raise ValueError(f"Invalid character(s) found in prerelease {_quoted(text)}")
    return (1, 0, text)


def _build(text: str) -> str:
    if not text:
        raise ValueError("Build meta data is empty")
    if not _ALPHANUMERIC.fullmatch(text):
        raise ValueError(f"Invalid character(s) found in build meta data {_quoted(text)}")
    return text
