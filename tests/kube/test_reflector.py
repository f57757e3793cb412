"""One kind of objects: how long is waited for a server that asks for it, and what of its events is taken."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest

from tests.build import node
from tests.kube.api_server import ApiServer
from tests.real_clock import real_now
from webhook.errors import ApiError, ClusterError
from webhook.kube.client import Client
from webhook.kube.cluster_state import ClusterSettings, ClusterState
from webhook.kube.discovery import Source
from webhook.kube.kinds import Kind, Part
from webhook.kube.listing import list_cluster
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


class Refused(Seen):
    """Who takes refusals, too."""

    def refused(self, source: Source, fault: ApiError) -> None:
        pass


def reflector(client: Client, patience: Patience, seen: Seen, *, source: Source = NODES) -> Reflector:
    timing = Timing(first_pause=0.5, longest_pause=10.0, longest_asked=60.0)
    return Reflector(client=client, source=source, sink=seen, clock=real_now, timing=timing, _stop=patience, _wake=patience)


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("said", "least", "most"),
    [
        ("", 0.25, 0.5),
        ("0", 0.25, 0.5),
        ("7", 7.0, 8.75),
        ("57", 57.0, 60.0),
        ("60", 60.0, 60.0),
        ("3600", 48.0, 60.0),
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


@pytest.mark.parametrize(("chance", "waited"), [(0.0, [57.0, 60.0, 48.0]), (1.0, [60.0, 60.0, 60.0])])
def test_jitter_does_not_make_it_longer_than_a_minute(
    monkeypatch: pytest.MonkeyPatch, client: Client, chance: float, waited: list[float]
) -> None:
    monkeypatch.setattr(Random, "uniform", lambda self, least, most: least + chance * (most - least))
    patience = Patience(3)
    found = reflector(client, patience, Seen())
    for asked in (57.0, 60.0, 3600.0):
        found._broken("overloaded", forget=False, asked=asked)
    assert patience.waited == waited


@pytest.mark.parametrize("status", [403, 503])
def test_who_pauses_lists_again_at_once_when_asked_to(
    server: ApiServer, client: Client, until: Callable[[Callable[[], object]], None], status: int
) -> None:
    server.refusing["nodes"], server.retry_after = status, "3600"
    seen = Refused()
    timing = Timing(first_pause=60.0, longest_pause=60.0, refused_pause=60.0)
    found = Reflector(client=client, source=NODES, sink=seen, clock=real_now, timing=timing)
    thread = threading.Thread(target=found.run, daemon=True)
    thread.start()
    until(lambda: found.progress.errors == 1 and found.progress.detail)
    del server.refusing["nodes"]
    found.list_again()
    until(lambda: seen.lists)
    found.stop()
    server.cut()
    thread.join(10)
    assert not thread.is_alive()


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


def watched(what: object) -> dict[str, object]:
    return {"type": "ADDED", "object": what}


NAMELESS = [
    ({"type": "ADDED"}, "an event ADDED has no object with a name"),
    ({"type": "MODIFIED", "object": None}, "an event MODIFIED has no object with a name"),
    ({"type": "DELETED"}, "an event DELETED has no object with a name"),
    ({"type": "DELETED", "object": {"metadata": {"name": ""}}}, "an event DELETED has no object with a name"),
    (watched([]), "an event ADDED has no object with a name"),
    (watched({"metadata": {"resourceVersion": "99"}}), "an event ADDED has no object with a name"),
    (watched({"metadata": {"name": 7}}), "an event ADDED has no object with a name"),
    (watched({"metadata": "node-1"}), "an event ADDED has no object with a name"),
]


@pytest.mark.parametrize(("event", "why"), NAMELESS)
def test_an_event_without_an_object_with_a_name_is_counted_and_told_once(client: Client, event: object, why: str) -> None:
    seen, told = Seen(), []
    found = reflector(client, Patience(1), seen)
    found.ignoring = lambda source, what: told.append((source.name, what))
    found._version = "5"
    found._take(lines(event))
    found._take(lines(event))
    assert seen.changes == []
    assert told == [("Node", why)]
    assert (found.progress.ignored, found.progress.events, found._version) == (2, 0, "5")
    assert found.progress.heard is None
    found._take(lines(watched(node("node-1"))))
    assert [kept.key for kept in seen.changes] == ["node-1"]


@pytest.mark.parametrize(
    ("part", "metadata", "taken"),
    [
        ("claims", {"name": "c"}, False),
        ("claims", {"namespace": "a"}, False),
        ("claims", {"namespace": "a", "name": "c"}, True),
        ("controllers", {"namespace": "a", "name": "c"}, False),
        ("controllers", {"namespace": "a", "name": "c", "uid": "u"}, True),
    ],
)
def test_what_a_name_is_depends_on_the_kind(client: Client, part: Part, metadata: dict[str, str], taken: bool) -> None:
    seen = Seen()
    kind = Kind(group="apps", kind="Thing", part=part)
    found = reflector(client, Patience(1), seen, source=Source(kind=kind, api_version="apps/v1", path="/apis/apps/v1/things"))
    found._take(lines(watched({"metadata": metadata})))
    assert (len(seen.changes), found.progress.ignored) == ((1, 0) if taken else (0, 1))


def test_an_object_of_a_list_without_a_name_is_passed_over(server: ApiServer, client: Client, events: EventLog) -> None:
    server.put(node("node-1"))
    server.put({**node("another"), "metadata": {"name": ""}})
    seen, told = Seen(), []
    found = reflector(client, Patience(1), seen)
    found.ignoring = lambda source, what: told.append(what)
    found._list()
    assert [[*objects] for objects in seen.lists] == [["node-1"]]
    assert (told, found.progress.ignored) == (["an object of a list has no name"], 1)


def test_the_commands_pass_it_over_too(server: ApiServer, client: Client) -> None:
    server.put(node("node-1"))
    server.put({**node("another"), "metadata": {"name": ""}})
    nodes = next(item for item in list_cluster(client).lists if item.source.name == "Node")
    assert [raw["metadata"]["name"] for raw in nodes.objects] == ["node-1"]
