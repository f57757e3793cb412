"""What one event of a watch costs in a large cluster, from its JSON to the next snapshot."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from time import thread_time
from typing import Any

import msgspec

from bench.payloads import DEVICES_PER_NODE, Raw, cluster
from bench.table import table
from webhook.fleet.build import build_fleet
from webhook.fleet.changes import Changes, with_changes
from webhook.kube.kinds import READ
from webhook.kube.reading import read_object

NODES = 5_000
PODS_PER_NODE = 5
_NAMESPACES = 50
_KINDS = {kind.kind: kind for kind in READ}


@dataclass(frozen=True, slots=True)
class Event:
    """An object as a watch brings it, or its deletion."""

    kind: str
    line: bytes
    gone: bool = False


def crowded(nodes: int) -> Iterator[Raw]:
    """The cluster, with claims for four devices of each node, and pods that hold them or plugin devices."""
    yield from cluster(nodes)
    for number in range(nodes * PODS_PER_NODE):
        node, place = divmod(number, PODS_PER_NODE)
        name, namespace = f"worker-{number}", f"team-{number % _NAMESPACES}"
        if place == 0:
            yield _pod(name, namespace, f"node-{node:04}", limits={"example.com/old-card": "1"})
            continue
        yield _pod(name, namespace, f"node-{node:04}", claim=name)
        yield _claim(name, namespace, f"node-{node:04}", f"gpu-{place}")


def measure(rounds: int) -> str:
    """The table. Every round takes another object of the kind, so that nothing is remembered of it."""
    objects = list(crowded(NODES))
    began = thread_time()
    fleet = build_fleet(objects)
    building = thread_time() - began
    rows = []
    for name, events in _events(objects).items():
        reading, changing = [], []
        for number in range(rounds):
            event = events(number)
            before = thread_time()
            change = _read(event)
            between = thread_time()
            after = with_changes(fleet, change)
            changing.append(thread_time() - between)
            reading.append(between - before)
            fleet = after
        rows.append([name, _us(reading), _us(changing), _us([a + b for a, b in zip(reading, changing, strict=True)])])
    return table(
        f"One event in {NODES:,} nodes, {NODES * DEVICES_PER_NODE:,} devices, {NODES * PODS_PER_NODE:,} pods with devices",
        ["", "read, us", "next snapshot, us", "both, us"],
        rows,
        [f"CPU, medians of {rounds} rounds. Building the same fleet from nothing takes {building:.1f} s."],
    )


def _events(objects: list[Raw]) -> dict[str, Callable[[int], Event]]:
    nodes = [raw for raw in objects if raw["kind"] == "Node"]
    slices = [raw for raw in objects if raw["kind"] == "ResourceSlice"]
    pods = [raw for raw in objects if raw["kind"] == "Pod"]
    claims = [raw for raw in objects if raw["kind"] == "ResourceClaim"]

    def slice_changed(number: int) -> Event:
        raw = copy.deepcopy(slices[number])
        raw["spec"]["pool"]["generation"] = 7 + number
        raw["spec"]["devices"].pop()
        return _event(raw)

    def pod_bound(number: int) -> Event:
        return _event(_pod(f"new-{number}", "team-1", f"node-{number * 7 % NODES:04}", limits={"example.com/old-card": "2"}))

    def pod_status(number: int) -> Event:
        return _event({**pods[number], "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}})

    def claim_allocated(number: int) -> Event:
        return _event(_claim(f"fresh-{number}", "team-1", f"node-{number * 7 % NODES:04}", "gpu-7"))

    def claim_gone(number: int) -> Event:
        return _event(claims[number], gone=True)

    def node_relabelled(number: int) -> Event:
        raw = copy.deepcopy(nodes[number])
        raw["metadata"]["labels"] = {**raw["metadata"].get("labels", {}), "zone": f"z{number % 3}"}
        return _event(raw)

    def node_heartbeat(number: int) -> Event:
        raw = copy.deepcopy(nodes[-1 - number])
        raw.setdefault("status", {})["conditions"] = [{"type": "Ready", "lastHeartbeatTime": str(number)}]
        return _event(raw)

    def node_added(number: int) -> Event:
        raw = copy.deepcopy(nodes[number])
        raw["metadata"]["name"] = f"extra-{number}"
        return _event(raw)

    def node_gone(number: int) -> Event:
        raw = copy.deepcopy(nodes[0])
        raw["metadata"]["name"] = f"extra-{number}"
        return _event(raw, gone=True)

    return {
        "slice changed": slice_changed,
        "pod of a device plugin bound": pod_bound,
        "pod status": pod_status,
        "claim allocated": claim_allocated,
        "claim deleted": claim_gone,
        "node relabelled": node_relabelled,
        "node heartbeat": node_heartbeat,
        "node added": node_added,
        "node removed": node_gone,
    }


def _event(raw: Raw, *, gone: bool = False) -> Event:
    return Event(raw["kind"], msgspec.json.encode(raw), gone)


def _read(event: Event) -> Changes:
    kind = _KINDS[event.kind]
    raw = msgspec.json.decode(event.line)
    kept = read_object(raw, kind.part, kind.kind, raw["apiVersion"])
    changes: dict[str, Any] = {kind.part: {kept.key: None if event.gone else kept.value}}
    return Changes(**changes)


def _us(seconds: list[float]) -> str:
    return f"{median(seconds) * 1e6:.0f}"


def _pod(name: str, namespace: str, node: str, *, claim: str = "", limits: dict[str, str] | None = None) -> Raw:
    container: Raw = {"name": "work", "image": "registry.example.com/work:1", "resources": {"limits": limits or {}}}
    spec: Raw = {"nodeName": node, "containers": [container]}
    if claim:
        spec["resourceClaims"] = [{"name": "gpu", "resourceClaimName": claim}]
        container["resources"]["claims"] = [{"name": "gpu"}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}"},
        "spec": spec,
        "status": {"phase": "Running"},
    }


def _claim(name: str, namespace: str, node: str, device: str) -> Raw:
    result = {"request": "gpu", "driver": "gpu.nvidia.com", "pool": node, "device": device}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}"},
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com"}}]}},
        "status": {"allocation": {"devices": {"results": [result]}}},
    }
