"""What workers know of each other, by notes in shared memory."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable

import pytest
from prometheus_client import CollectorRegistry, Counter

from webhook.run.colleagues import Colleagues
from webhook.run.shared_status import SharedStatus
from webhook.server.ports import Condition

FINE = [Condition(name="fleet", state="ok"), Condition(name="policies-newest", state="degraded", detail="x")]


class Worker:
    """A worker with a counter."""

    def __init__(self, status: SharedStatus, number: int, calls: int = 0) -> None:
        self.conditions: list[Condition] = FINE
        self.registry = CollectorRegistry()
        self.counter = Counter("calls", "Calls.", registry=self.registry)
        self.counter.inc(calls)
        self.colleagues = Colleagues(number, status, self.own, self.registry.collect)

    def own(self) -> Iterable[Condition]:
        return self.conditions

    def total(self, name: str = "calls_total") -> float:
        return next(sample.value for metric in self.colleagues.collect() for sample in metric.samples if sample.name == name)


def test_a_note_is_read_as_it_was_written() -> None:
    status = SharedStatus(2)
    assert (status.read(0), status.read(1)) == (b"", b"")
    for note in (b"first", b"second, longer", b""):
        status.write(1, note)
        assert status.read(1) == note
    assert status.read(0) == b""
    status.write(0, b"x" * (1 << 20))
    assert len(status.read(0)) == 1 << 20
    status.write(0, b"x" * ((1 << 20) + 1))
    assert len(status.read(0)) == 1 << 20


def test_other_processes_read_it() -> None:
    status = SharedStatus(1)
    child = os.fork()
    if child == 0:
        status.write(0, b"from the child")
        status.count_restart(0)
        os._exit(0)
    os.waitpid(child, 0)
    assert status.read(0) == b"from the child"
    assert status.restarts() == 1


def test_half_a_note_is_none() -> None:
    status = SharedStatus(1)
    status.write(0, b"whole")
    at = status._memory.find(b"whole")
    status._memory[at : at + 1] = b"W"
    assert status.read(0) == b""


def test_restarts_are_counted_for_all() -> None:
    status = SharedStatus(3)
    for worker in (0, 2, 2):
        status.count_restart(worker)
    status.write(2, b"note")
    assert (status.restarts(), status.read(2)) == (3, b"note")


def test_metrics_of_all() -> None:
    status = SharedStatus(2)
    first, second = Worker(status, 0, calls=3), Worker(status, 1, calls=4)
    assert first.total() == 3
    second.colleagues.write()
    assert first.total() == 7
    status.count_restart(1)
    assert first.total("fallgate_worker_restarts_total") == 1


def test_a_successor_goes_on_counting_where_the_dead_one_stopped() -> None:
    status = SharedStatus(2)
    first = Worker(status, 0, calls=3)
    for life in range(1, 4):
        second = Worker(status, 1, calls=2)
        second.colleagues.write()
        assert first.total() == 3 + 2 * life


def test_readiness_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    status = SharedStatus(2)
    first, second = Worker(status, 0), Worker(status, 1)
    assert list(first.colleagues.conditions()) == [Condition(name="worker-1", state="failed", detail="it has not begun yet")]
    second.colleagues.write()
    assert list(first.colleagues.conditions()) == [Condition(name="worker-1", state="ok")]
    second.conditions = [*FINE, Condition(name="fleet", state="failed", detail="no list yet")]
    second.colleagues.write()
    assert list(first.colleagues.conditions()) == [Condition(name="worker-1", state="failed", detail="fleet: no list yet")]
    now = time.monotonic()
    monkeypatch.setattr("webhook.run.colleagues.time.monotonic", lambda: now + 6.2)
    assert list(first.colleagues.conditions()) == [
        Condition(name="worker-1", state="failed", detail="it has said nothing for 6 seconds")
    ]
