"""Nodes and their numbers in words: `node-a (nvidia.com/gpu allocatable 8, 8 devices of gpu.nvidia.com) and 4 more`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Final

from webhook.fleet.fleet import Fleet
from webhook.fleet.nodes import NodeSet
from webhook.model.cluster import Node
from webhook.model.labels import matches_any
from webhook.rulekit.policies import DeviceOwnership

#: Things that a message names; the rest is counted.
MOST_NAMED: Final = 3


def numbered(count: int, noun: str) -> str:
    """`1 device`, `8 devices`, `no devices`."""
    return f"{count or 'no'} {noun}{'' if count == 1 else 's'}"


def some(texts: Iterable[str], total: int = 0) -> str:
    """`a`, `a and b`, `a, b and c`, `a, b, c and 4 more`; `total` when `texts` are only the first of so many."""
    shown = list(texts)
    more = max(total, len(shown)) - MOST_NAMED
    if more > 0:
        return f"{', '.join(shown[:MOST_NAMED])} and {more} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)


def first_of(fleet: Fleet, nodes: NodeSet) -> list[Node]:
    """The first three nodes."""
    return list(islice(fleet.nodes.members(nodes), MOST_NAMED))


def names_of(fleet: Fleet, nodes: NodeSet) -> str:
    """The first three nodes by name, and how many more there are."""
    return some((node.name for node in first_of(fleet, nodes)), nodes.bit_count())


def with_numbers(fleet: Fleet, policy: DeviceOwnership, nodes: NodeSet) -> str:
    """As `names_of`, each node with its numbers in parentheses."""
    shown = (f"{node.name} ({numbers(fleet, policy, node)})" for node in first_of(fleet, nodes))
    return some(shown, nodes.bit_count())


def numbers(fleet: Fleet, policy: DeviceOwnership, node: Node) -> str:
    """`nvidia.com/gpu allocatable 8, 8 devices of gpu.nvidia.com, 3 held by plugin pods`: what each side has of a node."""
    parts = [f"{resource} allocatable {amount}" for resource, amount in offered(policy, node).items()]
    parts.append(f"{numbered(published(fleet, policy, node), 'device')} of {policy.driver}")
    held, claimed = sum(plugin_held(fleet, policy, node).values()), len(fleet.holdings.dra_held(node.name, policy.driver))
    if "Pod" not in fleet.observed:
        parts.append("what plugin pods hold is unknown")
    elif held:
        parts.append(f"{held} held by plugin pods")
    if claimed:
        parts.append(f"{claimed} held by claims")
    return ", ".join(parts)


def offered(policy: DeviceOwnership, node: Node) -> Mapping[str, int]:
    """The group's resources that a node has allocatable; those with 0 only when there is no other."""
    listed = {name: amount for name, amount in sorted(node.allocatable.items()) if matches_any(name, policy.extended_resources)}
    return {name: amount for name, amount in listed.items() if amount} or listed


def plugin_held(fleet: Fleet, policy: DeviceOwnership, node: Node) -> Mapping[str, int]:
    """The units of the group's resources that plugin pods hold on a node."""
    held = sorted(fleet.holdings.plugin_resources(node.name))
    return {name: fleet.holdings.plugin_held(node.name, name) for name in held if matches_any(name, policy.extended_resources)}


def published(fleet: Fleet, policy: DeviceOwnership, node: Node) -> int:
    """How many devices of the group's driver can be used from a node."""
    inventory, here = fleet.inventory, fleet.nodes.named((node.name,))
    local = sum(len(pool.devices) for pool in inventory.pools_on(node.name) if pool.driver == policy.driver)
    shared = (device for pool in inventory.shared_pools if pool.driver == policy.driver for device in pool.devices)
    return local + sum(1 for device in shared if fleet.nodes.reached(device.reach) & here)
