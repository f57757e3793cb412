"""Keeping Python's collector of cycles away from the cluster.

A full collection walks over every object there is: with 40,000 devices that is most of a second in which nothing is answered.
The objects of a fleet are held by no cycles: they go when nobody uses them any more, and the collector need not see them.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

#: So many objects that have come since the last time are worth it.
_MANY: Final = 2_000


class Settling:
    """Puts what events bring out of the collector's sight, once there is enough of it."""

    def __init__(self) -> None:
        self._fresh = 0

    def took(self) -> None:
        """One more object was read and kept. Called when nothing is being made of them."""
        self._fresh += 1
        if self._fresh >= _MANY:
            self._fresh = 0
            gc.collect(1)
            gc.freeze()


_lock = threading.Lock()
_readers = 0


@contextmanager
def reading_much() -> Iterator[None]:
    """While a list is read objects only accumulate: the collector is off. At the end all are frozen out of its sight."""
    global _readers
    with _lock:
        _readers += 1
        gc.disable()
    try:
        yield
    finally:
        with _lock:
            _readers -= 1
            if not _readers:
                # Before the collector may run again: it would begin with everything that was read.
                gc.freeze()
                gc.enable()
