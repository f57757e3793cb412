"""Single objects that are asked for live."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.build import controller, device_class, namespace, pod, pod_spec, template
from tests.kube.api_server import ApiServer, Asked
from tests.real_clock import real_now
from webhook.kube.client import Client
from webhook.kube.cluster_state import ClusterSettings, ClusterState
from webhook.kube.lookups import Lookups
from webhook.model.meta import ObjectRef
from webhook.telemetry import EventLog


@pytest.fixture
def lookups(server: ApiServer, client: Client, events: EventLog, until: Callable[..., None]) -> Iterator[Lookups]:
    """Lookups of a server whose watches bring nothing that is put later."""
    state = ClusterState(client, ClusterSettings(), events=events, clock=real_now)
    state.start()
    until(state.current)
    found = Lookups(state)
    yield found
    found.close()
    state.stop()
    server.cut()
    state.join(5)


def ref(kind: str, name: str, namespace: str = "team-a", **more: str) -> ObjectRef:
    return ObjectRef(kind=kind, namespace=namespace, name=name, **more)


async def test_what_is_there_and_what_is_not(server: ApiServer, lookups: Lookups) -> None:
    server.put(template("one-gpu"))
    server.put(device_class("gpu.example.com"))
    there, missing = ref("ResourceClaimTemplate", "one-gpu"), ref("ResourceClaimTemplate", "two-gpus")
    answer = await lookups([there, missing, ref("DeviceClass", "gpu.example.com", "")], 5.0)
    assert [(raw["kind"], raw["metadata"]["name"]) for raw in answer.objects] == [
        ("ResourceClaimTemplate", "one-gpu"),
        ("DeviceClass", "gpu.example.com"),
    ]
    assert answer.objects[0]["apiVersion"] == "resource.k8s.io/v1"
    assert "managedFields" not in answer.objects[0]["metadata"]
    assert answer.absent == {missing}


async def test_one_of_another_uid_is_not_the_one(server: ApiServer, lookups: Lookups) -> None:
    server.put(pod("trainer", meta={"uid": "second"}))
    first, second = ref("Pod", "trainer", uid="first"), ref("Pod", "trainer", uid="second")
    answer = await lookups([first, second], 5.0)
    assert len(answer.objects) == 1
    assert answer.absent == {first}


async def test_owners_are_asked_for_their_metadata(server: ApiServer, lookups: Lookups) -> None:
    server.put(controller("ReplicaSet", "web-1", pod_spec(), uid="rs"))
    owner = ref("ReplicaSet", "web-1", uid="rs", api_version="apps/v1")
    answer = await lookups([owner, ref("ReplicaSet", "web-1", api_version="other.example.com/v1")], 5.0)
    [raw] = answer.objects
    assert raw["apiVersion"] == "apps/v1"
    assert "spec" not in raw
    asked = server.asked[-1]
    assert asked.path == "/apis/apps/v1/namespaces/team-a/replicasets/web-1"
    assert asked.headers["accept"].startswith("application/json;as=PartialObjectMetadata;")
    assert answer.absent == frozenset()


async def test_what_may_not_be_asked_is_in_neither_part(server: ApiServer, lookups: Lookups) -> None:
    server.put(namespace("team-a"))
    server.refusing["namespaces"] = 403
    answer = await lookups([ref("Namespace", "team-a", ""), ref("Secret", "s")], 5.0)
    assert (answer.objects, answer.absent) == ((), frozenset())


async def test_a_server_that_is_slow_is_not_waited_for(server: ApiServer, lookups: Lookups) -> None:
    real = server.answer

    def slow(asked: Asked) -> object:
        if "slow" in asked.path:
            time.sleep(0.6)
        return real(asked)

    server.answer = slow
    server.put(template("one-gpu"))
    began = time.monotonic()
    answer = await lookups([ref("ResourceClaimTemplate", "slow"), ref("ResourceClaimTemplate", "one-gpu")], 0.2)
    assert time.monotonic() - began < 0.5
    assert [raw["metadata"]["name"] for raw in answer.objects] == ["one-gpu"]
    assert answer.absent == frozenset()


async def test_no_more_than_a_few_are_asked_for(server: ApiServer, lookups: Lookups) -> None:
    before = len(server.asked)
    answer = await lookups([ref("ResourceClaimTemplate", f"t-{i}") for i in range(30)], 5.0)
    assert len(server.asked) - before == 8
    assert len(answer.absent) == 8


@pytest.mark.parametrize("name", ["../../team-b/resourceclaimtemplates/theirs", "a/b", "..", ".", "", "%2e%2e"])
async def test_what_no_object_can_be_called_is_not_asked_for_and_not_there(
    server: ApiServer, lookups: Lookups, name: str
) -> None:
    server.put(template("theirs", namespace="team-b"))
    before = len(server.asked)
    answer = await lookups([ref("ResourceClaimTemplate", name)], 5.0)
    assert server.asked[before:] == []
    assert answer.objects == ()
    assert answer.absent == {ref("ResourceClaimTemplate", name)}


async def test_a_namespace_is_no_way_into_another_path(server: ApiServer, lookups: Lookups) -> None:
    before = len(server.asked)
    answer = await lookups([ref("ResourceClaim", "c", "../nodes")], 5.0)
    assert (server.asked[before:], answer.objects) == ([], ())


@pytest.mark.parametrize("said", [{}, {"metadata": {"name": "another"}}, {"metadata": {"name": ""}}])
async def test_an_answer_that_is_not_the_object_is_no_answer(server: ApiServer, lookups: Lookups, said: dict[str, Any]) -> None:
    asked_for = ref("ResourceClaimTemplate", "one-gpu")
    server.put(template("one-gpu"))
    server._objects["resourceclaimtemplates"]["team-a", "one-gpu"] = said
    answer = await lookups([asked_for], 5.0)
    assert (answer.objects, answer.absent) == ((), frozenset())
