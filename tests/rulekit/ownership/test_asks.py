"""What an object asks devices for, and on which nodes each ask can be met."""

from __future__ import annotations

import pytest

from tests.build import (
    NVIDIA,
    alternative,
    claim,
    container,
    controller,
    device,
    device_class,
    device_slice,
    exactly,
    first_available,
    fleet_of,
    gpu,
    metadata,
    node,
    owned_by,
    pod,
    pod_spec,
    result,
    template,
)
from tests.ownership import PLUGIN, names, view_of
from webhook.fleet.fleet import Fleet
from webhook.fleet.nodes import Nodes
from webhook.rulekit.ownership.asks import DeviceAsks, asks_of, takeable

A100, H100 = "NVIDIA A100-SXM4-40GB", "NVIDIA H100 80GB HBM3"
IS_A100 = f'device.attributes["{NVIDIA}"].productName == "{A100}"'
INTEL = "gpu.intel.com"
ANY = "any-gpu"


def cluster(*objects: dict, **server: object) -> Fleet:
    return fleet_of(
        device_class(NVIDIA, extended_resource=PLUGIN),
        device_class(INTEL),
        device_class(ANY, "true"),
        device_slice("a100", *(gpu(f"gpu-{i}", A100) for i in range(4))),
        device_slice("h100", gpu("gpu-0", H100), gpu("gpu-1", H100)),
        device_slice("flex", device("card-0", {"model": "Flex 170"}), driver=INTEL),
        device_slice("both", gpu("gpu-0", H100), pool="both"),
        device_slice("both", device("card-0", {"model": "Flex 170"}), driver=INTEL, pool="both-intel"),
        *objects,
        **server,
    )


def by_driver(fleet: Fleet, asks: DeviceAsks, driver: str = NVIDIA) -> list[str]:
    return [names(fleet, ask.takes(driver)) for ask in asks.claims]


@pytest.mark.parametrize(
    ("device_class_name", "selectors", "count", "nodes", "nvidia", "intel"),
    [
        (NVIDIA, (), 1, "a100 both h100", "a100 both h100", ""),
        (NVIDIA, (IS_A100,), 1, "a100", "a100", ""),
        (NVIDIA, (), 2, "a100 h100", "a100 h100", ""),
        (NVIDIA, (), 4, "a100", "a100", ""),
        (NVIDIA, (), 5, "", "", ""),
        (NVIDIA, (), 0, "a100 both h100", "a100 both h100", ""),
        (INTEL, (), 1, "both flex", "", "both flex"),
        (ANY, (), 2, "a100 both h100", "a100 both h100", "both"),
        ("no-such-class", (), 1, "", "", ""),
        (NVIDIA, ("1 +",), 1, "", "", ""),
    ],
)
def test_takeable(device_class_name: str, selectors: tuple[str, ...], count: int, nodes: str, nvidia: str, intel: str) -> None:
    fleet = cluster()
    found = takeable(fleet, device_class_name, selectors, count)
    assert names(fleet, found.nodes) == nodes
    assert names(fleet, found.by_driver.get(NVIDIA, 0)) == nvidia
    assert names(fleet, found.by_driver.get(INTEL, 0)) == intel
    assert takeable(fleet, device_class_name, selectors, count) is found


def test_the_devices_of_a_pool_of_one_node_are_not_looked_at_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def reached(_nodes: Nodes, _reach: object) -> int:
        raise AssertionError("thousands of devices would take milliseconds")

    fleet = cluster()
    monkeypatch.setattr(Nodes, "reached", reached)
    assert names(fleet, takeable(fleet, NVIDIA, (), 2).nodes) == "a100 h100"


def test_devices_that_several_nodes_reach_count_on_each_of_them() -> None:
    everywhere = device_slice({"allNodes": True}, gpu("net-0"), gpu("net-1"), pool="fabric", name="fabric")
    rack = {"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "rack", "operator": "Exists"}]}]}}
    racked = device_slice(rack, gpu("rack-0"), pool="rack", name="rack")
    fleet = cluster(everywhere, racked, node("bare"), node("racked", {"rack": "r1"}))
    assert names(fleet, takeable(fleet, NVIDIA, (), 1).nodes) == "a100 bare both flex h100 racked"
    assert names(fleet, takeable(fleet, NVIDIA, (), 2).nodes) == "a100 bare both flex h100 racked"
    assert names(fleet, takeable(fleet, NVIDIA, (), 3).nodes) == "a100 both h100 racked"
    assert names(fleet, takeable(fleet, NVIDIA, (), 4).nodes) == "a100 h100"
    assert names(fleet, takeable(fleet, NVIDIA, (), 6).nodes) == "a100"


@pytest.mark.parametrize(("count", "nodes"), [(32, "big"), (33, ""), (10**12, "")])
def test_more_devices_than_a_claim_can_be_given(count: int, nodes: str) -> None:
    fleet = fleet_of(
        device_class(NVIDIA),
        device_slice("big", *(gpu(f"gpu-{i}") for i in range(40)), gpu("shared") | {"allowMultipleAllocations": True}),
    )
    assert names(fleet, takeable(fleet, NVIDIA, (), count).nodes) == nodes


def test_an_allocated_device_that_every_node_reaches() -> None:
    held = claim("held", exactly("gpu"), allocated=[result("net-0", "fabric")])
    fleet = cluster(device_slice({"allNodes": True}, gpu("net-0"), pool="fabric", name="fabric"), held)
    (ask,) = asks_of(view_of(pod(claims={"c": "held"}), fleet)).claims
    assert names(fleet, ask.takes(NVIDIA)) == "a100 both flex h100"


def test_a_device_of_one_node_in_a_shared_pool_counts_there() -> None:
    mixed = device_slice(
        {"perDeviceNodeSelection": True},
        {**gpu("local"), "nodeName": "bare"},
        {**gpu("fabric"), "allNodes": True},
        pool="mixed",
        name="mixed",
    )
    fleet = cluster(mixed, node("bare"))
    assert names(fleet, takeable(fleet, NVIDIA, (), 2).nodes) == "a100 bare both h100"
    assert names(fleet, takeable(fleet, NVIDIA, (), 3).nodes) == "a100 h100"


@pytest.mark.parametrize("where", ["shared", {"allNodes": True}])
@pytest.mark.parametrize(
    ("server", "gate", "enough"),
    [("1.35", True, "shared"), ("1.34", True, "shared"), ("1.35", False, ""), ("1.36", True, "")],
)
def test_one_request_is_given_a_shared_device_several_times_before_136(
    where: str | dict, server: str, gate: bool, enough: str
) -> None:
    fleet = fleet_of(
        device_class(NVIDIA),
        node("shared"),
        device_slice(where, gpu("gpu-0") | {"allowMultipleAllocations": True}, pool="p"),
        server=server,
        gates={"DRAConsumableCapacity": gate},
    )
    assert names(fleet, takeable(fleet, NVIDIA, (), 7).nodes) == enough
    assert names(fleet, takeable(fleet, NVIDIA, (), 1).nodes) == "shared"
    assert names(fleet, takeable(fleet, NVIDIA, (), 0).nodes) == "shared"


def test_a_class_that_errs_everywhere_takes_nothing() -> None:
    fleet = cluster(device_class("errs", f'device.attributes["{NVIDIA}"].nothing == "x"'))
    assert takeable(fleet, "errs", (), 1).nodes == 0
    assert takeable(fleet, "errs", (), 0).nodes == 0


def test_a_pods_claims_are_followed() -> None:
    fleet = cluster(
        template("one-a100", exactly("gpu", NVIDIA, IS_A100)),
        claim("by-hand", exactly("gpu", NVIDIA, count=4)),
    )
    body = pod(templates={"t": "one-a100", "gone": "no-such-template"}, claims={"c": "by-hand"})
    asks = asks_of(view_of(body, fleet))
    assert by_driver(fleet, asks) == ["a100", "a100"]
    assert [ask.source.entry.name for ask in asks.claims if ask.source] == ["t", "c"]
    assert asks.resources == ()


def test_any_alternative_of_a_list_counts_and_admin_access_does_not() -> None:
    fleet = cluster(
        template(
            "list",
            first_available("gpu", alternative("big", NVIDIA, count=2), alternative("intel", INTEL)),
            exactly("watch", NVIDIA, adminAccess=True),
        )
    )
    asks = asks_of(view_of(pod(templates={"t": "list"}), fleet))
    assert by_driver(fleet, asks) == ["a100 h100", ""]
    assert by_driver(fleet, asks, INTEL) == ["both flex", ""]
    assert [names(fleet, ask.nodes) for ask in asks.claims] == ["a100 both flex h100", ""]


def test_all_devices_takes_what_there_is_and_an_unknown_mode_at_least_one() -> None:
    fleet = cluster(
        template("all", exactly("gpu", NVIDIA, mode="All")),
        template("strange", exactly("gpu", NVIDIA, mode="Someday", count=4)),
    )
    asks = asks_of(view_of(pod(templates={"a": "all", "b": "strange"}), fleet))
    assert by_driver(fleet, asks) == ["a100 both h100", "a100 both h100"]


def test_an_allocated_claim_is_where_its_devices_are() -> None:
    held = claim(
        "held",
        exactly("gpu", NVIDIA),
        exactly("watch", NVIDIA, adminAccess=True),
        first_available("either", alternative("nic", INTEL)),
        exactly("gone", NVIDIA),
        allocated=[
            result("gpu-1", "a100"),
            result("gpu-0", "h100", request="watch", adminAccess=True),
            result("card-0", "both-intel", driver=INTEL, request="either/nic"),
            result("gpu-9", "lost-node", request="gone"),
        ],
    )
    fleet = cluster(held, node("lost-node"))
    asks = asks_of(view_of(pod(claims={"c": "held"}), fleet))
    assert [names(fleet, ask.nodes) for ask in asks.claims] == ["a100", "", "both", "lost-node"]
    assert by_driver(fleet, asks) == ["a100", "", "", "lost-node"]
    assert by_driver(fleet, asks, INTEL) == ["", "", "both", ""]


def test_extended_resources_of_all_containers() -> None:
    fleet = cluster(node("plugin", allocatable={PLUGIN: "8"}), node("zero", allocatable={PLUGIN: "0"}))
    body = pod(
        "p",
        container("one", extended={PLUGIN: "1"}),
        container("two", extended={PLUGIN: "2", "example.com/thing": "1"}),
        initContainers=[container("init", extended={PLUGIN: "2"})],
    )
    asks = asks_of(view_of(body, fleet))
    assert [(ask.resource, ask.units) for ask in asks.resources] == [(PLUGIN, 3), ("example.com/thing", 1)]
    gpus, thing = asks.resources
    assert names(fleet, gpus.served.plugin) == "plugin"
    assert names(fleet, gpus.takes(NVIDIA)) == "a100"
    assert names(fleet, gpus.by_class.nodes) == "a100"
    assert thing.takes(NVIDIA) == 0
    assert gpus.takes(INTEL) == 0


def test_dra_does_not_serve_a_resource_where_a_plugin_does() -> None:
    fleet = cluster(node("a100", allocatable={PLUGIN: "4"}), node("h100", allocatable={PLUGIN: "0"}))
    (ask,) = asks_of(view_of(pod(extended={PLUGIN: "1"}), fleet)).resources
    assert names(fleet, ask.takes(NVIDIA)) == "both h100"


def test_without_the_gate_no_class_serves_a_resource() -> None:
    fleet = cluster(server="1.35")
    (ask,) = asks_of(view_of(pod(extended={PLUGIN: "1"}), fleet)).resources
    assert ask.takes(NVIDIA) == 0


def test_a_claim_asks_with_the_containers_of_its_pod() -> None:
    owner = pod("owner", extended={PLUGIN: "1"}, templates={"gpu": "later"}, meta={"uid": "u-1"})
    fleet = cluster(owner)
    mine = claim("owner-gpu-x", exactly("gpu", NVIDIA), ownerReferences=owned_by("Pod", "owner", "u-1"))
    asks = asks_of(view_of(mine, fleet))
    assert by_driver(fleet, asks) == ["a100 both h100"]
    assert [ask.resource for ask in asks.resources] == [PLUGIN]
    assert [ask.source for ask in asks.claims] == [None]
    alone = asks_of(view_of(claim("by-hand", exactly("gpu", NVIDIA)), fleet))
    assert by_driver(fleet, alone) == ["a100 both h100"]
    assert alone.resources == ()


def test_a_workload_asks_for_its_pods() -> None:
    fleet = cluster(template("one"))
    body = controller("Deployment", "d", pod_spec(templates={"gpu": "one"}, extended={PLUGIN: "1"}))
    asks = asks_of(view_of(body, fleet))
    assert by_driver(fleet, asks) == ["a100 both h100"]
    assert [ask.resource for ask in asks.resources] == [PLUGIN]


def test_classes_and_namespaces_ask_nothing() -> None:
    fleet = cluster()
    asks = asks_of(view_of(device_class("x"), fleet))
    assert (asks.claims, asks.resources) == ((), ())
    assert asks_of(view_of({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata("n")}, fleet)).claims == ()


def test_asks_are_remembered_in_the_view() -> None:
    view = view_of(pod(extended={PLUGIN: "1"}), cluster())
    assert asks_of(view) is asks_of(view)
