"""A fleet from raw objects, and objects laid over one."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.build import (
    NVIDIA,
    claim,
    controller,
    device_class,
    device_slice,
    fleet_of,
    gpu,
    local_queue,
    namespace,
    node,
    pod,
    pod_spec,
    quota,
    result,
    taint_rule,
    template,
)
from webhook.fleet.build import build_fleet, with_objects
from webhook.fleet.fleet import Fleet
from webhook.model.server_version import Server

SMALL = (
    node("node-1"),
    device_slice("node-1", gpu("gpu-0"), gpu("gpu-1")),
    device_slice("node-2", gpu("gpu-0")),
    device_class(),
    namespace("team-a", {"fallgate.dev/tier": "research"}),
    template("one-gpu"),
    claim("mine", allocated=[result("gpu-1")]),
    pod("p", templates={"gpu": "one-gpu"}, nodeName="node-1"),
    quota("devices", {"a": "1"}),
    quota("also", {"b": "1"}),
    quota("theirs", {"b": "1"}, namespace="team-b"),
    taint_rule("z", {"key": "k", "effect": "NoExecute"}, {}),
    taint_rule("a", {"key": "k", "effect": "NoExecute"}, {}),
    controller("ReplicaSet", "web-1", pod_spec(), uid="rs-uid"),
    local_queue(),
)

PARTS = (
    "inventory",
    "nodes",
    "holdings",
    "namespaces",
    "templates",
    "claims",
    "pods",
    "controllers",
    "quotas",
    "taint_rules",
)


def changed(before: Fleet, after: Fleet) -> set[str]:
    """The parts that are not the same object any more."""
    return {part for part in PARTS if getattr(before, part) is not getattr(after, part)}


def test_every_kind_finds_its_place() -> None:
    fleet = fleet_of(*SMALL, server="1.35", gates={"DRAExtendedResource": True})
    assert (str(fleet.server), fleet.server.extended_resources) == ("1.35", True)
    assert fleet.nodes.names == ("node-1", "node-2")
    assert [pool.name for pool in fleet.inventory.pools] == ["node-1", "node-2"]
    assert set(fleet.inventory.classes) == {NVIDIA}
    assert fleet.namespaces["team-a"].labels == {"fallgate.dev/tier": "research"}
    assert set(fleet.templates) == {("team-a", "one-gpu")}
    assert set(fleet.claims) == {("team-a", "mine")}
    assert set(fleet.pods) == {("team-a", "p")}
    assert {name: [item.meta.name for item in found] for name, found in fleet.quotas.items()} == {
        "team-a": ["also", "devices"],
        "team-b": ["theirs"],
    }
    assert [rule.meta.name for rule in fleet.taint_rules] == ["a", "z"]
    assert fleet.controllers["rs-uid"].name == "web-1"
    assert fleet.local_queue_namespaces == {"team-a"}
    assert len(fleet.holdings.dra_held("node-1", NVIDIA)) == 1


def test_the_order_of_objects_does_not_matter() -> None:
    forward, backward = fleet_of(*SMALL), fleet_of(*reversed(SMALL))
    assert forward.nodes.names == backward.nodes.names
    assert [pool.key for pool in forward.inventory.pools] == [pool.key for pool in backward.inventory.pools]
    assert forward.quotas == backward.quotas
    assert forward.taint_rules == backward.taint_rules


def test_a_later_object_of_the_same_name_counts() -> None:
    fleet = fleet_of(namespace("a", {"x": "1"}), namespace("a", {"x": "2"}), claim("c", version="v1beta1"), claim("c"))
    assert fleet.namespaces["a"].labels == {"x": "2"}
    assert fleet.claims["team-a", "c"].api_version == "resource.k8s.io/v1"


def test_objects_without_a_namespace_are_where_the_caller_says() -> None:
    raw = template("t", namespace="")
    assert set(build_fleet([raw]).templates) == {("default", "t")}
    fleet = build_fleet([raw], namespace="team-b")
    assert fleet.templates["team-b", "t"].meta.namespace == "team-b"
    assert "namespace" not in raw["metadata"]


def test_what_was_looked_at() -> None:
    now = datetime(2027, 1, 1, tzinfo=UTC)
    fleet = build_fleet([node("n"), pod("p")], as_of=now, observed=["ResourceClaim"])
    assert fleet.observed == {"Node", "Pod", "ResourceClaim"}
    assert fleet.as_of == now
    assert build_fleet([]).observed == frozenset()
    assert build_fleet([]).as_of is None


def test_pods_without_devices_are_not_kept() -> None:
    assert fleet_of(pod("plain"), pod("gpu", extended={"nvidia.com/gpu": 1})).pods.keys() == {("team-a", "gpu")}


def test_kinds_of_other_groups_are_not_confused() -> None:
    other = {"apiVersion": "example.com/v1", "kind": "Node", "metadata": {"name": "n", "uid": "u"}}
    fleet = build_fleet([other, {**node("m"), "apiVersion": "v2/v1"}])
    assert fleet.nodes.names == ()
    assert set(fleet.controllers) == {"u"}


@pytest.mark.parametrize("raw", [None, [], "x", {}, {"kind": "Pod"}, {"kind": 3, "metadata": {"name": "x"}}, {"metadata": []}])
def test_what_is_no_object_is_passed_over(raw: Any) -> None:
    fleet = build_fleet([raw, node("n")])
    assert fleet.nodes.names == ("n",)
    assert fleet.observed == {"Node"}


def test_a_slice_without_driver_or_pool_is_passed_over() -> None:
    raw = device_slice("node-1", gpu("gpu-0"))
    del raw["spec"]["driver"]
    assert build_fleet([raw]).inventory.pools == ()


@pytest.mark.parametrize(
    ("raw", "parts"),
    [
        (template("other"), {"templates"}),
        (claim("waiting"), {"claims"}),
        (pod("waiting", templates={"gpu": "one-gpu"}), {"pods"}),
        (pod("plain"), set()),
        (namespace("team-b"), {"namespaces"}),
        (node("node-1", {"a": "b"}), {"nodes"}),
        (quota("new", {"a": "1"}), {"quotas"}),
        (taint_rule("new", {"key": "k", "effect": "None"}), {"taint_rules"}),
        (controller("Job", "j", pod_spec(), uid="j-uid"), {"controllers"}),
        (controller("Job", "j", pod_spec()), set()),
        (device_class("new"), {"inventory", "holdings"}),
        (device_slice("node-2", gpu("gpu-0"), generation=2), {"inventory", "holdings"}),
        (device_slice("node-9", gpu("gpu-0")), {"inventory", "holdings", "nodes"}),
        (claim("mine"), {"claims", "holdings"}),
        (claim("new", allocated=[result("gpu-0")]), {"claims", "holdings"}),
        (pod("new", extended={"nvidia.com/gpu": 1}, nodeName="node-1"), {"pods", "holdings"}),
        (pod("p"), {"pods"}),
    ],
)
def test_an_overlay_keeps_what_it_does_not_touch(raw: dict[str, Any], parts: set[str]) -> None:
    before = fleet_of(*SMALL)
    after = with_objects(before, [raw], namespace="team-a")
    assert changed(before, after) == parts
    assert (after.observed, after.as_of, after.server) == (before.observed, before.as_of, before.server)


def test_an_overlay_of_nothing_is_the_fleet_itself() -> None:
    fleet = fleet_of(*SMALL)
    assert with_objects(fleet, []) is fleet
    assert with_objects(fleet, [None, {}]) is fleet


def test_an_overlay_does_what_applying_would_do() -> None:
    extra = (
        node("node-1", {"a": "b"}),
        device_slice("node-2", gpu("gpu-5"), generation=2),
        device_slice("node-3", gpu("gpu-0")),
        claim("mine"),
        claim("theirs", allocated=[result("gpu-0")]),
        pod("p", extended={"nvidia.com/gpu": 3}, nodeName="node-1"),
        quota("also", {"b": "2"}),
        local_queue(namespace="team-b"),
    )
    over, built = with_objects(fleet_of(*SMALL), extra), fleet_of(*SMALL, *extra)
    assert over.nodes.names == built.nodes.names
    assert over.nodes.by_name == built.nodes.by_name
    assert [(pool.key, pool.devices) for pool in over.inventory.pools] == [
        (pool.key, pool.devices) for pool in built.inventory.pools
    ]
    assert over.claims == built.claims
    assert over.pods == built.pods
    assert over.quotas == built.quotas
    assert over.local_queue_namespaces == built.local_queue_namespaces
    assert over.holdings.plugin_held("node-1", "nvidia.com/gpu") == 3
    assert [item.claim.meta.name for item in over.holdings.dra_held("node-1", NVIDIA)] == ["theirs"]


def test_a_pod_laid_over_that_has_no_devices_any_more_is_gone() -> None:
    assert with_objects(fleet_of(*SMALL), [pod("p")]).pods == {}


def test_a_slice_of_a_pool_joins_the_others() -> None:
    first = device_slice("node-1", gpu("gpu-0"), name="a", slices=2)
    fleet = fleet_of(first)
    assert not fleet.inventory.pools[0].complete
    both = with_objects(fleet, [device_slice("node-1", gpu("gpu-1"), name="b", slices=2)]).inventory.pools[0]
    assert both.complete
    assert [device.name for device in both.devices] == ["gpu-0", "gpu-1"]


def test_a_slice_that_moves_leaves_its_pool() -> None:
    fleet = fleet_of(device_slice("node-1", gpu("gpu-0"), name="s"))
    moved = with_objects(fleet, [device_slice("node-2", gpu("gpu-0"), name="s")])
    assert [pool.name for pool in moved.inventory.pools] == ["node-2"]


def test_an_incomplete_new_generation_replaces_the_old_one() -> None:
    fleet = fleet_of(device_slice("node-1", gpu("gpu-0"), name="a"))
    update = device_slice("node-1", gpu("gpu-9"), name="b", generation=2, slices=2)
    pool = with_objects(fleet, [update]).inventory.pools[0]
    assert [device.name for device in pool.devices] == ["gpu-9"]
    assert not pool.complete


KINDS = ("Node", "Pod", "Namespace", "ResourceSlice", "ResourceClaim", "ResourceClaimTemplate", "DeviceClass", "ResourceQuota")
kinds = st.sampled_from([*KINDS, "DeviceTaintRule", "LocalQueue", "Job"])
odd = st.recursive(
    st.none() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=10,
)


@given(st.lists(st.fixed_dictionaries({"kind": kinds, "apiVersion": st.sampled_from(["v1", "resource.k8s.io/v1"]),
    "metadata": st.fixed_dictionaries({"name": st.text(max_size=3)}, optional={"namespace": odd, "labels": odd}),
    "spec": odd, "status": odd}) | odd, max_size=6))  # fmt: skip
def test_odd_objects_never_raise(objects: list[Any]) -> None:
    fleet = build_fleet(objects, server=Server())
    again = with_objects(fleet, objects)
    assert again.nodes.names == fleet.nodes.names
