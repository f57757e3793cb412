"""What the estimate knows of operands and of local variables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from webhook.cel.ast import Node
from webhook.cel.cost.amounts import UNKNOWN, Range
from webhook.cel.cost.sizes import Path
from webhook.cel.types import Kind, Type


@dataclass(frozen=True, slots=True)
class Entry:
    """The sizes of the keys (or indexes) and values of a list or map."""

    kind: Kind
    key: Range
    value: Range

    def union(self, other: Entry) -> Entry:
        """Sizes that cover both; the kind is the first one's."""
        return Entry(self.kind, self.key.union(other.key), self.value.union(other.value))


@dataclass(frozen=True, slots=True)
class Local:
    """A local variable: where its value comes from, its size, and the sizes within it."""

    path: Path
    size: Range | None = None
    entry: Entry | None = None


@dataclass(frozen=True, slots=True)
class Operand:
    """An argument or receiver of a call. `node` is None for the elements of a list that is one."""

    path: Path
    type: Type
    node: Node | None
    size: Range | None

    @property
    def size_or_unknown(self) -> Range:
        """The size, or everything that is possible."""
        return self.size if self.size is not None else UNKNOWN


class Scopes:
    """The local variables in reach, innermost last."""

    def __init__(self) -> None:
        self._held: dict[str, list[Local]] = {}

    def find(self, name: str) -> Local | None:
        """The innermost variable of that name."""
        held = self._held.get(name)
        return held[-1] if held else None

    @contextmanager
    def holding(self, variables: Mapping[str, Local]) -> Iterator[None]:
        """Variables that are in reach within."""
        for name, local in variables.items():
            self._held.setdefault(name, []).append(local)
        yield
        for name in variables:
            self._held[name].pop()
