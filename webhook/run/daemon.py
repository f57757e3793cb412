"""Blocking calls beside the event loop, on threads that do not hold up the end of the process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from datetime import datetime
from typing import Final, TypeVar

T = TypeVar("T")

#: A call that takes longer is worth a word: a file is read in milliseconds.
LONG_SECONDS: Final = 10.0


async def in_daemon(call: Callable[[], T]) -> T:
    """What `call` gives or raises. When this is cancelled, or the process ends, the call is left alone: nobody waits for it.

    asyncio.to_thread would be waited for at the end, for as long as an API server that does not answer likes.
    """
    loop = asyncio.get_running_loop()
    given: asyncio.Future[T] = loop.create_future()

    def tell(result: T | None, fault: BaseException | None) -> None:
        if given.cancelled():
            return
        if fault is None:
            given.set_result(result)  # type: ignore[arg-type]  # None is a result like others
        else:
            given.set_exception(fault)

    def run() -> None:
        result: T | None = None
        fault: BaseException | None = None
        try:
            result = call()
        except BaseException as error:  # noqa: BLE001 - whatever it is, it belongs to the caller
            fault = error
        if not loop.is_closed():
            try:
                loop.call_soon_threadsafe(tell, result, fault)
            except RuntimeError:
                return  # the loop was closed just now: nobody waits any more

    threading.Thread(target=run, name="blocking call", daemon=True).start()
    return await given


class Beside:
    """Blocking calls, one after the other, each as by `in_daemon`; and since when the one under way has not come back."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._since: datetime | None = None

    async def __call__(self, call: Callable[[], T]) -> T:
        """What `call` gives or raises."""
        self._since = self._clock()
        try:
            return await in_daemon(call)
        finally:
            self._since = None

    def silence(self) -> float:
        """For how many seconds a call has not come back, 0.0 when that is nothing unusual."""
        seconds = (self._clock() - self._since).total_seconds() if self._since is not None else 0.0
        return seconds if seconds > LONG_SECONDS else 0.0
