"""Whose are a node's devices: who is declared to own it, and which side has it.

A side *has* a node when it advertises devices there or still holds some: the device plugin by allocatable above 0 and by pods
that were given the resource (also after the plugin is gone), DRA by published devices and by allocated claims (adminAccess
apart). All sets are worked out once per state of the fleet.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_

from webhook.fleet.fleet import Fleet
from webhook.fleet.nodes import Nodes, NodeSet
from webhook.model.labels import matches_any
from webhook.rulekit.ownership.extended_resources import allocatable
from webhook.rulekit.ownership.memo import kept
from webhook.rulekit.policies import DeviceOwnership, NodeOwner


@dataclass(frozen=True, slots=True, eq=False)
class Owners:
    """The nodes of each declared owner; `undecided` are all others. `declared` has the nodes of each entry of the policy's
    owners, in its order: where several entries fit a node, the first counts."""

    dra: NodeSet
    plugin: NodeSet
    split: NodeSet
    undecided: NodeSet
    declared: tuple[NodeSet, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """Which side has which nodes: what it offers, and what it holds."""

    plugin_offers: NodeSet
    plugin_holds: NodeSet
    dra_offers: NodeSet
    dra_holds: NodeSet

    @property
    def plugin(self) -> NodeSet:
        """The nodes that the device plugin has."""
        return self.plugin_offers | self.plugin_holds

    @property
    def dra(self) -> NodeSet:
        """The nodes that DRA has."""
        return self.dra_offers | self.dra_holds


def owners(nodes: Nodes, policy: DeviceOwnership) -> Owners:
    """Who is declared to own which nodes."""
    return kept(nodes.memo, ("owners", policy.header.name), (policy,), lambda: _owners(nodes, policy))


def _owners(nodes: Nodes, policy: DeviceOwnership) -> Owners:
    left = nodes.all
    by_owner: dict[NodeOwner, NodeSet] = {"dra": 0, "device-plugin": 0, "split": 0}
    declared: list[NodeSet] = []
    for entry in policy.owners:
        found = nodes.selected(entry.node_selector) & left
        declared.append(found)
        by_owner[entry.owner] |= found
        left &= ~found
    if policy.default != "undecided":
        by_owner[policy.default] |= left
        left = 0
    return Owners(by_owner["dra"], by_owner["device-plugin"], by_owner["split"], left, tuple(declared))


def sides(fleet: Fleet, policy: DeviceOwnership) -> Sides:
    """Which side has which nodes."""
    parts = (policy, fleet.inventory, fleet.holdings)
    return kept(fleet.nodes.memo, ("sides", policy.header.name), parts, lambda: _sides(fleet, policy))


def _sides(fleet: Fleet, policy: DeviceOwnership) -> Sides:
    offered = {
        name: _union(nodes for amount, nodes in by.items() if amount > 0) for name, by in allocatable(fleet.nodes).items()
    }
    held = _held(fleet)
    return Sides(
        plugin_offers=_of_group(offered, policy),
        plugin_holds=_of_group(held.by_resource, policy),
        dra_offers=_published(fleet, policy.driver),
        dra_holds=held.by_driver.get(policy.driver, 0),
    )


def _of_group(by_resource: Mapping[str, NodeSet], policy: DeviceOwnership) -> NodeSet:
    return _union(nodes for name, nodes in by_resource.items() if matches_any(name, policy.extended_resources))


def _published(fleet: Fleet, driver: str) -> NodeSet:
    nodes, inventory = fleet.nodes, fleet.inventory
    bound = inventory.bound_set(driver, nodes)
    shared = (device for pool in inventory.shared_pools if pool.driver == driver for device in pool.devices)
    return bound | _union(nodes.reached(device.reach) for device in shared)


@dataclass(frozen=True, slots=True, eq=False)
class _Held:
    by_resource: Mapping[str, NodeSet]
    by_driver: Mapping[str, NodeSet]


def _held(fleet: Fleet) -> _Held:
    """Who holds what, for all groups at once: holdings change with every pod."""
    nodes, holdings = fleet.nodes, fleet.holdings
    return kept(nodes.memo, ("held",), (holdings,), lambda: _Held(holdings.plugin_sets(nodes), holdings.dra_sets(nodes)))


def _union(sets: Iterable[NodeSet]) -> NodeSet:
    return reduce(or_, sets, 0)
