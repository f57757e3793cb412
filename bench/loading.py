"""A large cluster read from a real API server: until it is ready, what it takes, and what an event costs from end to end."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.payloads import DEVICES_PER_NODE, Raw, cluster
from bench.table import table
from tests.cluster.binaries import FULL, Programs
from tests.cluster.controlplane import control_plane
from webhook.kube.client import Client
from webhook.kube.connecting import connect

NODES = 5_000
EVENTS = 1_000
_WRITERS = 16
_PATHS = {
    "Node": "/api/v1/nodes",
    "ResourceSlice": "/apis/resource.k8s.io/v1/resourceslices",
    "DeviceClass": "/apis/resource.k8s.io/v1/deviceclasses",
}


class _Alone(Programs):
    """The API server without scheduler and controllers: they would be measured too."""

    @property
    def full(self) -> bool:
        """Never."""
        return False


def why_not() -> str:
    """Why it cannot be measured here; empty when it can. Nothing is built for it."""
    programs = Programs(FULL)
    missing = [name for name in ("etcd", "kube-apiserver", "kubectl") if not programs.has(name)]
    return f"no API server here ({', '.join(missing)} not built; `make test-cluster` builds them)" if missing else ""


def measure(nodes: int = NODES, events: int = EVENTS) -> str:
    """The table."""
    with tempfile.TemporaryDirectory() as folder, control_plane(_Alone(FULL), Path(folder)) as plane:
        kubeconfig = str(plane.folder / "admin.kubeconfig")
        client = connect(kubeconfig)
        objects = [raw for raw in cluster(nodes) if raw["kind"] in _PATHS]
        _each(objects, lambda raw: client.send("POST", _PATHS[raw["kind"]], raw))
        with _reader(kubeconfig) as ask:
            ready = ask()
            rows = [_event_row(name, work, ask, events) for name, work in _changes(client, objects).items()]
            last = ask()
    size = f"{ready['nodes']:,} nodes, {ready['devices']:,} devices"
    grown = f"{(last['memory'] - ready['memory']) / 2**20:+.0f}"
    return table(
        f"{size}, read from kube-apiserver {FULL}: ready after {ready['seconds']:.1f} s, {ready['cpu']:.1f} s of CPU, "
        f"{ready['memory'] / 2**20:.0f} MiB ({ready['before'] / 2**20:.0f} before)",
        ["", "events", "CPU each, us", "snapshots"],
        rows,
        [f"From the bytes of the watch to the snapshot, on {DEVICES_PER_NODE} devices a node. Memory after all: {grown} MiB."],
    )


def _changes(client: Client, objects: list[Raw]) -> dict[str, Callable[[int], object]]:
    nodes = [raw["metadata"]["name"] for raw in objects if raw["kind"] == "Node"]
    slices = {raw["metadata"]["name"]: raw for raw in objects if raw["kind"] == "ResourceSlice"}
    names = list(slices)

    def slice_changed(number: int) -> object:
        name = names[number % len(names)]
        path = f"{_PATHS['ResourceSlice']}/{name}"
        raw = copy.deepcopy(client.get(path))
        raw["spec"]["pool"]["generation"] += 1
        raw["spec"]["devices"].pop()
        return client.send("PUT", path, raw)

    def node_relabelled(number: int) -> object:
        path = f"{_PATHS['Node']}/{nodes[number % len(nodes)]}"
        raw = copy.deepcopy(client.get(path))
        raw["metadata"].setdefault("labels", {})["zone"] = f"z{number % 3}"
        return client.send("PUT", path, raw)

    def node_heartbeat(number: int) -> object:
        path = f"{_PATHS['Node']}/{nodes[number % len(nodes)]}"
        raw = copy.deepcopy(client.get(path))
        condition = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": f"beat {number}"}
        raw.setdefault("status", {})["conditions"] = [condition]
        return client.send("PUT", f"{path}/status", raw)

    return {
        "slice changed": slice_changed,
        "node relabelled": node_relabelled,
        "node heartbeat (nothing that is read)": node_heartbeat,
    }


def _event_row(name: str, work: Callable[[int], object], ask: Callable[[], dict[str, Any]], events: int) -> list[str]:
    before = ask()
    _each(range(events), work)
    after = ask()
    while after["events"] < before["events"] + events:
        time.sleep(0.05)
        after = ask()
    seen = after["events"] - before["events"]
    cost = (after["cpu"] - before["cpu"]) / seen
    return [name, str(seen), f"{cost * 1e6:.0f}", str(after["snapshots"] - before["snapshots"])]


def _each(items: Iterable[Any], work: Callable[[Any], object]) -> None:
    with ThreadPoolExecutor(_WRITERS) as writers:
        list(writers.map(work, items))


@contextmanager
def _reader(kubeconfig: str) -> Any:
    """A process that reads the cluster, and a function that asks it what it has cost: ready at the first answer."""
    command = [sys.executable, "-m", "bench.cluster_reader", kubeconfig]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:  # noqa: S603 - our own module
        asking, answers = process.stdin, process.stdout
        assert asking is not None
        assert answers is not None
        first = True

        def ask() -> dict[str, Any]:
            nonlocal first
            if not first:
                asking.write(b"\n")
                asking.flush()
            first = False
            said: dict[str, Any] = json.loads(answers.readline())
            return said

        yield ask
        asking.close()
