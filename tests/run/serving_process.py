"""A server process for tests: folders it lives from, its port, its events, and its end."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.server.serving import trust_of

CHECKS = "apiVersion: fallgate.dev/v1alpha1\nkind: Checks\nmetadata: {name: checks}\nspec: {mode: enforce}\n"
PROGRAM = """\
import os, sys
from webhook.run import serve
from webhook.settings import Settings
sys.exit(serve(Settings.from_sources({}, os.environ)))
"""


@dataclass(frozen=True)
class Process:
    """A server process and the files it lives from."""

    folder: Path
    running: subprocess.Popen[bytes]
    port: int
    metrics_port: int = 0

    def client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(base_url=f"https://localhost:{self.port}", verify=trust_of(self.folder / "certs"))

    def probes(self) -> httpx.AsyncClient:
        """A client of the listener without TLS."""
        return httpx.AsyncClient(base_url=f"http://127.0.0.1:{self.metrics_port}")

    def write_policy(self, text: str) -> None:
        (self.folder / "policies" / "rule.yaml").write_text(text)

    def write_fleet(self, *objects: Any) -> None:
        (self.folder / "fleet" / "all.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))


@contextlib.contextmanager
def started(folder: Path, *, listens: bool = True, program: str = PROGRAM, **variables: str) -> Iterator[Process]:
    """A server that listens, not necessarily ready; or one that is not expected to listen."""
    for name in ("policies", "fleet"):
        (folder / name).mkdir(exist_ok=True)
    if not any((folder / "policies").iterdir()):
        (folder / "policies" / "checks.yaml").write_text(CHECKS)
    environment = {
        "FALLGATE_POLICIES": str(folder / "policies"),
        "FALLGATE_FLEET": str(folder / "fleet"),
        "FALLGATE_CERTS": str(folder / "certs"),
        "FALLGATE_SELF_SIGNED": "localhost,127.0.0.1",
        "FALLGATE_LISTEN": "127.0.0.1:0",
        "FALLGATE_POLL_SECONDS": "0.05",
        "FALLGATE_DRAIN_SECONDS": "0.5",
        "FALLGATE_DECISION_LOG": str(folder / "decisions"),
        **variables,
    }
    with (folder / "events").open("wb") as events:
        running = subprocess.Popen([sys.executable, "-c", program], env={**os.environ, **environment}, stderr=events)
    try:
        ports = listening_ports(folder) if listens else (0, 0)
        yield Process(folder, running, *ports)
    finally:
        running.kill()
        running.wait()


def event_lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "events").read_text().splitlines() if line.endswith("}")]


def listening_ports(folder: Path) -> tuple[int, int]:
    """The port of calls, and that of probes, 0 when there is none."""
    for _ in range(3000):
        for line in event_lines(folder):
            if line["event"] == "listening":
                return int(line["port"]), int(line.get("metrics_port", 0))
        time.sleep(0.01)
    raise AssertionError((folder / "events").read_text())


async def until(condition: Callable[[], Any], seconds: float = 30) -> None:
    async with asyncio.timeout(seconds):
        while True:
            answer = condition()
            if answer if isinstance(answer, bool) else await answer:
                return
            await asyncio.sleep(0.02)


async def condition(client: httpx.AsyncClient, line: str) -> bool:
    """Whether readiness says so. A worker that has not read its certificate yet takes no connection: not yet, then."""
    try:
        return line in (await client.get("/readyz?verbose")).text
    except httpx.ConnectError:
        return False
