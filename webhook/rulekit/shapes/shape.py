"""What one request may be given: a multiset of models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from webhook.cel import CompileProblem
from webhook.fleet.inventory import DeviceError

#: The count of a part that stands for every device of that model on a node (allocationMode All).
EVERY: Final = 0


@dataclass(frozen=True, slots=True, order=True)
class Shape:
    """A multiset of models: (model, count) sorted by model. Either all counts are EVERY or none is."""

    parts: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        """`1x a100-80gb + 1x h100-80gb`, `*x tpu-v4`."""
        return " + ".join(f"{'*' if count == EVERY else count}x {model}" for model, count in self.parts)

    @property
    def every(self) -> bool:
        """Whether it is all devices of a node."""
        return any(count == EVERY for _, count in self.parts)

    @property
    def count(self) -> int:
        """How many devices it has; 0 when it is all of a node."""
        return sum(count for _, count in self.parts)

    @property
    def models(self) -> tuple[str, ...]:
        """Its models, sorted."""
        return tuple(model for model, _ in self.parts)


def shape_of(counts: Mapping[str, int]) -> Shape:
    """The shape with these models and counts."""
    return Shape(tuple(sorted(counts.items())))


def shape_of_models(models: Iterable[str]) -> Shape:
    """The shape of devices with these models, one each."""
    counts: dict[str, int] = {}
    for model in models:
        counts[model] = counts.get(model, 0) + 1
    return shape_of(counts)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AlternativeShapes:
    """What an alternative may be given on some nodes.

    `shapes` lists at least everything the allocator could hand out, sorted. `uncertain` is "" or one sentence that says why
    `shapes` may not be all, or why there is none. `unreachable` are shapes that the counts of devices would allow and nothing
    can ever give, each with the reason. `models` and `drivers` are those of the devices that match on those nodes, whether or
    not there are enough of them. `matches` counts these devices. `problems` are selectors that do not compile. `by_example`: no
    live device matches, the catalog's examples named the shapes.
    """

    shapes: tuple[Shape, ...] = ()
    uncertain: str = ""
    unreachable: tuple[tuple[Shape, str], ...] = ()
    models: tuple[str, ...] = ()
    drivers: tuple[str, ...] = ()
    matches: int = 0
    spell_errors: Callable[[], tuple[DeviceError, ...]] = field(default=tuple, repr=False, compare=False)
    problems: tuple[CompileProblem, ...] = ()
    class_missing: bool = False
    by_example: bool = False

    @property
    def errors(self) -> tuple[DeviceError, ...]:
        """The CEL errors on devices, which count as not matching. Spelt out for whoever asks: there may be thousands."""
        return self.spell_errors()
