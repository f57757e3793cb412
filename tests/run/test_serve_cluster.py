"""The whole process on an API server: ready when everything was read, caps that work at once, objects that are new."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
import yaml

from tests.build import claim, device_class, exactly, namespace, node
from tests.kube.api_server import ApiServer, serving
from tests.run.serving_process import Process, condition, event_lines, started, until
from tests.server.serving import review_body


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    """An API server with a node and a namespace."""
    with serving() as found:
        found.put(node("node-1"))
        found.put(namespace("team-a"))
        yield found


@pytest.fixture(scope="module")
def process(server: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """A server process that reads it."""
    folder = tmp_path_factory.mktemp("serve")
    config: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "here", "cluster": {"server": server.url}}],
        "users": [{"name": "me", "user": {"token": "good"}}],
        "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
        "current-context": "here",
    }
    (folder / "kubeconfig").write_text(yaml.safe_dump(config))
    variables = {
        "FALLGATE_FLEET": "",
        "FALLGATE_CLUSTER": "true",
        "FALLGATE_KUBECONFIG": str(folder / "kubeconfig"),
        "FALLGATE_NAMESPACE": "guard",
    }
    with started(folder, **variables) as up:
        yield up


@pytest.fixture
async def client(process: Process) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the process, which is ready."""
    async with process.client() as client:

        async def ready() -> bool:
            return (await client.get("/readyz")).status_code == 200

        await until(ready)
        yield client


async def answered(client: httpx.AsyncClient, device_class: str) -> dict[str, Any]:
    """The response to a new claim of a class."""
    body = review_body(namespace="team-a", object=claim("c", exactly("gpu", device_class)))
    response: dict[str, Any] = (await client.post("/validate?timeout=10s", json=body)).json()["response"]
    return response


async def test_it_is_ready_when_everything_was_read(client: httpx.AsyncClient, process: Process) -> None:
    verbose = (await client.get("/readyz?verbose")).text
    assert "[+]fleet ok: 1 nodes, 0 devices in 0 pools, Kubernetes 1.36, as of 20" in verbose
    assert "[+]cap ok: none (no ConfigMap guard/fallgate-cap)" in verbose

    async def told() -> bool:
        return 'fallgate_source_good{source="fleet"} 1.0' in (await client.get("/metrics")).text

    await until(told)
    metrics = (await client.get("/metrics")).text
    assert 'fallgate_source_loads_total{result="good",source="fleet"} 1.0' in metrics
    assert 'fallgate_watch_up{kind="Node"} 1.0' in metrics
    assert 'fallgate_watch_lists_total{kind="ResourceSlice"} 1.0' in metrics
    assert "node-1" not in metrics
    events = event_lines(process.folder)
    assert "cluster read" in [line["event"] for line in events]
    assert "good" not in (process.folder / "events").read_text()


async def test_a_class_that_is_new_is_found_and_one_that_is_not_there_is_denied(
    client: httpx.AsyncClient, server: ApiServer
) -> None:
    server.put(device_class("new.example.com"), seen=False)
    assert (await answered(client, "new.example.com"))["allowed"] is True
    denied = await answered(client, "none.example.com")
    assert denied["allowed"] is False
    assert "none.example.com" in denied["status"]["message"]
    metrics = (await client.get("/metrics")).text
    assert 'fallgate_lookups_total{result="found"} 1.0' in metrics
    assert 'fallgate_lookups_total{result="absent"} 1.0' in metrics


async def test_a_class_that_cannot_be_looked_up_is_warned_of(client: httpx.AsyncClient, server: ApiServer) -> None:
    server.refusing["deviceclasses"] = 500
    response = await answered(client, "none.example.com")
    del server.refusing["deviceclasses"]
    assert response["allowed"] is True
    assert "none.example.com" in "".join(response["warnings"])


async def test_a_cap_holds_at_once_and_no_longer_than_it_is_there(client: httpx.AsyncClient, server: ApiServer) -> None:
    async def allowed() -> bool:
        return bool((await answered(client, "none.example.com"))["allowed"])

    async def denied() -> bool:
        return not await allowed()

    assert await denied()
    server.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "fallgate-cap", "namespace": "guard"}})
    await until(allowed)
    assert await condition(client, "[!]cap degraded: ConfigMap guard/fallgate-cap: every rule at most audit")
    server.remove("configmaps", "fallgate-cap", "guard")
    await until(denied)


async def test_cut_watches_change_no_decision(client: httpx.AsyncClient, server: ApiServer) -> None:
    server.put(device_class("gpu.example.com"))
    await until(lambda: condition(client, "[+]fleet ok: 1 nodes"))
    server.cut()
    assert (await answered(client, "gpu.example.com"))["allowed"] is True
    await until(lambda: server.watching("deviceclasses") == 1)
    assert (await answered(client, "gpu.example.com"))["allowed"] is True
    assert (await answered(client, "none.example.com"))["allowed"] is False
