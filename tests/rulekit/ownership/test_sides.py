"""Who is declared to own a node, and which side has it."""

from __future__ import annotations

import pytest

from tests.build import (
    claim,
    container,
    device_slice,
    exactly,
    fleet_of,
    gpu,
    node,
    pod,
    result,
)
from tests.ownership import PLUGIN, names, owner, ownership
from webhook.fleet.build import with_objects
from webhook.fleet.fleet import Fleet
from webhook.model.labels import LabelExpression
from webhook.rulekit.ownership.sides import Sides, owners, sides
from webhook.rulekit.policies import DeviceOwnership

STACK = "example.com/gpu-stack"
BY_LABEL = (
    owner("dra", {STACK: "dra"}),
    owner("device-plugin", {STACK: "device-plugin"}),
    owner("split", {STACK: "split"}),
)
LABELLED = (
    node("d", {STACK: "dra"}),
    node("n"),
    node("p", {STACK: "device-plugin", "old": "yes"}),
    node("s", {STACK: "split"}),
)


@pytest.mark.parametrize(
    ("policy", "dra", "plugin", "split", "undecided"),
    [
        (ownership(), "", "", "", "d n p s"),
        (ownership(*BY_LABEL), "d", "p", "s", "n"),
        (ownership(*BY_LABEL, default="dra"), "d n", "p", "s", ""),
        (ownership(*BY_LABEL, default="device-plugin"), "d", "n p", "s", ""),
        (ownership(default="dra"), "d n p s", "", "", ""),
        (ownership(owner("dra", {"old": "yes"}), *BY_LABEL), "d p", "", "s", "n"),
        (ownership(owner("dra", {}, LabelExpression(key=STACK, operator="Exists")), *BY_LABEL), "d p s", "", "", "n"),
    ],
)
def test_owners(policy: DeviceOwnership, dra: str, plugin: str, split: str, undecided: str) -> None:
    fleet = fleet_of(*LABELLED)
    found = owners(fleet.nodes, policy)
    assert [names(fleet, item) for item in (found.dra, found.plugin, found.split, found.undecided)] == [
        dra,
        plugin,
        split,
        undecided,
    ]


def test_owners_follow_the_policy() -> None:
    fleet = fleet_of(*LABELLED)
    one, other = ownership(*BY_LABEL), ownership(*BY_LABEL, default="dra")
    assert owners(fleet.nodes, one) is owners(fleet.nodes, one)
    assert names(fleet, owners(fleet.nodes, other).undecided) == ""
    assert names(fleet, owners(fleet.nodes, one).undecided) == "n"


def said(fleet: Fleet, found: Sides) -> tuple[str, str, str, str]:
    return (
        names(fleet, found.plugin_offers),
        names(fleet, found.plugin_holds),
        names(fleet, found.dra_offers),
        names(fleet, found.dra_holds),
    )


def test_what_the_plugin_offers_is_allocatable_above_zero_of_a_listed_name() -> None:
    fleet = fleet_of(
        node("glob", allocatable={"nvidia.com/mig-1g.5gb": "7"}),
        node("other", allocatable={"amd.com/gpu": "8", "nvidia.com/gpu.memory": "80"}),
        node("shared", allocatable={"nvidia.com/gpu.shared": "32"}),
        node("whole", allocatable={PLUGIN: "8"}),
        node("zero", allocatable={PLUGIN: "0"}),
    )
    assert said(fleet, sides(fleet, ownership())) == ("glob shared whole", "", "", "")
    assert said(fleet, sides(fleet, ownership(resources=("nvidia.com/gpu.*",)))) == ("other shared", "", "", "")


def test_what_the_plugin_holds_is_what_its_pods_were_given() -> None:
    def holder(name: str, where: str, resource: str = PLUGIN, **fields: object) -> dict:
        return pod(name, extended={resource: "2"}, nodeName=where, **fields)

    by_dra = {
        "extendedResourceClaimStatus": {
            "resourceClaimName": "x",
            "requestMappings": [{"containerName": "main", "resourceName": PLUGIN, "requestName": "container-0-request-0"}],
        }
    }
    fleet = fleet_of(
        *(node(name) for name in ("by-dra", "done", "ending", "failed", "mig", "other", "running")),
        holder("a", "running", status={"phase": "Running"}),
        holder("b", "ending", meta={"deletionTimestamp": "2027-01-01T00:00:00Z"}, status={"phase": "Running"}),
        holder("c", "done", status={"phase": "Succeeded"}),
        holder("d", "failed", status={"phase": "Failed"}),
        holder("e", "mig", "nvidia.com/mig-3g.20gb"),
        holder("f", "other", "amd.com/gpu"),
        holder("g", "by-dra", status=by_dra),
        holder("h", "no-such-node"),
        pod("unbound", extended={PLUGIN: "1"}),
        pod("init", initContainers=[container("i", extended={PLUGIN: "1"})], nodeName="other", status={"phase": "Failed"}),
    )
    found = sides(fleet, ownership())
    assert said(fleet, found) == ("", "ending mig running", "", "")
    assert names(fleet, found.plugin) == "ending mig running"


def test_what_dra_offers_is_published() -> None:
    fleet = fleet_of(
        device_slice("here", gpu("gpu-0")),
        device_slice("empty", pool="empty"),
        device_slice("intel", gpu("gpu-0"), driver="gpu.intel.com"),
        device_slice({"allNodes": True}, gpu("gpu-0"), driver="gpu.intel.com", pool="fabric"),
        device_slice(
            {"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "rack", "operator": "Exists"}]}]}}, gpu("r")
        ),
        node("empty"),
        node("racked", {"rack": "1"}),
        node("bare"),
    )
    found = sides(fleet, ownership())
    assert said(fleet, found) == ("", "", "here racked", "")
    assert names(fleet, found.dra) == "here racked"


def test_what_dra_holds_is_allocated_without_admin_access() -> None:
    fleet = fleet_of(
        node("gone"),
        node("watched"),
        node("intel"),
        device_slice("here", gpu("gpu-0"), gpu("gpu-1")),
        claim("a", exactly(), allocated=[result("gpu-0", "here")]),
        claim("b", exactly(), allocated=[result("gpu-0", "gone")]),
        claim("c", exactly(), allocated=[result("gpu-0", "watched", adminAccess=True)]),
        claim("d", exactly(), allocated=[result("card-0", "intel", driver="gpu.intel.com")]),
        claim("e", exactly(), allocated=[result("card-0", "no-such-node")]),
    )
    found = sides(fleet, ownership())
    assert said(fleet, found) == ("", "", "here", "gone here")
    assert names(fleet, found.dra) == "gone here"
    assert names(fleet, sides(fleet, ownership(driver="gpu.intel.com")).dra_holds) == "intel"


def test_sides_follow_the_fleet_and_the_policy() -> None:
    policy = ownership()
    before = fleet_of(node("n", allocatable={PLUGIN: "8"}))
    assert sides(before, policy) is sides(before, policy)
    published = with_objects(before, [device_slice("n", gpu("gpu-0"))])
    assert names(published, sides(published, policy).dra_offers) == "n"
    held = with_objects(published, [pod("holder", extended={PLUGIN: "1"}, nodeName="n")])
    assert names(held, sides(held, policy).plugin_holds) == "n"
    assert sides(published, policy).plugin_holds == 0
    assert sides(published, ownership(driver="gpu.intel.com")).dra_offers == 0


def test_a_device_of_no_node_is_held_on_none() -> None:
    fleet = fleet_of(
        node("n"),
        device_slice({"allNodes": True}, gpu("net-0"), pool="fabric"),
        claim("a", exactly(), allocated=[result("net-0", "fabric")]),
    )
    assert said(fleet, sides(fleet, ownership())) == ("", "", "n", "")
    assert fleet.holdings.dra_nodes() == {}
    assert list(fleet.holdings.plugin_nodes) == []
