"""The cluster as it is kept: by lists and watches, through every fault of a connection."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.build import (
    claim,
    controller,
    device_class,
    device_slice,
    gpu,
    namespace,
    node,
    pod,
    pod_spec,
    result,
    taint_rule,
    template,
)
from tests.kube.api_server import ApiServer
from tests.real_clock import real_now
from webhook.fleet.fleet import Fleet
from webhook.kube import cluster_state, listing
from webhook.kube.client import Client
from webhook.kube.cluster_state import ClusterSettings, ClusterState
from webhook.kube.discovery import Served
from webhook.kube.health import Health, health_of
from webhook.kube.kinds import Kind
from webhook.kube.reflector import Progress, Timing
from webhook.model.workload_kinds import WorkloadKind
from webhook.telemetry import EventLog

Until = Callable[[Callable[[], object]], None]
QUICK = Timing(silence=5.0, first_pause=0.01, longest_pause=0.02, refused_pause=0.02)
#: What is watched of the small server when all is well.
WATCHED = 12


class Reader:
    """A ClusterState with a few questions to ask of it."""

    def __init__(self, state: ClusterState) -> None:
        self.state = state

    @property
    def fleet(self) -> Fleet:
        """The newest snapshot."""
        found = self.state.current()
        assert found is not None
        return found

    def has_node(self, name: str) -> bool:
        """Whether the newest snapshot has that node."""
        return name in self.fleet.nodes.by_name

    def progress(self, name: str) -> Progress:
        """How a kind is doing."""
        return next(progress for source, progress in self.state.progress if source.name == name)

    def health(self) -> dict[str, Health]:
        """What there is to say, by name."""
        return {item.name: item for item in health_of(self.state, real_now())}


@pytest.fixture
def made(server: ApiServer, client: Client, events: EventLog) -> Iterator[Callable[..., Reader]]:
    """Makes readers of the server, not started."""
    states: list[ClusterState] = []

    def make(**settings: object) -> Reader:
        workloads = settings.pop("workloads", tuple)
        chosen = replace(ClusterSettings(timing=QUICK), **settings)
        states.append(ClusterState(client, chosen, events=events, clock=real_now, workloads=workloads))
        return Reader(states[-1])

    yield make
    for state in states:
        state.stop()
    server.cut()
    for state in states:
        state.join(5)


@pytest.fixture
def reader(made: Callable[..., Reader]) -> Reader:
    """A reader of everything, not started."""
    return made()


@pytest.fixture
def up(server: ApiServer, reader: Reader, until: Until) -> Reader:
    """A reader that has read a node and watches."""
    server.put(node("node-1"))
    reader.state.start()
    until(reader.state.current)
    until(lambda: all(progress.state == "watching" for _, progress in reader.state.progress))
    return reader


def test_it_reads_what_is_there_and_what_comes(server: ApiServer, reader: Reader, until: Until) -> None:
    server.put(node("node-1"))
    server.put(device_slice("node-1", gpu("gpu-0"), gpu("gpu-1")))
    server.put(device_class())
    server.put(controller("ReplicaSet", "web-1", pod_spec(), uid="rs-uid"))
    server.put(taint_rule("r", {"key": "k", "effect": "NoSchedule"}) | {"apiVersion": "resource.k8s.io/v1beta2"})
    reader.state.start()
    until(reader.state.current)
    first = reader.fleet
    assert first.nodes.names == ("node-1",)
    assert [len(pool.devices) for pool in first.inventory.pools] == [2]
    assert list(first.inventory.classes) == ["gpu.nvidia.com"]
    assert first.controllers["rs-uid"].name == "web-1"
    assert [rule.meta.name for rule in first.taint_rules] == ["r"]
    assert str(first.server) == "1.36"
    assert {"Pod", "ResourceQuota", "ReplicaSet", "DeviceTaintRule"} <= first.observed
    assert "LocalQueue" not in first.observed
    server.put(namespace("team-a", {"fallgate.dev/tier": "research"}))
    until(lambda: "team-a" in reader.fleet.namespaces)
    server.put(template("one-gpu"))
    until(lambda: ("team-a", "one-gpu") in reader.fleet.templates)
    server.put(claim("mine", allocated=[result("gpu-1")]))
    until(lambda: reader.fleet.holdings.holder("gpu.nvidia.com", "node-1", "gpu-1"))
    server.remove("resourceclaimtemplates", "one-gpu", "team-a")
    until(lambda: not reader.fleet.templates)
    assert reader.fleet.inventory.by_key is not None
    assert first.templates == {}


def test_only_pods_with_devices_are_kept(server: ApiServer, up: Reader, until: Until) -> None:
    server.put(pod("web"))
    server.put(pod("trainer", extended={"nvidia.com/gpu": 1}, nodeName="node-1", status={"phase": "Running"}))
    until(lambda: up.fleet.pods)
    assert list(up.fleet.pods) == [("team-a", "trainer")]
    assert up.fleet.holdings.plugin_held("node-1", "nvidia.com/gpu") == 1
    [asked] = server.lists_of("pods")
    assert asked.query["fieldSelector"] == "status.phase!=Succeeded,status.phase!=Failed"


def test_metadata_is_all_that_is_asked_of_namespaces_and_controllers(server: ApiServer, up: Reader) -> None:
    for resource in ("namespaces", "deployments", "replicasets", "jobs"):
        [asked] = server.lists_of(resource)
        assert asked.headers["accept"].startswith("application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io")
        [watch] = server.watches_of(resource)
        assert watch.headers["accept"].startswith("application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io")
    [asked] = server.lists_of("nodes")
    assert asked.headers["accept"] == "application/json"
    assert len(up.state.progress) == WATCHED


def test_lists_come_in_pages(server: ApiServer, reader: Reader, until: Until, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "PAGE", 2)
    for number in range(5):
        server.put(node(f"node-{number}"))
    reader.state.start()
    until(reader.state.current)
    assert reader.fleet.nodes.names == tuple(f"node-{number}" for number in range(5))
    assert [asked.query.get("continue", "") for asked in server.lists_of("nodes")] == ["", "2", "4"]
    assert reader.progress("Node").count == 5


@pytest.mark.parametrize(
    ("tokens", "most", "why"),
    [
        (["1"], 100, "the same continue token came with two pages"),
        ([str(number) for number in range(2000)], 3, "there are more than 3 pages of 500"),
    ],
    ids=["the same", "ever new"],
)
def test_a_list_that_does_not_end_is_given_up_and_begun_anew(
    server: ApiServer,
    reader: Reader,
    until: Until,
    log: io.BytesIO,
    monkeypatch: pytest.MonkeyPatch,
    tokens: list[str],
    most: int,
    why: str,
) -> None:
    monkeypatch.setattr(listing, "MOST_PAGES", most)
    server.endless["nodes"] = list(tokens)
    server.put(node("node-1"))
    reader.state.start()
    until(lambda: f"kind Node, GET /api/v1/nodes: the list does not end: {why}" in log.getvalue().decode())
    until(lambda: reader.progress("Node").errors >= 2)
    assert reader.state.current() is None
    first = [asked.query.get("continue") for asked in server.lists_of("nodes")][: min(most, 2)]
    assert first == [None, tokens[0]]
    del server.endless["nodes"]
    until(reader.state.current)
    assert reader.fleet.nodes.names == ("node-1",)


def test_a_new_list_that_fails_is_not_forgotten(server: ApiServer, up: Reader, until: Until) -> None:
    server.remove_unseen("nodes", "node-1")
    server.failing_next["nodes"] = [500, 500]
    for reflector in up.state._reflectors.values():
        reflector.list_again()
    until(lambda: not up.fleet.nodes.names)


def test_a_watch_goes_on_from_the_last_bookmark(server: ApiServer, up: Reader, until: Until) -> None:
    heard = up.progress("Node").heard
    server.bookmark("nodes")
    until(lambda: up.progress("Node").heard != heard)
    server.cut("nodes")
    until(lambda: len(server.watches_of("nodes")) == 2)
    first, second = (int(asked.query["resourceVersion"]) for asked in server.watches_of("nodes"))
    assert second == first + 1
    assert first == int(server.watches_of("nodes")[0].query["resourceVersion"])
    assert server.watches_of("nodes")[0].query["allowWatchBookmarks"] == "true"
    assert len(server.lists_of("nodes")) == 1


def test_what_happened_while_the_watch_was_down_is_made_up_for(server: ApiServer, up: Reader, until: Until) -> None:
    server.cut("nodes")
    server.put(node("node-2"))
    until(lambda: up.has_node("node-2"))
    assert len(server.lists_of("nodes")) == 1


@pytest.mark.parametrize("how", ["answer", "event"])
def test_a_forgotten_version_lists_again(server: ApiServer, up: Reader, until: Until, how: str) -> None:
    server.put(node("node-2"))
    until(lambda: up.has_node("node-2"))
    server.forget_history()
    server.remove_unseen("nodes", "node-1")
    if how == "answer":
        server.cut("nodes")
    else:
        status = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}
        server.send("nodes", json.dumps({"type": "ERROR", "object": status}).encode() + b"\n")
    until(lambda: not up.has_node("node-1"))
    assert up.fleet.nodes.names == ("node-2",)
    assert len(server.lists_of("nodes")) == 2
    assert up.progress("Node").lists == 2


def test_a_line_that_was_cut_off_is_not_believed(server: ApiServer, up: Reader, until: Until) -> None:
    half = json.dumps({"type": "DELETED", "object": {"metadata": {"name": "node-1"}}}).encode()
    server.send("nodes", half[:-4])
    server.cut("nodes")
    until(lambda: len(server.watches_of("nodes")) == 2)
    assert up.has_node("node-1")
    assert len(server.lists_of("nodes")) == 1


@pytest.mark.parametrize("sent", [b"no json\n", b'{"type": "ERROR", "object": {"code": 500, "message": "etcd is away"}}\n'])
def test_nonsense_breaks_the_watch_and_nothing_else(server: ApiServer, up: Reader, until: Until, sent: bytes) -> None:
    server.send("nodes", sent)
    until(lambda: len(server.watches_of("nodes")) == 2)
    server.put(node("node-2"))
    until(lambda: up.has_node("node-2"))
    assert up.has_node("node-1")


def test_events_of_unknown_types_are_passed_over(server: ApiServer, up: Reader, until: Until) -> None:
    server.send("nodes", b'{"type": "SOMETHING", "object": {}}\n')
    server.put(node("node-2"))
    until(lambda: up.has_node("node-2"))
    assert len(server.watches_of("nodes")) == 1


def test_a_silent_connection_is_given_up(server: ApiServer, made: Callable[..., Reader], until: Until, log: io.BytesIO) -> None:
    server.put(node("node-1"))
    reader = made(timing=replace(QUICK, silence=0.2))
    reader.state.start()
    until(reader.state.current)
    until(lambda: len(server.watches_of("nodes")) >= 2)
    assert reader.has_node("node-1")
    assert b"watch broken: kind Node, no answer in time" in log.getvalue()
    assert len(server.lists_of("nodes")) <= 1 + len(server.watches_of("nodes")) // 4


def test_a_server_that_fails_is_asked_again(server: ApiServer, reader: Reader, until: Until) -> None:
    server.failing_next["nodes"] = [500, 429, 503]
    server.put(node("node-1"))
    reader.state.start()
    until(reader.state.current)
    assert reader.has_node("node-1")
    assert reader.progress("Node").errors == 3


def test_it_is_not_ready_before_everything_needed_was_listed(server: ApiServer, reader: Reader, until: Until) -> None:
    server.refusing["deviceclasses"] = 403
    reader.state.start()
    why = (
        "waiting for the first complete list of DeviceClass: GET /apis/resource.k8s.io/v1/deviceclasses: 403: "
        "deviceclasses is refused"
    )
    until(lambda: list(reader.health().values()) == [Health(name="fleet", state="failed", detail=why)])
    assert reader.state.current() is None
    del server.refusing["deviceclasses"]
    until(reader.state.current)


def test_what_may_not_be_read_is_unknown_and_not_empty(
    server: ApiServer, reader: Reader, until: Until, log: io.BytesIO
) -> None:
    server.refusing["pods"] = 403
    reader.state.start()
    until(reader.state.current)
    assert "Pod" not in reader.fleet.observed
    assert reader.health()["fleet"].state == "ok"
    until(lambda: "fleet-pods" in reader.health())  # the next attempt may be under way
    assert reader.health()["fleet-pods"] == Health(
        name="fleet-pods",
        state="degraded",
        detail="Pod cannot be read, so that it is unknown what device-plugin pods hold, and which pod a generated claim is "
        "for: GET /api/v1/pods: 403: pods is refused",
    )
    assert log.getvalue().count(b"not readable: kind Pod") == 1
    server.put(pod("trainer", extended={"nvidia.com/gpu": 1}, nodeName="node-1"))
    del server.refusing["pods"]
    until(lambda: "Pod" in reader.fleet.observed)
    assert list(reader.fleet.pods) == [("team-a", "trainer")]
    until(lambda: "fleet-pods" not in reader.health())


def test_a_right_that_is_taken_away_takes_the_facts_along(server: ApiServer, up: Reader, until: Until) -> None:
    server.put(pod("trainer", extended={"nvidia.com/gpu": 1}, nodeName="node-1"))
    until(lambda: up.fleet.pods)
    server.refusing["pods"] = 403
    server.cut("pods")
    until(lambda: "Pod" not in up.fleet.observed)
    assert dict(up.fleet.pods) == {}
    assert up.progress("Pod").errors >= 5, "a server that has just started refuses for a moment what it allows"


def test_what_is_needed_is_kept_when_it_may_not_be_read_any_more(server: ApiServer, up: Reader, until: Until) -> None:
    server.refusing["nodes"] = 403
    server.cut("nodes")
    until(lambda: up.progress("Node").errors >= 6)
    assert up.has_node("node-1")


def test_features_can_be_switched_off(server: ApiServer, made: Callable[..., Reader], until: Until) -> None:
    reader = made(features=frozenset({"quotas"}))
    reader.state.start()
    until(reader.state.current)
    assert server.lists_of("pods") == []
    assert reader.health()["fleet-pods"].detail == (
        "switched off, so that it is unknown what device-plugin pods hold, and which pod a generated claim is for"
    )
    assert set(reader.health()) == {"fleet", "fleet-pods", "fleet-owners", "fleet-taint-rules", "fleet-queues"}


def test_old_facts_are_reported(server: ApiServer, made: Callable[..., Reader], until: Until) -> None:
    reader = made(stale_after=timedelta(hours=1))
    reader.state.start()
    until(reader.state.current)
    as_of = reader.fleet.as_of
    assert as_of is not None
    assert real_now() - as_of < timedelta(seconds=20)
    later = as_of + timedelta(hours=1, seconds=30)
    found = {item.name: item for item in health_of(reader.state, later)}
    assert found["fleet"].state == "ok"
    assert found["fleet-fresh"].state == "degraded"
    assert found["fleet-fresh"].detail.startswith(
        "facts are old, so findings that need the cluster warn instead of deny: ResourceSlice (nothing heard for 36"
    )


def test_facts_are_as_old_as_the_kind_longest_unheard_of(server: ApiServer, up: Reader, until: Until) -> None:
    oldest = min(progress.heard for _, progress in up.state.progress if progress.heard is not None)
    assert up.fleet.as_of is not None
    assert abs(up.fleet.as_of - oldest) < timedelta(seconds=1)


def test_older_servers_are_read_in_the_version_they_have(server: ApiServer, reader: Reader, until: Until) -> None:
    served = server.served.pop("resource.k8s.io/v1")
    server.served["resource.k8s.io/v1beta2"] = served
    server.version = "v1.33.5-eks-1234567"
    server.put(template("one-gpu", version="v1beta2"))
    reader.state.start()
    until(reader.state.current)
    assert reader.fleet.server.version == (1, 33)
    assert reader.fleet.templates["team-a", "one-gpu"].api_version == "resource.k8s.io/v1beta2"


def test_a_server_without_dra_is_said_to_be_one(server: ApiServer, reader: Reader, until: Until) -> None:
    del server.served["resource.k8s.io/v1"], server.served["resource.k8s.io/v1beta2"]
    reader.state.start()
    until(lambda: "does not serve" in reader.health()["fleet"].detail)
    assert reader.health()["fleet"].detail == (
        "the API server (v1.36.3) does not serve ResourceSlice, DeviceClass, ResourceClaimTemplate, ResourceClaim"
    )


def test_controllers_that_policies_name_are_read_as_soon_as_they_do(
    server: ApiServer, made: Callable[..., Reader], until: Until
) -> None:
    server.served["example.com/v1"] = {"Training": ("trainings", True)}
    named: list[WorkloadKind] = []
    reader = made(workloads=lambda: tuple(named))
    reader.state.start()
    until(reader.state.current)
    named.append(WorkloadKind(group="example.com", kind="Training", template="/spec/template"))
    server.put(
        {"apiVersion": "example.com/v1", "kind": "Training", "metadata": {"name": "t", "namespace": "a", "uid": "t-uid"}}
    )
    until(lambda: "t-uid" in reader.fleet.controllers)
    assert reader.progress("Training.example.com").state == "watching"


def test_a_fault_of_ours_reads_everything_anew(
    server: ApiServer, up: Reader, until: Until, monkeypatch: pytest.MonkeyPatch, log: io.BytesIO
) -> None:
    from webhook.kube import cluster_state

    real, failures = cluster_state.with_changes, [RuntimeError("broken")]

    def fails_once(*arguments: object) -> Fleet:
        if failures:
            raise failures.pop()
        return real(*arguments)

    monkeypatch.setattr(cluster_state, "with_changes", fails_once)
    server.put(node("node-2"))
    until(lambda: up.has_node("node-2"))
    assert up.has_node("node-1")
    assert b"snapshot failed" in log.getvalue()
    assert len(server.lists_of("nodes")) == 2


def test_the_log_says_what_was_read_and_no_token(up: Reader, log: io.BytesIO) -> None:
    text = log.getvalue().decode()
    assert "info    listed: kind Node, kept 1, version v1" in text
    assert "version v1.36.3, resource_versions v1, v1beta2" in text
    assert "good" not in text


def test_a_fault_of_ours_while_the_server_is_asked_what_it_is_ends_nothing(
    reader: Reader, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, faults = cluster_state.discover, [TypeError("odd")]

    def once_bad(client: Client, kinds: tuple[Kind, ...]) -> Served:
        if faults:
            raise faults.pop()
        return real(client, kinds)

    monkeypatch.setattr(cluster_state, "discover", once_bad)
    monkeypatch.setattr(cluster_state, "_DISCOVERY_AGAIN", 0.0)
    reader.state.start()
    until(lambda: reader.state.fault == "TypeError: odd")
    until(reader.state.current)
    assert reader.state.fault == ""


def test_a_clock_that_is_put_back_does_not_make_facts_look_new(server: ApiServer, client: Client, until: Until) -> None:
    clock = [real_now() + timedelta(days=365)]
    state = ClusterState(
        client, ClusterSettings(timing=QUICK), events=EventLog(io.BytesIO(), real_now, style="text"), clock=lambda: clock[0]
    )
    server.put(node("node-1"))
    state.start()
    until(state.current)
    until(lambda: server.watching("nodes"))
    clock[0] = right = real_now()
    server.bookmark("nodes")
    until(lambda: [progress.heard for source, progress in state.progress if source.name == "Node"] == [right])
    until(lambda: (fleet := state.current()) is not None and fleet.as_of == right)
    state.stop()
    server.cut()
    state.join(5)
