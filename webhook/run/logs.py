"""Where log lines go: decisions to a file or standard output, events to standard error, libraries' complaints to the events."""

from __future__ import annotations

import logging
import sys
import traceback
from pathlib import Path
from typing import BinaryIO

from webhook.server.ports import Clock
from webhook.settings import LogSettings
from webhook.telemetry import EventLog, LineLog

#: Libraries that complain through the logging module about what is not our code's to catch.
_LOGGERS = ("uvicorn.error", "asyncio")


def build_decision_log(settings: LogSettings) -> LineLog:
    """The decision log. Raises OSError when its file cannot be opened."""
    return LineLog(_decision_sink(settings.decisions))


def build_event_log(settings: LogSettings, clock: Clock) -> EventLog:
    """The event log, with the complaints of uvicorn and asyncio in it."""
    events = EventLog(sys.stderr.buffer, clock, style=settings.style)
    handler = _ToEvents(events)
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.propagate = False
    return events


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
