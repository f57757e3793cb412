"""Several worker processes: one server to the outside, whatever happens to one of them."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
from pathlib import Path

import httpx
import pytest

from tests.run.serving_process import Process, condition, event_lines, started, until
from tests.server.serving import review_body, trust_of

BODY = json.dumps(review_body()).encode()
REVIEWS = 'fallgate_admission_reviews_total{kind="ResourceClaim",operation="CREATE",outcome="allowed",phase="validate"}'


def workers_of(process: Process) -> list[int]:
    """The process ids of the workers."""
    children = Path(f"/proc/{process.running.pid}/task/{process.running.pid}/children").read_text()
    return [int(child) for child in children.split()]


async def metric(client: httpx.AsyncClient, name: str) -> float:
    text = (await client.get("/metrics")).text
    found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
    assert found is not None, text
    return float(found[1])


async def call(process: Process, times: int) -> None:
    """Calls on a connection each, so that every worker gets some."""
    for _ in range(times):
        async with process.client() as client:
            answer = await client.post("/validate", content=BODY, headers={"content-type": "application/json"})
            assert answer.json()["response"]["allowed"] is True


async def test_metrics_are_added_up_and_survive_a_worker(tmp_path: Path) -> None:
    with started(tmp_path, FALLGATE_WORKERS="2", FALLGATE_METRICS_LISTEN="127.0.0.1:0") as process:
        async with process.probes() as client:
            await until(lambda: condition(client, "readyz check passed"))
            assert len(workers_of(process)) == 2
            await call(process, 20)
            await asyncio.sleep(1.2)
            assert await metric(client, REVIEWS) == 20
            assert await metric(client, "fallgate_worker_restarts_total") == 0
            assert await metric(client, "fallgate_ready") == 1

            os.kill(workers_of(process)[0], signal.SIGKILL)

            async def restarted() -> bool:
                return await metric(client, "fallgate_worker_restarts_total") == 1 and len(workers_of(process)) == 2

            await call(process, 5)  # the other one takes them
            await until(restarted)
            await until(lambda: condition(client, "readyz check passed"))
            await asyncio.sleep(1.2)
            assert await metric(client, REVIEWS) == 25
            ended = [line for line in event_lines(tmp_path) if line["event"] == "worker ended"]
            assert [(line["worker"], line["why"]) for line in ended] == [(0, "signal SIGKILL")]


async def test_one_that_is_stuck_makes_all_not_ready(tmp_path: Path) -> None:
    with started(tmp_path, FALLGATE_WORKERS="2", FALLGATE_METRICS_LISTEN="127.0.0.1:0") as process:
        async with process.probes() as client:
            await until(lambda: condition(client, "readyz check passed"))
        stuck = workers_of(process)[1]
        os.kill(stuck, signal.SIGSTOP)

        async def noticed() -> bool:
            async with process.probes() as fresh:
                return await condition(fresh, "[-]worker-1 failed: it has said nothing for ")

        # Who stands still accepts nothing; the other one answers.
        await until(noticed)
        os.kill(stuck, signal.SIGCONT)
        async with process.probes() as client:
            await until(lambda: condition(client, "readyz check passed"))


async def test_sigterm_drains_all_and_ends_with_0(tmp_path: Path) -> None:
    with started(tmp_path, FALLGATE_WORKERS="2", FALLGATE_DRAIN_SECONDS="1") as process:
        async with process.client() as client:
            await until(lambda: condition(client, "readyz check passed"))
        lives = []
        for _ in range(8):
            reader, writer = await asyncio.open_connection("127.0.0.1", process.port, ssl=trust_of(tmp_path / "certs"))
            head = b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
            writer.write(head % len(BODY) + BODY[:50])
            lives.append((reader, writer))
        await asyncio.sleep(0.3)
        process.running.send_signal(signal.SIGTERM)
        await asyncio.sleep(0.2)
        for reader, writer in lives:
            writer.write(BODY[50:])
            answer = await reader.read()
            assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
            assert b"connection: close" in answer
            writer.close()
        assert await asyncio.to_thread(process.running.wait, 30) == 0
    lines = (tmp_path / "decisions").read_text().splitlines()
    assert [json.loads(line)["allowed"] for line in lines] == [True] * 8


async def test_workers_do_not_outlive_their_supervisor(tmp_path: Path) -> None:
    with started(tmp_path, FALLGATE_WORKERS="2") as process:
        async with process.client() as client:
            await until(lambda: condition(client, "readyz check passed"))
        workers = workers_of(process)
        process.running.kill()
        process.running.wait()
        await until(lambda: not any(is_running(worker) for worker in workers))


def is_running(process: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False


def test_what_cannot_start_is_not_started_again_and_again(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with started(tmp_path, listens=False, FALLGATE_WORKERS="2", FALLGATE_DECISION_LOG=str(tmp_path / "folder")) as process:
        assert process.running.wait(20) == 2
    assert {line["event"] for line in event_lines(tmp_path)} == {"cannot start"}


@pytest.mark.parametrize("workers", ["1", "2"])
async def test_probes_without_tls(tmp_path: Path, workers: str) -> None:
    with started(tmp_path, FALLGATE_WORKERS=workers, FALLGATE_METRICS_LISTEN="127.0.0.1:0") as process:
        async with process.probes() as client:
            await until(lambda: condition(client, "readyz check passed"))
            assert (await client.get("/livez")).text == "ok"
            assert "fallgate_certificate_not_after_seconds" in (await client.get("/metrics")).text
            answer = await client.post("/validate", content=BODY)
            assert (answer.status_code, answer.json()["message"]) == (404, "nothing is served under /validate")
            process.running.send_signal(signal.SIGTERM)
            await until(lambda: not_ready(client))
        assert await asyncio.to_thread(process.running.wait, 30) == 0


async def not_ready(client: httpx.AsyncClient) -> bool:
    answer = await client.get("/readyz")
    return answer.status_code == 503 and "[-]running failed: shutting down" in answer.text
