"""What a call costs the server beside one to an application that does nothing, over TLS on connections that stay up."""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from bench.client import Client
from bench.cpu import cpu_seconds, pin
from bench.payloads import POLICIES, cluster, pod_review
from bench.table import microseconds, ratio, table
from certs.folder import AUTHORITY, issue_into

SERVER_CORE, CLIENT_CORE = 0, 1
CONNECTIONS = (1, 8)
NODES = 10
_PACK = Path(__file__).parent.parent / "policies" / "nvidia" / "policy.yaml"


@dataclass(slots=True)
class Row:
    """One thing that is measured: calls to one path of one server."""

    name: str
    pid: int
    client: Client
    cpu: list[float] = field(default_factory=list)
    latency: list[float] = field(default_factory=list)


def measure(rounds: int, seconds: float = 1.0) -> str:
    """The table. Every round measures everything once, in turn."""
    with tempfile.TemporaryDirectory() as name, _servers(Path(name)) as servers:
        trust = ssl.create_default_context(cafile=str(Path(name) / AUTHORITY))
        rows = {(what, count): Row(what, *_connected(servers, what, trust, count)) for count in CONNECTIONS for what in _WORKS}
        pin(0, CLIENT_CORE)
        for row in rows.values():
            _run(row, 0.3)
            row.cpu.clear()
            row.latency.clear()
        for _ in range(rounds):
            for row in rows.values():
                _run(row, seconds)
    return table(
        "Serving the same Pod over TLS, keep-alive, server on one core",
        ["", "connections", "CPU us/call, median (middle half)", "/ no-op", "latency us", "calls/s"],
        [_cells(row, rows[_NOOP, count]) for (_, count), row in rows.items()],
        [
            f"{rounds} interleaved rounds of {seconds:g} s. No-op: reads the body and answers fixed bytes on uvicorn as it is.",
            "Fallgate is whole: rules, metrics, decision log. CPU is the server's, user and system.",
        ],
    )


_NOOP = "no-op ASGI application"
#: What is measured: the server, its path, the kind that the review is of.
_WORKS = {
    _NOOP: ("noop", "/validate", "Pod"),
    "fallgate, nothing to judge": ("fallgate", "/validate", "Other"),
    "fallgate, validate": ("fallgate", "/validate", "Pod"),
    "fallgate, mutate": ("fallgate", "/mutate", "Pod"),
}


def _connected(servers: dict[str, tuple[int, int]], what: str, trust: ssl.SSLContext, count: int) -> tuple[int, Client]:
    server, path, kind = _WORKS[what]
    pid, port = servers[server]
    return pid, Client(port, trust, path, [pod_review(number, kind=kind) for number in range(40)], count)


def _run(row: Row, seconds: float) -> None:
    client, calls = row.client, 0
    before, start = cpu_seconds(row.pid), time.perf_counter()
    end = start + seconds
    while time.perf_counter() < end:
        client.ask()
        calls += client.connections
    took = time.perf_counter() - start
    row.cpu.append((cpu_seconds(row.pid) - before) / calls)
    row.latency.append(took / calls * client.connections)


def _cells(row: Row, base: Row) -> list[str]:
    latency = median(row.latency)
    count = row.client.connections
    return [
        row.name,
        str(count),
        microseconds(row.cpu),
        ratio(row.cpu, base.cpu),
        f"{latency * 1e6:.0f}",
        f"{count / latency:,.0f}",
    ]


@contextlib.contextmanager
def _servers(folder: Path) -> Iterator[dict[str, tuple[int, int]]]:
    """Both servers, up and ready: their process ids and ports."""
    _fill(folder)
    running: list[subprocess.Popen[bytes]] = []
    found: dict[str, tuple[int, int]] = {}
    try:
        for what in ("noop", "fallgate"):
            port = _free_port()
            command = [sys.executable, "-m", "bench.server_process", what, str(folder), str(port)]
            process = subprocess.Popen(command, stderr=(folder / f"{what}.log").open("wb"))  # noqa: S603 - our own module
            running.append(process)
            _wait(process, port, folder)
            pin(process.pid, SERVER_CORE)
            found[what] = (process.pid, port)
        yield found
    finally:
        for process in running:
            process.terminate()
            process.wait()


def _fill(folder: Path) -> None:
    issue_into(folder, ["localhost", "127.0.0.1"], now=datetime.now(UTC))  # noqa: TID251 - the client has the real clock
    for name in ("policies", "fleet"):
        (folder / name).mkdir()
    shutil.copy(_PACK, folder / "policies" / "nvidia.yaml")
    (folder / "policies" / "bench.yaml").write_text(POLICIES)
    items = {"apiVersion": "v1", "kind": "List", "items": list(cluster(NODES))}
    (folder / "fleet" / "all.json").write_text(json.dumps(items))


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def _wait(process: subprocess.Popen[bytes], port: int, folder: Path) -> None:
    trust = ssl.create_default_context(cafile=str(folder / AUTHORITY))
    for _ in range(300):
        if process.poll() is not None:
            break
        try:
            with urllib.request.urlopen(f"https://localhost:{port}/readyz", context=trust):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    logs = "\n".join(path.read_text() for path in folder.glob("*.log"))
    raise RuntimeError(f"a server does not become ready:\n{logs}")
