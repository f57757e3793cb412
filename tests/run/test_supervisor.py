"""The supervisor: who is started, when again, and what it all comes to. With processes that do nothing but that."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest

from tests.real_clock import real_now
from webhook.run import supervisor
from webhook.run.logs import LogLock
from webhook.run.shared_status import SharedStatus
from webhook.telemetry import EventLog

#: A process whose workers do as the last argument says; what they do is in a file.
PROGRAM = """\
import os, signal, sys, time
from datetime import UTC, datetime
from pathlib import Path
import webhook.run.supervisor as supervisor
from webhook.telemetry import EventLog

folder, what = Path(sys.argv[1]), sys.argv[2]

def work(worker):
    with (folder / "begun").open("a") as file:
        file.write(f"{worker.number} {time.monotonic()}\\n")
    if what == "raises":
        raise ValueError("no")
    if what == "cannot start" and worker.number == 1:
        return 2
    if what == "dies":
        return 7
    # They are blocked until the worker says that it hears them: none is lost, however early it comes.
    got = signal.sigwait([signal.SIGTERM, signal.SIGINT])
    with (folder / "got").open("a") as file:
        file.write(f"{worker.number} {signal.Signals(got).name}\\n")
    if what == "hangs":
        time.sleep(60)
    return 3 if what == "ends badly" and worker.number == 1 else 0

events = EventLog(sys.stderr.buffer, lambda: datetime(2027, 1, 1, tzinfo=UTC))
sys.exit(supervisor.Supervisor(work, 2, events, end_seconds=1.0).run())
"""


class Running:
    """A supervisor process."""

    def __init__(self, folder: Path, what: str) -> None:
        self.folder = folder
        self.process = subprocess.Popen([sys.executable, "-c", PROGRAM, str(folder), what], stderr=subprocess.PIPE)

    def lines(self, name: str) -> list[str]:
        path = self.folder / name
        return path.read_text().splitlines() if path.exists() else []

    def until(self, name: str, count: int) -> None:
        end = time.monotonic() + 20
        while len(self.lines(name)) < count:
            assert time.monotonic() < end
            time.sleep(0.02)

    def end(self, number: int = signal.SIGTERM) -> tuple[int, list[dict[str, object]]]:
        self.process.send_signal(number)
        return self.ended()

    def ended(self) -> tuple[int, list[dict[str, object]]]:
        _, said = self.process.communicate(timeout=20)
        return self.process.returncode, [json.loads(line) for line in said.splitlines()]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_every_worker_gets_the_signal(tmp_path: Path, number: int) -> None:
    running = Running(tmp_path, "waits")
    running.until("begun", 2)
    assert running.end(number) == (0, [])
    name = signal.Signals(number).name
    assert sorted(running.lines("got")) == [f"0 {name}", f"1 {name}"]


def test_the_worst_exit_code_counts(tmp_path: Path) -> None:
    running = Running(tmp_path, "ends badly")
    running.until("begun", 2)
    assert running.end()[0] == 1


def test_what_cannot_start_ends_all(tmp_path: Path) -> None:
    running = Running(tmp_path, "cannot start")
    assert running.ended() == (2, [])
    assert running.lines("got") in (["0 SIGTERM"], [])


@pytest.mark.parametrize(("what", "why"), [("dies", "exit code 7"), ("raises", "exit code 1")])
def test_who_dies_is_started_again_after_longer_and_longer(tmp_path: Path, what: str, why: str) -> None:
    running = Running(tmp_path, what)
    running.until("begun", 6)
    _, said = running.end()
    begun = [float(line.split()[1]) for line in running.lines("begun") if line.startswith("0 ")]
    waits = [later - earlier for earlier, later in pairwise(begun)]
    assert waits[0] >= 1.0
    assert waits[1] >= 2.0
    ended = [line for line in said if line["event"] == "worker ended"]
    assert {line["why"] for line in ended} == {why}
    assert [line["again_in_seconds"] for line in ended if line["worker"] == 0][:2] == [1.0, 2.0]


@pytest.mark.parametrize(("lived", "waits"), [(0.1, [1, 2, 4, 8, 16, 30, 30]), (61.0, [1, 1, 1])])
def test_who_dies_for_the_first_time_or_lived_long_is_started_again_after_a_second(
    monkeypatch: pytest.MonkeyPatch, lived: float, waits: list[float]
) -> None:
    log = io.BytesIO()
    found = supervisor.Supervisor(lambda worker: 0, 1, EventLog(log, real_now), end_seconds=1.0)
    found.status = SharedStatus(1)
    place = supervisor._Place(0)
    monkeypatch.setattr(time, "monotonic", lambda: place.begun + lived)
    for _ in waits:
        found._ended(place, 7)
    assert [json.loads(line)["again_in_seconds"] for line in log.getvalue().splitlines()] == waits


def test_who_does_not_end_is_killed(tmp_path: Path) -> None:
    running = Running(tmp_path, "hangs")
    running.until("begun", 2)
    begun = time.monotonic()
    assert running.end()[0] == 1
    assert time.monotonic() - begun < 10


def test_long_lines_of_many_processes_are_not_mixed_up() -> None:
    read, write = os.pipe()
    lock = LogLock()
    end = os.fdopen(write, "wb")
    sink = lock.around(end)
    children = []
    for number in range(3):
        child = os.fork()
        if child == 0:
            events = EventLog(sink, real_now)
            for _ in range(20):
                events.info("long", text=str(number) * 100_000)
            os._exit(0)
        children.append(child)
    end.close()
    with os.fdopen(read, "rb") as pipe:
        lines = io.BytesIO(pipe.read()).getvalue().splitlines()
    for child in children:
        os.waitpid(child, 0)
    lock.close()
    assert len(lines) == 60
    assert {len(json.loads(line)["text"]) for line in lines} == {100_000}
