"""Blocking calls beside the event loop, on threads that do not hold up the end of the process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


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
