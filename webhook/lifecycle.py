"""The life of the server process: serve, drain, stop. One task group; a task that should run for ever and ends is a fault.

Order on SIGTERM, and why: first not ready, so that no new connections are sent here; during the drain every answer carries
`Connection: close`, because kube-apiserver keeps connections to a pod that has left the Service's endpoints and does not repeat
a POST that hit a closed one; only then the listener closes and calls in flight are finished.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from webhook.errors import FallgateError

#: What asks for an end.
ENDING: Final = (signal.SIGTERM, signal.SIGINT)
#: What others take for "read your files again", and would end a process that has no handler for it. Our files are watched.
IGNORED: Final = (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
#: What waits from the first moment until somebody hears it. Not Ctrl-C: until then, whoever presses it means it.
_HELD: Final = (signal.SIGTERM, *IGNORED)

State = Literal["starting", "serving", "draining", "stopping"]


class TaskEnded(FallgateError):
    """A task that should run until the process stops has ended."""


class Listener(Protocol):
    """What is drained and stopped: an HTTP server."""

    async def serve(self) -> None:
        """Serve until `stop`; returns when calls in flight are finished."""

    def drain(self) -> None:
        """From now on every answer asks its client to close the connection."""

    def stop(self) -> None:
        """Take no new connections, finish what is in flight, then `serve` returns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EternalTask:
    """A named task that runs until it is cancelled."""

    name: str
    run: Callable[[], Awaitable[None]]


class Life:
    """Where the process is in its life, and who may change that."""

    def __init__(self) -> None:
        self.state: State = "starting"
        self._ending = asyncio.Event()
        self._hurry = asyncio.Event()
        self._faults: list[Exception] = []
        self._listener: Listener | None = None

    @property
    def ending(self) -> bool:
        """Whether the process has been asked to stop: it answers, but is not ready any more."""
        return self._ending.is_set()

    def end(self) -> None:
        """Ask for an orderly end; asked again, the drain is cut short."""
        if self._ending.is_set():
            self._hurry.set()
        self._ending.set()
        self._drain()

    def end_at_once(self) -> None:
        """Ask for an end without a drain. Calls in flight are still finished."""
        self._hurry.set()
        self._ending.set()
        self._drain()

    def _drain(self) -> None:
        """At once, and not when `run` gets to it: no answer says that the process ends and leaves its connection open."""
        if self._listener is not None and self.state == "serving":
            self.state = "draining"
            self._listener.drain()

    async def run(self, listener: Listener, tasks: Sequence[EternalTask], *, drain_seconds: float) -> None:
        """Run everything until the end is asked for, then drain and stop.

        A task that fails or ends by itself is a fault: the process then ends in the same order, so that no call in flight is
        lost, and ExceptionGroup is raised with all faults.
        """
        self._listener = listener
        async with asyncio.TaskGroup() as group:
            serving = group.create_task(self._serve(listener), name="server")
            eternal = [group.create_task(self._for_ever(task), name=task.name) for task in tasks]
            self.state = "serving"
            await self._ending.wait()
            self._drain()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._hurry.wait(), drain_seconds)
            self.state = "stopping"
            listener.stop()
            await serving
            for task in eternal:
                task.cancel()
        if self._faults:
            raise ExceptionGroup("tasks that should run until the process stops", self._faults)

    async def _for_ever(self, task: EternalTask) -> None:
        try:
            await task.run()
        except Exception as error:  # noqa: BLE001 - whatever it was, the end must be orderly
            self._faults.append(error)
        else:
            self._faults.append(TaskEnded(f"the task {task.name!r} has ended"))
        self.end()

    async def _serve(self, listener: Listener) -> None:
        try:
            await listener.serve()
        except Exception as error:  # noqa: BLE001 - as above
            self._faults.append(error)
        else:
            if self.state != "stopping":
                self._faults.append(TaskEnded("the server has ended"))
        self.end_at_once()


@contextlib.contextmanager
def signals_held() -> Iterator[None]:
    """While this holds, signals wait for `signals_end`: one that comes before, or after, does not change how the process ends.

    What is still waiting at the end is dropped.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _HELD)
    try:
        yield
    finally:
        drop_signals(_HELD)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def drop_signals(numbers: Sequence[signal.Signals]) -> None:
    """Take blocked signals that wait, and forget them."""
    while signal.sigtimedwait(numbers, 0) is not None:
        pass


@contextlib.contextmanager
def signals_end(life: Life, ignored: Callable[[str], None] = lambda name: None) -> Iterator[None]:
    """While this holds, SIGTERM asks for an orderly end and SIGINT (Ctrl-C) for one without a drain.

    SIGHUP, SIGUSR1 and SIGUSR2 do nothing; `ignored` is told their names. Held signals are heard from now on. Afterwards all
    but SIGINT are ignored: to block them would not do, threads that go on take what the main thread does not.
    """
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, life.end)
    loop.add_signal_handler(signal.SIGINT, life.end_at_once)
    for number in IGNORED:
        loop.add_signal_handler(number, ignored, number.name)
    before = signal.pthread_sigmask(signal.SIG_UNBLOCK, (*ENDING, *IGNORED))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        loop.remove_signal_handler(signal.SIGINT)
        for number in _HELD:
            # The loop leaves behind what ends the process.
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_IGN)


@contextlib.contextmanager
def ends_with(life: Life, pipe: int | None) -> Iterator[None]:
    """While this holds, the end of a pipe asks for an orderly end: whoever holds its other side is gone."""
    if pipe is None:
        yield
        return
    loop = asyncio.get_running_loop()

    def gone() -> None:
        loop.remove_reader(pipe)
        life.end()

    loop.add_reader(pipe, gone)
    try:
        yield
    finally:
        loop.remove_reader(pipe)
