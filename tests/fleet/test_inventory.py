"""Which devices a class and selectors match, and the indexes over pools and classes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.build import NVIDIA, device, device_class, device_slice, fleet_of, gpu
from webhook.fleet.build import with_objects
from webhook.fleet.inventory import Inventory, Matches

H100 = 'device.attributes["gpu.nvidia.com"].productName.startsWith("NVIDIA H100")'
FIRST = 'device.attributes["gpu.nvidia.com"].index < 1'


def inventory_of(*objects: dict[str, Any]) -> Inventory:
    """The inventory of raw objects."""
    return fleet_of(*objects).inventory


def found(matches: Matches) -> list[tuple[str, list[str]]]:
    """Pool by pool the devices matched."""
    return [(item.pool.name, [device.name for device in item.matched]) for item in matches.pools]


TWO_NODES = (
    device_slice("node-b", gpu("gpu-0", index=0), gpu("gpu-1", index=1)),
    device_slice("node-a", gpu("gpu-0", "NVIDIA A100-SXM4-40GB", "40Gi", index=0)),
    device_slice("node-a", device("port-0"), driver="dra.net"),
    device_class(),
)


def test_a_class_matches_pools_in_the_allocators_order() -> None:
    matches = inventory_of(*TWO_NODES).match(NVIDIA)
    assert found(matches) == [("node-a", ["gpu-0"]), ("node-b", ["gpu-0", "gpu-1"])]
    assert matches.count == 3
    assert not matches.class_missing
    assert matches.problems == ()


def test_a_requests_selectors_come_after_the_classs() -> None:
    inventory = inventory_of(*TWO_NODES)
    assert found(inventory.match(NVIDIA, (H100,))) == [("node-b", ["gpu-0", "gpu-1"])]
    assert found(inventory.match(NVIDIA, (H100, FIRST))) == [("node-b", ["gpu-0"])]
    assert inventory.match(NVIDIA, ("false",)).pools == ()


def test_a_class_without_selectors_matches_everything() -> None:
    everything = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "all"}}
    assert inventory_of(*TWO_NODES, everything).match("all").count == 4


def test_a_missing_class_matches_nothing() -> None:
    matches = inventory_of(*TWO_NODES).match("gpu.nvidia.co")
    assert (matches.class_missing, matches.pools, matches.count) == (True, (), 0)


def test_selectors_that_do_not_compile_are_all_reported() -> None:
    broken = device_class("broken", "device.driver ==")
    inventory = inventory_of(*TWO_NODES, broken)
    assert len(inventory.match("broken").problems) == 1
    matches = inventory.match("broken", ("1 +", "true"))
    assert len(matches.problems) == 2
    assert matches.pools == ()
    missing = inventory.match("nowhere", ("1 +",))
    assert (missing.class_missing, len(missing.problems)) == (True, 1)


def test_a_selector_that_is_too_costly_for_the_api_server_matches_nothing() -> None:
    costly = 'device.attributes["gpu.nvidia.com"].exists(k, [k, k, k].exists(l, [l, l, l].exists(m, m.matches(l + k + m))))'
    matches = inventory_of(*TWO_NODES).match(NVIDIA, (costly,))
    assert matches.problems == ()
    unbounded = f"lists.range(100000).all(i, {costly})"
    matches = inventory_of(*TWO_NODES).match(NVIDIA, (unbounded,))
    assert [problem.message for problem in matches.problems] == ["too complex, exceeds cost limit"]
    assert matches.pools == ()


@pytest.mark.parametrize(("server", "understood"), [("1.34", False), ("1.35", False), ("1.36", True), ("1.37", True)])
def test_selectors_are_read_as_the_servers_release_reads_them(server: str, understood: bool) -> None:
    inventory = fleet_of(*TWO_NODES, server=server).inventory
    matches = inventory.match(NVIDIA, ('device.attributes["gpu.nvidia.com"].index.includes(0)',))
    assert (matches.problems == ()) is understood
    assert matches.count == (2 if understood else 0)


def test_a_cel_error_is_told_device_by_device() -> None:
    inventory = inventory_of(*TWO_NODES, device_class("everything", "true"))
    matches = inventory.match("everything", (FIRST,))
    assert [(item.pool.driver, item.pool.name, len(item.matched), len(item.errors)) for item in matches.pools] == [
        ("dra.net", "node-a", 0, 1),
        (NVIDIA, "node-a", 1, 0),
        (NVIDIA, "node-b", 1, 0),
    ]
    error = matches.pools[0].errors[0]
    assert (error.device.name, error.expression) == ("port-0", FIRST)
    assert "index" in error.message


def test_the_first_selector_that_is_no_match_ends_a_device() -> None:
    # The class rules the port out before the request's selector could fail on it.
    assert [item.errors for item in inventory_of(*TWO_NODES).match(NVIDIA, (FIRST,)).pools] == [(), ()]


def test_an_answer_is_remembered() -> None:
    inventory = inventory_of(*TWO_NODES)
    assert inventory.match(NVIDIA, (H100,)) is inventory.match(NVIDIA, (H100,))


def test_a_changed_pool_leaves_what_is_known_of_all_others() -> None:
    fleet = fleet_of(*TWO_NODES)
    before = fleet.inventory.match(NVIDIA)
    changed = with_objects(fleet, [device_slice("node-a", gpu("gpu-0"), gpu("gpu-9"), generation=2)])
    after = changed.inventory.match(NVIDIA)
    assert found(after) == [("node-a", ["gpu-0", "gpu-9"]), ("node-b", ["gpu-0", "gpu-1"])]
    assert after.pools[1] is before.pools[1]
    assert found(fleet.inventory.match(NVIDIA)) == [("node-a", ["gpu-0"]), ("node-b", ["gpu-0", "gpu-1"])]


def test_a_changed_class_is_evaluated_anew() -> None:
    fleet = fleet_of(*TWO_NODES)
    assert fleet.inventory.match(NVIDIA).count == 3
    changed = with_objects(fleet, [device_class(NVIDIA, 'device.driver == "gpu.nvidia.com"', H100)])
    assert changed.inventory.match(NVIDIA).count == 2
    assert changed.inventory.pools[0] is fleet.inventory.pools[0]


def test_single_devices() -> None:
    inventory = inventory_of(*TWO_NODES)
    known = inventory.device(NVIDIA, "node-b", "gpu-1")
    assert known is not None
    assert known.key == (NVIDIA, "node-b", "gpu-1")
    assert inventory.device(NVIDIA, "node-b", "gpu-7") is None
    assert inventory.device("other", "node-b", "gpu-1") is None


def test_pools_by_node_and_driver() -> None:
    inventory = inventory_of(
        *TWO_NODES,
        device_slice({"allNodes": True}, device("fabric-0"), driver="fabric.example.com", pool="fabric"),
        device_slice(
            {"perDeviceNodeSelection": True},
            device("x", nodeName="node-a"),
            device("y", nodeName="node-b"),
            driver="mixed.example.com",
            pool="mixed",
        ),
        device_slice("node-c", driver="empty.example.com"),
    )
    assert [(pool.driver, pool.name) for pool in inventory.pools_on("node-a")] == [("dra.net", "node-a"), (NVIDIA, "node-a")]
    assert inventory.pools_on("node-z") == ()
    assert [pool.name for pool in inventory.pools_bound_to("node-b")] == ["node-b", "mixed"]
    assert [pool.name for pool in inventory.shared_pools] == ["fabric", "mixed"]
    assert [pool.name for pool in inventory.pools_of(NVIDIA)] == ["node-a", "node-b"]
    assert inventory.pools_of("nobody") == ()
    assert list(inventory.drivers) == ["dra.net", "empty.example.com", "fabric.example.com", NVIDIA, "mixed.example.com"]
    assert set(inventory.node_names) == {"node-a", "node-b"}


def test_the_newest_class_serves_an_extended_resource_then_the_smallest_name() -> None:
    inventory = inventory_of(
        device_class("b", extended_resource="x.io/gpu", creationTimestamp="2027-01-01T00:00:00Z"),
        device_class("a", extended_resource="x.io/gpu", creationTimestamp="2027-01-01T00:00:00Z"),
        device_class("c", extended_resource="x.io/gpu", creationTimestamp="2027-02-01T00:00:00Z"),
        device_class("d", extended_resource="x.io/gpu"),
        device_class("e", extended_resource="x.io/other"),
    )
    assert [item.name for item in inventory.classes_serving("x.io/gpu")] == ["c", "a", "b", "d"]
    assert inventory.classes_serving("x.io/nothing") == ()
    assert set(inventory.extended_resources) == {"x.io/gpu", "x.io/other"}


@pytest.mark.parametrize(
    ("resource", "served"),
    [
        ("deviceclass.resource.kubernetes.io/gpu.nvidia.com", ["gpu.nvidia.com"]),
        ("deviceclass.resource.kubernetes.io/unknown", []),
        ("deviceclass.resource.kubernetes.io/" + "x" * 64, []),
        ("deviceclass.resource.kubernetes.io/" + "x" * 63, ["x" * 63]),
        ("deviceclass.resource.k8s.io/gpu.nvidia.com", []),
    ],
)
def test_every_class_serves_its_implicit_resource(resource: str, served: list[str]) -> None:
    inventory = inventory_of(device_class(), device_class("x" * 64), device_class("x" * 63))
    assert [item.name for item in inventory.classes_serving(resource)] == served


@pytest.mark.parametrize(
    ("selectors", "drivers"),
    [
        (('device.driver == "gpu.nvidia.com"',), {NVIDIA}),
        (("true",), {NVIDIA, "dra.net"}),
        (("false && device.driver == 'gpu.example.com'",), {"gpu.example.com"}),
        (('"a.example.com"==device.driver && false', 'device.driver=="b.example.com"'), {"a.example.com", "b.example.com"}),
        (('device.attributes["c.example.com"].type == "x"',), set()),
        (("device.driver ==",), set()),
    ],
)
def test_drivers_of_a_class(selectors: tuple[str, ...], drivers: set[str]) -> None:
    inventory = inventory_of(*TWO_NODES[:3], device_class("c", *selectors))
    assert inventory.drivers_of_class("c") == drivers


def test_a_missing_class_has_no_drivers() -> None:
    assert inventory_of(*TWO_NODES).drivers_of_class("missing") == frozenset()
