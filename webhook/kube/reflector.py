"""One kind of objects, listed and then watched for ever: whatever breaks, it goes on from where it was, or lists again.

Each kind has a thread of its own that waits for its server. Threads, because reading a list of tens of megabytes on the event
loop would hold up every answer in the meantime, and because the client's configuration (token files, exec plugins) blocks too.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from random import Random
from time import monotonic
from typing import Any, Final, Literal, Protocol

import msgspec

from webhook.errors import ApiError, ClusterError
from webhook.kube.client import JSON, METADATA, Client, Stream, asked_to_wait
from webhook.kube.discovery import Source
from webhook.kube.listing import pages
from webhook.kube.memory import reading_much
from webhook.kube.reading import Kept, has_name, read_object
from webhook.model.tolerant import Json, integer, mapping, sequence, text

#: Refusals (403, 404) in a row after which a kind that could be listed counts as withdrawn.
_REFUSALS_BELIEVED: Final = 4
_GONE: Final = 410
#: Watches in a row that delivered no event, after which the resourceVersion is given up and the kind listed again.
_VAIN: Final = 4
#: A watch that ends sooner than after so many seconds, without a word, has not ended in order.
_TOO_SHORT: Final = 1.0

#: For jitter: nothing secret hangs on it, and nobody else's numbers are taken.
_CHANCE: Final = Random()  # noqa: S311

State = Literal["starting", "listing", "watching", "broken", "refused"]


class Sink(Protocol):
    """Who gets to know what a reflector sees. Called from its thread."""

    def listed(self, source: Source, objects: Mapping[Hashable, Any]) -> None:
        """All objects there are."""

    def changed(self, source: Source, kept: Kept) -> None:
        """One is there now as it is given, or (None) is not."""

    def refused(self, source: Source, fault: ApiError) -> None:
        """The server does not let us see this kind, or has it no more. What was seen of it is not known any longer."""


@dataclass(slots=True, kw_only=True)
class Progress:
    """How a reflector is doing. Written by its thread only.

    `heard` is the instant up to which everything the server had has been seen. `detail` says what is wrong.
    """

    state: State = "starting"
    detail: str = ""
    heard: datetime | None = None
    count: int = 0
    lists: int = 0
    errors: int = 0
    events: int = 0
    #: Objects without a name, and events without an object: they were not taken.
    ignored: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Seconds. A server sends bookmarks about once a minute: a connection silent for `silence` is dead.

    `watch` is how long a watch is asked to last; up to twice as long, so that not all end at once. One that has lasted for
    `proven` has shown that all is well again. Pauses grow from the first to the longest; a server that asks for a longer one
    (Retry-After) is given it, up to `longest_asked`.
    """

    watch: int = 240
    silence: float = 150.0
    proven: float = 5.0
    first_pause: float = 0.5
    longest_pause: float = 10.0
    longest_asked: float = 60.0
    refused_pause: float = 30.0


USUAL: Final = Timing()


class _Gone(Exception):
    """The server has forgotten the version we would go on from (410)."""


@dataclass(slots=True, kw_only=True)
class Reflector:
    """Lists and watches one source until `stop`. `run` is for a thread of its own.

    `report` is told what breaks, once as long as it is the same, and with "" that it is mended. `ignoring` is told the first
    time that something cannot be taken. `read` makes of an object what is kept when it is not what a fleet keeps.
    """

    client: Client
    source: Source
    sink: Sink
    clock: Callable[[], datetime]
    timing: Timing = USUAL
    progress: Progress = field(default_factory=Progress)
    report: Callable[[Source, str], None] = lambda source, what: None
    ignoring: Callable[[Source, str], None] = lambda source, what: None
    read: Callable[[Json], Kept] | None = None
    _stop: threading.Event = field(default_factory=threading.Event)
    #: Ends a pause.
    _wake: threading.Event = field(default_factory=threading.Event)
    _version: str = ""
    _failures: int = 0
    _refusals: int = 0
    _anew: bool = False
    _has_forgotten: bool = False
    _vain: int = 0
    _reported: str = ""
    _stream: Stream | None = None

    def stop(self) -> None:
        """Ask the thread to end, from another one."""
        self._stop.set()
        self._wake.set()
        if self._stream is not None:
            self._stream.close()

    def list_again(self) -> None:
        """Ask the thread to list anew, from another one. It does so at once, also when it pauses."""
        self._anew = True
        self._wake.set()
        if self._stream is not None:
            self._stream.close()

    def run(self) -> None:
        """List, watch, and recover, until `stop`."""
        while not self._stop.is_set():
            try:
                if self._anew:
                    # Forgotten, not only listed: should the list fail, the next try lists as well.
                    self._anew, self._version = False, ""
                if not self._version:
                    with reading_much():
                        self._list()
                self._watch()
            except _Gone:
                self._forgotten()
            except ApiError as fault:
                self._answered(fault)
            except ClusterError as fault:
                self._broken(str(fault), forget=False, asked=fault.retry_after)
            except Exception as fault:  # noqa: BLE001 - a fault of ours: what was seen may be incomplete, so all is listed again
                self._broken(f"{type(fault).__name__}: {fault}", forget=True)

    def _answered(self, fault: ApiError) -> None:
        if fault.status not in (403, 404):
            if fault.status == _GONE:
                self._forgotten()
            else:
                self._broken(str(fault), forget=False, asked=fault.retry_after)
            return
        self._refusals += 1
        self.progress.errors += 1
        self.progress.state, self.progress.detail = "refused", str(fault)
        # A server that has just started refuses for a moment what it allows.
        if self._refusals > _REFUSALS_BELIEVED or not self.progress.lists:
            self._version = ""
            self.sink.refused(self.source, fault)
        self._pause(min(self.timing.refused_pause, self.timing.first_pause * 2.0 ** min(self._refusals, 10)))

    def _forgotten(self) -> None:
        """The server has no way to go on from where we were: a live answer, so all is listed at once, if it helps."""
        why = "the server has forgotten where the watch was (410): listing again"
        if self._has_forgotten:
            self._broken(why, forget=True)
            return
        self._has_forgotten = True
        self._version = ""
        self.progress.errors += 1
        self._reported = why
        self.report(self.source, why)
        self._pause(self.timing.first_pause * _CHANCE.random())

    def _broken(self, why: str, *, forget: bool, asked: float = 0.0) -> None:
        if self._stop.is_set() or self._anew:
            return
        self._failures += 1
        self.progress.errors += 1
        if why != self._reported:
            self._reported = why
            self.report(self.source, why)
        self.progress.state, self.progress.detail = "broken", why
        if forget or self._vain >= _VAIN:
            self._version, self._vain = "", 0
        # What merely broke off is taken up at once; the jitter keeps a fleet of replicas from coming back in step.
        longest = min(self.timing.longest_pause, self.timing.first_pause * 2.0 ** min(self._failures - 1, 10))
        own = longest * _CHANCE.uniform(0.5, 1.0)
        self._pause(max(own, _as_asked(asked, self.timing.longest_asked)))

    def _pause(self, seconds: float) -> None:
        self._wake.wait(seconds)
        if not self._stop.is_set():
            self._wake.clear()

    def _list(self) -> None:
        self.progress.state, self.progress.detail, self.progress.count = "listing", "", 0
        asked = self.clock()
        objects: dict[Hashable, Any] = {}
        version = ""
        for page in pages(self.client, self.source):
            if self._stop.is_set():
                raise ClusterError("stopped")
            for raw in sequence(page.get("items")):
                kept = self._read(mapping(raw))
                if not has_name(kept.key):
                    self._ignore("an object of a list has no name")
                elif kept.value is not None:
                    objects[kept.key] = kept.value
                self.progress.count += 1
            version = text(mapping(page.get("metadata")).get("resourceVersion"))
        self.sink.listed(self.source, objects)
        # Only now: whatever breaks before, the list begins anew.
        self._version = version
        self.progress.lists += 1
        self._refusals = 0
        self._seen_until(asked)

    def _watch(self) -> None:
        query: dict[str, str | int] = {
            **self.source.kind.query,
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._version,
            "timeoutSeconds": int(self.timing.watch * _CHANCE.uniform(1.0, 2.0)),
        }
        accept = f"{METADATA},{JSON}" if self.source.kind.metadata_only else JSON
        with self.client.stream(self.source.path, query, accept=accept, silence_seconds=self.timing.silence) as stream:
            self._stream = stream
            self._vain += 1
            self._refusals = 0
            if self._reported:
                self._reported = ""
                self.report(self.source, "")
            self.progress.state, self.progress.detail = "watching", ""
            began, silent = monotonic(), True
            try:
                # Who asked for an end before the stream was there could not close it.
                for line in () if self._stop.is_set() else stream.lines():
                    if self._stop.is_set() or self._anew:
                        return
                    silent = False
                    self._take(line)
            finally:
                self._stream = None
                if monotonic() - began > self.timing.proven:
                    self._all_is_well()
        if silent and not self._stop.is_set() and monotonic() - began < _TOO_SHORT:
            raise ClusterError("the watch ended as soon as it had begun")

    def _take(self, line: bytes) -> None:
        try:
            event = mapping(msgspec.json.decode(line))
        except msgspec.DecodeError as fault:
            raise ClusterError(f"the watch sent what is not JSON: {fault}") from fault
        raw = mapping(event.get("object"))
        match event.get("type"):
            case "ADDED" | "MODIFIED" | "DELETED" as what:
                kept = self._read(raw)
                if not has_name(kept.key):
                    # Nothing of it is believed, nor that the watch has come as far as it says.
                    self._ignore(f"an event {what} has no object with a name")
                    return
                self.sink.changed(self.source, Kept(kept.key, None) if what == "DELETED" else kept)
            case "BOOKMARK":
                pass
            case "ERROR":
                if integer(raw.get("code")) == _GONE or raw.get("reason") == "Expired":
                    raise _Gone
                why = f"the watch ended with an error: {text(raw.get('message'))}"
                raise ClusterError(why, retry_after=asked_to_wait(raw))
            case _:
                return
        self.progress.events += event.get("type") != "BOOKMARK"
        self._version = text(mapping(raw.get("metadata")).get("resourceVersion")) or self._version
        self._all_is_well()
        self._seen_until(self.clock())

    def _ignore(self, what: str) -> None:
        self.progress.ignored += 1
        if self.progress.ignored == 1:
            self.ignoring(self.source, what)

    def _all_is_well(self) -> None:
        self._failures, self._vain, self._has_forgotten = 0, 0, False

    def _read(self, raw: Json) -> Kept:
        if self.read is not None:
            return self.read(raw)
        kind = self.source.kind
        return read_object(raw, kind.part, kind.kind, self.source.api_version)

    def _seen_until(self, instant: datetime) -> None:
        # Also when the clock was put back: an instant that is still to come would let facts look new until then.
        self.progress.heard = instant


def _as_asked(seconds: float, longest: float) -> float:
    """At least as long as the server asks for, but not longer than the longest, with jitter as far as there is room."""
    if seconds > longest:
        return longest * _CHANCE.uniform(0.8, 1.0)
    return min(longest, seconds * _CHANCE.uniform(1.0, 1.25))
