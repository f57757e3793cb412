"""How large what an expression reads can be: what is declared of variables, by Kubernetes for `device`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from webhook.cel.cost.amounts import Range

# From a variable downwards a path has names of fields, and these for the parts of maps and lists.
ITEMS, INDEXES, KEYS, VALUES = "@items", "@indices", "@keys", "@values"


class Path:
    """Where a value comes from, kept as the scheduler's library keeps it.

    There, paths that begin alike share memory, and the last step of a later one can overwrite that of an earlier one. The
    estimate then takes the sizes of the wrong parts, so the same has to happen here.
    """

    __slots__ = ("_cells", "_length", "declared")

    def __init__(self, cells: list[str], length: int, declared: Mapping[str, Declared]) -> None:
        self._cells = cells  # as many as there is room for
        self._length = length
        self.declared = declared  # of the variables

    def __iter__(self) -> Iterator[str]:
        return iter(self._cells[: self._length])

    def __bool__(self) -> bool:
        return self._length > 0

    def then(self, name: str) -> Path:
        """The path that goes one step further."""
        if self._length < len(self._cells):
            self._cells[self._length] = name
            return Path(self._cells, self._length + 1, self.declared)
        return Path([*self._cells, name, *[""] * (self._length - 1)], self._length + 1, self.declared)

    def copy(self) -> Path:
        """The same path in memory of its own."""
        return Path(list(self), self._length, self.declared)


NO_PATH = Path([], 0, {})


@dataclass(frozen=True, slots=True, eq=False)
class Declared:
    """A declared type: the most elements or characters, and what it consists of. `open` maps have any names as fields."""

    most: int
    fields: Mapping[str, Declared] | None = None
    key: Declared | None = None
    element: Declared | None = None
    open: bool = False

    def part(self, name: str) -> Declared | None:
        """The declaration one step down a path."""
        if name in (ITEMS, VALUES):
            return self.element
        if name == KEYS:
            return self.key
        if self.fields is not None and name in self.fields:
            return self.fields[name]
        return self.element if self.open else None


_MAX_ATTRIBUTES = 32  # and capacities of a device
_DOMAIN, _ID, _DRIVER, _VALUE = Declared(63), Declared(32), Declared(63), Declared(64)
_ATTRIBUTES = Declared(_MAX_ATTRIBUTES, key=_ID, element=_VALUE, open=True)
_CAPACITIES = Declared(_MAX_ATTRIBUTES, key=_ID, element=Declared(0))

#: domain -> id -> value
ATTRIBUTES = Declared(_MAX_ATTRIBUTES, key=_DOMAIN, element=_ATTRIBUTES)
CAPACITY = Declared(_MAX_ATTRIBUTES, key=_DOMAIN, element=_CAPACITIES)
DEVICE = Declared(
    0, {"driver": _DRIVER, "allowMultipleAllocations": Declared(1), "attributes": ATTRIBUTES, "capacity": CAPACITY}
)
#: The variables of a selector.
DECLARED: Mapping[str, Declared] = {"device": DEVICE}


def declared_size(path: Path) -> Range | None:
    """The size of what is at a path, if it is declared."""
    names = iter(path)
    found = path.declared.get(next(names, ""))
    for name in names:
        if found is None:
            return None
        found = found.part(name)
    return Range(0, found.most) if found is not None else None
