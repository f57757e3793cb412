"""Who holds devices on which node."""

from __future__ import annotations

from typing import Any

import pytest

from tests.build import NVIDIA, claim, container, device, device_slice, fleet_of, gpu, node, pod, result
from webhook.fleet.holdings import HeldDevice, Holdings, units_held
from webhook.model.pod_reading import read_pod

GPU = "nvidia.com/gpu"


def holdings_of(*objects: dict[str, Any]) -> Holdings:
    """The holdings of raw objects."""
    return fleet_of(*objects).holdings


def devices(held: tuple[HeldDevice, ...]) -> list[tuple[str, str]]:
    """Claim and device of what is held."""
    return [(item.claim.meta.name, item.device.device) for item in held]


def test_running_pods_hold_what_the_plugin_gave_them() -> None:
    holdings = holdings_of(
        pod("one", extended={GPU: 2}, nodeName="node-1", status={"phase": "Running"}),
        pod("two", extended={GPU: 1, "example.com/fpga": 1}, nodeName="node-1"),
        pod("elsewhere", extended={GPU: 4}, nodeName="node-2"),
    )
    assert holdings.plugin_held("node-1", GPU) == 3
    assert [item.meta.name for item in holdings.plugin_pods("node-1", GPU)] == ["one", "two"]
    assert set(holdings.plugin_resources("node-1")) == {GPU, "example.com/fpga"}
    assert holdings.plugin_held("node-3", GPU) == 0
    assert holdings.plugin_held("node-1", "example.com/none") == 0


@pytest.mark.parametrize(
    ("fields", "held"),
    [
        ({"status": {"phase": "Pending"}}, 1),
        ({"status": {"phase": "Running"}, "meta": {"deletionTimestamp": "2027-01-01T00:00:00Z"}}, 1),
        ({"status": {"phase": "Succeeded"}}, 0),
        ({"status": {"phase": "Failed"}}, 0),
        ({"nodeName": ""}, 0),
        ({"status": {"extendedResourceClaimStatus": {"requestMappings": [{"resourceName": GPU}]}}}, 0),
        ({"status": {"extendedResourceClaimStatus": {"requestMappings": [{"resourceName": "example.com/x"}]}}}, 1),
    ],
)
def test_who_holds_and_who_does_not(fields: dict[str, Any], held: int) -> None:
    assert holdings_of(pod("p", extended={GPU: 1}, **{"nodeName": "node-1", **fields})).plugin_held("node-1", GPU) == held


@pytest.mark.parametrize(
    ("init", "main", "units"),
    [
        ([], [1, 2], 3),
        ([("init", 5)], [1, 2], 5),
        ([("init", 2)], [1, 2], 3),
        ([("sidecar", 1)], [2], 3),
        ([("sidecar", 2), ("init", 3)], [1], 5),
        ([("init", 3), ("sidecar", 2)], [0], 3),
    ],
)
def test_init_containers_hand_their_devices_on(init: list[tuple[str, int]], main: list[int], units: int) -> None:
    first = [
        container(f"i{i}", extended={GPU: amount}, restartPolicy="Always" if kind == "sidecar" else None)
        for i, (kind, amount) in enumerate(init)
    ]
    rest = [container(f"c{i}", extended={GPU: amount}) for i, amount in enumerate(main)]
    assert units_held(read_pod(pod("p", *rest, initContainers=first))).get(GPU, 0) == units


def test_allocated_devices_without_admin_access() -> None:
    holdings = holdings_of(
        device_slice("node-1", gpu("gpu-0"), gpu("gpu-1")),
        claim("user", allocated=[result("gpu-0")]),
        claim("monitor", allocated=[result("gpu-0", adminAccess=True), result("gpu-1", adminAccess=True)]),
        claim("waiting"),
    )
    assert devices(holdings.dra_held("node-1", NVIDIA)) == [("user", "gpu-0")]
    assert [item.meta.name for item in holdings.holder(NVIDIA, "node-1", "gpu-0")] == ["user"]
    assert holdings.holder(NVIDIA, "node-1", "gpu-1") == ()
    assert holdings.holder(NVIDIA, "node-9", "gpu-0") == ()
    assert holdings.dra_held("node-2", NVIDIA) == ()
    assert holdings.dra_held("node-1", "other.example.com") == ()


def test_a_shared_device_has_several_holders() -> None:
    holdings = holdings_of(claim("a", allocated=[result("gpu-0")]), claim("b", allocated=[result("gpu-0")]))
    assert [item.meta.name for item in holdings.holder(NVIDIA, "node-1", "gpu-0")] == ["a", "b"]


def test_devices_that_are_not_published_any_more_are_still_held() -> None:
    allocated = claim("c", allocated=[result("gpu-7")])
    gone_device = holdings_of(allocated, device_slice("node-1", gpu("gpu-0")))
    assert devices(gone_device.dra_held("node-1", NVIDIA)) == [("c", "gpu-7")]
    withdrawn = holdings_of(allocated, device_slice("node-1"))
    assert devices(withdrawn.dra_held("node-1", NVIDIA)) == [("c", "gpu-7")]
    gone_pool = holdings_of(allocated, node("node-1"))
    assert devices(gone_pool.dra_held("node-1", NVIDIA)) == [("c", "gpu-7")]


def test_a_pool_is_where_its_slice_says_not_what_it_is_called() -> None:
    holdings = holdings_of(
        device_slice("node-1", gpu("gpu-0"), pool="pool-x"),
        claim("c", allocated=[result("gpu-0", "pool-x"), result("gpu-9", "pool-x")]),
    )
    assert devices(holdings.dra_held("node-1", NVIDIA)) == [("c", "gpu-0"), ("c", "gpu-9")]
    assert holdings.dra_held("pool-x", NVIDIA) == ()


def test_devices_of_one_pool_on_several_nodes() -> None:
    mixed = device_slice(
        {"perDeviceNodeSelection": True},
        device("a", nodeName="node-1"),
        device("b", nodeName="node-2"),
        device("c", allNodes=True),
    )
    results = [result(name, "shared") for name in ("a", "b", "c", "gone")]
    holdings = holdings_of(mixed, claim("x", allocated=results))
    assert devices(holdings.dra_held("node-1", NVIDIA)) == [("x", "a")]
    assert devices(holdings.dra_held("node-2", NVIDIA)) == [("x", "b")]
    held = holdings.holder(NVIDIA, "shared", "c")[0].allocation
    assert held is not None
    assert [holdings.node_of(item) for item in held] == ["node-1", "node-2", "", ""]


def test_which_nodes_have_something_held() -> None:
    holdings = holdings_of(
        device_slice("node-1", gpu("gpu-0")),
        device_slice({"allNodes": True}, device("fabric-0"), driver="fabric.example.com", pool="fabric"),
        pod("p", extended={GPU: 1}, nodeName="node-2"),
        claim("a", allocated=[result("gpu-0"), result("gpu-0", "gone-node")]),
        claim("b", allocated=[result("fabric-0", "fabric", driver="fabric.example.com")]),
    )
    assert list(holdings.plugin_nodes) == ["node-2"]
    assert holdings.dra_nodes() == {NVIDIA: {"node-1", "gone-node"}}
