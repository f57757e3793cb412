"""Single objects, asked for live: what was created a moment ago and no watch has brought yet."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import monotonic
from typing import Any, Final

from webhook.errors import ApiError, ClusterError
from webhook.kube.client import JSON, METADATA, Client
from webhook.kube.cluster_state import ClusterState
from webhook.kube.discovery import Source
from webhook.kube.stripping import stripped
from webhook.model.meta import ObjectRef
from webhook.model.tolerant import mapping, text

#: So many are asked for at once; what comes on top is not asked for, so that a flood of calls does not become one of requests.
_AT_ONCE: Final = 16
#: No object names more than a few that are not known.
_MOST: Final = 8
_NOT_FOUND: Final = 404


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveAnswer:
    """What the API server said: objects that are there, and references of which it has no object."""

    objects: tuple[dict[str, Any], ...] = ()
    absent: frozenset[ObjectRef] = frozenset()


class Lookups:
    """Asks for objects of the kinds that a ClusterState reads."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="lookup")
        self._running = 0

    async def __call__(self, refs: Sequence[ObjectRef], seconds: float) -> LiveAnswer:
        """Look up each of `refs` once, all together within `seconds`. What is not answered in time is not in the answer."""
        loop = asyncio.get_running_loop()
        until = monotonic() + seconds
        asked: list[asyncio.Future[dict[str, Any] | None]] = []
        about: dict[asyncio.Future[dict[str, Any] | None], ObjectRef] = {}
        impossible = frozenset(ref for ref in refs[:_MOST] if not _can_be(ref))
        for ref in refs[:_MOST]:
            if ref in impossible:
                continue
            source = self._state.source_of(ref.kind, ref.api_version)
            if source is None or self._running >= _AT_ONCE:
                continue
            self._running += 1
            future = loop.run_in_executor(self._pool, _ask, self._state.client, source, ref, until)
            future.add_done_callback(self._ended)
            about[future] = ref
            asked.append(future)
        if not asked:
            return LiveAnswer(absent=impossible)
        done, _ = await asyncio.wait(asked, timeout=seconds)
        answers = [(about[future], future.result()) for future in asked if future in done and future.exception() is None]
        return LiveAnswer(
            objects=tuple(found for _, found in answers if found is not None),
            absent=impossible | frozenset(ref for ref, found in answers if found is None),
        )

    def close(self) -> None:
        """Begin no more."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _ended(self, future: asyncio.Future[dict[str, Any] | None]) -> None:
        self._running -= 1
        if not future.cancelled():
            # What went wrong is no news: the decision stands without it. Asked for here, so that it is not complained about.
            future.exception()


def _can_be(ref: ObjectRef) -> bool:
    """Whether an object can be called so. Names are asked for before the API server has validated them.

    What is no segment of a path (k8s.io/apimachinery, IsValidPathSegmentName) would be another path: that of an object, for
    instance, which the author of the name may not see.
    """
    return ref.name != "" and not any(part in (".", "..") or "/" in part or "%" in part for part in (ref.name, ref.namespace))


def _ask(client: Client, source: Source, ref: ObjectRef, until: float) -> dict[str, Any] | None:
    """The object, None when there is no such one. Raises ClusterError when that is not known."""
    left = until - monotonic()
    if left <= 0:
        raise ClusterError("too late")
    accept = f"{METADATA},{JSON}" if source.kind.metadata_only else JSON
    try:
        raw = client.get(source.path_of(ref.namespace, ref.name), accept=accept, seconds=left, connect_seconds=left)
    except ApiError as fault:
        if fault.status == _NOT_FOUND:
            return None
        raise
    meta = mapping(raw.get("metadata"))
    if text(meta.get("name")) != ref.name:
        raise ClusterError("the answer is another object")
    if ref.uid and text(meta.get("uid")) != ref.uid:
        return None
    return stripped(raw, source.kind.kind, source.api_version)
