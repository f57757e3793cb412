"""Which reviews are judged on a thread beside the event loop: those that nobody knows to be quick.

Whoever writes a selector decides how long it takes to be tried on the fleet: within its bounds, up to seconds. A review that
brings CEL, or leads to claims, is judged aside until its like has been quick, and a very large one always; one at a time, in
the order in which they came. Everything else, and the likes of what was quick, is judged at once, and readiness is answered.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from time import perf_counter
from typing import Final, TypeVar

_Result = TypeVar("_Result")

#: A review that took less is judged at once next time: some fifty ordinary ones.
QUICK_SECONDS: Final = 0.02
#: A larger body takes long to be read alone.
LARGE_BYTES: Final = 256 * 1024
#: Sorts of reviews that are known to be quick, before all are forgotten.
_KEPT: Final = 4096

#: A body with neither leads to no CEL. With the first two it is looked at closely.
_TEXTS: Final = (b'"expression"', b'"fallgate.dev/compatible-when"')
_CLAIMS: Final = b'"resourceClaims"'
_NAMESPACE: Final = b'"namespace"'
#: What decides how long it takes: the namespace, texts of CEL, claims that a pod leads to, and what is declared.
_DECIDING: Final = re.compile(
    rb'"(?:namespace|expression|resourceClaimName|resourceClaimTemplateName|fallgate\.dev/compatible-when)"\s*:\s*"((?:[^"\\]|\\.)*+)"'
)


class Aside:
    """Where reviews are judged."""

    def __init__(self, clock: Callable[[], float] = perf_counter) -> None:
        self._clock = clock
        self._quick: set[int] = set()
        self._turn = asyncio.Lock()

    async def __call__(self, body: bytes, judge: Callable[[], _Result]) -> _Result:
        """What `judge` gives or raises for the review in `body`: at once where that is known to be quick, else on a thread."""
        large = len(body) > LARGE_BYTES
        sort = 0 if large else _sort(body)
        if not large and (sort == 0 or sort in self._quick):
            return judge()
        async with self._turn:
            result, seconds = await asyncio.to_thread(self._timed, judge)
        self._learn(sort, seconds)
        return result

    def _timed(self, judge: Callable[[], _Result]) -> tuple[_Result, float]:
        started = self._clock()
        return judge(), self._clock() - started

    def _learn(self, sort: int, seconds: float) -> None:
        if sort and seconds < QUICK_SECONDS:
            if len(self._quick) >= _KEPT:
                self._quick.clear()
            self._quick.add(sort)


def _sort(body: bytes) -> int:
    """Equal for reviews that lead to the same CEL; 0 for those that lead to none."""
    if any(mark in body for mark in _TEXTS):
        return hash(tuple(_DECIDING.findall(body))) or 1
    claims = body.find(_CLAIMS)
    if claims < 0:
        return 0
    # The list of a pod's claims has no list in it, and the review's namespace comes before its object.
    namespace = body.find(_NAMESPACE)
    return hash((body[namespace : body.find(b",", namespace)], body[claims : body.find(b"]", claims)])) or 1
