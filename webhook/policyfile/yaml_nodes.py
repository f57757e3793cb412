"""What a YAML document consists of: scalars, sequences, mappings, each with its place. Scalars are read by YAML 1.2.

Under YAML 1.2's core schema `on`, `off`, `yes`, `no` and dates are text: a rule can be switched `off` without quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from webhook.policyfile.source import Place

ScalarValue: TypeAlias = "str | int | float | bool | None"

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
# Longer runs of digits are names, not numbers anybody counts with (and Python refuses to convert 4,300 of them).
_INTEGER = re.compile(r"[-+]?[0-9]{1,30}")
_OCTAL = re.compile(r"0o[0-7]{1,30}")
_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]{1,30}")
_FLOAT = re.compile(r"[-+]?(?=[^.eE]*[.eE])(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]{1,30})?")
_SPECIAL_FLOAT = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scalar:
    """A single value. `text` is what was written, unquoted; `end` the index behind its last character.

    `style` is "" for plain text, else the quote or block character. `size` counts nodes, aliases expanded.
    """

    place: Place
    end: int
    text: str
    style: str
    value: ScalarValue
    size: int = 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sequence:
    """A list."""

    place: Place
    items: tuple[Node, ...]
    size: int = 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Mapping:
    """Keys and values in file order. No key is there twice."""

    place: Place
    entries: tuple[tuple[Scalar, Node], ...]
    size: int = 1

    def get(self, name: str) -> Node | None:
        """The value of a key, or None."""
        return next((value for key, value in self.entries if key.text == name), None)

    def names(self) -> Iterator[str]:
        """The keys."""
        return (key.text for key, _ in self.entries)


Node: TypeAlias = Scalar | Sequence | Mapping


def plain(node: Node) -> Any:
    """The node as JSON-like data."""
    match node:
        case Scalar():
            return node.value
        case Sequence():
            return [plain(item) for item in node.items]
        case Mapping():
            return {key.text: plain(value) for key, value in node.entries}


def find(node: Node, *path: str | int) -> Node:
    """The node at `path`, or the deepest one on the way there."""
    here = node
    for step in path:
        below: Node | None = None
        if isinstance(step, str) and isinstance(here, Mapping):
            below = here.get(step)
        elif isinstance(step, int) and isinstance(here, Sequence) and step < len(here.items):
            below = here.items[step]
        if below is None:
            return here
        here = below
    return here


def core_value(text: str) -> ScalarValue:
    """What plain text means under the core schema of YAML 1.2 (section 10.3.2)."""
    if text in _NULLS:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _OCTAL.fullmatch(text):
        return int(text[2:], 8)
    if _HEXADECIMAL.fullmatch(text):
        return int(text, 16)
    if _FLOAT.fullmatch(text):
        return float(text)
    if _SPECIAL_FLOAT.fullmatch(text):
        return float(text.replace(".", "", 1))
    return text
