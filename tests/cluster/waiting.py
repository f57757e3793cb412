"""Waiting for something to become true, with a deadline and a readable end."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class TooLate(AssertionError):
    """What was waited for did not happen in time; the text says what, and what was seen last."""


def eventually(what: str, look: Callable[[], T], *, within: float = 30.0, every: float = 0.1) -> T:
    """The first value of `look()` that is true. An AssertionError from it counts as not yet. Raises TooLate."""
    until = time.monotonic() + within
    while True:
        seen: object
        try:
            found = look()
        except AssertionError as error:
            seen = error
        else:
            if found:
                return found
            seen = found
        if time.monotonic() > until:
            raise TooLate(f"{what}: not within {within:g} s; last seen: {seen}")
        time.sleep(every)
