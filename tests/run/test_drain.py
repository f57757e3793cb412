"""Replicas that end one after the other under load: not one call fails.

Clients behave as kube-apiserver does: they keep a connection for as long as they may, whatever the endpoints say, and do not
repeat a call. New connections go to a replica that was ready a moment ago.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from tests.run.serving_process import Process, condition, started, until
from tests.server.serving import review_body, trust_of

BODY = json.dumps(review_body()).encode()
CALL = (
    b"POST /validate?timeout=10s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    % len(BODY)
    + BODY
)


@dataclass
class ApiServer:
    """Clients of several replicas."""

    replicas: list[Process]
    endpoints: list[Process] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    answered: int = 0
    told_to_leave: int = 0
    stopping: bool = False

    async def watch_endpoints(self) -> None:
        """The endpoints, half a second late."""
        while not self.stopping:
            ready = [replica for replica in self.replicas if await self._is_ready(replica)]
            await asyncio.sleep(0.5)
            self.endpoints = ready

    async def calls(self, turn: int) -> None:
        """One call after the other."""
        while not self.stopping:
            replica = self.endpoints[turn % len(self.endpoints)]
            turn += 1
            try:
                await self._calls_of_a_connection(replica)
            except (OSError, asyncio.IncompleteReadError, AssertionError) as error:
                self.failures.append(f"{type(error).__name__}: {error}")
                await asyncio.sleep(0.05)

    async def _calls_of_a_connection(self, replica: Process) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", replica.port, ssl=trust_of(replica.folder / "certs"))
        try:
            leave = False
            while not leave and not self.stopping:
                writer.write(CALL)
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                assert head.startswith(b"http/1.1 200 ok"), head
                await reader.readexactly(int(head.split(b"content-length: ")[1].split(b"\r\n")[0]))
                self.answered += 1
                leave = b"connection: close" in head
                self.told_to_leave += leave
                await asyncio.sleep(0.01)
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _is_ready(self, replica: Process) -> bool:
        if replica.running.poll() is not None:
            return False
        async with replica.client() as client:
            try:
                return (await client.get("/readyz")).status_code == 200
            except httpx.HTTPError:
                return False


@pytest.fixture
def replicas(tmp_path: Path) -> Iterator[list[Process]]:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    with (
        started(tmp_path / "one", FALLGATE_DRAIN_SECONDS="3") as one,
        started(tmp_path / "two", FALLGATE_DRAIN_SECONDS="3", FALLGATE_WORKERS="2") as two,
    ):
        yield [one, two]


async def ready(replica: Process) -> None:
    async with replica.client() as client:
        await until(lambda: condition(client, "readyz check passed"), 30)


@pytest.mark.parametrize("leaves", [0, 1])
async def test_a_replica_ends_under_load(replicas: list[Process], leaves: int) -> None:
    for replica in replicas:
        await ready(replica)
    server = ApiServer(replicas, endpoints=list(replicas))
    tasks = [asyncio.create_task(server.calls(turn)) for turn in range(8)] + [asyncio.create_task(server.watch_endpoints())]
    await asyncio.sleep(1)
    leaving = replicas[leaves].running
    leaving.send_signal(signal.SIGTERM)
    assert await asyncio.to_thread(leaving.wait, 20) == 0
    await asyncio.sleep(0.3)
    server.stopping = True
    await asyncio.gather(*tasks)
    assert server.failures == []
    assert server.told_to_leave >= 4
    assert server.answered > 50
