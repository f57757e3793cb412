"""Node sets, and which nodes a pod can be placed on."""

from __future__ import annotations

from typing import Any

import pytest

from tests.build import node, node_affinity, pod
from webhook.fleet.nodes import Nodes, NodeSet
from webhook.model.cluster_reading import read_node
from webhook.model.device import Reach
from webhook.model.labels import LabelExpression, LabelSelector
from webhook.model.pod_reading import read_pod


def nodes_of(*raw: dict[str, Any], named_by_slices: tuple[str, ...] = ()) -> Nodes:
    """Nodes of raw objects."""
    return Nodes(map(read_node, raw), named_by_slices)


def names(nodes: Nodes, found: NodeSet) -> list[str]:
    """The names in a set."""
    return [item.name for item in nodes.members(found)]


THREE = nodes_of(
    node("c", {"zone": "south", "cards": "8"}),
    node("a", {"zone": "north", "cards": "4"}),
    node("b", {"zone": "north", "cards": "many"}),
    named_by_slices=("d", "a"),
)


def placed(**spec: Any) -> list[str]:
    """Where among the three labelled nodes a, b, c and the bare node d a pod can be."""
    return names(THREE, THREE.feasible(read_pod(pod("p", **spec))))


def test_names_are_sorted_and_bits_follow_them() -> None:
    assert THREE.names == ("a", "b", "c", "d")
    assert THREE.all == 0b1111
    assert [THREE.index(name) for name in ("a", "d", "e")] == [0, 3, -1]
    assert THREE.named(("d", "a", "unknown")) == 0b1001
    assert names(THREE, 0b1010) == ["b", "d"]
    assert names(THREE, 0) == []


def test_a_node_that_only_a_slice_names_is_bare() -> None:
    assert THREE.by_name["d"].meta.labels == {}
    assert THREE.by_name["d"].allocatable == {}
    assert THREE.by_name["a"].meta.labels == {"zone": "north", "cards": "4"}


def test_sets_of_many_nodes() -> None:
    many = nodes_of(*(node(f"n{i:04}", {"odd": str(i % 2)}) for i in range(1000)))
    found = many.feasible(read_pod(pod("p", nodeSelector={"odd": "1"})))
    assert found.bit_count() == 500
    assert names(many, found)[:2] == ["n0001", "n0003"]
    assert names(many, found)[-1] == "n0999"


def test_no_nodes_at_all() -> None:
    none = nodes_of()
    assert (none.names, none.all, names(none, none.all)) == ((), 0, [])
    assert none.feasible(read_pod(pod("p", nodeSelector={"a": "b"}))) == 0


def test_a_pod_without_constraints_can_be_anywhere() -> None:
    assert placed() == ["a", "b", "c", "d"]


@pytest.mark.parametrize(("name", "found"), [("b", ["b"]), ("gone", [])])
def test_node_name(name: str, found: list[str]) -> None:
    assert placed(nodeName=name) == found


def test_node_selector() -> None:
    assert placed(nodeSelector={"zone": "north"}) == ["a", "b"]
    assert placed(nodeSelector={"zone": "north", "cards": "4"}) == ["a"]
    assert placed(nodeSelector={"nobody": "has"}) == []


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    """A requirement; `values` absent when there are none."""
    return {"key": key, "operator": operator} | ({"values": list(values)} if values else {})


@pytest.mark.parametrize(
    ("requirement", "found"),
    [
        (expression("zone", "In", "north", "west"), ["a", "b"]),
        (expression("zone", "In", "north", "south", "north"), ["a", "b", "c"]),
        (expression("zone", "NotIn", "north"), ["c", "d"]),
        (expression("zone", "Exists"), ["a", "b", "c"]),
        (expression("zone", "DoesNotExist"), ["d"]),
        (expression("nobody", "DoesNotExist"), ["a", "b", "c", "d"]),
        (expression("nobody", "NotIn", "x"), ["a", "b", "c", "d"]),
        (expression("nobody", "Exists"), []),
        (expression("cards", "Gt", "4"), ["c"]),
        (expression("cards", "Gt", "3"), ["a", "c"]),
        (expression("cards", "Gt", "003"), ["a", "c"]),
        (expression("cards", "Lt", "8"), ["a"]),
        (expression("nobody", "Gt", "0"), []),
        # What the scheduler cannot parse matches nothing.
        (expression("zone", "In"), []),
        (expression("zone", "NotIn"), []),
        (expression("zone", "Exists", "x"), []),
        (expression("zone", "DoesNotExist", "x"), []),
        (expression("cards", "Gt", "1", "2"), []),
        (expression("cards", "Gt", "four"), []),
        (expression("cards", "Gt", "1_0"), []),
        (expression("cards", "Gt", "-1"), []),  # no label value
        (expression("cards", "Lt", "+9"), []),
        (expression("cards", "Lt", "9223372036854775808"), []),
        (expression("zone", "Near", "north"), []),
        (expression("bad key", "DoesNotExist"), []),
        (expression("UPPER.example.com/x", "DoesNotExist"), []),
        (expression("a/b/c", "DoesNotExist"), []),
        (expression("", "DoesNotExist"), []),
        (expression("zone", "NotIn", "bad value!"), []),
        (expression("zone", "NotIn", "x" * 64), []),
        (expression("zone", "NotIn", ""), ["a", "b", "c", "d"]),
        (expression("example.com/zone", "DoesNotExist"), ["a", "b", "c", "d"]),
    ],
)
def test_match_expressions(requirement: dict[str, Any], found: list[str]) -> None:
    assert placed(affinity=node_affinity({"matchExpressions": [requirement]})) == found


@pytest.mark.parametrize(
    ("requirement", "found"),
    [
        (expression("metadata.name", "In", "a"), ["a"]),
        (expression("metadata.name", "In", "gone"), []),
        (expression("metadata.name", "NotIn", "a"), ["b", "c", "d"]),
        (expression("metadata.name", "In", "a", "b"), []),
        (expression("metadata.name", "NotIn"), []),
        (expression("metadata.name", "Exists"), []),
        (expression("metadata.uid", "In", "a"), []),
        (expression("metadata.uid", "NotIn", "a"), ["a", "b", "c", "d"]),
        (expression("metadata.uid", "In", ""), ["a", "b", "c", "d"]),
    ],
)
def test_match_fields(requirement: dict[str, Any], found: list[str]) -> None:
    assert placed(affinity=node_affinity({"matchFields": [requirement]})) == found


def test_terms_are_ored_and_their_parts_anded() -> None:
    north, south = expression("zone", "In", "north"), expression("zone", "In", "south")
    not_a = expression("metadata.name", "NotIn", "a")
    assert placed(affinity=node_affinity({"matchExpressions": [north], "matchFields": [not_a]})) == ["b"]
    assert placed(affinity=node_affinity({"matchExpressions": [north]}, {"matchExpressions": [south]})) == ["a", "b", "c"]
    assert placed(affinity=node_affinity({"matchExpressions": [north, south]})) == []


def test_empty_terms_match_nothing() -> None:
    north = {"matchExpressions": [expression("zone", "In", "north")]}
    assert placed(affinity=node_affinity({})) == []
    assert placed(affinity=node_affinity({"matchExpressions": [], "matchFields": []}, north)) == ["a", "b"]
    assert names(THREE, THREE.feasible(read_pod({"spec": {"affinity": node_affinity()}}))) == []


def test_a_term_that_does_not_parse_spoils_only_itself() -> None:
    north = {"matchExpressions": [expression("zone", "In", "north")]}
    odd = {"matchExpressions": [expression("zone", "Near", "north")]}
    assert placed(affinity=node_affinity(odd, north)) == ["a", "b"]


def test_selector_and_affinity_both_hold() -> None:
    affinity = node_affinity({"matchExpressions": [expression("cards", "Exists")]})
    assert placed(nodeSelector={"zone": "south"}, affinity=affinity) == ["c"]


def tainted(key: str, effect: str, value: str = "") -> Nodes:
    """A node `t` with one taint, and a free node."""
    return nodes_of(node("t", taints=[{"key": key, "value": value, "effect": effect}]), node("free"))


@pytest.mark.parametrize(
    ("key", "effect", "kept_off"),
    [
        ("gpu", "NoSchedule", True),
        ("gpu", "NoExecute", True),
        ("gpu", "PreferNoSchedule", False),
        ("gpu", "", False),
        ("node.kubernetes.io/unschedulable", "NoSchedule", False),
        ("node.kubernetes.io/not-ready", "NoExecute", False),
        ("node.cloudprovider.kubernetes.io/uninitialized", "NoSchedule", False),
        ("node-role.kubernetes.io/control-plane", "NoSchedule", True),
    ],
)
def test_which_taints_count(key: str, effect: str, kept_off: bool) -> None:
    nodes = tainted(key, effect)
    assert names(nodes, nodes.feasible(read_pod(pod("p")))) == (["free"] if kept_off else ["free", "t"])


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        ({"key": "gpu", "value": "yes", "effect": "NoSchedule"}, True),
        ({"key": "gpu", "operator": "Equal", "value": "yes"}, True),
        ({"key": "gpu", "operator": "Exists"}, True),
        ({"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}, True),
        ({"operator": "Exists"}, True),
        ({"operator": "Exists", "effect": "NoSchedule"}, True),
        ({"value": "yes"}, True),
        ({"key": "gpu"}, False),
        ({"key": "gpu", "value": "no"}, False),
        ({"key": "other", "operator": "Exists"}, False),
        ({"key": "gpu", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "gpu", "operator": "Near", "value": "yes"}, False),
        ({}, False),
    ],
)
def test_tolerations(toleration: dict[str, Any], tolerated: bool) -> None:
    nodes = tainted("gpu", "NoSchedule", "yes")
    found = names(nodes, nodes.feasible(read_pod(pod("p", tolerations=[toleration]))))
    assert found == (["free", "t"] if tolerated else ["free"])


@pytest.mark.parametrize(
    ("operator", "value", "taint_value", "tolerated"),
    [
        ("Lt", "10", "5", True),
        ("Lt", "5", "5", False),
        ("Gt", "5", "10", True),
        ("Gt", "5", "5", False),
        ("Gt", "five", "10", False),
        ("Gt", "5", "ten", False),
    ],
)
def test_tolerations_that_compare(operator: str, value: str, taint_value: str, tolerated: bool) -> None:
    nodes = tainted("level", "NoSchedule", taint_value)
    toleration = {"key": "level", "operator": operator, "value": value}
    found = names(nodes, nodes.feasible(read_pod(pod("p", tolerations=[toleration]))))
    assert found == (["free", "t"] if tolerated else ["free"])


def test_all_taints_of_a_node_must_be_tolerated() -> None:
    nodes = nodes_of(node("t", taints=[{"key": "a", "effect": "NoSchedule"}, {"key": "b", "effect": "NoExecute"}]))
    one, both = [{"key": "a", "operator": "Exists"}], [{"operator": "Exists"}]
    assert names(nodes, nodes.feasible(read_pod(pod("p", tolerations=one)))) == []
    assert names(nodes, nodes.feasible(read_pod(pod("p", tolerations=both)))) == ["t"]


def test_a_pod_that_names_its_node_goes_past_no_schedule_taints() -> None:
    nodes = nodes_of(
        node("s", taints=[{"key": "gpu", "effect": "NoSchedule"}]), node("e", taints=[{"key": "gpu", "effect": "NoExecute"}])
    )
    assert names(nodes, nodes.feasible(read_pod(pod("p", nodeName="s")))) == ["s"]
    assert names(nodes, nodes.feasible(read_pod(pod("p", nodeName="e")))) == []


def test_the_same_placement_is_worked_out_once() -> None:
    nodes = nodes_of(node("a", {"x": "y"}))
    for name in ("one", "two"):
        nodes.feasible(read_pod(pod(name, nodeSelector={"x": "y"})))
    assert len(nodes.memo) == 1
    nodes.feasible(read_pod(pod("three", nodeSelector={"x": "z"})))
    assert len(nodes.memo) == 2


@pytest.mark.parametrize(
    ("reach", "found"),
    [
        (Reach(node_name="b"), ["b"]),
        (Reach(node_name="gone"), []),
        (Reach(all_nodes=True), ["a", "b", "c", "d"]),
        (Reach(node_selector={"nodeSelectorTerms": [{"matchExpressions": [expression("zone", "In", "north")]}]}), ["a", "b"]),
        (Reach(node_selector={}), []),
        (Reach(), []),
    ],
)
def test_reach_of_a_device(reach: Reach, found: list[str]) -> None:
    assert names(THREE, THREE.reached(reach)) == found


def test_label_selectors() -> None:
    north = LabelSelector(match_labels={"zone": "north"}, match_expressions=(LabelExpression(key="cards", operator="Exists"),))
    assert names(THREE, THREE.selected(north)) == ["a", "b"]
    assert names(THREE, THREE.selected(LabelSelector())) == ["a", "b", "c", "d"]
    no_zone = LabelSelector(match_expressions=(LabelExpression(key="zone", operator="DoesNotExist"),))
    assert names(THREE, THREE.selected(no_zone)) == ["d"]
