"""Pools: the newest generation of their slices."""

from __future__ import annotations

from typing import Any

import pytest

from tests.build import NVIDIA, device, device_slice
from webhook.fleet.pool import Pool, make_pool
from webhook.model.device_reading import read_slice


def part(name: str, *devices: str, generation: int = 1, slices: int = 2, **spec: Any) -> dict[str, Any]:
    """One slice of pool node-1."""
    found = [{"name": device} for device in devices]
    return device_slice("node-1", *found, name=name, generation=generation, slices=slices, **spec)


def pool_of(*raw: dict[str, Any]) -> Pool:
    """The pool that slices publish."""
    return make_pool(map(read_slice, raw))


def names(pool: Pool) -> list[str]:
    """The pool's devices in their order."""
    return [device.name for device in pool.devices]


def test_devices_are_in_the_order_of_slice_names_then_as_published() -> None:
    pool = pool_of(part("s-b", "z", "a"), part("s-a", "y", "x"))
    assert names(pool) == ["y", "x", "z", "a"]
    assert pool.key == (NVIDIA, "node-1")
    assert pool.complete
    assert pool.by_name["z"] is pool.devices[2]


def test_only_the_newest_generation_counts_even_when_it_is_incomplete() -> None:
    pool = pool_of(part("s-a", "old-1"), part("s-b", "old-2"), part("s-c", "new", generation=2))
    assert names(pool) == ["new"]
    assert pool.generation == 2
    assert not pool.complete
    assert len(pool.slices) == 3


def test_a_newest_generation_without_devices_leaves_none() -> None:
    pool = pool_of(part("s-a", "old", slices=1), part("s-b", generation=2, slices=1))
    assert names(pool) == []
    assert pool.complete
    assert pool.node == ""


def test_a_device_published_twice_counts_once() -> None:
    pool = pool_of(part("s-a", "one", "two"), part("s-b", "two", "three", "one"))
    assert names(pool) == ["one", "two", "three"]
    assert pool.duplicates == ("two", "one")


@pytest.mark.parametrize(
    ("where", "node", "named"),
    [
        ("node-1", "node-1", ["node-1"]),
        ({"allNodes": True}, "", []),
        ({"nodeSelector": {"nodeSelectorTerms": [{}]}}, "", []),
    ],
)
def test_where_a_pool_is(where: Any, node: str, named: list[str]) -> None:
    pool = pool_of(device_slice(where, {"name": "a"}, {"name": "b"}))
    assert (pool.node, sorted(pool.named_nodes)) == (node, named)


def test_devices_with_nodes_of_their_own() -> None:
    devices = [device("a", nodeName="node-1"), device("b", nodeName="node-2"), device("c", allNodes=True)]
    pool = pool_of(device_slice({"perDeviceNodeSelection": True}, *devices))
    assert (pool.node, sorted(pool.named_nodes)) == ("", ["node-1", "node-2"])
    same = pool_of(device_slice({"perDeviceNodeSelection": True}, devices[0], device("d", nodeName="node-1")))
    assert same.node == "node-1"


def test_counters_come_from_all_slices_of_the_generation() -> None:
    counters = [{"name": "card-0", "counters": {"memory": {"value": "40Gi"}}}]
    old = [{"name": "card-9", "counters": {}}]
    pool = pool_of(
        part("s-a", "a", sharedCounters=[]),
        part("s-b", sharedCounters=counters),
        part("s-c", generation=0, sharedCounters=old),
    )
    assert [item.name for item in pool.counter_sets] == ["card-0"]
