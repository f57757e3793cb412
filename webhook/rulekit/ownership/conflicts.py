"""On which nodes an object could be given devices that another mechanism hands out as well.

The judgement of one device group (a DeviceOwnership policy): node sets only, no words. What it means for the object is the
rule's affair.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import or_

from webhook.fleet.fleet import Fleet
from webhook.fleet.nodes import NodeSet
from webhook.model.labels import matches_any
from webhook.rulekit.ownership.asks import ClaimAsk, DeviceAsks, ResourceAsk
from webhook.rulekit.ownership.extended_resources import offering
from webhook.rulekit.ownership.sides import Owners, owners, sides
from webhook.rulekit.policies import DeviceOwnership, NodeOwner


@dataclass(frozen=True, slots=True, eq=False)
class GroupAsks:
    """What an object asks of one group. `plugin` and `dra` are the nodes where it asks through either side, `starved` those
    where it asks a plugin that has nothing to give.

    `listed` are resources that the policy names, `claims` and `bridged` what can take a device of its driver.
    """

    plugin: NodeSet
    starved: NodeSet
    dra: NodeSet
    claims: tuple[ClaimAsk, ...]
    listed: tuple[ResourceAsk, ...]
    bridged: tuple[ResourceAsk, ...]

    @property
    def mixed(self) -> bool:
        """Whether the object asks both by claim and as an extended resource."""
        return bool(self.claims) and bool(self.listed or self.bridged)


@dataclass(frozen=True, slots=True, eq=False)
class Conflicts:
    """The nodes where an object would be given what is not its side's, by cause. No node has two causes.

    `safe` are the feasible nodes without a conflict that can meet all that is asked of the group (0 when nothing conflicts).
    """

    both_ways: NodeSet
    dra_on_plugins: NodeSet
    plugin_on_dras: NodeSet
    dra_on_both: NodeSet
    plugin_on_both: NodeSet
    safe: NodeSet

    @property
    def nodes(self) -> NodeSet:
        """All nodes with a conflict."""
        return self.both_ways | self.dra_on_plugins | self.plugin_on_dras | self.dra_on_both | self.plugin_on_both


def group_asks(asks: DeviceAsks, policy: DeviceOwnership) -> GroupAsks | None:
    """The part of `asks` that concerns the policy's devices; None when nothing does."""
    driver = policy.driver
    claims = tuple(ask for ask in asks.claims if ask.takes(driver))
    listed = tuple(ask for ask in asks.resources if matches_any(ask.resource, policy.extended_resources))
    bridged = tuple(ask for ask in asks.resources if ask.takes(driver))
    if not claims and not listed and not bridged:
        return None
    plugin = reduce(or_, (ask.served.plugin for ask in listed), 0)
    starved = reduce(or_, (ask.served.starved for ask in listed), 0)
    dra = reduce(or_, (*(ask.takes(driver) for ask in claims), *(ask.takes(driver) for ask in bridged)), 0)
    return GroupAsks(plugin, starved, dra, claims, listed, bridged)


def conflicts(fleet: Fleet, policy: DeviceOwnership, asks: GroupAsks, feasible: NodeSet) -> Conflicts:
    """Where on `feasible` nodes the asks conflict.

    A node conflicts when its declared owner is the other side, whatever the counts of this minute say; when no owner is
    declared and both sides have it; or when the object asks both ways there. `split` nodes never do.
    """
    owned = owners(fleet.nodes, policy)
    judged = feasible & ~owned.split
    both_ways = asks.plugin & asks.dra & judged
    dra = asks.dra & judged & ~both_ways
    plugin = (asks.plugin | asks.starved) & judged & ~both_ways
    has = sides(fleet, policy)
    undecided = owned.undecided & has.plugin & has.dra
    by_cause = (both_ways, dra & owned.plugin, plugin & owned.dra, dra & undecided, plugin & undecided & ~dra)
    conflicting = reduce(or_, by_cause)
    return Conflicts(*by_cause, safe=feasible & ~conflicting & _serving(fleet, owned, asks) if conflicting else 0)


def sides_asked(asks: GroupAsks, nodes: NodeSet) -> frozenset[NodeOwner]:
    """Through which sides the object asks on `nodes`."""
    asked: dict[NodeOwner, NodeSet] = {"dra": asks.dra & nodes, "device-plugin": (asks.plugin | asks.starved) & nodes}
    return frozenset(side for side, where in asked.items() if where)


def _serving(fleet: Fleet, owned: Owners, asks: GroupAsks) -> NodeSet:
    """The nodes that can meet every ask of the group."""
    left = fleet.nodes.all
    for claim in asks.claims:
        left &= claim.nodes
    for resource in {ask.resource: ask for ask in (*asks.listed, *asks.bridged)}.values():
        left &= _serving_resource(fleet, owned, resource)
    return left


def _serving_resource(fleet: Fleet, owned: Owners, ask: ResourceAsk) -> NodeSet:
    # A plugin that restarts reads 0 for a while: where it is the declared owner, that it lists the resource is enough.
    by_plugin = offering(fleet.nodes, ask.resource, ask.units) | (ask.served.starved & owned.plugin)
    return by_plugin | (ask.served.dra & ask.by_class.nodes)
