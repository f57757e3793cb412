"""What a reflector has to say about its watch, as events of the log."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from webhook.kube.discovery import Source
from webhook.telemetry import EventLog


class Said(NamedTuple):
    """Both are for a Reflector, under the same names."""

    report: Callable[[Source, str], None]
    ignoring: Callable[[Source, str], None]


def said_in(events: EventLog) -> Said:
    """Says in the log what breaks, that it is mended, and that something was not taken."""

    def report(source: Source, what: str) -> None:
        if what:
            events.warning("watch broken", kind=source.name, why=what)
        else:
            events.info("watch up again", kind=source.name)

    def ignoring(source: Source, what: str) -> None:
        events.warning("not taken", kind=source.name, why=what)

    return Said(report, ignoring)
