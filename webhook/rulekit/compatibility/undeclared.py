"""Which possible shapes of an alternative are not declared. The entries first, then `compatible-when` on real devices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from webhook.cel import Expression
from webhook.fleet.fleet import Fleet
from webhook.fleet.memo import remembered
from webhook.fleet.nodes import NodeSet
from webhook.model.claim import Alternative, Claim, ClaimSpec, Request
from webhook.rulekit.compatibility.declared import Declared, Statement
from webhook.rulekit.compatibility.device_sorts import Apart, Named, Part, Supply, counted, parts_of, supply_of, whole_nodes
from webhook.rulekit.policies import PolicySet
from webhook.rulekit.reading_limits import number_of_alternatives
from webhook.rulekit.shapes.catalog import Catalog, catalog_for
from webhook.rulekit.shapes.enumeration import choices
from webhook.rulekit.shapes.possible import allocated_devices, alternative_shapes, example_devices, usable_pools
from webhook.rulekit.shapes.shape import AlternativeShapes, Shape
from webhook.rulekit.shapes.shape_cel import shape_value

#: Choices of devices that `compatible-when` is asked about for one shape. With more it does not cover the shape.
_MOST_CHOICES: Final = 512
#: Steps that `compatible-when` may take for all alternatives of a review, some third of a microsecond each. What it has not
#: said yes to by then it does not cover.
MOST_STEPS: Final = 2_000_000
#: What it takes to show a device to an expression.
_STEPS_PER_DEVICE: Final = 24
_TOO_MANY: Final = f"it is not asked about more than {_MOST_CHOICES} different choices of devices"
_TOO_LONG: Final = "it takes too many steps to be asked about all devices"
#: Answers kept per inventory before all are dropped.
_KEPT: Final = 4096


@dataclass(frozen=True, slots=True)
class Uncovered:
    """The possible shapes that a declaration does not cover. `untried` says why `compatible-when` has not been asked about all
    choices of devices, "" if it has."""

    shapes: tuple[Shape, ...] = ()
    untried: str = ""


def uncovered(
    fleet: Fleet,
    policies: PolicySet,
    spec: ClaimSpec,
    request: Request,
    alternative: Alternative,
    nodes: NodeSet,
    declared: Declared,
    *,
    among: int = 0,
) -> Uncovered:
    """The possible shapes of `alternative` on `nodes` that the declaration in force does not cover, in order.

    All of them when nothing is declared. `among` are the alternatives that are judged together, those of the claim if not
    said: the steps that `compatible-when` may take are divided among them. Remembered on the inventory.
    """
    possible = alternative_shapes(fleet, policies, spec, request, alternative, nodes)
    statement = declared.statement
    most = MOST_STEPS // max(among or number_of_alternatives(spec), 1)
    return remembered(
        fleet.inventory.memo.setdefault("uncovered", {}),
        (possible, statement, most),
        lambda: _uncovered(fleet, catalog_for(policies), alternative, nodes, possible, statement, most),
        _KEPT,
    )


def allocated_uncovered(
    fleet: Fleet, policies: PolicySet, claim: Claim, request: str, shape: Shape, declared: Declared
) -> bool:
    """Whether `shape`, which `request` of an allocated claim was given, is not covered by the declaration in force."""
    catalog = catalog_for(policies)
    if declared.statement.lists(shape, catalog):
        return False
    when = declared.statement.when
    given = [(catalog.model_of(device, fleet.inventory.classes), device) for device in allocated_devices(fleet, claim, request)]
    # A device that is not published any more cannot be shown to `compatible-when`.
    return when is None or len(given) != shape.count or not _Condition(when, MOST_STEPS).always_holds(iter([given]))


def _uncovered(
    fleet: Fleet,
    catalog: Catalog,
    alternative: Alternative,
    nodes: NodeSet,
    possible: AlternativeShapes,
    statement: Statement,
    most: int,
) -> Uncovered:
    left = tuple(shape for shape in possible.shapes if not statement.lists(shape, catalog))
    if statement.when is None or not left:
        return Uncovered(left)
    condition = _Condition(statement.when, most)
    devices = _Devices(fleet, catalog, alternative, nodes, possible, Apart(statement.when.names), condition)
    left = tuple(shape for shape in left if condition.left < 0 or not condition.always_holds(devices.choices(shape)))
    return Uncovered(left, condition.untried if left else "")


class _Condition:
    """`compatible-when`, asked within a number of steps: beyond, nothing is shown to hold any more. `untried` says what it was
    not asked, "" if nothing."""

    def __init__(self, expression: Expression, most: int) -> None:
        self._expression = expression
        self.left = most
        self.untried = ""

    def always_holds(self, given: Iterator[Sequence[Named]]) -> bool:
        """Whether it says yes to every choice of devices. There must be one, and no more than can be asked about."""
        asked = list(islice(given, _MOST_CHOICES + 1))
        if len(asked) > _MOST_CHOICES:
            self.untried = _TOO_MANY
        return 0 < len(asked) <= _MOST_CHOICES and all(map(self._holds, asked))

    def _holds(self, devices: Sequence[Named]) -> bool:
        if not self.take(_STEPS_PER_DEVICE * len(devices)):
            return False
        result, steps = self._expression.tried({"shape": shape_value(devices)}, self.left)
        if result is None:
            self.give_up()
        return self.take(steps) and result is True

    def take(self, steps: int) -> bool:
        """Whether so many steps were left."""
        self.left -= steps
        if self.left < 0:
            self.give_up()
        return self.left >= 0

    def give_up(self) -> None:
        """Nothing more can be asked."""
        self.left, self.untried = -1, _TOO_LONG


class _Devices:
    """The devices of an alternative, by what a condition can tell apart; each way to choose some that make a shape."""

    def __init__(
        self,
        fleet: Fleet,
        catalog: Catalog,
        alternative: Alternative,
        nodes: NodeSet,
        possible: AlternativeShapes,
        apart: Apart,
        condition: _Condition,
    ) -> None:
        self._condition = condition
        self._supply: Supply = {}
        self._nodes: dict[tuple[str, ...], list[tuple[Named, ...]]] = {}
        if possible.by_example:
            examples = example_devices(fleet.inventory, catalog, alternative)
            self._supply = supply_of(((named, 1) for named in examples), apart)
            return
        self._read(parts_of(fleet, catalog, usable_pools(fleet, alternative, nodes), apart), possible, apart)

    def _read(self, parts: Iterable[Part], possible: AlternativeShapes, apart: Apart) -> None:
        condition = self._condition
        if any(shape.every for shape in possible.shapes):
            nodes = whole_nodes(parts, condition.left)
            if nodes is None:
                condition.give_up()
            for here in nodes or ():
                self._nodes.setdefault(tuple(sorted({model for model, _ in here})), []).append(here)
            return
        devices = counted(parts, condition.left // _STEPS_PER_DEVICE)
        if devices is None:
            condition.give_up()
        elif condition.take(_STEPS_PER_DEVICE * len(devices)):
            self._supply = supply_of(devices, apart)

    def choices(self, shape: Shape) -> Iterator[Sequence[Named]]:
        """Every different choice of devices that makes `shape`; of all devices of a node, every different node."""
        if shape.every:
            return iter(self._nodes.get(shape.models, ()))
        return _choices(shape.parts, self._supply)


def _choices(parts: tuple[tuple[str, int], ...], supply: Supply) -> Iterator[list[Named]]:
    if not parts:
        yield []
        return
    (model, count), *others = parts
    for chosen in choices(supply.get(model, []), count):
        taken = [(model, device) for device, number in chosen for _ in range(number)]
        for rest in _choices(tuple(others), supply):
            yield [*taken, *rest]
