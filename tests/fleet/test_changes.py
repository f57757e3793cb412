"""A fleet after any events is, in every answer, the fleet built from what is there then."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.build import (
    NVIDIA,
    claim,
    controller,
    device_class,
    device_slice,
    gpu,
    local_queue,
    namespace,
    node,
    node_affinity,
    pod,
    pod_spec,
    quota,
    result,
    taint_rule,
    template,
)
from webhook.fleet import sharded
from webhook.fleet.build import build_fleet
from webhook.fleet.changes import Changes, with_changes
from webhook.fleet.fleet import Fleet
from webhook.fleet.nodes import Nodes, NodeSet
from webhook.kube.kinds import READ
from webhook.kube.reading import Kept, read_object
from webhook.model.labels import LabelExpression, LabelSelector
from webhook.model.pod_reading import read_pod

Raw = dict[str, Any]
#: kind, namespace, name
Name = tuple[str, str, str]

#: More than the few that events touch, so that indexes are changed in place and not made anew.
MANY = [f"node-{i:02}" for i in range(24)]
TAINT = {"key": "maintenance", "value": "", "effect": "NoSchedule"}
PARTS = {kind.kind: kind.part for kind in READ} | {"ReplicaSet": "controllers"}

nodes = st.builds(
    node,
    st.sampled_from([*MANY[:4], "a-first", "node-05x", "z-last"]),
    st.dictionaries(st.sampled_from(["zone", "cards"]), st.sampled_from(["1", "2", "south"]), max_size=2),
    taints=st.lists(st.just(TAINT), max_size=1),
    allocatable=st.dictionaries(st.just("nvidia.com/gpu"), st.sampled_from(["0", "4"]), max_size=1),
)
slices = st.builds(
    device_slice,
    st.sampled_from([*MANY[:3], "only-named", {"allNodes": True}, {"nodeSelector": {"nodeSelectorTerms": []}}]),
    st.just(gpu("gpu-0")),
    st.just(gpu("gpu-1", "NVIDIA A100-SXM4-40GB")),
    driver=st.sampled_from([NVIDIA, "nic.example.com"]),
    name=st.sampled_from(["", "slice-a", "slice-b"]),
    pool=st.sampled_from(["", "node-00", "rack"]),
    generation=st.sampled_from([1, 1, 2]),
    slices=st.sampled_from([1, 2]),
)
classes = st.builds(device_class, st.sampled_from([NVIDIA, "other"]), extended_resource=st.sampled_from(["", "nvidia.com/gpu"]))
claims = st.builds(
    claim,
    st.sampled_from(["c-1", "c-2", "c-3"]),
    namespace=st.sampled_from(["team-a", "team-b"]),
    allocated=st.lists(
        st.builds(
            result,
            st.sampled_from(["gpu-0", "gpu-1", "gone"]),
            st.sampled_from(["node-00", "rack", "nowhere"]),
            adminAccess=st.booleans(),
        ),
        max_size=2,
    ),
)
pods = st.builds(
    pod,
    st.sampled_from(["p-1", "p-2", "p-3"]),
    namespace=st.sampled_from(["team-a", "team-b"]),
    extended=st.dictionaries(st.sampled_from(["nvidia.com/gpu", "example.com/nic"]), st.sampled_from([1, 2]), max_size=2),
    nodeName=st.sampled_from(["", *MANY[:2]]),
    status=st.sampled_from([{"phase": "Running"}, {"phase": "Succeeded"}]),
)
others = st.one_of(
    st.builds(
        namespace, st.sampled_from(["team-a", "team-b"]), st.dictionaries(st.just("fallgate.dev/tier"), st.sampled_from("xy"))
    ),
    st.builds(template, st.sampled_from(["t-1", "t-2"])),
    st.builds(quota, st.sampled_from(["q-1", "q-2"]), st.just({"a": "1"}), namespace=st.sampled_from(["team-a", "team-b"])),
    st.builds(taint_rule, st.sampled_from(["r-1", "r-2"]), st.just(TAINT), st.just({"driver": NVIDIA})),
    st.builds(local_queue, st.sampled_from(["lq-1", "lq-2"]), namespace=st.sampled_from(["team-a", "team-b"])),
    st.builds(
        controller,
        st.just("ReplicaSet"),
        st.sampled_from(["web-1", "web-2"]),
        st.just(pod_spec()),
        uid=st.sampled_from(["u-1"]),
    ),
)
puts = st.one_of(nodes, slices, slices, classes, claims, claims, pods, pods, others)
#: A number deletes one of the objects that are there.
batches = st.lists(st.lists(st.one_of(puts, puts, st.integers(0, 1000)), min_size=1, max_size=3), max_size=12)


def read(raw: Raw) -> Kept:
    """What is kept of an object."""
    return read_object(raw, PARTS[raw["kind"]], raw["kind"], raw["apiVersion"])


def name_of(raw: Raw) -> Name:
    """What names an object."""
    return (raw["kind"], raw["metadata"].get("namespace", ""), raw["metadata"]["name"])


def played(batch: list[Raw | int], there: dict[Name, Raw]) -> Changes:
    """The changes of a batch of events; `there` becomes what is there after them."""
    changes: dict[str, dict[Any, Any]] = {}
    for event in batch:
        if isinstance(event, int):
            if not there:
                continue
            raw = there.pop(sorted(there)[event % len(there)])
            changes.setdefault(PARTS[raw["kind"]], {})[read(raw).key] = None
        else:
            if event["kind"] == "ReplicaSet":
                event = {**event, "metadata": {**event["metadata"], "uid": f"uid-{event['metadata']['name']}"}}
            there[name_of(event)] = event
            kept = read(event)
            changes.setdefault(PARTS[event["kind"]], {})[kept.key] = kept.value
    return Changes(**changes)


def answers(fleet: Fleet) -> Iterator[tuple[str, object]]:
    """Everything that can be asked of a fleet, with names in the place of bits and identities."""
    yield from node_answers(fleet.nodes)
    inventory, holdings = fleet.inventory, fleet.holdings
    yield "pools", [(pool.key, pool.generation, pool.complete, pool.devices, pool.slices) for pool in inventory.pools]
    yield "by key", {key: pool.devices for key, pool in inventory.by_key.items()}
    yield "shared", [pool.key for pool in inventory.shared_pools]
    yield "drivers", list(inventory.drivers)
    yield "of drivers", [[pool.key for pool in inventory.pools_of(driver)] for driver in inventory.drivers]
    yield "node names", sorted(inventory.node_names)
    for name in (*MANY[:4], "only-named", "nowhere"):
        yield f"pools on {name}", [pool.key for pool in inventory.pools_on(name)]
        yield f"pools bound to {name}", [pool.key for pool in inventory.pools_bound_to(name)]
        yield f"plugin resources on {name}", sorted(holdings.plugin_resources(name))
        yield f"plugin pods on {name}", [holdings.plugin_pods(name, res) for res in ("nvidia.com/gpu", "example.com/nic")]
        yield f"plugin held on {name}", holdings.plugin_held(name, "nvidia.com/gpu")
        for driver in (NVIDIA, "nic.example.com"):
            yield f"held of {driver} on {name}", [(item.claim, item.device) for item in holdings.dra_held(name, driver)]
    yield "plugin nodes", sorted(holdings.plugin_nodes)
    yield "dra nodes", holdings.dra_nodes()

    def names(sets: Mapping[str, NodeSet]) -> dict[str, list[str]]:
        return {key: [item.name for item in fleet.nodes.members(found)] for key, found in sets.items()}

    yield "dra sets", names(holdings.dra_sets(fleet.nodes))
    yield "plugin sets", names(holdings.plugin_sets(fleet.nodes))
    yield "bound sets", names({driver: inventory.bound_set(driver, fleet.nodes) for driver in (*inventory.drivers, "none")})
    yield "holders", [holdings.holder(NVIDIA, pool, "gpu-0") for pool in ("node-00", "rack", "nowhere")]
    for name in (NVIDIA, "other"):
        found = inventory.match(name)
        yield f"match {name}", (found.class_missing, found.count, [(item.pool.key, item.matched) for item in found.pools])
        yield f"drivers of {name}", inventory.drivers_of_class(name)
    yield "classes", dict(inventory.classes)
    yield "extended", sorted(inventory.extended_resources)
    yield "serving", inventory.classes_serving("nvidia.com/gpu")
    for part in ("namespaces", "templates", "claims", "pods", "controllers", "quotas"):
        yield part, dict(getattr(fleet, part))
    yield "taint rules", fleet.taint_rules
    yield "queues", (fleet.local_queues, fleet.local_queue_namespaces)


def node_answers(known: Nodes) -> Iterator[tuple[str, object]]:
    """Everything that can be asked of nodes."""

    def names(found: NodeSet) -> list[str]:
        return [item.name for item in known.members(found)]

    yield "names", known.names
    yield "all", names(known.all)
    yield "by name", dict(known.by_name)
    yield "indexes", all(known.all >> known.index(name) & 1 for name in known.names)
    yield "unknown", known.index("nobody")
    south = LabelSelector(match_labels={"zone": "south"}, match_expressions=(LabelExpression(key="cards", operator="Exists"),))
    yield "selected", names(known.selected(south))
    yield (
        "not selected",
        names(
            known.selected(
                LabelSelector(
                    match_labels={}, match_expressions=(LabelExpression(key="zone", operator="NotIn", values=("1",)),)
                )
            )
        ),
    )
    greater = {"matchExpressions": [{"key": "cards", "operator": "Gt", "values": ["1"]}]}
    for spec in (
        {},
        {"nodeSelector": {"zone": "1"}},
        {"nodeName": MANY[0]},
        {"affinity": node_affinity(greater)},
        {"tolerations": [{"operator": "Exists"}]},
    ):
        yield f"feasible {spec}", names(known.feasible(read_pod(pod("asking", **spec))))


def compared(one: Mapping[str, object], other: Mapping[str, object]) -> dict[str, tuple[object, object]]:
    """The answers that differ."""
    return {key: (one[key], other[key]) for key in one if one[key] != other[key]}


BEGINNING = [*(node(name, {"zone": "south"}) for name in MANY), *(device_slice(name, gpu("gpu-0")) for name in MANY)]


@pytest.mark.parametrize("plain", [4, 4096], ids=["shared out", "plain"])
@settings(max_examples=150, deadline=None)
@given(batches=batches)
def test_any_events_give_the_fleet_of_what_is_there(batches: list[list[Raw | int]], plain: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sharded, "_PLAIN", plain)
        there = {name_of(raw): raw for raw in BEGINNING}
        fleet = build_fleet(BEGINNING)
        dict(answers(fleet))
        for batch in batches:
            before, was = dict(answers(fleet)), fleet
            fleet = with_changes(fleet, played(batch, there))
            assert compared(dict(answers(fleet)), dict(answers(build_fleet(there.values())))) == {}
            assert compared(before, dict(answers(was))) == {}, "an older snapshot has changed"


def test_what_is_not_different_is_the_same_fleet() -> None:
    fleet = build_fleet(BEGINNING)
    raw = node(MANY[0], {"zone": "south"})
    raw["status"]["conditions"] = [{"type": "Ready", "lastHeartbeatTime": "2027-01-01T00:00:00Z"}]
    kept = read(raw)
    assert with_changes(fleet, Changes(nodes={MANY[0]: kept.value})) is fleet
    assert with_changes(fleet, Changes(pods={("team-a", "web"): None}, nodes={"nobody": None})) is fleet


def test_a_relabelled_node_keeps_its_bit_and_all_else() -> None:
    fleet = build_fleet(BEGINNING)
    later = with_changes(fleet, Changes(nodes={MANY[5]: read(node(MANY[5], {"zone": "north"})).value}))
    assert later.nodes.index(MANY[5]) == fleet.nodes.index(MANY[5]) == 5
    assert later.inventory is fleet.inventory
    assert later.holdings is fleet.holdings


def test_a_bit_that_was_given_back_is_used_again() -> None:
    fleet = build_fleet(BEGINNING)
    without = with_changes(fleet, Changes(nodes={MANY[3]: None}, slices={f"{MANY[3]}-{NVIDIA}": None}))
    assert without.nodes.index(MANY[3]) == -1
    added = with_changes(without, Changes(nodes={"zz": read(node("zz", {"zone": "north"})).value}))
    assert added.nodes.index("zz") == 3
    assert [item.name for item in added.nodes.members(added.nodes.all)][-1] == "zz"


def test_a_slice_keeps_naming_a_node_whose_object_goes() -> None:
    fleet = build_fleet(BEGINNING)
    later = with_changes(fleet, Changes(nodes={MANY[3]: None}))
    assert later.nodes.by_name[MANY[3]].meta.labels == {}
    last = with_changes(later, Changes(slices={f"{MANY[3]}-{NVIDIA}": None}))
    assert MANY[3] not in last.nodes.by_name
