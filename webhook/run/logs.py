"""Where log lines go: decisions to a file or standard output, events to standard error, libraries' complaints to the events."""

from __future__ import annotations

import fcntl
import logging
import sys
import traceback
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, cast

from webhook.server.ports import Clock
from webhook.settings import LogSettings
from webhook.telemetry import EventLog, LineLog

#: Libraries that complain through the logging module about what is not our code's to catch.
_LOGGERS = ("uvicorn.error", "asyncio")


class LogLock:
    """One writer at a time among processes: what they write to one pipe at once would be mixed up when it is long.

    To be made before the processes are. A process that dies lets go of it.
    """

    def __init__(self) -> None:
        self._file = TemporaryFile()  # noqa: SIM115 - it is kept as long as the process lives

    def close(self) -> None:
        """Nobody writes any more."""
        self._file.close()

    def around(self, sink: BinaryIO) -> BinaryIO:
        """A sink whose every write is whole and its own."""
        return cast(BinaryIO, _Alone(sink, self._file.fileno()))


def build_decision_log(settings: LogSettings, lock: LogLock | None = None) -> LineLog:
    """The decision log. Raises OSError when its file cannot be opened."""
    sink = _decision_sink(settings.decisions)
    return LineLog(sink if sink is None or lock is None else lock.around(sink))


def build_event_log(settings: LogSettings, clock: Clock, lock: LogLock | None = None) -> EventLog:
    """The event log, with the complaints of uvicorn and asyncio in it."""
    sink: BinaryIO = sys.stderr.buffer
    events = EventLog(sink if lock is None else lock.around(sink), clock, style=settings.style)
    handler = _ToEvents(events)
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.propagate = False
    return events


class _Alone:
    """A sink that is written to under a lock of the system, which belongs to a process."""

    def __init__(self, sink: BinaryIO, lock: int) -> None:
        self._sink = sink
        self._lock = lock

    def write(self, data: bytes) -> int:
        """Write and flush, alone."""
        fcntl.lockf(self._lock, fcntl.LOCK_EX)
        try:
            written = self._sink.write(data)
            self._sink.flush()
        finally:
            fcntl.lockf(self._lock, fcntl.LOCK_UN)
        return written

    def flush(self) -> None:
        """Nothing is left to flush."""


class _ToEvents(logging.Handler):
    """Log records as events."""

    def __init__(self, events: EventLog) -> None:
        super().__init__(logging.WARNING)
        self._events = events

    def emit(self, record: logging.LogRecord) -> None:
        """One record, one event."""
        fields = {"source": record.name, "what": record.getMessage().strip()}
        if record.exc_info and record.exc_info[1] is not None:
            fields["error"] = "".join(traceback.format_exception(record.exc_info[1]))
        self._events.error("a library complains", **fields)


def _decision_sink(target: str) -> BinaryIO | None:
    if not target:
        return None
    return sys.stdout.buffer if target == "-" else Path(target).open("ab")
