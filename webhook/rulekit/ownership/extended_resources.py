"""Extended resources: on which nodes the device plugin serves one, and on which DRA does.

Per node and resource name, as the scheduler decides it (kubernetes pkg/scheduler framework/plugins/dynamicresources
extendeddynamicresources.go, KEP-5004): allocatable above 0 goes to the plugin, an absent name to the class that maps it. A name
that is present with 0 went to the plugin (and did not fit) before 1.36, and goes to the class from then on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from webhook.fleet.fleet import Fleet
from webhook.fleet.memo import remembered
from webhook.fleet.nodes import Nodes, NodeSet
from webhook.model.device import DeviceClass

#: From this minor version on, an allocatable of 0 leaves a resource to DRA.
ZERO_IS_DRA_SINCE = 36

#: A resource's allocatable amounts, each with the nodes that have it.
_ByAmount: TypeAlias = Mapping[int, NodeSet]


@dataclass(frozen=True, slots=True)
class Served:
    """Who serves an extended resource where.

    `plugin`: the plugin path with something to give; `starved`: the plugin path with allocatable 0; `dra`: a class does.
    """

    plugin: NodeSet
    starved: NodeSet
    dra: NodeSet


def class_in_force(fleet: Fleet, resource: str) -> DeviceClass | None:
    """The DeviceClass that serves `resource` where no plugin does; None without one, and where the server does not do that."""
    if not fleet.server.extended_resources:
        return None
    return next(iter(fleet.inventory.classes_serving(resource)), None)


def served(fleet: Fleet, resource: str) -> Served:
    """Who serves `resource` on which nodes."""
    mapped = class_in_force(fleet, resource) is not None
    zero_is_dra = mapped and fleet.server.minor >= ZERO_IS_DRA_SINCE
    nodes = fleet.nodes
    return remembered(
        nodes.memo, ("served", resource, mapped, zero_is_dra), lambda: _served(nodes, resource, mapped, zero_is_dra)
    )


def _served(nodes: Nodes, resource: str, mapped: bool, zero_is_dra: bool) -> Served:
    amounts = allocatable(nodes).get(resource, {})
    plugin, zero = _at_least(amounts, 1), amounts.get(0, 0)
    absent = nodes.all & ~(plugin | zero)
    return Served(
        plugin=plugin,
        starved=0 if zero_is_dra else zero,
        dra=(absent if mapped else 0) | (zero if zero_is_dra else 0),
    )


def offering(nodes: Nodes, resource: str, amount: int) -> NodeSet:
    """The nodes whose allocatable of `resource` is at least `amount`; with 0 all nodes that list the name."""
    return _at_least(allocatable(nodes).get(resource, {}), amount)


def allocatable(nodes: Nodes) -> Mapping[str, _ByAmount]:
    """Every extended resource that some node lists: its amounts, each with the nodes that have it."""
    return remembered(nodes.memo, ("allocatable",), lambda: _index(nodes))


def _index(nodes: Nodes) -> Mapping[str, _ByAmount]:
    named: dict[str, dict[int, list[str]]] = {}
    for name, node in nodes.by_name.items():
        for resource, amount in node.allocatable.items():
            named.setdefault(resource, {}).setdefault(amount, []).append(name)
    return {resource: {amount: nodes.named(names) for amount, names in amounts.items()} for resource, amounts in named.items()}


def _at_least(amounts: _ByAmount, least: int) -> NodeSet:
    found = 0
    for amount, nodes in amounts.items():
        if amount >= least:
            found |= nodes
    return found
