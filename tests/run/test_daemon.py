"""Files on a mount that hangs: the event loop goes on, what was read before is in force, and it is said."""

from __future__ import annotations

import asyncio
import io
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from certs.folder import issue_into
from webhook.run import certificate, daemon, reloaded
from webhook.run.certificate import ServedCertificate
from webhook.run.daemon import Beside, in_daemon
from webhook.run.reloaded import Loaded, Reloaded
from webhook.server.ports import Condition
from webhook.settings import CertificateSettings
from webhook.telemetry import EventLog, ListRecorder

NOW = datetime(2027, 1, 1, tzinfo=UTC)


class Mount:
    """Lets calls through, or holds them up. `looked` is how many have come."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.open.set()
        self.looked = 0
        self.now = NOW

    def wait(self) -> None:
        self.looked += 1
        assert self.open.wait(30)

    def clock(self) -> datetime:
        return self.now


@pytest.fixture
def mount() -> Iterator[Mount]:
    made = Mount()
    yield made
    made.open.set()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.005)


def served(folder: Path, mount: Mount, monkeypatch: pytest.MonkeyPatch) -> ServedCertificate:
    look = ServedCertificate.look

    def slow(self: ServedCertificate) -> None:
        mount.wait()
        look(self)

    monkeypatch.setattr(ServedCertificate, "look", slow)
    events = EventLog(io.BytesIO(), mount.clock)
    settings = CertificateSettings(folder=folder)
    return ServedCertificate(settings, 0.01, recorder=ListRecorder(), events=events, clock=mount.clock)


async def test_a_certificate_folder_that_hangs_leaves_the_loop_free(
    tmp_path: Path, mount: Mount, monkeypatch: pytest.MonkeyPatch
) -> None:
    issue_into(tmp_path, ["localhost"], now=NOW)
    found = served(tmp_path, mount, monkeypatch)
    await found.begin()
    good = [Condition(name="certificate", state="ok", detail="localhost, valid until 2027-04-01T00:00:00Z")]
    assert list(found.conditions()) == good

    mount.open.clear()
    running = asyncio.create_task(found.run())
    await until(lambda: mount.looked == 2)  # and this test goes on, as calls do
    assert list(found.conditions()) == good
    mount.now += timedelta(seconds=42)
    silent = f"{tmp_path} has not answered for 42 seconds: what is served is what was read before"
    assert list(found.conditions()) == [Condition(name="certificate-readable", state="degraded", detail=silent), *good]

    mount.open.set()
    await until(lambda: mount.looked > 3)
    assert [item.state for item in found.conditions()] == ["ok"]
    running.cancel()


async def test_the_beginning_waits_only_for_a_while(tmp_path: Path, mount: Mount, monkeypatch: pytest.MonkeyPatch) -> None:
    issue_into(tmp_path, ["localhost"], now=NOW)
    monkeypatch.setattr(certificate, "_BEGIN_SECONDS", 0.0)
    looks = 0

    async def counted(call: Callable[[], None]) -> None:
        nonlocal looks
        looks += 1
        await in_daemon(call)

    monkeypatch.setattr(daemon, "in_daemon", counted)
    found = served(tmp_path, mount, monkeypatch)
    mount.open.clear()
    await found.begin()
    assert [item.state for item in found.conditions()] == ["failed"]
    running = asyncio.create_task(found.run())
    await asyncio.sleep(0)  # it goes as far as it can without the folder
    assert looks == 1  # a second look beside the first would be one too many
    mount.open.set()
    await until(lambda: [item.state for item in found.conditions()] == ["ok"])
    running.cancel()


async def test_a_certificate_folder_that_hangs_from_the_beginning_is_told_as_that(
    tmp_path: Path, mount: Mount, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(certificate, "_BEGIN_SECONDS", 0.0)
    found = served(tmp_path, mount, monkeypatch)
    mount.open.clear()
    await found.begin()
    mount.now += timedelta(seconds=42)
    silent = f"{tmp_path} has not answered for 42 seconds: there is no certificate to serve yet"
    assert list(found.conditions()) == [
        Condition(name="certificate-readable", state="degraded", detail=silent),
        Condition(name="certificate", state="failed", detail="not loaded yet"),
    ]


def numbers(folder: Path, mount: Mount, load: Callable[[Path], Loaded[int]]) -> Reloaded[int]:
    events = EventLog(io.BytesIO(), mount.clock)
    return Reloaded("policies", folder, load, recorder=ListRecorder(), events=events, clock=mount.clock)


@pytest.mark.parametrize("where", ["looking", "loading"])
async def test_a_folder_that_hangs_leaves_what_is_in_force(
    tmp_path: Path, mount: Mount, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    file = tmp_path / "number"
    file.write_text("1")

    def load(folder: Path) -> Loaded[int]:
        if where == "loading":
            mount.wait()
        return Loaded(value=int(file.read_text()), description="a number")

    def digest(folder: Path) -> str:
        if where == "looking":
            mount.wait()
        return file.read_text()

    monkeypatch.setattr(reloaded, "folder_digest", digest)
    source = numbers(tmp_path, mount, load)
    running = asyncio.create_task(source.run(0.01))
    await until(lambda: source.current() == 1)
    mount.open.clear()
    before = mount.looked
    file.write_text("2")
    await until(lambda: mount.looked > before)
    mount.now += timedelta(seconds=11)
    assert source.current() == 1
    silent = f"{tmp_path} has not answered for 11 seconds, as a mount that hangs: a number is in force"
    assert [(item.name, item.state, item.detail) for item in source.conditions()] == [
        ("policies-readable", "degraded", silent),
        ("policies", "ok", "a number"),
    ]
    mount.open.set()
    await until(lambda: source.current() == 2)
    assert [item.name for item in source.conditions()] == ["policies"]
    running.cancel()


async def test_what_hangs_does_not_hold_up_the_end(tmp_path: Path, mount: Mount) -> None:
    def load(folder: Path) -> Loaded[int]:
        mount.wait()
        return Loaded(value=1, description="a number")

    source = numbers(tmp_path, mount, load)
    mount.open.clear()
    running = asyncio.create_task(source.run(0.01))
    await until(lambda: mount.looked == 1)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    waited_for = [thread for thread in threading.enumerate() if not thread.daemon and thread is not threading.main_thread()]
    assert waited_for == []


async def test_what_a_call_gives_or_raises_is_handed_on() -> None:
    beside = Beside(lambda: NOW)
    assert await beside(lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        await beside(lambda: 1 // 0)
    assert beside.silence() == 0.0
    assert await in_daemon(lambda: None) is None
