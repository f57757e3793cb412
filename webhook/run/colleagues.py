"""What worker processes know of each other: metrics added up, and readiness of the whole, from notes in shared memory."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Final

import msgspec
from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily

from webhook.run.shared_status import SharedStatus
from webhook.server.ports import Condition
from webhook.telemetry.merging import Family, as_metrics, families_of, growing, merged

#: How often a worker writes its note, and how old a note may be before its writer counts as stuck or dead.
WRITE_SECONDS: Final = 1.0
OLDEST_SECONDS: Final = 5.0


class Note(msgspec.Struct, frozen=True, array_like=True):
    """How a worker was doing at `at` (time.monotonic, which is the same clock in all processes)."""

    at: float
    failed: list[str]
    families: list[Family]


class Colleagues:
    """One worker's view of all. `own` gives its own conditions, `metrics` its own metrics."""

    def __init__(
        self, number: int, status: SharedStatus, own: Callable[[], Iterable[Condition]], metrics: Callable[[], Iterable[Metric]]
    ) -> None:
        self._number = number
        self._status = status
        self._own = own
        self._metrics = metrics
        #: What the process before this one had counted.
        before = self._note_of(number)
        self._inherited = growing(before.families) if before else []

    async def run(self) -> None:
        """Write a note every second, for ever."""
        while True:
            self.write()
            await asyncio.sleep(WRITE_SECONDS)

    def write(self) -> None:
        """Write how this worker is doing now."""
        failed = [f"{item.name}: {item.detail}" if item.detail else item.name for item in self._own() if item.state == "failed"]
        note = Note(time.monotonic(), failed, self._families())
        self._status.write(self._number, msgspec.msgpack.encode(note))

    def conditions(self) -> Iterator[Condition]:
        """`worker-<n>`: how each of the others is doing."""
        for number in self._others():
            note = self._note_of(number)
            age = time.monotonic() - note.at if note else 0.0
            if note is None:
                yield Condition(name=f"worker-{number}", state="failed", detail="it has not begun yet")
            elif age > OLDEST_SECONDS:
                yield Condition(name=f"worker-{number}", state="failed", detail=f"it has said nothing for {age:.0f} seconds")
            elif note.failed:
                yield Condition(name=f"worker-{number}", state="failed", detail="\n".join(note.failed))
            else:
                yield Condition(name=f"worker-{number}", state="ok")

    def collect(self) -> Iterator[Metric]:
        """The metrics of all: this worker's as they are now, the others' as of a second ago."""
        others = [note.families for number in self._others() if (note := self._note_of(number)) is not None]
        yield from as_metrics(merged([self._families(), *others]))
        yield CounterMetricFamily("fallgate_worker_restarts", "Workers started anew.", value=self._status.restarts())

    def _families(self) -> list[Family]:
        return merged([families_of(self._metrics()), self._inherited])

    def _others(self) -> Iterator[int]:
        return (number for number in range(self._status.workers) if number != self._number)

    def _note_of(self, number: int) -> Note | None:
        written = self._status.read(number)
        return msgspec.msgpack.decode(written, type=Note) if written else None
