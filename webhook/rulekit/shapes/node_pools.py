"""The pools as a node sees them: what the allocator gathers before it allocates there.

A node sees only the slices that reach it. Mostly that makes no difference: a pool is whole or not, and everybody sees the same
generation. But a pool in which slices of two generations are about, whose slices do not agree on their number, or that has a
device name twice is one thing from here and another from there (k8s.io/dynamic-resource-allocation structured, GatherPools).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias

from webhook.fleet.fleet import Fleet
from webhook.fleet.inventory import Inventory, Pool
from webhook.fleet.matching import POOL_LIMIT
from webhook.fleet.memo import remembered
from webhook.fleet.nodes import Nodes, NodeSet
from webhook.fleet.pool import PoolKey, make_pool
from webhook.model.device import Device, ResourceSlice
from webhook.model.server_version import Server

#: Why nothing is given out of a pool. `unsettled`: it depends on the order in which the scheduler happens to see the slices.
Fault: TypeAlias = Literal["", "incomplete", "invalid", "unsettled"]

#: From this minor version on, an incomplete or invalid pool allocates nothing.
ONLY_WHOLE_POOLS: Final = 35
#: The gate of shared counters: without it they are not looked at.
_COUNTERS: Final = "DRAPartitionableDevices"


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """A pool as some nodes see it.

    `pool` has the devices of the slices that reach these nodes (for a pool that is the same from everywhere: all of its
    devices). `slices` are in the allocator's order; `nodes` are all nodes that see it like this.
    """

    pool: Pool
    nodes: NodeSet
    slices: tuple[ResourceSlice, ...]
    fault: Fault


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A device that the allocator looks at on a node; `here` is False when it turns out afterwards not to be for that node."""

    view: View
    device: Device
    here: bool


@dataclass(frozen=True, slots=True, eq=False)
class Gathered:
    """What the allocator has to choose from on a node: places in its order, and the faults of pools, each with the number of
    places before it."""

    places: tuple[Place, ...]
    faults: tuple[tuple[int, Fault], ...]


def differs_by_node(pool: Pool) -> bool:
    """Whether nodes may see different things of a pool (see above). Remembered on the pool."""
    return remembered(pool.memo, "differs by node", lambda: _differs_by_node(pool), POOL_LIMIT)


def _differs_by_node(pool: Pool) -> bool:
    first = pool.slices[0]
    return (
        bool(pool.duplicates)
        or len(pool.slices) > first.slice_count
        or any((item.generation, item.slice_count) != (first.generation, first.slice_count) for item in pool.slices)
    )


def views_of(fleet: Fleet, pool: Pool) -> tuple[View, ...]:
    """The pool as nodes see it; nodes that see nothing of it are in no view. Remembered on the inventory."""
    views = _memo(fleet).by_pool
    found = views.get(pool.key)
    if found is None:
        found = views[pool.key] = tuple(_views(fleet, pool))
    return found


def pools_that_differ(inventory: Inventory) -> tuple[Pool, ...]:
    """The pools that are not the same from everywhere. Mostly there are none."""
    return remembered(inventory.memo, "pools that differ", lambda: tuple(filter(differs_by_node, inventory.pools)))


def fault_of(pool: Pool, server: Server) -> Fault:
    """Why a pool that is the same from everywhere allocates nothing on this server."""
    if server.minor < ONLY_WHOLE_POOLS:
        return ""
    if not pool.complete:
        return "incomplete"
    return "invalid" if server.enabled(_COUNTERS) and counter_fault(pool) else ""


def counter_fault(pool: Pool) -> str:
    """What is wrong with a pool's shared counters, "" if nothing. Remembered on the pool."""
    return remembered(pool.memo, "counter fault", lambda: _counter_fault(pool.slices), POOL_LIMIT)


def nodes_with_faults(fleet: Fleet) -> NodeSet:
    """The nodes that see a pool out of which nothing is given: there, whoever asks for all devices is refused, whichever pools
    they are in. Remembered on the inventory."""
    views = _memo(fleet)
    if views.nodes_with_faults is None:
        found = 0
        for pool in fleet.inventory.pools:
            if differs_by_node(pool) or fault_of(pool, fleet.server):
                for view in views_of(fleet, pool):
                    found |= view.nodes if view.fault in ("incomplete", "invalid") else 0
        views.nodes_with_faults = found
    return views.nodes_with_faults


def gather(fleet: Fleet, node: str) -> Gathered:
    """What the allocator finds for a node: pools by driver and name, those with binding conditions last, devices as they are
    published, slices by name."""
    here = 1 << fleet.nodes.index(node)
    seen = [(view, () if view.fault else _reaching(fleet.nodes, view, here)) for view in _views_from(fleet, node)]
    seen.sort(key=lambda item: (_binding(item[1]), item[0].pool.key))
    places: list[Place] = []
    faults: list[tuple[int, Fault]] = []
    for view, slices in seen:
        if view.fault:
            faults.append((len(places), view.fault))
            continue
        for item in slices:
            places.extend(
                Place(view, device, item.reach is not None or bool(fleet.nodes.reached(device.reach) & here))
                for device in item.devices
            )
    return Gathered(tuple(places), tuple(faults))


def _reaching(nodes: Nodes, view: View, here: NodeSet) -> tuple[ResourceSlice, ...]:
    return tuple(item for item in view.slices if _reached_by(nodes, item) & here)


def _binding(slices: Iterable[ResourceSlice]) -> bool:
    return any(device.binding_conditions for item in slices for device in item.devices)


def _reached_by(nodes: Nodes, item: ResourceSlice) -> NodeSet:
    """The nodes for which the allocator takes a slice into account."""
    if item.reach is not None:
        return nodes.reached(item.reach)
    found = 0
    for device in item.devices:
        found |= nodes.reached(device.reach)
    return found


# Views.


@dataclass(slots=True)
class _Known:
    """What is remembered for these nodes and this server."""

    nodes: Nodes
    server: Server
    by_pool: dict[PoolKey, tuple[View, ...]] = field(default_factory=dict)
    nodes_with_faults: NodeSet | None = None


def _memo(fleet: Fleet) -> _Known:
    held: _Known | None = fleet.inventory.memo.get("views")
    if held is None or held.nodes is not fleet.nodes or held.server is not fleet.server:
        held = fleet.inventory.memo["views"] = _Known(fleet.nodes, fleet.server)
    return held


def _views(fleet: Fleet, pool: Pool) -> Iterator[View]:
    counted = fleet.server.enabled(_COUNTERS)
    if not differs_by_node(pool):
        reached = 0
        for item in pool.slices:
            reached |= _reached_by(fleet.nodes, item)
        if reached:
            yield View(pool, reached, pool.slices, fault_of(pool, fleet.server))
        return
    for members, seen in _groups(fleet.nodes, pool.slices):
        generation = max(item.generation for item in seen)
        newest = tuple(item for item in seen if item.generation == generation)
        view = _view(pool, members, newest, counted)
        if view is not None:
            yield view if fleet.server.minor >= ONLY_WHOLE_POOLS else replace(view, fault="")


def _view(pool: Pool, members: NodeSet, seen: tuple[ResourceSlice, ...], counted: bool) -> View | None:
    generation = seen[0].generation
    counts = {item.slice_count for item in seen}
    every = tuple(item for item in pool.slices if item.generation == generation)
    if len(counts) > 1:
        settled: Fault = "unsettled"
    elif len(seen) in counts:
        # All slices that there should be: nobody looks further.
        every, settled = seen, ""
    elif any(item.generation > generation for item in pool.slices):
        return None
    else:
        settled = "" if len(every) in counts else "incomplete"
    with_counters = (replace(item, devices=()) for item in every if item not in seen)
    published = make_pool((*seen, *with_counters))
    if not settled and (published.duplicates or (counted and _counter_fault(every))):
        settled = "invalid"
    return View(published, members, published.slices, settled)


def _groups(nodes: Nodes, slices: Sequence[ResourceSlice]) -> Iterator[tuple[NodeSet, tuple[ResourceSlice, ...]]]:
    """The nodes by what they see of the slices, without those that see nothing."""
    groups: list[tuple[NodeSet, tuple[ResourceSlice, ...]]] = [(nodes.all, ())]
    for item in slices:
        reached = _reached_by(nodes, item)
        groups = [
            (members & side, found)
            for members, seen in groups
            for side, found in ((reached, (*seen, item)), (~reached, seen))
            if members & side
        ]
    yield from (group for group in groups if group[1])


def _counter_fault(slices: Sequence[ResourceSlice]) -> str:
    """Every counter set has to be there once, and everything that devices consume to be in one."""
    counters: dict[str, Mapping[str, str]] = {}
    for counter_set in (counter_set for item in slices for counter_set in item.counter_sets):
        if counter_set.name in counters:
            return f"counter set {counter_set.name} is there twice"
        counters[counter_set.name] = counter_set.counters
    for device in (device for item in slices for device in item.devices):
        for use in device.consumes:
            missing = sorted(use.counters.keys() - counters.get(use.counter_set, {}).keys())
            if use.counter_set not in counters:
                return f"device {device.name} consumes of counter set {use.counter_set}, which is not there"
            if missing:
                return f"device {device.name} consumes counter {missing[0]}, which counter set {use.counter_set} does not have"
    return ""


# Which pools a node sees.


def _views_from(fleet: Fleet, node: str) -> Iterator[View]:
    here = 1 << fleet.nodes.index(node)
    by_node, wide = _by_node(fleet.inventory)
    for pool in (*by_node.get(node, ()), *wide):
        yield from (view for view in views_of(fleet, pool) if view.nodes & here)


def _by_node(inventory: Inventory) -> tuple[dict[str, list[Pool]], list[Pool]]:
    return remembered(inventory.memo, "pools by node", lambda: _sorted_by_node(inventory.pools))


def _sorted_by_node(pools: Iterable[Pool]) -> tuple[dict[str, list[Pool]], list[Pool]]:
    by_node: dict[str, list[Pool]] = {}
    wide: list[Pool] = []
    for pool in pools:
        names = {item.reach.node_name if item.reach is not None else "" for item in pool.slices}
        if "" in names:
            wide.append(pool)
        else:
            for name in names:
                by_node.setdefault(name, []).append(pool)
    return by_node, wide
