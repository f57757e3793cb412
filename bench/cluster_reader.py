"""`python -m bench.cluster_reader KUBECONFIG`: reads a cluster in a process of its own, and says on request what it has cost.

Every line on the standard input is answered with one line of JSON; one comes by itself, when the first snapshot is made.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic, process_time, sleep

from webhook.kube.cluster_state import ClusterSettings, ClusterState
from webhook.kube.connecting import connect
from webhook.telemetry import EventLog


def main(kubeconfig: str) -> None:
    """Read until the standard input ends."""
    before = _memory()
    state = ClusterState(
        connect(kubeconfig), ClusterSettings(), events=EventLog(sys.stderr.buffer, _now, style="text"), clock=_now
    )
    began = monotonic()
    state.start()
    while state.current() is None:
        sleep(0.005)
    _say(state, monotonic() - began, before)
    for _ in sys.stdin:
        _say(state, monotonic() - began, before)
    state.stop()


def _say(state: ClusterState, seconds: float, before: int) -> None:
    fleet = state.current()
    assert fleet is not None
    said = {
        "seconds": seconds,
        "cpu": process_time(),
        "before": before,
        "memory": _memory(),
        "nodes": len(fleet.nodes.names),
        "devices": sum(len(pool.devices) for pool in fleet.inventory.pools),
        "events": sum(progress.events for _, progress in state.progress),
        "snapshots": state.snapshots,
    }
    sys.stdout.write(json.dumps(said) + "\n")
    sys.stdout.flush()


def _memory() -> int:
    """Resident memory in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


def _now() -> datetime:
    return datetime.now(UTC)  # noqa: TID251 - the age of what is read is measured by the real clock


if __name__ == "__main__":
    main(sys.argv[1])
