"""Which reviews are judged on a thread beside the event loop: those that nobody knows to be quick.

Whoever writes a claim decides how long it takes to be judged: within its bounds, up to seconds. A review of a claim, or of what
leads to claims, is judged aside until its like has been quick on the same cluster, and a very large one always; one at a time,
in the order in which they came. Everything else, and the likes of what was quick, is judged at once, and readiness is answered.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from time import thread_time
from typing import Any, Final, TypeVar

import msgspec

from webhook.model.review import Review
from webhook.model.tolerant import mapping, sequence

_Result = TypeVar("_Result")

#: CPU of a review that is judged at once next time: that of some hundred ordinary ones.
QUICK_SECONDS: Final = 0.02
#: A larger body takes long to be read alone.
LARGE_BYTES: Final = 256 * 1024
#: Sorts of reviews that are known to be quick, before all are forgotten.
_KEPT: Final = 4096

_OWN: Final = "fallgate.dev/"
_CLAIMS: Final = frozenset({"ResourceClaim", "ResourceClaimTemplate", "DeviceClass"})
#: What of a pod's spec, beside its containers' resources, decides how long its claims take.
_OF_A_POD: Final = ("resourceClaims", "nodeName", "nodeSelector", "affinity", "tolerations", "schedulerName")

_write = msgspec.json.Encoder().encode


def sort_of(review: Review, raw: bytes) -> Hashable:
    """Equal for reviews that take the same to be judged, on one cluster under one set of policies; None for those that lead
    to no claim, and are quick. `raw` is what the review was read from."""
    body, before = review.object, review.old_object
    if review.kind == "Pod":
        spec = mapping(mapping(body).get("spec"))
        if not spec.get("resourceClaims"):
            return None
        containers = (*sequence(spec.get("initContainers")), *sequence(spec.get("containers")))
        asked = [mapping(container).get("resources") for container in containers]
        decides: Any = [[spec.get(name) for name in _OF_A_POD], asked]
    elif review.kind in _CLAIMS or b'"resourceClaims"' in raw:
        decides = [mapping(body).get("spec"), mapping(before).get("spec")]
    else:
        return None
    return review.kind, review.version, review.namespace, _write([decides, _declared(body), _declared(before)])


def _declared(body: object) -> dict[str, Any]:
    """Annotations of ours: declarations may be CEL."""
    annotations = mapping(mapping(mapping(body).get("metadata")).get("annotations"))
    return {name: value for name, value in annotations.items() if name.startswith(_OWN)}


class Quick:
    """The sorts of reviews that are known to be quick on what they were judged by."""

    def __init__(self) -> None:
        self._on: tuple[object, ...] = ()
        self._sorts: set[Hashable] = set()

    def knows(self, sort: Hashable, on: tuple[object, ...]) -> bool:
        """Whether reviews of that sort have been quick on these snapshots. With others nothing is known any more."""
        if len(on) != len(self._on) or any(one is not other for one, other in zip(on, self._on, strict=True)):
            self._on = on
            self._sorts.clear()
        return sort in self._sorts

    def learn(self, sort: Hashable, on: tuple[object, ...], seconds: float) -> None:
        """Note how long a review took that was judged to the end."""
        if seconds < QUICK_SECONDS and not self.knows(sort, on):
            if len(self._sorts) >= _KEPT:
                self._sorts.clear()
            self._sorts.add(sort)


class Aside:
    """The thread beside the event loop, and the queue for it."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()

    async def __call__(self, judge: Callable[[], _Result], seconds: float) -> tuple[_Result, float] | None:
        """What `judge` gives or raises, and the seconds of CPU that it took; None when its turn has not come in `seconds`."""
        try:
            await asyncio.wait_for(self._turn.acquire(), max(seconds, 0.0))
        except TimeoutError:
            return None
        try:
            return await asyncio.to_thread(_timed, judge)
        finally:
            self._turn.release()


def _timed(judge: Callable[[], _Result]) -> tuple[_Result, float]:
    started = thread_time()
    result = judge()
    return result, thread_time() - started
