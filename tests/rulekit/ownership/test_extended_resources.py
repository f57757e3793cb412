"""Who serves an extended resource on which node: plugin or DRA, by allocatable, class, version and gate."""

from __future__ import annotations

import pytest

from tests.build import NVIDIA, device_class, fleet_of, node
from tests.ownership import PLUGIN, names
from webhook.rulekit.ownership.extended_resources import allocatable, class_in_force, offering, served

NODES = (
    node("absent"),
    node("eight", allocatable={PLUGIN: "8"}),
    node("one", allocatable={PLUGIN: "1", "nvidia.com/mig-1g.5gb": "7"}),
    node("zero", allocatable={PLUGIN: "0"}),
)
MAPPED = device_class(NVIDIA, extended_resource=PLUGIN)


@pytest.mark.parametrize(
    ("objects", "server", "gates", "starved", "dra"),
    [
        ((), "1.36", {}, "zero", ""),
        ((device_class(NVIDIA),), "1.36", {}, "zero", ""),
        ((MAPPED,), "1.36", {}, "", "absent zero"),
        ((MAPPED,), "1.37", {}, "", "absent zero"),
        ((MAPPED,), "1.36", {"DRAExtendedResource": False}, "zero", ""),
        ((MAPPED,), "1.35", {}, "zero", ""),
        ((MAPPED,), "1.35", {"DRAExtendedResource": True}, "zero", "absent"),
        ((MAPPED,), "1.34", {"DRAExtendedResource": True}, "zero", "absent"),
    ],
)
def test_who_serves(objects: tuple[dict, ...], server: str, gates: dict[str, bool], starved: str, dra: str) -> None:
    fleet = fleet_of(*NODES, *objects, server=server, gates=gates)
    found = served(fleet, PLUGIN)
    assert names(fleet, found.plugin) == "eight one"
    assert names(fleet, found.starved) == starved
    assert names(fleet, found.dra) == dra


def test_the_implicit_name_of_a_class_is_served_by_dra_on_every_node() -> None:
    fleet = fleet_of(*NODES, device_class(NVIDIA))
    found = served(fleet, "deviceclass.resource.kubernetes.io/gpu.nvidia.com")
    assert names(fleet, found.dra) == "absent eight one zero"
    assert (found.plugin, found.starved) == (0, 0)


def test_a_resource_that_nothing_knows_is_served_nowhere() -> None:
    fleet = fleet_of(*NODES)
    found = served(fleet, "example.com/thing")
    assert (found.plugin, found.starved, found.dra) == (0, 0, 0)


def test_what_was_worked_out_follows_the_classes() -> None:
    before = fleet_of(*NODES)
    assert served(before, PLUGIN).dra == 0
    after = fleet_of(*NODES, MAPPED)
    assert names(after, served(after, PLUGIN).dra) == "absent zero"
    assert served(after, PLUGIN) is served(after, PLUGIN)


def test_the_class_in_force_is_the_newest() -> None:
    old = device_class("b-class", extended_resource=PLUGIN, creationTimestamp="2026-01-01T00:00:00Z")
    new = device_class("a-class", extended_resource=PLUGIN, creationTimestamp="2026-01-02T00:00:00Z")
    fleet = fleet_of(old, new)
    found = class_in_force(fleet, PLUGIN)
    assert found is not None
    assert found.name == "a-class"
    assert class_in_force(fleet, "example.com/thing") is None
    assert class_in_force(fleet_of(old, gates={"DRAExtendedResource": False}), PLUGIN) is None


@pytest.mark.parametrize(("amount", "expected"), [(0, "eight one zero"), (1, "eight one"), (2, "eight"), (8, "eight"), (9, "")])
def test_offering_at_least_so_many(amount: int, expected: str) -> None:
    fleet = fleet_of(*NODES)
    assert names(fleet, offering(fleet.nodes, PLUGIN, amount)) == expected


def test_allocatable_lists_every_resource_of_every_node() -> None:
    fleet = fleet_of(*NODES)
    listed = {
        name: {amount: names(fleet, nodes) for amount, nodes in by.items()} for name, by in allocatable(fleet.nodes).items()
    }
    assert listed == {PLUGIN: {8: "eight", 1: "one", 0: "zero"}, "nvidia.com/mig-1g.5gb": {7: "one"}}
    assert offering(fleet.nodes, "example.com/thing", 1) == 0
