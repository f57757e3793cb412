"""On which nodes an object could be given what another mechanism hands out: every clause with its nodes."""

from __future__ import annotations

import pytest

from tests.build import (
    NVIDIA,
    device_class,
    device_slice,
    exactly,
    fleet_of,
    gpu,
    node,
    pod,
    template,
)
from tests.ownership import PLUGIN, names, owner, ownership, view_of
from webhook.fleet.fleet import Fleet
from webhook.rulekit.ownership.asks import asks_of
from webhook.rulekit.ownership.conflicts import Conflicts, GroupAsks, conflicts, group_asks, sides_asked
from webhook.rulekit.policies import DeviceOwnership

STACK = "stack"
OWNERS = (
    owner("dra", {STACK: "dra"}),
    owner("device-plugin", {STACK: "plugin"}),
    owner("split", {STACK: "split"}),
)
IMPLICIT = "deviceclass.resource.kubernetes.io/gpu.nvidia.com"
CLAIM = {"templates": {"gpu": "one"}}
LIMIT = {"extended": {PLUGIN: "1"}}


def holder(where: str) -> dict:
    return pod(f"holder-{where}", extended={PLUGIN: "1"}, nodeName=where)


def kinds_of_nodes(prefix: str, labels: dict[str, str]) -> list[dict]:
    """Nodes with every mix of what the two sides may have: plugin, DRA, both, held by plugin pods after the plugin is gone."""
    return [
        node(f"{prefix}-both", labels, allocatable={PLUGIN: "8"}),
        device_slice(f"{prefix}-both", gpu("gpu-0")),
        node(f"{prefix}-dra", labels),
        device_slice(f"{prefix}-dra", gpu("gpu-0")),
        node(f"{prefix}-held", labels, allocatable={PLUGIN: "0"}),
        device_slice(f"{prefix}-held", gpu("gpu-0")),
        holder(f"{prefix}-held"),
        node(f"{prefix}-plugin", labels, allocatable={PLUGIN: "8"}),
        node(f"{prefix}-zero", labels, allocatable={PLUGIN: "0"}),
        device_slice(f"{prefix}-zero", gpu("gpu-0")),
    ]


def cluster(*objects: dict, mapped: bool = False, server: str = "1.36") -> Fleet:
    return fleet_of(
        *kinds_of_nodes("d", {STACK: "dra"}),
        *kinds_of_nodes("p", {STACK: "plugin"}),
        *kinds_of_nodes("s", {STACK: "split"}),
        *kinds_of_nodes("u", {}),
        node("z-cpu"),
        device_class(NVIDIA, extended_resource=PLUGIN if mapped else ""),
        template("one"),
        *objects,
        server=server,
    )


def judged(fleet: Fleet, policy: DeviceOwnership, feasible: int | None = None, **asked: object) -> tuple[GroupAsks, Conflicts]:
    view = view_of(pod("x", **asked), fleet)
    asks = group_asks(asks_of(view), policy)
    assert asks is not None
    return asks, conflicts(fleet, policy, asks, fleet.nodes.all if feasible is None else feasible)


def said(fleet: Fleet, found: Conflicts) -> dict[str, str]:
    by_cause = {
        "both ways": found.both_ways,
        "dra on plugin's": found.dra_on_plugins,
        "plugin on dra's": found.plugin_on_dras,
        "dra on both": found.dra_on_both,
        "plugin on both": found.plugin_on_both,
        "safe": found.safe,
    }
    return {cause: names(fleet, nodes) for cause, nodes in by_cause.items() if nodes}


def test_a_claim_where_owners_are_declared() -> None:
    fleet = cluster()
    _, found = judged(fleet, ownership(*OWNERS), **CLAIM)
    assert said(fleet, found) == {
        "dra on plugin's": "p-both p-dra p-held p-zero",
        "dra on both": "u-both u-held",
        "safe": "d-both d-dra d-held d-zero s-both s-dra s-held s-zero u-dra u-zero",
    }
    assert found.nodes == fleet.nodes.named(["p-both", "p-dra", "p-held", "p-zero", "u-both", "u-held"])


def test_a_limit_that_no_class_maps() -> None:
    fleet = cluster()
    _, found = judged(fleet, ownership(*OWNERS), **LIMIT)
    assert said(fleet, found) == {
        "plugin on dra's": "d-both d-held d-plugin d-zero",
        "plugin on both": "u-both u-held",
        "safe": "p-both p-held p-plugin p-zero s-both s-plugin u-plugin",
    }
    assert names(fleet, found.nodes) == "d-both d-held d-plugin d-zero u-both u-held"


def test_a_limit_that_a_class_maps_from_136_on() -> None:
    fleet = cluster(mapped=True)
    asks, found = judged(fleet, ownership(*OWNERS), **LIMIT)
    assert names(fleet, asks.plugin) == "d-both d-plugin p-both p-plugin s-both s-plugin u-both u-plugin"
    assert names(fleet, asks.dra) == "d-dra d-held d-zero p-dra p-held p-zero s-dra s-held s-zero u-dra u-held u-zero"
    assert asks.starved == 0
    assert said(fleet, found) == {
        "dra on plugin's": "p-dra p-held p-zero",
        "plugin on dra's": "d-both d-plugin",
        "dra on both": "u-held",
        "plugin on both": "u-both",
        "safe": "d-dra d-held d-zero p-both p-plugin s-both s-dra s-held s-plugin s-zero u-dra u-plugin u-zero",
    }


def test_a_limit_that_a_class_maps_before_136_is_the_plugins_where_it_is_listed_with_0() -> None:
    fleet = fleet_of(
        *kinds_of_nodes("u", {}),
        device_class(NVIDIA, extended_resource=PLUGIN),
        server="1.35",
        gates={"DRAExtendedResource": True},
    )
    asks, found = judged(fleet, ownership(), **LIMIT)
    assert names(fleet, asks.starved) == "u-held u-zero"
    assert names(fleet, asks.dra) == "u-dra"
    assert said(fleet, found) == {"plugin on both": "u-both u-held", "safe": "u-dra u-plugin"}


def test_the_implicit_name_asks_dra() -> None:
    fleet = cluster()
    asks, found = judged(fleet, ownership(*OWNERS), extended={IMPLICIT: "1"})
    assert (asks.plugin, asks.listed) == (0, ())
    assert said(fleet, found)["dra on both"] == "u-both u-held"


def test_both_ways_on_one_node_conflicts_whoever_owns_it() -> None:
    fleet = cluster()
    asks, found = judged(fleet, ownership(*OWNERS), **CLAIM, **LIMIT)
    assert asks.mixed
    assert found.both_ways & ~found.nodes == 0
    assert said(fleet, found) == {
        "both ways": "d-both p-both u-both",
        "dra on plugin's": "p-dra p-held p-zero",
        "plugin on dra's": "d-held d-plugin d-zero",
        "dra on both": "u-held",
        "safe": "s-both",
    }


def test_a_plugin_with_nothing_to_give_is_no_second_way() -> None:
    fleet = fleet_of(
        node("n", allocatable={PLUGIN: "0"}),
        device_slice("n", gpu("gpu-0")),
        device_class(NVIDIA),
        template("one"),
        server="1.34",
    )
    _, found = judged(fleet, ownership(), **CLAIM, **LIMIT)
    assert said(fleet, found) == {}


def test_two_extended_resources_may_ask_both_ways() -> None:
    fleet = cluster()
    asks, found = judged(fleet, ownership(), extended={PLUGIN: "1", IMPLICIT: "1"})
    assert not asks.mixed
    assert said(fleet, found)["both ways"] == "d-both p-both s-both u-both"


@pytest.mark.parametrize(
    ("default", "expected"),
    [("dra", {}), ("device-plugin", {"dra on plugin's": "b"}), ("undecided", {"dra on both": "b"})],
)
def test_the_default_owner(default: str, expected: dict[str, str]) -> None:
    fleet = fleet_of(
        node("b", allocatable={PLUGIN: "8"}), device_slice("b", gpu("gpu-0")), device_class(NVIDIA), template("one")
    )
    _, found = judged(fleet, ownership(default=default), **CLAIM)
    assert said(fleet, found) == expected


def test_only_feasible_nodes_conflict_or_are_safe() -> None:
    fleet = cluster()
    feasible = fleet.nodes.named(["u-both", "d-dra", "u-plugin"])
    _, found = judged(fleet, ownership(*OWNERS), feasible, **CLAIM)
    assert said(fleet, found) == {"dra on both": "u-both", "safe": "d-dra"}


def test_without_a_conflict_nothing_is_called_safe() -> None:
    fleet = cluster()
    _, found = judged(fleet, ownership(*OWNERS), fleet.nodes.named(["d-dra", "u-dra"]), **CLAIM)
    assert said(fleet, found) == {}
    assert found.nodes == 0


def test_a_safe_node_can_meet_all_that_is_asked_of_the_group() -> None:
    fleet = fleet_of(
        node("dual", allocatable={PLUGIN: "8"}),
        device_slice("dual", *(gpu(f"gpu-{i}") for i in range(4))),
        device_slice("four", *(gpu(f"gpu-{i}") for i in range(4))),
        device_slice("two", gpu("gpu-0"), gpu("gpu-1")),
        node("none"),
        device_class(NVIDIA),
        template("one", exactly("a"), exactly("b", count=2)),
        template("four", exactly("a", count=4)),
    )
    _, found = judged(fleet, ownership(), **CLAIM)
    assert said(fleet, found) == {"dra on both": "dual", "safe": "four two"}
    _, found = judged(fleet, ownership(), templates={"gpu": "four", "more": "one"})
    assert said(fleet, found) == {"dra on both": "dual", "safe": "four"}


@pytest.mark.parametrize(("units", "safe"), [("4", "eight four"), ("5", "eight"), ("9", "")])
def test_a_safe_node_offers_as_many_units_as_the_pod_takes(units: str, safe: str) -> None:
    fleet = fleet_of(
        node("dual", allocatable={PLUGIN: "8"}),
        device_slice("dual", gpu("gpu-0")),
        node("eight", allocatable={PLUGIN: "8"}),
        node("four", allocatable={PLUGIN: "4"}),
        node("zero", allocatable={PLUGIN: "0"}),
    )
    _, found = judged(fleet, ownership(), extended={PLUGIN: units})
    assert names(fleet, found.safe) == safe


def test_a_plugin_that_restarts_on_its_own_nodes_serves_them() -> None:
    fleet = fleet_of(
        node("dual", allocatable={PLUGIN: "8"}),
        device_slice("dual", gpu("gpu-0")),
        node("restarting", {STACK: "plugin"}, allocatable={PLUGIN: "0"}),
        node("never-had-one", {STACK: "plugin"}),
    )
    _, found = judged(fleet, ownership(*OWNERS), **LIMIT)
    assert said(fleet, found) == {"plugin on both": "dual", "safe": "restarting"}


def test_what_concerns_the_group() -> None:
    fleet = cluster(device_class("amd", "device.driver == 'gpu.amd.com'", extended_resource="amd.com/gpu"))
    policy = ownership()
    assert group_asks(asks_of(view_of(pod(extended={"amd.com/gpu": "1"}), fleet)), policy) is None
    assert group_asks(asks_of(view_of(pod(templates={"x": "no-such"}), fleet)), policy) is None
    asks, _ = judged(fleet, policy, extended={"nvidia.com/mig-1g.5gb": "1", "amd.com/gpu": "1"})
    assert [ask.resource for ask in asks.listed] == ["nvidia.com/mig-1g.5gb"]
    assert (asks.claims, asks.bridged, asks.plugin, asks.dra, asks.starved) == ((), (), 0, 0, 0)
    assert not asks.mixed


def test_a_claim_for_other_hardware_is_no_part_of_the_group() -> None:
    fleet = cluster(
        device_class("gpu.amd.com"),
        template("amd", exactly("gpu", "gpu.amd.com")),
        device_slice("a", gpu("g"), driver="gpu.amd.com"),
    )
    asks, found = judged(fleet, ownership(), templates={"gpu": "amd"}, **LIMIT)
    assert asks.claims == ()
    assert not asks.mixed
    assert found.safe == fleet.nodes.named([f"{prefix}-plugin" for prefix in "dpsu"])


def test_a_resource_that_is_served_nowhere_conflicts_nowhere() -> None:
    fleet = cluster()
    _, found = judged(fleet, ownership(*OWNERS), extended={"nvidia.com/mig-1g.5gb": "1"})
    assert said(fleet, found) == {}


@pytest.mark.parametrize(
    ("where", "asked", "sides"),
    [
        (["d-dra"], CLAIM, {"dra"}),
        (["u-plugin"], LIMIT, {"device-plugin"}),
        (["u-zero"], LIMIT, {"device-plugin"}),
        (["u-plugin", "d-dra"], {**CLAIM, **LIMIT}, {"dra", "device-plugin"}),
        (["z-cpu"], CLAIM, set()),
        (["z-cpu"], LIMIT, set()),
    ],
)
def test_sides_asked(where: list[str], asked: dict, sides: set[str]) -> None:
    fleet = cluster()
    asks, _ = judged(fleet, ownership(), **asked)
    assert sides_asked(asks, fleet.nodes.named(where)) == sides
