"""Noticing that a folder has changed, by looking at it again and again.

File system events do not do: a mounted ConfigMap or Secret changes by a swap of the `..data` link, after which a watch on the
old file is dead, and network file systems send none at all.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, NoReturn, TypeAlias

#: Seconds between two looks.
INTERVAL: Final = 1.0

Sleep: TypeAlias = Callable[[float], Awaitable[None]]
Look: TypeAlias = Callable[[Path], Awaitable[str]]


def folder_digest(path: Path) -> str:
    """What changes when anything below `path` (a folder or a file) changes: names, links, sizes, times of all files.

    Never raises: what cannot be looked at (a file that has just gone, no such folder) is part of the digest too.
    """
    digest = hashlib.sha256()
    for line in _entries(path):
        digest.update(line.encode("utf-8", "surrogateescape") + b"\0")
    return digest.hexdigest()


def _entries(path: Path) -> list[str]:
    found = [_entry(path)]
    entered: set[str] = set()
    for here, folders, names in os.walk(path, followlinks=True):
        real = os.path.realpath(here)
        if real in entered:
            folders.clear()
            continue
        entered.add(real)
        found += [_entry(Path(here, name)) for name in (*folders, *names)]
        # What a ConfigMap mount keeps in folders of such names changes with the links to it.
        folders[:] = [name for name in folders if not name.startswith(".")]
    return sorted(found)


def _entry(path: Path) -> str:
    try:
        target = str(path.readlink()) if path.is_symlink() else ""
        facts = path.stat()
    except OSError as fault:
        return f"{path} {fault.errno}"
    if path.is_dir():
        return f"{path} {target}"
    return f"{path} {target} {facts.st_size} {facts.st_mtime_ns} {facts.st_ctime_ns} {facts.st_ino}"


async def _look(path: Path) -> str:
    return await asyncio.to_thread(folder_digest, path)


async def watch_folder(
    path: Path,
    on_change: Callable[[], Awaitable[None]],
    *,
    on_error: Callable[[Exception], None],
    interval: float = INTERVAL,
    sleep: Sleep = asyncio.sleep,
    known: str = "",
    look: Look | None = None,
) -> NoReturn:
    """Call `on_change` whenever the content of `path` has changed. Ends only when it is cancelled.

    `known` is the digest of what the caller has loaded already, so that a change in between is not missed; without it the
    first look counts as known. When `on_change` raises, `on_error` is told and the change is tried again at the next look:
    a file system that is away for a moment costs nothing. What cannot get better by itself (a policy file with a mistake)
    `on_change` must deal with itself. `look` gives the digest without holding up the event loop; on a thread by default.
    """
    look = look or _look
    known = known or await look(path)
    while True:
        await sleep(interval)
        try:
            seen = await look(path)
            if seen != known:
                await on_change()
                known = seen
        except Exception as fault:  # noqa: BLE001  an eternal task: whatever happens in one round is reported, not fatal
            on_error(fault)
