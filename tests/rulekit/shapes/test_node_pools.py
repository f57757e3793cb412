"""Pools as nodes see them: generations, contradictions, slices that reach some nodes only."""

from __future__ import annotations

from typing import Any

import pytest

from tests.build import NVIDIA, Raw, device_class, device_slice, exactly, fleet_of, gpu, node
from webhook.fleet.fleet import Fleet
from webhook.model.claim_reading import read_claim
from webhook.rulekit.policies import PolicySet
from webhook.rulekit.shapes.node_pools import (
    View,
    counter_fault,
    differs_by_node,
    fault_of,
    gather,
    nodes_with_faults,
    pools_that_differ,
    views_of,
)
from webhook.rulekit.shapes.possible import alternative_shapes
from webhook.rulekit.shapes.shape import AlternativeShapes

NODES = (node("n1", {"zone": "a"}), node("n2", {"zone": "b"}), node("n3", {"zone": "b"}))
ZONE_B = {"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b"]}]}]}}


def part(name: str, where: str | Raw, *devices: str | Raw, generation: int = 1, slices: int = 1, **spec: Any) -> Raw:
    """One slice of pool p, with devices of the slice's own name."""
    made = [gpu(item, name) if isinstance(item, str) else item for item in devices]
    return device_slice(where, *made, name=name, pool="p", generation=generation, slices=slices, **spec)


def fleet(*slices: Raw, **server: Any) -> Fleet:
    return fleet_of(device_class(NVIDIA, "true"), *NODES, *slices, **{"server": "1.37", **server})


def seen(views: tuple[View, ...], among: Fleet) -> dict[str, tuple[str, list[str]]]:
    """By node: the fault and the devices of pool p."""
    return {
        member.name: (view.fault, [device.name for device in view.pool.devices])
        for view in views
        for member in among.nodes.members(view.nodes)
    }


def seen_of_p(among: Fleet) -> dict[str, tuple[str, list[str]]]:
    return seen(views_of(among, among.inventory.by_key[NVIDIA, "p"]), among)


def listed(among: Fleet, **ask: Any) -> AlternativeShapes:
    spec = read_claim({"spec": {"devices": {"requests": [exactly(**ask)]}}}).spec
    request = spec.requests[0]
    return alternative_shapes(among, PolicySet(), spec, request, request.alternatives[0], among.nodes.all)


def shapes(among: Fleet, **ask: Any) -> list[str]:
    return [str(shape).replace(f"?{NVIDIA}/", "") for shape in listed(among, **ask).shapes]


# The same from everywhere.


def test_a_pool_that_is_whole_is_the_same_from_everywhere() -> None:
    found = fleet(part("s1", "n1", "a", slices=2), part("s2", ZONE_B, "b", slices=2))
    pool = found.inventory.by_key[NVIDIA, "p"]
    assert not differs_by_node(pool)
    assert pools_that_differ(found.inventory) == ()
    (view,) = views_of(found, pool)
    assert view.pool is pool
    assert seen_of_p(found) == {name: ("", ["a", "b"]) for name in ("n1", "n2", "n3")}
    assert views_of(found, pool) is views_of(found, pool)


def test_a_pool_that_reaches_nobody_is_in_no_view() -> None:
    found = fleet(part("s1", {"nodeSelector": {"nodeSelectorTerms": []}}, "a"))
    assert seen_of_p(found) == {}


def test_an_incomplete_pool_is_incomplete_from_everywhere() -> None:
    found = fleet(part("s1", "n1", "a", slices=3), part("s2", ZONE_B, "b", slices=3))
    assert not differs_by_node(found.inventory.pools[0])
    assert {fault for fault, _ in seen_of_p(found).values()} == {"incomplete"}
    assert fault_of(found.inventory.pools[0], found.server) == "incomplete"
    older = fleet(part("s1", "n1", "a", slices=3), server="1.34")
    assert fault_of(older.inventory.pools[0], older.server) == ""


# Generations.


def test_whoever_sees_all_of_the_old_generation_and_nothing_of_the_new_one_still_uses_it() -> None:
    found = fleet(part("old", "n1", "a"), part("new", "n2", "b", generation=2))
    assert differs_by_node(found.inventory.pools[0])
    assert seen_of_p(found) == {"n1": ("", ["a"]), "n2": ("", ["b"])}
    assert shapes(found) == ["1x new", "1x old"]


def test_errors_on_devices_of_the_old_generation_are_told_where_it_is_used() -> None:
    found = fleet(part("old", "n1", "a"), part("new", "n2", gpu("b", "new", slots=1), generation=2))
    asked = f'device.attributes["{NVIDIA}"].slots == 1'
    request = exactly("gpu", NVIDIA, asked)
    spec = read_claim({"spec": {"devices": {"requests": [request]}}}).spec
    answer = alternative_shapes(found, PolicySet(), spec, spec.requests[0], spec.requests[0].alternatives[0], found.nodes.all)
    assert [str(shape) for shape in answer.shapes] == [f"1x ?{NVIDIA}/new"]
    assert [(error.device.name, error.message) for error in answer.errors] == [("a", "no such key: slots")]


def test_who_sees_both_uses_the_new_one() -> None:
    found = fleet(part("old", "n1", "a"), part("new", {"allNodes": True}, "b", generation=2))
    assert seen_of_p(found) == {name: ("", ["b"]) for name in ("n1", "n2", "n3")}
    assert shapes(found) == ["1x new"]


def test_who_sees_a_part_of_the_old_generation_learns_that_it_is_over() -> None:
    found = fleet(part("old1", "n1", "a", slices=2), part("old2", "n2", "b", slices=2), part("new", "n3", "c", generation=2))
    assert seen_of_p(found) == {"n3": ("", ["c"])}
    assert shapes(found) == ["1x new"]


def test_a_new_generation_that_is_not_whole_gives_nothing_where_it_is_seen() -> None:
    found = fleet(part("old", "n1", "a"), part("new", ZONE_B, "b", generation=2, slices=2))
    assert seen_of_p(found) == {"n1": ("", ["a"]), "n2": ("incomplete", ["b"]), "n3": ("incomplete", ["b"])}
    assert shapes(found) == ["1x old"]


def test_in_a_pool_that_mixes_nothing_is_missing_that_older_servers_give_out() -> None:
    found = fleet(part("old", "n1", "a"), part("new", "n2", "b", generation=2, slices=2), server="1.34")
    assert shapes(found) == ["1x new", "1x old"]


# Contradictions.


def test_slices_that_do_not_agree_on_their_number_leave_it_open() -> None:
    found = fleet(part("s1", "n1", "a", slices=1), part("s2", "n1", "b", slices=2), part("s3", "n2", "c", slices=1))
    assert seen_of_p(found) == {"n1": ("unsettled", ["a", "b"]), "n2": ("", ["c"])}
    assert shapes(found) == ["1x s1", "1x s2", "1x s3"]


def test_more_slices_than_there_should_be() -> None:
    found = fleet(part("s1", "n1", "a"), part("s2", "n2", "b"))
    assert seen_of_p(found) == {"n1": ("", ["a"]), "n2": ("", ["b"])}
    both = fleet(part("s1", "n1", "a"), part("s2", "n1", "b"))
    assert seen_of_p(both) == {"n1": ("incomplete", ["a", "b"])}
    assert (
        listed(both).uncertain == f"pool p of {NVIDIA} is incomplete: nothing is given out of it until all its slices are there"
    )


def test_a_pool_that_nobody_can_use_although_its_newest_generation_is_whole() -> None:
    found = fleet(part("s1", "n1", "a", slices=2), part("s2", "n1", "b", slices=2), part("s3", ZONE_B, "c", slices=2))
    assert seen_of_p(found) == {"n1": ("", ["a", "b"]), "n2": ("incomplete", ["c"]), "n3": ("incomplete", ["c"])}
    twice = fleet(
        part("s1", "n1", "a", slices=2), part("s2", "n1", "a", slices=2), part("s3", "n1", "c", slices=2, generation=0)
    )
    assert listed(twice).uncertain == f"pool p of {NVIDIA} publishes device a twice: nothing is given out of it"


def test_a_name_that_is_there_twice_matters_to_who_sees_both() -> None:
    found = fleet(part("s1", "n1", "a", slices=3), part("s2", ZONE_B, "a", slices=3), part("s3", "n2", "a", slices=3))
    assert seen_of_p(found) == {"n1": ("", ["a"]), "n2": ("invalid", ["a"]), "n3": ("", ["a"])}
    assert shapes(found) == ["1x s1", "1x s2"]


def counting(name: str, counter_set: str = "card", counter: str = "memory") -> Raw:
    return gpu(name) | {"consumesCounters": [{"counterSet": counter_set, "counters": {counter: {"value": "1"}}}]}


def card(name: str = "card") -> list[Raw]:
    return [{"name": name, "counters": {"memory": {"value": "4"}}}]


def test_counters_are_found_in_slices_that_do_not_reach_the_node() -> None:
    found = fleet(part("s1", "n1", counting("a"), slices=2), part("s2", "n2", slices=2, sharedCounters=card()))
    assert seen_of_p(found)["n1"] == ("", ["a"])
    # The same in a pool that is not the same from everywhere.
    mixed = fleet(
        part("s0", "n3", "x"),
        part("s1", "n1", counting("a"), slices=2, generation=2),
        part("s2", "n2", slices=2, generation=2, sharedCounters=card()),
    )
    (view,) = [view for view in views_of(mixed, mixed.inventory.pools[0]) if view.nodes == mixed.nodes.named(["n1"])]
    assert view.fault == ""
    assert [counters.name for counters in view.pool.counter_sets] == ["card"]
    assert [device.name for device in view.pool.devices] == ["a"]


@pytest.mark.parametrize(
    ("sets", "device", "fault"),
    [
        (card(), counting("a"), ""),
        (card() + card(), counting("a"), "counter set card is there twice"),
        (card(), counting("a", "other"), "device a consumes of counter set other, which is not there"),
        (card(), counting("a", "card", "slices"), "device a consumes counter slices, which counter set card does not have"),
        ([], counting("a"), "device a consumes of counter set card, which is not there"),
    ],
)
def test_counters_that_contradict_each_other(sets: list[Raw], device: Raw, fault: str) -> None:
    slices = (part("s1", "n1", device, slices=2), part("s2", "n1", slices=2, sharedCounters=sets))
    pool = fleet(*slices).inventory.pools[0]
    assert counter_fault(pool) == fault
    assert fault_of(pool, fleet().server) == ("invalid" if fault else "")
    # Where the gate is off, nobody looks.
    assert fault_of(pool, fleet(server="1.35").server) == ""
    assert seen_of_p(fleet(*slices))["n1"][0] == ("invalid" if fault else "")
    differing = fleet(*slices, part("s3", "n2", "x", generation=0))
    assert seen_of_p(differing)["n1"][0] == ("invalid" if fault else "")
    off = fleet(*slices, part("s3", "n2", "x", generation=0), gates={"DRAPartitionableDevices": False})
    assert seen_of_p(off)["n1"][0] == ""


# All devices are given to nobody who sees a pool that is not whole.


def test_nodes_on_which_all_devices_are_given_to_nobody() -> None:
    broken = device_slice("n2", gpu("b"), driver="other.example.com", pool="q", slices=2)
    found = fleet(part("s1", "n1", "a"), part("s2", "n2", "c", generation=2), broken)
    assert nodes_with_faults(found) == found.nodes.named(["n2"])
    assert shapes(found, mode="All") == ["*x s1"]
    assert shapes(found) == ["1x s1", "1x s2"]
    assert nodes_with_faults(fleet(part("s1", "n1", "a"))) == 0


def test_faults_of_a_pool_count_where_it_is_seen() -> None:
    found = fleet(part("s1", "n1", "a"), part("s2", ZONE_B, "b", generation=2, slices=2))
    assert nodes_with_faults(found) == found.nodes.named(["n2", "n3"])
    assert shapes(found, mode="All") == ["*x s1"]


# What a node has to choose from.


def places(among: Fleet, name: str) -> list[tuple[str, bool]]:
    return [(place.device.name, place.here) for place in gather(among, name).places]


def test_places_are_in_the_allocators_order() -> None:
    found = fleet(
        device_slice("n1", gpu("z1"), gpu("a1"), name="b", pool="one", slices=2),
        device_slice("n1", gpu("m1"), name="a", pool="one", slices=2),
        device_slice({"allNodes": True}, gpu("wide"), pool="a-wide"),
        device_slice(ZONE_B, gpu("elsewhere"), pool="b-wide"),
        device_slice("n1", gpu("first"), driver="a.example.com", pool="z"),
        device_slice("n2", gpu("other"), pool="two"),
    )
    assert places(found, "n1") == [("first", True), ("wide", True), ("m1", True), ("z1", True), ("a1", True)]
    assert places(found, "n2") == [("wide", True), ("elsewhere", True), ("other", True)]


def test_pools_with_binding_conditions_come_last() -> None:
    bound = gpu("bound") | {"bindingConditions": ["ready"], "bindingFailureConditions": ["failed"]}
    found = fleet(
        device_slice("n1", gpu("x"), bound, pool="a"),
        device_slice("n1", gpu("y"), pool="b"),
    )
    assert places(found, "n1") == [("y", True), ("x", True), ("bound", True)]


def test_devices_with_nodes_of_their_own_are_looked_at_before_that_shows() -> None:
    found = fleet(
        device_slice(
            {"perDeviceNodeSelection": True}, gpu("a") | {"nodeName": "n1"}, gpu("b") | {"nodeName": "n2"}, name="s1", slices=2
        ),
        device_slice({"perDeviceNodeSelection": True}, gpu("c") | {"nodeName": "n2"}, name="s2", slices=2),
    )
    assert places(found, "n1") == [("a", True), ("b", False)]
    assert places(found, "n2") == [("a", False), ("b", True), ("c", True)]
    assert places(found, "n3") == []


def test_faults_are_where_their_pools_would_be() -> None:
    found = fleet(
        device_slice("n1", gpu("x"), pool="a"),
        device_slice("n1", gpu("y"), pool="b", slices=2),
        device_slice("n1", gpu("z"), pool="c"),
    )
    assert places(found, "n1") == [("x", True), ("z", True)]
    assert gather(found, "n1").faults == ((1, "incomplete"),)
