"""Signals at odd moments, and those that others take for a reload: no call is lost, and the exit code is 0."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from pathlib import Path

import pytest

from tests.run.serving_process import PROGRAM, Process, condition, event_lines, started, until
from tests.run.test_workers import BODY, workers_of
from tests.server.serving import review_body

#: A review that is judged on a thread of its own.
WITH_CEL = json.dumps(
    review_body(
        object={
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": "c"},
            "spec": {
                "devices": {
                    "requests": [
                        {"name": "a", "exactly": {"deviceClassName": "x", "selectors": [{"cel": {"expression": "true"}}]}}
                    ]
                }
            },
        }
    )
).encode()

#: SIGTERM comes while the sockets are bound: before there is an event loop, or a worker.
WHILE_BINDING = """\
import os, signal, sys, webhook.run
serving = sys.modules["webhook.run.serve"]
bind = serving.open_sockets
def interrupted(settings):
    os.kill(os.getpid(), signal.SIGTERM)
    return bind(settings)
serving.open_sockets = interrupted
"""
#: SIGTERM comes while the parts are built; with workers it is sent to their supervisor, as a kubelet would.
WHILE_BUILDING = """\
import os, signal, sys, webhook.run
serving = sys.modules["webhook.run.serve"]
build = serving.build_sources
def interrupted(settings, telemetry, worker):
    os.kill(os.getpid() if worker is None else os.getppid(), signal.SIGTERM)
    return build(settings, telemetry, worker)
serving.build_sources = interrupted
"""
#: SIGTERM comes when everything has ended, before the exit code is given.
AT_THE_END = """\
import os, signal, sys, webhook.run
serving = sys.modules["webhook.run.serve"]
run = serving.run
async def interrupted(*parts):
    ended = await run(*parts)
    os.kill(os.getpid(), signal.SIGTERM)
    return ended
serving.run = interrupted
"""
#: As the command: SIGTERM comes before the code of the server is loaded.
WHILE_LOADING = """\
import os, signal, sys
import webhook.cli.app as app
load = app.import_module
def interrupted(name):
    os.kill(os.getpid(), signal.SIGTERM)
    return load(name)
app.import_module = interrupted
sys.argv = ["fallgate", "serve"]
app.main()
"""


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("when", [WHILE_BINDING, WHILE_BUILDING], ids=["binding", "building"])
def test_sigterm_in_the_first_moments_ends_with_0(tmp_path: Path, workers: str, when: str) -> None:
    with started(tmp_path, listens=False, program=when + PROGRAM, FALLGATE_WORKERS=workers) as process:
        assert process.running.wait(30) == 0
    assert [line["event"] for line in event_lines(tmp_path)].count("ended") == int(workers)


def test_sigterm_while_the_command_is_loaded_ends_with_0(tmp_path: Path) -> None:
    with started(tmp_path, listens=False, program=WHILE_LOADING) as process:
        assert process.running.wait(30) == 0
    assert [line["event"] for line in event_lines(tmp_path)][-1] == "ended"


def threads_that_take_sigterm(process: Process) -> int:
    """How many threads of a process have not blocked it."""
    found = 0
    for file in Path(f"/proc/{process.running.pid}/task").glob("*/status"):
        with contextlib.suppress(OSError):  # this one has just ended
            (blocked,) = [line.split()[1] for line in file.read_text().splitlines() if line.startswith("SigBlk:")]
            found += not int(blocked, 16) >> (signal.SIGTERM - 1) & 1
    return found


async def test_sigterm_at_the_last_moment_changes_nothing(tmp_path: Path) -> None:
    with started(tmp_path, program=AT_THE_END + PROGRAM) as process:
        async with process.client() as client:
            await until(lambda: condition(client, "readyz check passed"))
            answer = await client.post("/validate", content=WITH_CEL, headers={"content-type": "application/json"})
            assert answer.status_code == 200
        assert threads_that_take_sigterm(process) > 1  # at the end only the main thread has it blocked
        process.running.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(process.running.wait, 30) == 0


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2])
@pytest.mark.parametrize("workers", ["1", "2"])
async def test_signals_that_others_reload_on_do_nothing(tmp_path: Path, workers: str, number: signal.Signals) -> None:
    with started(tmp_path, FALLGATE_WORKERS=workers) as process:
        async with process.client() as client:
            await until(lambda: condition(client, "readyz check passed"))
            every = [process.running.pid, *workers_of(process)]
            for one in every:
                os.kill(one, number)

            def heard() -> bool:
                return sum(line["event"] == "signal ignored" for line in event_lines(tmp_path)) == len(every)

            await until(heard)
            answer = await client.post("/validate", content=BODY, headers={"content-type": "application/json"})
            assert answer.status_code == 200
            assert "connection" not in answer.headers
            assert [process.running.pid, *workers_of(process)] == every
        process.running.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(process.running.wait, 30) == 0
    said = [line for line in event_lines(tmp_path) if line["event"] == "signal ignored"]
    assert {(line["name"], line["why"]) for line in said} == {
        (number.name, "files are watched and read again when they change; SIGTERM ends")
    }
