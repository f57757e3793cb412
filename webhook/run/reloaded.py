"""Something that is loaded from files and loaded again when they change, whole or not at all.

A version that cannot be loaded changes nothing: what was in force stays in force, and the fault shows in readiness, a metric
and the log until the files are good again.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Generic, TypeVar

from webhook.errors import FallgateError
from webhook.folder.watch import folder_digest, watch_folder
from webhook.run.daemon import Beside
from webhook.server.ports import Clock, Condition
from webhook.telemetry import EventLog, Recorder, Source

T = TypeVar("T")

#: Files that are being written look different from one look to the next: they are read when they have kept still for so long.
_STILL_SECONDS = 0.1
_MOST_LOOKS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded(Generic[T]):
    """A version that can be used: its value, one line about it, and what its author should know nevertheless.

    `doubt` says why it should not take the place of a version without doubt (a file of it cannot be read, it is empty): then it
    comes into force only where there is nothing better.
    """

    value: T
    description: str
    warnings: tuple[str, ...] = ()
    doubt: str = ""


class Reloaded(Generic[T]):
    """The newest good version of what lies at `path`, as a port of the server.

    `load` reads and builds it, and raises FallgateError for what cannot be used; it runs in a thread, so that the event loop
    keeps answering, also when a mount hangs. `explain` says what is wrong with what was not loaded.
    """

    def __init__(
        self,
        name: Source,
        path: Path,
        load: Callable[[Path], Loaded[T]],
        *,
        explain: Callable[[FallgateError], str] = str,
        recorder: Recorder,
        events: EventLog,
        clock: Clock,
    ) -> None:
        self.name: Source = name
        self._path = path
        self._load = load
        self._explain = explain
        self._recorder = recorder
        self._events = events
        self._clock = clock
        self._loaded: Loaded[T] | None = None
        self._fault = ""
        self._beside = Beside(clock)

    def current(self) -> T | None:
        """The version in force, None as long as there has never been a good one."""
        return None if self._loaded is None else self._loaded.value

    def conditions(self) -> Iterable[Condition]:
        """`<name>`: whether there is a version in force; `-whole`: whether without doubt; `-newest`: whether the newest.

        `-readable`: when the files can be looked at neither with success nor with an error.
        """
        if silence := self._beside.silence():
            detail = (
                f"{self._path} has not answered for {silence:.0f} seconds, as a mount that hangs: {self._kept()} is in force"
            )
            yield Condition(name=f"{self.name}-readable", state="degraded", detail=detail)
        if self._loaded is None:
            yield Condition(name=self.name, state="failed", detail=self._fault or "not loaded yet")
            return
        yield Condition(name=self.name, state="ok", detail=self._loaded.description)
        if self._loaded.doubt:
            yield Condition(name=f"{self.name}-whole", state="degraded", detail=self._loaded.doubt)
        if self._fault:
            detail = f"the newest files are not in force:\n{self._fault}"
            yield Condition(name=f"{self.name}-newest", state="degraded", detail=detail)

    async def run(self, poll_seconds: float) -> None:
        """Load, then load again whenever the files have changed, for ever."""
        known = await self._look(self._path)
        await self.reload()
        await watch_folder(
            self._path, self._changed, on_error=self._watch_failed, interval=poll_seconds, known=known, look=self._look
        )

    async def _look(self, path: Path) -> str:
        return await self._beside(partial(folder_digest, path))

    async def reload(self) -> None:
        """Load the files as they are now and swap, or keep what is in force. Never raises for what is in the files."""
        try:
            loaded = await self._beside(partial(self._load, self._path))
        except FallgateError as error:
            self._reject(self._explain(error))
        except OSError as error:
            self._reject(f"{error.filename}: {error.strerror}")
        except Exception:  # noqa: BLE001 - a fault of ours must not end the process while an older version can serve
            self._reject(traceback.format_exc())
        else:
            if loaded.doubt and self._loaded is not None and not self._loaded.doubt:
                self._reject(loaded.doubt)
            else:
                self._accept(loaded)

    async def _changed(self) -> None:
        seen = await self._look(self._path)
        for _ in range(_MOST_LOOKS):
            await asyncio.sleep(_STILL_SECONDS)
            now = await self._look(self._path)
            if now == seen:
                break
            seen = now
        await self.reload()

    def _accept(self, loaded: Loaded[T]) -> None:
        self._loaded, self._fault = loaded, ""
        self._recorder.loaded(self.name, self._clock())
        self._events.info(f"{self.name} loaded", what=loaded.description)
        for warning in loaded.warnings:
            self._events.warning(f"{self.name} to be looked at", what=warning)

    def _reject(self, fault: str) -> None:
        self._fault = fault
        self._recorder.rejected(self.name)
        self._events.error(f"{self.name} not loaded", why=fault, in_force=self._kept())

    def _kept(self) -> str:
        return "nothing" if self._loaded is None else self._loaded.description

    def _watch_failed(self, error: Exception) -> None:
        self._events.error(f"{self.name} cannot be watched", why=f"{type(error).__name__}: {error}")
