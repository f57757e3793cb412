"""Several worker processes behind one socket: started, watched, started anew when they die, ended together.

The socket is bound before they are made, and all of them accept from it: when one dies, the connections that wait are taken by
the others. (With a socket for each, SO_REUSEPORT, those would be lost with it.)
"""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from webhook.lifecycle import ENDING, IGNORED, drop_signals
from webhook.run.exits import CANNOT_START, DONE, FAULT
from webhook.run.shared_status import SharedStatus
from webhook.telemetry import EventLog

_SIGNALS: Final = (*ENDING, *IGNORED, signal.SIGCHLD)
#: Seconds before a worker that died is started anew: doubled each time, until one has lived for a while.
_FIRST_WAIT: Final = 1.0
_LONGEST_WAIT: Final = 30.0
_LIVED: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """What a worker process is told: which one it is, where it reports, and a pipe that ends when its supervisor does."""

    number: int
    status: SharedStatus
    supervisor: int


def say_ignored(events: EventLog, name: str) -> None:
    """A signal has come that does nothing here."""
    events.info("signal ignored", name=name, why="files are watched and read again when they change; SIGTERM ends")


@dataclass(slots=True)
class _Place:
    """A worker that should be there."""

    number: int
    process: int = 0
    begun: float = 0.0
    due: float = 0.0
    #: How long it last waited to be started anew.
    waited: float = 0.0


@dataclass
class Supervisor:
    """Keeps `work` going in `workers` processes, which must be made before this process has threads.

    A worker begins with signals blocked: they wait until it hears them (`webhook.lifecycle.signals_end`).
    """

    work: Callable[[Worker], int]
    workers: int
    events: EventLog
    #: How long workers may take to end, before they are killed.
    end_seconds: float
    ending: bool = False
    worst: int = DONE
    killing: float = 0.0
    places: list[_Place] = field(default_factory=list)

    def run(self) -> int:
        """Until SIGTERM or SIGINT, which every worker gets too. Gives the exit code: the worst of the workers."""
        self.status = SharedStatus(self.workers)
        self.places = [_Place(number) for number in range(self.workers)]
        self.alive, self._ours = os.pipe()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        # A signal that is ignored is not waited for.
        signal.signal(signal.SIGCHLD, lambda *_: None)
        try:
            while True:
                self._start_due()
                if self.ending and not any(place.process for place in self.places):
                    return self.worst
                self._wait()
                self._reap()
                self._kill_late()
        finally:
            # Asked for once more at the last moment: the exit code is what the workers have come to.
            drop_signals(_SIGNALS)
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _start_due(self) -> None:
        for place in self.places:
            if not self.ending and not place.process and time.monotonic() >= place.due:
                self._start(place)

    def _start(self, place: _Place) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        place.begun = time.monotonic()
        place.process = os.fork()
        if place.process == 0:
            self._become(place.number)

    def _become(self, number: int) -> None:
        """The rest of a worker's life. Never returns."""
        code = FAULT
        try:
            os.close(self._ours)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGCHLD,))
            code = self.work(Worker(number=number, status=self.status, supervisor=self.alive))
        except BaseException:  # noqa: BLE001 - whatever it is, a worker must not go on as a second supervisor
            self.events.error("worker failed", worker=number, error=traceback.format_exc())
        finally:
            sys.stdout.flush()
            os._exit(code)

    def _wait(self) -> None:
        now = time.monotonic()
        dates = [place.due for place in self.places if not place.process and not self.ending]
        dates += [self.killing] if self.killing else []
        # One second at most: a signal that came between two looks is never waited for long.
        seconds = max(0.0, min([1.0, *(date - now for date in dates)]))
        got = signal.sigtimedwait(_SIGNALS, seconds)
        number = None if got is None else signal.Signals(got.si_signo)
        if number in ENDING:
            self._end(number)
        elif number in IGNORED:
            say_ignored(self.events, number.name)

    def _end(self, number: int) -> None:
        self.ending = True
        self.killing = self.killing or time.monotonic() + self.end_seconds
        for place in self.places:
            if place.process:
                os.kill(place.process, number)

    def _reap(self) -> None:
        while any(place.process for place in self.places):
            process, status = os.waitpid(-1, os.WNOHANG)
            if not process:
                return
            for place in self.places:
                if place.process == process:
                    self._ended(place, os.waitstatus_to_exitcode(status))

    def _ended(self, place: _Place, code: int) -> None:
        place.process = 0
        if self.ending:
            self.worst = self.worst or (DONE if code == DONE else FAULT)
        elif code == CANNOT_START:
            # It would not start a second time either.
            self._end(signal.SIGTERM)
            self.worst = CANNOT_START
        else:
            now = time.monotonic()
            place.waited = _next_wait(place.waited, lived=now - place.begun)
            place.due = now + place.waited
            self.status.count_restart(place.number)
            why = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
            self.events.error("worker ended", worker=place.number, why=why, again_in_seconds=place.waited)

    def _kill_late(self) -> None:
        if self.killing and time.monotonic() > self.killing:
            for place in self.places:
                if place.process:
                    os.kill(place.process, signal.SIGKILL)


def _next_wait(waited: float, *, lived: float) -> float:
    return _FIRST_WAIT if not waited or lived > _LIVED else min(waited * 2, _LONGEST_WAIT)
