"""Log lines as JSON: one per decision, gathered and written several times a second, and events, written at once.

A log line per call through the logging library costs as much as half an answer; lines that are gathered and encoded together
cost a tenth of that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Any, BinaryIO, Literal

import msgspec

#: Lines that may wait for the sink. A sink that stands still (a full pipe) costs lines, never admission.
_MOST_WAITING = 20_000
_FLUSH_SECONDS = 0.1

#: Fields whose name a person need not read.
_SPEAKS_FOR_ITSELF = ("what", "why", "error")

Level = Literal["info", "warning", "error"]


class DecisionRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of the decision log. `reasons` are `rule/reason`; `mode` is the strictest mode among the findings;
    `because` says why of a change that comes from no rule."""

    time: datetime
    uid: str
    phase: str
    operation: str
    kind: str
    namespace: str
    name: str
    user: str
    allowed: bool
    policies: str
    duration_us: int
    dry_run: bool
    reasons: tuple[str, ...] = ()
    mode: str = ""
    findings: tuple[dict[str, str], ...] = ()
    patch: tuple[Any, ...] = ()
    because: tuple[str, ...] = ()
    would_patch: tuple[Any, ...] = ()
    wanted: tuple[str, ...] = ()
    internal_error: str = ""


class LineLog:
    """Gathers records and writes them as JSON lines. `run` is the task that writes; `close` writes what is left."""

    def __init__(self, sink: BinaryIO | None, *, most_waiting: int = _MOST_WAITING) -> None:
        self._sink = sink
        self._encoder = msgspec.json.Encoder()
        self._waiting: list[object] = []
        self._most = most_waiting
        self.written = 0
        self.dropped = 0

    def write(self, record: object) -> None:
        """Take a record. Never blocks; drops it when too many are waiting."""
        if self._sink is None:
            return
        if len(self._waiting) >= self._most:
            self.dropped += 1
            return
        self._waiting.append(record)

    async def run(self) -> None:
        """Write what was gathered, ten times a second, for ever."""
        while True:
            await asyncio.sleep(_FLUSH_SECONDS)
            if self._waiting:
                records = self._take()
                await asyncio.to_thread(self._put, records)

    def close(self) -> None:
        """Write what is still waiting, now."""
        if self._waiting:
            self._put(self._take())

    def _take(self) -> list[object]:
        records, self._waiting = self._waiting, []
        return records

    def _put(self, records: list[object]) -> None:
        assert self._sink is not None
        try:
            self._sink.write(self._encoder.encode_lines(records))
            self._sink.flush()
        except (OSError, ValueError):
            # The reader of the log is gone or its disk is full: decisions go on, the metric tells.
            self.dropped += len(records)
        else:
            self.written += len(records)


class EventLog:
    """Writes what happens to the server itself, one line each, as JSON or as text for a person at a terminal."""

    def __init__(self, sink: BinaryIO, clock: Callable[[], datetime], *, style: Literal["json", "text"] = "json") -> None:
        self._sink = sink
        self._clock = clock
        self._style = style

    def info(self, event: str, **fields: object) -> None:
        """Something went as it should."""
        self._write("info", event, fields)

    def warning(self, event: str, **fields: object) -> None:
        """Somebody should look at it; nothing is lost yet."""
        self._write("warning", event, fields)

    def error(self, event: str, **fields: object) -> None:
        """Something is broken."""
        self._write("error", event, fields)

    def _write(self, level: Level, event: str, fields: dict[str, object]) -> None:
        now = self._clock()
        line = _as_json(now, level, event, fields) if self._style == "json" else _as_text(now, level, event, fields)
        try:
            self._sink.write(line)
            self._sink.flush()
        except (OSError, ValueError):
            return


def _as_json(now: datetime, level: Level, event: str, fields: dict[str, object]) -> bytes:
    return msgspec.json.encode({"time": now, "level": level, "event": event, **fields}, enc_hook=str) + b"\n"


def _as_text(now: datetime, level: Level, event: str, fields: dict[str, object]) -> bytes:
    texts = {key: str(value) for key, value in fields.items()}
    said = ", ".join(
        _printable(text if key in _SPEAKS_FOR_ITSELF else f"{key} {text}") for key, text in texts.items() if "\n" not in text
    )
    blocks = ["\n".join(_printable(line) for line in text.splitlines()) for text in texts.values() if "\n" in text]
    line = f"{now:%H:%M:%S} {level:<7} {event}{': ' + said if said else ''}"
    return "\n".join([line, *blocks, ""]).encode(errors="replace")


def _printable(text: str) -> str:
    """What a caller sent may hold terminal escapes."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
