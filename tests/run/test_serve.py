"""The whole process: folders to answers over TLS, changes while it serves, and its end."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.run.serving_process import Process, condition, event_lines, started, until
from tests.server.serving import UID, review_body, trust_of
from webhook.run import serve
from webhook.settings import HttpSettings, LogSettings, Settings

RULE = """\
apiVersion: fallgate.dev/v1alpha1
kind: ClaimRule
metadata: {{name: nobody}}
spec:
  forEach: claim
  require: "false"
  message: "'{message}'"
"""


async def message(client: httpx.AsyncClient, **request: Any) -> str:
    """The message of the denial, "" when the claim is allowed."""
    answer = await client.post("/validate", json=review_body(**request))
    response = answer.json()["response"]
    assert response["uid"] == UID
    return "" if response["allowed"] else str(response["status"]["message"])


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    folder = tmp_path_factory.mktemp("serve")
    (folder / "policies").mkdir()
    (folder / "policies" / "rule.yaml").write_text(RULE.format(message="first"))
    with started(folder) as up:
        yield up


@pytest.fixture
async def client(process: Process) -> AsyncIterator[httpx.AsyncClient]:
    async with process.client() as client:

        async def ready() -> bool:
            return (await client.get("/readyz")).status_code == 200

        await until(ready)
        yield client


async def test_policies_are_swapped_while_it_serves(process: Process, client: httpx.AsyncClient) -> None:
    assert "first" in await message(client)

    async def answers(text: str) -> bool:
        return text in await message(client)

    process.write_policy(RULE.format(message="second"))
    await until(lambda: answers("second"))

    process.write_policy("kind: Nonsense\n")
    await until(lambda: condition(client, "[!]policies-newest degraded"))
    assert "second" in await message(client)
    verbose = await client.get("/readyz?verbose")
    assert verbose.status_code == 200
    assert "rule.yaml:1:" in verbose.text
    metrics = (await client.get("/metrics")).text
    assert 'fallgate_source_good{source="policies"} 0.0' in metrics
    assert "policies not loaded" in [line["event"] for line in event_lines(process.folder)]

    process.write_policy(RULE.format(message="third"))
    await until(lambda: answers("third"))
    assert "policies-newest" not in (await client.get("/readyz?verbose")).text


async def test_fleet_is_swapped_while_it_serves(process: Process, client: httpx.AsyncClient) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}}
    process.write_fleet(node)
    await until(lambda: condition(client, "[+]fleet ok: 1 nodes, 0 devices in 0 pools, Kubernetes 1.37"))
    process.write_fleet(node, node | {"metadata": {"name": "node-2"}})
    await until(lambda: condition(client, "[+]fleet ok: 2 nodes, 0 devices in 0 pools, Kubernetes 1.37"))
    assert "fallgate_fleet_nodes 2.0" in (await client.get("/metrics")).text


async def test_decisions_are_logged(process: Process, client: httpx.AsyncClient) -> None:
    await message(client, name="logged")

    def logged() -> bool:
        lines = [json.loads(line) for line in (process.folder / "decisions").read_text().splitlines()]
        return any(line["name"] == "logged" and line["reasons"] for line in lines)

    await until(logged)


async def test_mutating_call(client: httpx.AsyncClient) -> None:
    answer = await client.post("/mutate?timeout=2s", json=review_body())
    assert answer.json()["response"]["allowed"] is True
    assert (
        'fallgate_admission_reviews_total{kind="ResourceClaim",operation="CREATE",outcome="allowed",phase="mutate"}'
        in (await client.get("/metrics")).text
    )


async def test_without_a_good_policy_set_it_is_not_ready(tmp_path: Path) -> None:
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "rule.yaml").write_text("kind: Nonsense\n")
    with started(tmp_path) as process:
        async with process.client() as client:
            await until(lambda: condition(client, "[-]policies failed: rule.yaml:1:"))
            assert (await client.get("/readyz")).status_code == 503
            assert (await client.get("/livez")).status_code == 200
            answer = await client.post("/validate", json=review_body())
            assert (answer.status_code, answer.json()["message"]) == (503, "not ready: no policies loaded yet")

            process.write_policy(RULE.format(message="repaired"))
            await until(lambda: condition(client, "readyz check passed"))
            assert "repaired" in await message(client)


async def test_sigterm_drains_and_ends_with_0(tmp_path: Path) -> None:
    with started(tmp_path, FALLGATE_DRAIN_SECONDS="1") as process:
        async with process.client() as client:
            await until(lambda: condition(client, "readyz check passed"))
            reader, writer = await asyncio.open_connection("127.0.0.1", process.port, ssl=trust_of(tmp_path / "certs"))
            body = json.dumps(review_body()).encode()
            head = b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
            writer.write(head % len(body) + body[:50])
            await until(lambda: in_flight(client, 2))

            process.running.send_signal(signal.SIGTERM)

            async def drains() -> bool:
                answer = await client.get("/readyz")
                if answer.status_code == 200:
                    return False
                assert answer.headers["connection"] == "close"
                assert "[-]running failed: shutting down" in answer.text
                return True

            await until(drains)
            assert await message(client) == ""
            writer.write(body[50:])
            answer = await reader.read()
            assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
            assert b"connection: close" in answer
            writer.close()
            assert process.running.poll() is None
        assert await asyncio.to_thread(process.running.wait, 10) == 0
        assert event_lines(tmp_path)[-1]["event"] == "ended"


async def in_flight(client: httpx.AsyncClient, count: int) -> bool:
    """Whether so many calls are being answered, the one that asks included."""
    return f"fallgate_in_flight_calls {count}.0" in (await client.get("/metrics")).text


async def test_call_in_flight_outlives_the_drain(tmp_path: Path) -> None:
    with started(tmp_path, FALLGATE_DRAIN_SECONDS="0") as process:
        async with process.client() as client:
            await until(lambda: condition(client, "readyz check passed"))
            reader, writer = await asyncio.open_connection("127.0.0.1", process.port, ssl=trust_of(tmp_path / "certs"))
            body = json.dumps(review_body()).encode()
            head = b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
            writer.write(head % len(body) + body[:50])
            await until(lambda: in_flight(client, 2))
        process.running.send_signal(signal.SIGINT)
        await asyncio.sleep(0.3)
        with pytest.raises(OSError, match="refused"):
            await asyncio.open_connection("127.0.0.1", process.port)
        assert process.running.poll() is None
        writer.write(body[50:])
        assert (await reader.read()).startswith(b"HTTP/1.1 200 OK\r\n")
        writer.close()
        assert await asyncio.to_thread(process.running.wait, 10) == 0
    assert [json.loads(line)["uid"] for line in (tmp_path / "decisions").read_text().splitlines()] == [UID]


def settings(folder: Path, **http: Any) -> Settings:
    options = {"policies": str(folder), "fleet": str(folder), "certs": str(folder), "log-format": "text"}
    return replace(Settings.from_sources(options, {}), http=HttpSettings(host="127.0.0.1", **http))


def test_port_in_use(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert serve(settings(tmp_path, port=port)) == 2
    said = capfdbinary.readouterr().err.decode()
    assert said[9:] == f"error   cannot start: 127.0.0.1:{port}: Address already in use\n"


def test_decision_log_that_cannot_be_opened(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    found = settings(tmp_path, port=0)
    assert serve(replace(found, log=LogSettings(decisions=str(tmp_path / "none" / "log"), style="text"))) == 2
    said = capfdbinary.readouterr().err.decode()
    assert said[9:] == f"error   cannot start: {tmp_path}/none/log: No such file or directory\n"
