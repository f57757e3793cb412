"""Which possible shapes of an alternative are not declared. The entries first, then `compatible-when` on real devices."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Final, TypeAlias

from webhook.fleet.fleet import Fleet
from webhook.fleet.memo import remembered
from webhook.fleet.nodes import NodeSet
from webhook.model.claim import MAX_RESULTS, Alternative, Claim, ClaimSpec, Request
from webhook.model.device import Device
from webhook.rulekit.compatibility.declared import Declared, Statement
from webhook.rulekit.policies import PolicySet
from webhook.rulekit.shapes.catalog import Catalog, catalog_for
from webhook.rulekit.shapes.enumeration import choices
from webhook.rulekit.shapes.possible import allocated_devices, alternative_shapes, devices_for, example_devices
from webhook.rulekit.shapes.shape import AlternativeShapes, Shape
from webhook.rulekit.shapes.shape_cel import shape_value

#: Choices of devices that `compatible-when` is asked about for one shape. With more it does not cover the shape.
_MOST_CHOICES: Final = 512
#: Answers kept per inventory before all are dropped.
_KEPT: Final = 4096

_Named: TypeAlias = "tuple[str, Device]"


def uncovered(
    fleet: Fleet,
    policies: PolicySet,
    spec: ClaimSpec,
    request: Request,
    alternative: Alternative,
    nodes: NodeSet,
    declared: Declared,
) -> tuple[Shape, ...]:
    """The possible shapes of `alternative` on `nodes` that the declaration in force does not cover, in order.

    All of them when nothing is declared. Remembered on the inventory.
    """
    possible = alternative_shapes(fleet, policies, spec, request, alternative, nodes)
    statement = declared.statement
    return remembered(
        fleet.inventory.memo.setdefault("uncovered", {}),
        (possible, statement),
        lambda: tuple(_uncovered(fleet, catalog_for(policies), alternative, nodes, possible, statement)),
        _KEPT,
    )


def allocated_uncovered(
    fleet: Fleet, policies: PolicySet, claim: Claim, request: str, shape: Shape, declared: Declared
) -> bool:
    """Whether `shape`, which `request` of an allocated claim was given, is not covered by the declaration in force."""
    catalog = catalog_for(policies)
    if declared.statement.lists(shape, catalog):
        return False
    given = [(catalog.model_of(device, fleet.inventory.classes), device) for device in allocated_devices(fleet, claim, request)]
    # A device that is not published any more cannot be shown to `compatible-when`.
    return len(given) != shape.count or not _holds(declared.statement, given)


def _uncovered(
    fleet: Fleet,
    catalog: Catalog,
    alternative: Alternative,
    nodes: NodeSet,
    possible: AlternativeShapes,
    statement: Statement,
) -> Iterator[Shape]:
    left = [shape for shape in possible.shapes if not statement.lists(shape, catalog)]
    if statement.when is None:
        yield from left
        return
    if possible.by_example:
        devices = list(example_devices(fleet.inventory, catalog, alternative))
    else:
        devices = list(devices_for(fleet, catalog, alternative, nodes))
    by_model = _variants(devices, statement.when.text)
    for shape in left:
        given = _whole_nodes(fleet, nodes, devices, shape) if shape.every else _choices(shape.parts, by_model)
        if not _always_holds(statement, given):
            yield shape


def _always_holds(statement: Statement, given: Iterator[list[_Named]]) -> bool:
    asked = list(islice(given, _MOST_CHOICES + 1))
    return 0 < len(asked) <= _MOST_CHOICES and all(_holds(statement, choice) for choice in asked)


def _holds(statement: Statement, devices: list[_Named]) -> bool:
    """Whether `compatible-when` says yes to these devices. An error is no."""
    return statement.when is not None and statement.when.evaluate({"shape": shape_value(devices)}) is True


def _variants(devices: Iterable[_Named], text: str) -> Mapping[str, list[tuple[Device, int]]]:
    """By model: one device of each sort that `text` could tell apart, and how many of that sort there are.

    Only attributes and capacities whose name occurs in the text can make a difference to it.
    """
    groups: dict[str, dict[Hashable, tuple[Device, int]]] = {}
    for model, device in devices:
        sort = (
            device.driver,
            tuple((name, held) for name, held in sorted(device.attributes.items()) if name.rpartition("/")[2] in text),
            tuple((name, held) for name, held in sorted(device.capacity.items()) if name.rpartition("/")[2] in text),
        )
        sorts = groups.setdefault(model, {})
        first, number = sorts.get(sort, (device, 0))
        sorts[sort] = (first, number + (MAX_RESULTS if device.sharable else 1))
    return {model: list(sorts.values()) for model, sorts in groups.items()}


def _choices(parts: tuple[tuple[str, int], ...], by_model: Mapping[str, list[tuple[Device, int]]]) -> Iterator[list[_Named]]:
    """Every different choice of devices that makes a shape of these parts."""
    if not parts:
        yield []
        return
    (model, count), *others = parts
    for chosen in choices(by_model.get(model, []), count):
        taken = [(model, device) for device, number in chosen for _ in range(number)]
        for rest in _choices(tuple(others), by_model):
            yield [*taken, *rest]


def _whole_nodes(fleet: Fleet, nodes: NodeSet, devices: list[_Named], shape: Shape) -> Iterator[list[_Named]]:
    """All devices of each node that has exactly the models of `shape`."""
    for node in fleet.nodes.members(nodes):
        bit = 1 << fleet.nodes.index(node.name)
        here = [(model, device) for model, device in devices if fleet.nodes.reached(device.reach) & bit]
        if tuple(sorted({model for model, _ in here})) == shape.models:
            yield here
