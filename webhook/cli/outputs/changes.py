"""What differs between two versions of an object, as YAML of the touched parts only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import ndiff
from typing import Any, Final, Literal

from webhook.cli.outputs.documents import as_yaml
from webhook.model.pointer import field_path, join

Sign = Literal["+", "-", " "]

#: Longer texts of a single line (an annotation that holds JSON) are cut: the whole is in `-o json`.
_LONGEST: Final = 160


@dataclass(frozen=True, slots=True)
class Change:
    """One touched part: its field path, the name of the list entry it is (or is in), and its lines with their signs."""

    path: str
    name: str
    lines: tuple[tuple[Sign, str], ...]

    @property
    def title(self) -> str:
        """`spec.devices.requests[0] "gpu"`"""
        place = self.path or "the object"
        return f'{place} "{self.name}"' if self.name else place


def changes(before: object, after: object) -> tuple[Change, ...]:
    """The smallest parts that tell all differences: the keys that changed of each object, lists entry by entry."""
    return tuple(_changes(before, after, "", ""))


def _changes(before: Any, after: Any, pointer: str, name: str) -> Iterator[Change]:
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _changes_of_object(before, after, pointer, name)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for i, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _changes(old, new, join(pointer, i), _name_of(new))
    elif before != after:
        yield Change(field_path(pointer), name, _line_by_line(before, after))


def _changes_of_object(before: dict[str, Any], after: dict[str, Any], pointer: str, name: str) -> Iterator[Change]:
    removed = {key: value for key, value in before.items() if key not in after}
    added = {key: value for key, value in after.items() if key not in before}
    if removed or added:
        lines = (*_signed("-", removed), *_signed("+", added))
        yield Change(field_path(pointer), name, lines)
    for key in before:
        if key in after:
            yield from _changes(before[key], after[key], join(pointer, key), "")


def _name_of(entry: object) -> str:
    found = entry.get("name") if isinstance(entry, dict) else None
    return found if isinstance(found, str) else ""


def _signed(sign: Sign, part: object) -> Iterator[tuple[Sign, str]]:
    if part not in ({}, []):
        yield from ((sign, _cut(line)) for line in as_yaml(part).splitlines())


def _line_by_line(before: object, after: object) -> tuple[tuple[Sign, str], ...]:
    old, new = (_yaml_lines(part) for part in (before, after))
    found: list[tuple[Sign, str]] = []
    for line in ndiff(old, new):
        match line[0]:
            case "+":
                found.append(("+", _cut(line[2:])))
            case "-":
                found.append(("-", _cut(line[2:])))
            case " ":
                found.append((" ", _cut(line[2:])))
    return tuple(found)


def _yaml_lines(part: object) -> list[str]:
    # A scalar as a document of its own is followed by an end marker.
    return [line for line in as_yaml(part).splitlines() if line != "..."]


def _cut(line: str) -> str:
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 20]}... ({len(line)} characters)"
