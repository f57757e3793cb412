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
    Kubernetes 1.35 on. `node` is set when every device is reached from that one node, `named_nodes` are all that devices
    are bound to by name. `slices` are all that were seen, older generations included. `memo` is for what is derived from
    this pool alone (use `memo.remembered`).
    """

    key: PoolKey
    generation: int
    complete: bool
    devices: tuple[Device, ...]
    by_name: Mapping[str, Device]
    counter_sets: tuple[CounterSet, ...] = ()
    duplicates: tuple[str, ...] = ()
    node: str = ""
    named_nodes: frozenset[str] = frozenset()
    slices: tuple[ResourceSlice, ...] = ()
    memo: Memo = field(default_factory=dict)

    @property
    def driver(self) -> str:
        """The driver that publishes the pool."""
        return self.key[0]

    @property
    def name(self) -> str:
        """The pool's name, unique among its driver's."""
        return self.key[1]


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
    nodes = {device.reach.node_name for device in by_name.values()}
    return Pool(
        key=(newest[0].driver, newest[0].pool),
        generation=generation,
        complete=len(newest) == newest[0].slice_count,
        devices=tuple(by_name.values()),
        by_name=by_name,
        counter_sets=tuple(counters for item in newest for counters in item.counter_sets),
        duplicates=tuple(duplicates),
        node=next(iter(nodes)) if len(nodes) == 1 else "",
        named_nodes=frozenset(nodes - {""}),
        slices=seen,
    )
