"""Files that are loaded again when they change: good ones are swapped in, bad ones change nothing."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from webhook.errors import InputError
from webhook.run.reloaded import Loaded, Reloaded
from webhook.server.ports import Condition
from webhook.telemetry import EventLog, ListRecorder

NOW = datetime(2027, 1, 1, tzinfo=UTC)


class Number:
    """A file with a number in it, and everything around it."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "number"
        self.recorder = ListRecorder()
        self.events = io.BytesIO()
        self.source: Reloaded[int] = Reloaded(
            "policies",
            folder,
            self.load,
            explain=lambda error: f"explained: {error}",
            recorder=self.recorder,
            events=EventLog(self.events, lambda: NOW),
            clock=lambda: NOW,
        )

    def load(self, folder: Path) -> Loaded[int]:
        text = self.file.read_text()
        if text == "crash":
            raise ZeroDivisionError
        if not text.isdecimal():
            raise InputError(f"{text!r} is no number")
        doubt = "it begins with 90" if text.startswith("90") else ""
        warnings = ("it is odd",) if int(text) % 2 else ()
        return Loaded(value=int(text), description=f"number {text}", warnings=warnings, doubt=doubt)

    def conditions(self) -> list[Condition]:
        return list(self.source.conditions())

    def event_lines(self) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in self.events.getvalue().splitlines()]
        return [{key: value for key, value in line.items() if key != "time"} for line in lines]


@pytest.fixture
def number(tmp_path: Path) -> Number:
    return Number(tmp_path)


async def test_before_the_first_load(number: Number) -> None:
    assert number.source.current() is None
    assert number.conditions() == [Condition(name="policies", state="failed", detail="not loaded yet")]


async def test_good(number: Number) -> None:
    number.file.write_text("7")
    await number.source.reload()
    assert number.source.current() == 7
    assert number.conditions() == [Condition(name="policies", state="ok", detail="number 7")]
    assert number.recorder.loads == [("policies", True)]
    assert number.event_lines() == [
        {"level": "info", "event": "policies loaded", "what": "number 7"},
        {"level": "warning", "event": "policies to be looked at", "what": "it is odd"},
    ]


async def test_bad_before_any_good(number: Number) -> None:
    number.file.write_text("x")
    await number.source.reload()
    assert number.source.current() is None
    assert number.conditions() == [Condition(name="policies", state="failed", detail="explained: 'x' is no number")]
    assert number.event_lines() == [
        {"level": "error", "event": "policies not loaded", "why": "explained: 'x' is no number", "in_force": "nothing"}
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [("x", "explained: 'x' is no number"), ("crash", "ZeroDivisionError"), (None, "No such file or directory")],
)
async def test_bad_never_replaces_good(number: Number, text: str | None, fault: str) -> None:
    number.file.write_text("8")
    await number.source.reload()
    if text is None:
        number.file.unlink()
    else:
        number.file.write_text(text)
    await number.source.reload()
    assert number.source.current() == 8
    good, newest = number.conditions()
    assert good == Condition(name="policies", state="ok", detail="number 8")
    assert (newest.name, newest.state) == ("policies-newest", "degraded")
    assert newest.detail.startswith("the newest files are not in force:\n")
    assert fault in newest.detail
    assert number.recorder.loads == [("policies", True), ("policies", False)]
    assert number.event_lines()[-1]["in_force"] == "number 8"

    number.file.write_text("10")
    await number.source.reload()
    assert number.source.current() == 10
    assert number.conditions() == [Condition(name="policies", state="ok", detail="number 10")]


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not condition():
            await asyncio.sleep(0.01)


async def test_watching(number: Number) -> None:
    number.file.write_text("2")
    task = asyncio.create_task(number.source.run(0.05))
    await until(lambda: number.source.current() == 2)
    number.file.write_text("x")
    await until(lambda: len(number.conditions()) == 2)
    assert number.source.current() == 2
    number.file.write_text("4")
    await until(lambda: number.source.current() == 4)
    task.cancel()


async def test_file_that_is_being_written_is_not_read_half(number: Number) -> None:
    number.file.write_text("2")
    task = asyncio.create_task(number.source.run(0.05))
    await until(lambda: number.source.current() == 2)
    for text in ("1", "12", "123", "1234", "12345", "123456"):
        number.file.write_text(text)
        await asyncio.sleep(0.05)
    await until(lambda: number.source.current() == 123456)
    assert number.recorder.loads == [("policies", True), ("policies", True)]
    task.cancel()


async def test_a_doubtful_version_does_not_replace_one_without_doubt(number: Number) -> None:
    for text, in_force in (("901", 901), ("902", 902), ("10", 10), ("903", 10), ("12", 12)):
        number.file.write_text(text)
        await number.source.reload()
        assert number.source.current() == in_force
        names = [condition.name for condition in number.conditions()]
        newest = ["policies-newest"] if text == "903" else []
        whole = ["policies-whole"] if in_force > 900 else []
        assert names == ["policies", *whole, *newest]
