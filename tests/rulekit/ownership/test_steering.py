"""Which node affinity keeps a pod off, and the patch that adds it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.build import fleet_of, node, node_affinity, pod
from tests.ownership import owner, ownership
from webhook.fleet.nodes import Nodes
from webhook.model.json_patch import apply_patch
from webhook.model.labels import LabelExpression
from webhook.rulekit.ownership.steering import MOST_NAMES, Steering, choose_steering, steering_patch
from webhook.rulekit.policies import OwnerOfNodes

STACK = "example.com/gpu-stack"
DRA, PLUGIN_SIDE, BOTH = frozenset({"dra"}), frozenset({"device-plugin"}), frozenset({"dra", "device-plugin"})
OWNERS = (
    owner("dra", {STACK: "dra"}),
    owner("device-plugin", {STACK: "device-plugin"}),
    owner("split", {STACK: "split"}),
)


def nodes_of(**labels: dict[str, str]) -> Nodes:
    return fleet_of(*(node(name, by) for name, by in labels.items())).nodes


FOUR = nodes_of(d={STACK: "dra"}, p={STACK: "device-plugin"}, s={STACK: "split"}, u={}, v={})


def label(key: str, operator: Any, *values: str) -> LabelExpression:
    return LabelExpression(key=key, operator=operator, values=values)


def chosen(nodes: Nodes, conflicting: str, safe: str, sides: Any, *owners: OwnerOfNodes, default: str = "undecided") -> Any:
    policy = ownership(*owners, default=default)
    return choose_steering(nodes, policy, nodes.named(conflicting.split()), nodes.named(safe.split()), sides)


# Which affinity.


def test_by_the_labels_of_the_own_side_and_of_split_nodes() -> None:
    assert chosen(FOUR, "p u v", "d s", DRA, *OWNERS) == Steering((label(STACK, "In", "dra", "split"),))
    assert chosen(FOUR, "d u", "p s", PLUGIN_SIDE, *OWNERS) == Steering((label(STACK, "In", "device-plugin", "split"),))


def test_by_the_labels_of_both_sides_for_a_pod_that_asks_through_either() -> None:
    assert chosen(FOUR, "u v", "d p s", BOTH, *OWNERS) == Steering((label(STACK, "In", "dra", "device-plugin", "split"),))


def test_against_the_labels_of_the_other_side_where_the_own_label_would_cost_a_safe_node() -> None:
    assert chosen(FOUR, "p", "d s u", DRA, *OWNERS) == Steering((label(STACK, "NotIn", "device-plugin"),))


def test_by_label_and_by_name_where_undecided_nodes_conflict_too() -> None:
    assert chosen(FOUR, "p u", "d v", DRA, *OWNERS) == Steering((label(STACK, "NotIn", "device-plugin"),), ("u",))


def test_by_name_where_the_policy_names_no_label() -> None:
    assert chosen(FOUR, "p u", "d v", DRA) == Steering((), ("p", "u"))


def test_by_name_where_the_labels_of_the_other_side_would_cost_a_safe_node() -> None:
    nodes = nodes_of(a={"x": "1"}, b={"x": "1", "y": "2"}, c={})
    owners = (owner("dra", {"y": "2"}), owner("device-plugin", {"x": "1"}))
    assert chosen(nodes, "a", "b c", DRA, *owners) == Steering((), ("a",))


def test_a_default_owner_on_the_own_side_is_not_said_by_labels() -> None:
    assert chosen(FOUR, "p", "d", DRA, *OWNERS, default="dra") == Steering((label(STACK, "NotIn", "device-plugin"),))
    assert chosen(FOUR, "p u v", "d s", DRA, *OWNERS, default="device-plugin") == Steering(
        (label(STACK, "In", "dra", "split"),)
    )


def test_split_nodes_with_another_label_are_left_to_the_other_ways() -> None:
    nodes = nodes_of(d={STACK: "dra"}, p={STACK: "plugin"}, s={"split": "yes"}, u={})
    owners = (owner("dra", {STACK: "dra"}), owner("device-plugin", {STACK: "plugin"}), owner("split", {"split": "yes"}))
    assert chosen(nodes, "p u", "d", DRA, *owners) == Steering((label(STACK, "In", "dra"),))
    assert chosen(nodes, "p", "d s", DRA, *owners) == Steering((label(STACK, "NotIn", "plugin"),))


def test_several_labels_of_one_entry_must_all_hold() -> None:
    nodes = nodes_of(d={"a": "1", "b": "2"}, p={"c": "3", "e": "4"}, u={})
    owners = (owner("dra", {"a": "1"}, label("b", "Exists")), owner("device-plugin", {"c": "3", "e": "4"}))
    assert chosen(nodes, "p u", "d", DRA, *owners) == Steering((label("a", "In", "1"), label("b", "Exists")))
    # Two labels have no opposite that fits one term: by name.
    assert chosen(nodes, "p", "d u", DRA, *owners) == Steering((), ("p",))


def test_entries_of_one_side_are_said_together_when_they_share_a_key() -> None:
    nodes = nodes_of(d={"k": "1"}, e={"k": "2"}, p={"k": "3"}, q={"k": "4"}, u={})
    owners = (
        owner("dra", {"k": "1"}),
        owner("dra", {}, label("k", "In", "2", "1")),
        owner("device-plugin", {"k": "3"}),
        owner("device-plugin", {"k": "4"}),
    )
    assert chosen(nodes, "p q u", "d e", DRA, *owners) == Steering((label("k", "In", "1", "2"),))
    assert chosen(nodes, "p q", "d e u", DRA, *owners) == Steering((label("k", "NotIn", "3", "4"),))


@pytest.mark.parametrize(
    "other", [owner("dra", {"j": "1"}), owner("dra", {}, label("k", "Exists")), owner("dra", {"k": "2", "j": "1"})]
)
def test_entries_of_one_side_that_no_term_can_join_are_not_joined(other: OwnerOfNodes) -> None:
    nodes = nodes_of(d={"k": "1"}, u={})
    assert chosen(nodes, "u", "d", DRA, owner("dra", {"k": "1"}), other) == Steering((), ("u",))


@pytest.mark.parametrize(
    ("written", "opposite"),
    [
        (label("k", "In", "1", "2"), label("k", "NotIn", "1", "2")),
        (label("k", "NotIn", "3"), label("k", "In", "3")),
        (label("k", "Exists"), label("k", "DoesNotExist")),
        (label("k", "DoesNotExist"), label("k", "Exists")),
    ],
)
def test_every_operator_has_an_opposite(written: LabelExpression, opposite: LabelExpression) -> None:
    nodes = nodes_of(a={}, b={"k": "1"}, c={"k": "3"})
    policy = ownership(owner("device-plugin", {}, written))
    conflicting = nodes.selected(policy.owners[0].node_selector)
    found = choose_steering(nodes, policy, conflicting, nodes.all & ~conflicting, DRA)
    assert found == Steering((opposite,))


def test_up_to_sixteen_nodes_are_named() -> None:
    nodes = fleet_of(*(node(f"n{i:02}") for i in range(18))).nodes
    every = [f"n{i:02}" for i in range(18)]
    found = chosen(nodes, " ".join(every[:16]), " ".join(every[16:]), DRA)
    assert found == Steering((), tuple(every[:16]))
    assert MOST_NAMES == 16
    assert chosen(nodes, " ".join(every[:17]), every[17], DRA) is None


def test_rather_than_none_an_affinity_that_costs_some_safe_nodes() -> None:
    labels = {f"n{i:02}": {} for i in range(17)} | {"d": {STACK: "dra"}, "lost": {}}
    nodes = nodes_of(**labels)
    conflicting = " ".join(f"n{i:02}" for i in range(17))
    assert chosen(nodes, conflicting, "d lost", DRA, *OWNERS) == Steering((label(STACK, "In", "dra", "split"),))
    # ... but not one that leaves none.
    assert chosen(nodes, conflicting, "lost", DRA, *OWNERS) is None


def test_without_a_safe_node_there_is_none_and_no_node_is_looked_at() -> None:
    nobody_looks: Any = None
    assert choose_steering(nobody_looks, ownership(*OWNERS), FOUR.all, 0, frozenset()) is None


def test_labels_that_do_not_keep_off_every_conflicting_node_are_not_enough() -> None:
    # The first entry counts: b is the plugin's, though it has DRA's label too.
    nodes = nodes_of(a={STACK: "dra"}, b={STACK: "dra", "old": "yes"})
    owners = (owner("device-plugin", {"old": "yes"}), owner("dra", {STACK: "dra"}))
    assert chosen(nodes, "b", "a", DRA, *owners) == Steering((label("old", "NotIn", "yes"),))


def test_what_a_term_gets() -> None:
    steering = Steering((label("k", "NotIn", "1"), label("j", "Exists")), ("a", "b"))
    assert steering.requirements() == {
        "matchExpressions": [{"key": "k", "operator": "NotIn", "values": ["1"]}, {"key": "j", "operator": "Exists"}],
        "matchFields": [
            {"key": "metadata.name", "operator": "NotIn", "values": ["a"]},
            {"key": "metadata.name", "operator": "NotIn", "values": ["b"]},
        ],
    }
    assert Steering((), ("a",)).requirements().keys() == {"matchFields"}
    assert Steering((label("j", "Exists"),)).requirements().keys() == {"matchExpressions"}


# The patch.

OFF_A = Steering((), ("a",))
NOT_A = {"key": "metadata.name", "operator": "NotIn", "values": ["a"]}
IN_ZONE = {"key": "zone", "operator": "In", "values": ["z1"]}
TERMS = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms"
SAID = '[{"policy":"gpus@1a2b3c4","added":{"matchFields":[{"key":"metadata.name","operator":"NotIn","values":["a"]}]}}]'
NEW_ANNOTATIONS = {"op": "add", "path": "/metadata/annotations", "value": {"fallgate.dev/steered": SAID}}


def patched(body: Any, steering: Steering = OFF_A) -> tuple[list[Any], Any]:
    ops = [dict(op) for op in steering_patch(body, steering, "gpus@1a2b3c4")]
    return ops, apply_patch(body, ops)


@pytest.mark.parametrize(
    ("affinity", "path", "value"),
    [
        (..., "/spec/affinity", node_affinity({"matchFields": [NOT_A]})),
        (None, "/spec/affinity", node_affinity({"matchFields": [NOT_A]})),
        ({"podAffinity": {}}, "/spec/affinity/nodeAffinity", node_affinity({"matchFields": [NOT_A]})["nodeAffinity"]),
        ({"nodeAffinity": None}, "/spec/affinity/nodeAffinity", node_affinity({"matchFields": [NOT_A]})["nodeAffinity"]),
        (
            {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}},
            "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution",
            {"nodeSelectorTerms": [{"matchFields": [NOT_A]}]},
        ),
        (node_affinity(), TERMS, [{"matchFields": [NOT_A]}]),
    ],
)
def test_what_is_missing_is_made(affinity: Any, path: str, value: Any) -> None:
    body = pod("p") if affinity is ... else {**pod("p"), "spec": {**pod("p")["spec"], "affinity": affinity}}
    ops, after = patched(body)
    assert ops == [{"op": "add", "path": path, "value": value}, NEW_ANNOTATIONS]
    assert after["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] == {
        "nodeSelectorTerms": [{"matchFields": [NOT_A]}]
    }


def test_every_term_gets_it_and_keeps_what_it_has() -> None:
    body = pod(
        "p",
        affinity=node_affinity(
            {"matchExpressions": [IN_ZONE], "unknown": 1},
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["b"]}]},
        ),
    )
    ops, after = patched(body)
    assert ops == [
        {"op": "add", "path": f"{TERMS}/0/matchFields", "value": [NOT_A]},
        {"op": "add", "path": f"{TERMS}/1/matchFields/-", "value": NOT_A},
        NEW_ANNOTATIONS,
    ]
    assert after["spec"]["affinity"] == node_affinity(
        {"matchExpressions": [IN_ZONE], "unknown": 1, "matchFields": [NOT_A]},
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["b"]}, NOT_A]},
    )


def test_a_term_that_matches_nothing_is_left_alone() -> None:
    body = pod("p", affinity=node_affinity({}, {"matchExpressions": [IN_ZONE]}, {"matchExpressions": [], "matchFields": None}))
    ops, _ = patched(body)
    assert [op["path"] for op in ops] == [f"{TERMS}/1/matchFields", "/metadata/annotations"]


def test_null_lists_are_filled() -> None:
    body = pod("p", affinity=node_affinity({"matchExpressions": [IN_ZONE], "matchFields": None}))
    assert patched(body)[0][0] == {"op": "add", "path": f"{TERMS}/0/matchFields", "value": [NOT_A]}


def test_labels_and_names_go_into_their_own_lists() -> None:
    steering = Steering((label("k", "NotIn", "1"),), ("a", "b"))
    body = pod("p", affinity=node_affinity({"matchExpressions": [IN_ZONE], "matchFields": [NOT_A]}))
    ops, _ = patched(body, steering)
    assert ops[:-1] == [
        {"op": "add", "path": f"{TERMS}/0/matchExpressions/-", "value": {"key": "k", "operator": "NotIn", "values": ["1"]}},
        {"op": "add", "path": f"{TERMS}/0/matchFields/-", "value": {**NOT_A, "values": ["b"]}},
    ]


def test_what_is_there_already_is_not_added_again() -> None:
    body = pod("p", affinity=node_affinity({"matchFields": [NOT_A]}))
    assert steering_patch(body, OFF_A, "gpus@1a2b3c4") == ()


@pytest.mark.parametrize(
    ("annotations", "op"),
    [
        ({"a": "b"}, {"op": "add", "path": "/metadata/annotations/fallgate.dev~1steered", "value": SAID}),
        (None, NEW_ANNOTATIONS),
        (
            {"fallgate.dev/steered": '[{"policy":"other@0000000"}]'},
            {
                "op": "add",
                "path": "/metadata/annotations/fallgate.dev~1steered",
                "value": '[{"policy":"other@0000000"},' + SAID[1:],
            },
        ),
        (
            {"fallgate.dev/steered": "no JSON"},
            {"op": "add", "path": "/metadata/annotations/fallgate.dev~1steered", "value": SAID},
        ),
        (
            {"fallgate.dev/steered": '{"a":1}'},
            {"op": "add", "path": "/metadata/annotations/fallgate.dev~1steered", "value": SAID},
        ),
        ({"fallgate.dev/steered": 7}, {"op": "add", "path": "/metadata/annotations/fallgate.dev~1steered", "value": SAID}),
    ],
)
def test_the_annotation_says_what_was_added_and_by_whom(annotations: Any, op: Any) -> None:
    body = pod("p")
    body["metadata"]["annotations"] = annotations
    ops, after = patched(body)
    assert ops[-1] == op
    assert json.loads(after["metadata"]["annotations"]["fallgate.dev/steered"])[-1] == {
        "policy": "gpus@1a2b3c4",
        "added": {"matchFields": [NOT_A]},
    }


@pytest.mark.parametrize("metadata", [None, ..., []])
def test_a_pod_without_metadata_gets_some(metadata: Any) -> None:
    body = {**pod("p"), "metadata": metadata}
    if metadata is ...:
        del body["metadata"]
    ops, _ = patched(body)
    assert ops[-1] == {"op": "add", "path": "/metadata", "value": {"annotations": {"fallgate.dev/steered": SAID}}}


def test_an_annotation_that_no_parser_survives_is_replaced() -> None:
    body = pod("p", meta={"annotations": {"fallgate.dev/steered": "[" * 100_000}})
    assert patched(body)[1]["metadata"]["annotations"] == {"fallgate.dev/steered": SAID}


def test_nothing_else_is_touched() -> None:
    body = pod(
        "p", futureField={"x": [1]}, affinity={"podAntiAffinity": {"y": 2}, **node_affinity({"matchExpressions": [IN_ZONE]})}
    )
    before = json.dumps(body)
    ops, after = patched(body)
    assert json.dumps(body) == before
    assert all(op["op"] == "add" for op in ops)
    after["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"][0].pop(
        "matchFields"
    )
    after["metadata"].pop("annotations")
    assert after == body
