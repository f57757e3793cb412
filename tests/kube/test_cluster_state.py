"""The cluster as it is kept: by lists and watches, through every fault of a connection."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest

from tests.build import claim, device_class, device_slice, gpu, namespace, node, pod, result, template
from tests.kube.api_server import ApiServer
from webhook.kube.client import Client
from webhook.kube.cluster_state import ClusterSettings, ClusterState
from webhook.kube.health import health_of
from webhook.kube.reflector import Timing
from webhook.telemetry import EventLog

Until = Callable[[Callable[[], object]], None]
QUICK = Timing(silence=5.0, first_pause=0.01, longest_pause=0.02, refused_pause=0.02)


@pytest.fixture
def state(server: ApiServer, client: Client, events: EventLog) -> Iterator[ClusterState]:
    """A reader of the server, not started."""
    found = ClusterState(client, ClusterSettings(timing=QUICK), events=events, clock=lambda: datetime.now(UTC))
    yield found
    found.stop()
    server.cut()
    found.join(5)


def test_it_reads_what_is_there_and_what_comes(server: ApiServer, state: ClusterState, until: Until) -> None:
    server.put(node("node-1"))
    server.put(device_slice("node-1", gpu("gpu-0"), gpu("gpu-1")))
    state.start()
    until(state.current)
    fleet = state.current()
    assert fleet is not None
    assert fleet.nodes.names == ("node-1",)
    assert [len(pool.devices) for pool in fleet.inventory.pools] == [2]
    server.put(namespace("team-a", {"fallgate.dev/tier": "research"}))
    until(lambda: "team-a" in (state.current() or fleet).namespaces)
    server.put(template("one-gpu"))
    until(lambda: ("team-a", "one-gpu") in (state.current() or fleet).templates)
    server.remove("resourceclaimtemplates", "one-gpu", "team-a")
    until(lambda: not (state.current() or fleet).templates)
