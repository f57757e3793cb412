"""One kind of objects: how long is waited for a server that asks for it, and what of its events is taken."""

from __future__ import annotations

import json
import threading
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.kube.api_server import ApiServer
from tests.real_clock import real_now
from webhook.errors import ApiError, ClusterError
from webhook.kube.client import Client
from webhook.kube.cluster_state import ClusterSettings, ClusterState
from webhook.kube.discovery import Source
from webhook.kube.kinds import Kind
from webhook.kube.reading import Kept
from webhook.kube.reflector import Reflector, Timing
from webhook.telemetry import EventLog

NODES = Source(kind=Kind(group="", kind="Node", part="nodes"), api_version="v1", path="/api/v1/nodes", namespaced=False)


class Patience(threading.Event):
    """An end that does not wait: it notes for how long it should have, and comes after so many waits."""

    def __init__(self, waits: int) -> None:
        super().__init__()
        self.waits = waits
        self.waited: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self.waited.append(timeout)
        if len(self.waited) >= self.waits:
            self.set()
        return self.is_set()


@dataclass
class Seen:
    """What a reflector has told."""

    lists: list[Mapping[Hashable, Any]] = field(default_factory=list)
    changes: list[Kept] = field(default_factory=list)

    def listed(self, source: Source, objects: Mapping[Hashable, Any]) -> None:
        self.lists.append(objects)

    def changed(self, source: Source, kept: Kept) -> None:
        self.changes.append(kept)

    def refused(self, source: Source, fault: ApiError) -> None:
        raise AssertionError(fault)


def reflector(client: Client, patience: Patience, seen: Seen, *, source: Source = NODES) -> Reflector:
    timing = Timing(first_pause=0.5, longest_pause=10.0, longest_asked=60.0)
    return Reflector(client=client, source=source, sink=seen, clock=real_now, timing=timing, _stop=patience)


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("said", "least", "most"),
    [
        ("", 0.25, 0.5),
        ("0", 0.25, 0.5),
        ("7", 7.0, 8.75),
        ("3600", 60.0, 75.0),
        ("soon", 0.25, 0.5),
        ("-5", 0.25, 0.5),
        ("Wed, 21 Oct 2026 07:28:00 GMT", 0.25, 0.5),
    ],
)
def test_the_pause_is_as_long_as_the_server_asks_for(
    server: ApiServer, client: Client, status: int, said: str, least: float, most: float
) -> None:
    server.refusing["nodes"] = status
    server.retry_after = said
    patience = Patience(1)
    reflector(client, patience, Seen()).run()
    [waited] = patience.waited
    assert least <= waited <= most


def test_a_long_pause_of_its_own_is_not_shortened(server: ApiServer, client: Client) -> None:
    server.refusing["nodes"] = 429
    server.retry_after = "1"
    patience = Patience(9)
    reflector(client, patience, Seen()).run()
    assert all(1.0 <= waited <= 10.0 for waited in patience.waited)
    assert patience.waited[-1] >= 5.0


def test_a_status_may_say_it_instead_of_a_header(server: ApiServer, client: Client) -> None:
    error = {"type": "ERROR", "object": {"code": 429, "message": "too much", "details": {"retryAfterSeconds": 9}}}
    found = reflector(client, Patience(1), Seen())
    with pytest.raises(ClusterError, match=r"^the watch ended with an error: too much$") as raised:
        found._take(lines(error))
    assert raised.value.retry_after == 9.0


def test_a_server_that_cannot_say_what_it_is_is_left_alone_for_as_long(
    server: ApiServer, client: Client, events: EventLog
) -> None:
    server.tokens = {"another"}
    server.retry_after = "17"
    state = ClusterState(client, ClusterSettings(), events=events, clock=real_now)
    assert state._discover(()) == 17.0
    server.retry_after = "3600"
    assert state._discover(()) == 60.0
    server.retry_after = ""
    assert state._discover(()) == 2.0
    server.tokens = {"good"}
    assert state._discover(()) == 300.0


def lines(*events: object) -> bytes:
    return b"\n".join(json.dumps(event).encode() for event in events)


def test_the_client_tells_what_is_asked_for(server: ApiServer, client: Client) -> None:
    server.refusing["nodes"] = 503
    server.retry_after = "12"
    with pytest.raises(ApiError) as raised:
        client.get("/api/v1/nodes")
    assert (raised.value.status, raised.value.retry_after) == (503, 12.0)
    server.retry_after = ""
    with pytest.raises(ApiError) as silent:
        client.get("/api/v1/nodes")
    assert silent.value.retry_after == 0.0
