"""A pool: what the newest generation of its slices says, and what was derived from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from webhook.fleet.memo import Memo
from webhook.model.device import CounterSet, Device, ResourceSlice

#: driver, pool name
PoolKey = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pool:
    """The devices of one driver's pool.

    `devices` are in the allocator's order: slices by name, devices as published. `complete` is False when slices of this
    generation are missing, `duplicates` names devices published more than once: such a pool allocates nothing from
    Kubernetes 1.35 on. `node` is set when every device is reached from that one node. `slices` are all that were seen,
    older generations included. `memo` is for what is derived from this pool alone (use `memo.remembered`).
    """

    driver: str
    name: str
    generation: int
    complete: bool
    devices: tuple[Device, ...]
    by_name: Mapping[str, Device]
    counter_sets: tuple[CounterSet, ...] = ()
    duplicates: tuple[str, ...] = ()
    node: str = ""
    slices: tuple[ResourceSlice, ...] = ()
    memo: Memo = field(default_factory=dict)

    @property
    def key(self) -> PoolKey:
        """driver, name: what identifies a pool."""
        return (self.driver, self.name)

    @property
    def named_nodes(self) -> frozenset[str]:
        """The nodes that devices of this pool are bound to by name."""
        if self.node:
            return frozenset((self.node,))
        return frozenset(device.reach.node_name for device in self.devices if device.reach.node_name)


def make_pool(slices: Iterable[ResourceSlice]) -> Pool:
    """The pool that `slices` (at least one, all of one driver and pool, of any generation) publish.

    Only the newest generation counts, complete or not: as soon as one of its slices is there, the allocator drops the
    older ones (k8s.io/dynamic-resource-allocation structured, GatherPools).
    """
    seen = tuple(sorted(slices, key=lambda item: item.meta.name))
    generation = max(item.generation for item in seen)
    newest = tuple(item for item in seen if item.generation == generation)
    by_name: dict[str, Device] = {}
    duplicates: dict[str, None] = {}
    for device in (device for item in newest for device in item.devices):
        if device.name in by_name:
            duplicates[device.name] = None
        else:
            by_name[device.name] = device
    return Pool(
        driver=newest[0].driver,
        name=newest[0].pool,
        generation=generation,
        complete=len(newest) == newest[0].slice_count,
        devices=tuple(by_name.values()),
        by_name=by_name,
        counter_sets=tuple(counters for item in newest for counters in item.counter_sets),
        duplicates=tuple(duplicates),
        node=_only_node(by_name.values()),
        slices=seen,
    )


def _only_node(devices: Iterable[Device]) -> str:
    names = {device.reach.node_name for device in devices}
    return names.pop() if len(names) == 1 else ""
