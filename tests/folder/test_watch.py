"""Noticing changes of a folder. Nothing here waits: the sleep is the test's own."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from webhook.folder.watch import INTERVAL, folder_digest, watch_folder

Step = Callable[[], object]


class Script:
    """A sleep that does the next step of a test each time it is called, and ends the watch after the last."""

    def __init__(self, *steps: Step) -> None:
        self._steps = list(steps)
        self.slept: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.slept.append(seconds)
        if not self._steps:
            raise asyncio.CancelledError
        self._steps.pop(0)()


async def watched(path: Path, *steps: Step, on_change: Callable[[], Awaitable[None]], known: str = "") -> list[Exception]:
    """What went wrong while the steps were done."""
    faults: list[Exception] = []
    with pytest.raises(asyncio.CancelledError):
        await watch_folder(path, on_change, on_error=faults.append, sleep=Script(*steps), known=known)
    return faults


def nothing() -> None:
    """A step in which nothing happens."""


class Changes:
    """Counts changes; `failing` of the first calls raise."""

    def __init__(self, failing: int = 0) -> None:
        self.count = 0
        self._failing = failing

    async def __call__(self) -> None:
        if self._failing:
            self._failing -= 1
            raise OSError("away for a moment")
        self.count += 1


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a file and a sub-folder with one."""
    (tmp_path / "a.yaml").write_text("a")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.yaml").write_text("b")
    return tmp_path


def test_a_digest_stays_while_nothing_changes(folder: Path) -> None:
    assert folder_digest(folder) == folder_digest(folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "a.yaml").write_text("longer"),
        lambda folder: (folder / "sub" / "b.yaml").write_text("longer"),
        lambda folder: (folder / "c.yaml").write_text("new"),
        lambda folder: (folder / "a.yaml").unlink(),
        lambda folder: (folder / "a.yaml").rename(folder / "z.yaml"),
        lambda folder: (folder / "empty").mkdir(),
        lambda folder: os.utime(folder / "a.yaml", ns=(1, 1)),
    ],
)
def test_a_digest_changes_with_names_sizes_and_times(folder: Path, change: Callable[[Path], object]) -> None:
    before = folder_digest(folder)
    change(folder)
    assert folder_digest(folder) != before


def swap(folder: Path, name: str) -> None:
    """Point `..data` to another folder, as the kubelet does: by renaming a new link over the old one."""
    (folder / "..data_tmp").symlink_to(name)
    (folder / "..data_tmp").rename(folder / "..data")


def test_a_digest_changes_with_the_swap_of_a_config_map(tmp_path: Path) -> None:
    for name in ("..1", "..2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "policy.yaml").write_text("same length")
        os.utime(tmp_path / name / "policy.yaml", ns=(1, 1))
    swap(tmp_path, "..1")
    (tmp_path / "policy.yaml").symlink_to(Path("..data", "policy.yaml"))
    before = folder_digest(tmp_path)
    swap(tmp_path, "..2")
    assert folder_digest(tmp_path) != before


def test_a_digest_of_what_is_not_there_or_loops(tmp_path: Path) -> None:
    missing = folder_digest(tmp_path / "missing")
    assert missing == folder_digest(tmp_path / "missing")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    assert folder_digest(tmp_path) != missing


def test_a_digest_of_one_file(folder: Path) -> None:
    before = folder_digest(folder / "a.yaml")
    (folder / "other.yaml").write_text("x")
    assert folder_digest(folder / "a.yaml") == before
    (folder / "a.yaml").write_text("changed")
    assert folder_digest(folder / "a.yaml") != before


async def test_only_changes_are_told(folder: Path) -> None:
    changes = Changes()
    write = (folder / "a.yaml").write_text
    faults = await watched(
        folder, nothing, lambda: write("one") and None, nothing, lambda: write("three") and None, on_change=changes
    )
    assert changes.count == 2
    assert faults == []


async def test_a_change_since_the_callers_own_look_is_told(folder: Path) -> None:
    changes = Changes()
    known = folder_digest(folder)
    (folder / "a.yaml").write_text("since")
    await watched(folder, nothing, on_change=changes, known=known)
    assert changes.count == 1


async def test_a_change_that_could_not_be_taken_over_is_tried_again(folder: Path) -> None:
    changes = Changes(failing=2)
    steps = (lambda: (folder / "a.yaml").write_text("x"), nothing, nothing, nothing)
    faults = await watched(folder, *steps, on_change=changes)
    assert [str(fault) for fault in faults] == ["away for a moment", "away for a moment"]
    assert changes.count == 1


async def test_a_folder_may_go_and_come_back(folder: Path) -> None:
    changes = Changes()
    away = folder.with_name("away")
    steps = (lambda: folder.rename(away), nothing, lambda: away.rename(folder), nothing)
    faults = await watched(folder, *steps, on_change=changes)
    assert changes.count == 2
    assert faults == []


async def test_it_looks_once_a_second(folder: Path) -> None:
    script = Script(nothing, nothing)
    with pytest.raises(asyncio.CancelledError):
        await watch_folder(folder, Changes(), on_error=lambda fault: None, sleep=script)
    assert script.slept == [INTERVAL] * 3
    assert INTERVAL == 1.0
