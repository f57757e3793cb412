"""The cluster as one immutable fleet that is always new: reflectors put in what they see, one thread makes snapshots of it.

Events that come in together make one snapshot. The last good snapshot is `current`, whatever happens to the connections; its
`as_of` says how old its facts may be.
"""

from __future__ import annotations

import threading
import traceback
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final

from webhook.errors import ApiError, ClusterError
from webhook.fleet.build import build_fleet
from webhook.fleet.changes import Changes, with_changes
from webhook.fleet.fleet import Fleet, seen_until
from webhook.fleet.inventory import Inventory
from webhook.kube.client import Client
from webhook.kube.discovery import Served, Source, discover
from webhook.kube.kinds import FEATURES, Kind, kinds_read
from webhook.kube.memory import Settling
from webhook.kube.reading import Kept
from webhook.kube.reflector import USUAL, Progress, Reflector, Timing
from webhook.kube.said import said_in
from webhook.model.server_version import Server
from webhook.model.workload_kinds import WorkloadKind
from webhook.telemetry import EventLog

#: Seconds that events are gathered for before a snapshot is made: a rollout changes dozens of objects at once.
_GATHERING: Final = 0.01
#: How often the instant up to which facts hold is brought forward when nothing else happens.
_TICK: Final = 1.0
#: How often the server is asked again what it is and serves, and how soon after it could not be asked.
_DISCOVERY: Final = 300.0
_DISCOVERY_AGAIN: Final = 2.0
#: So many failures of a kind that can be done without, and the first snapshot is made without it.
_PATIENCE: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    """What of a cluster is read. `features` are keys of `kinds.FEATURES`.

    `server_version` and `gates` override what the server says of itself. `stale_after`: older facts are reported.
    """

    features: frozenset[str] = frozenset(FEATURES)
    server_version: tuple[int, int] | None = None
    gates: Mapping[str, bool] = field(default_factory=dict)
    stale_after: timedelta = timedelta(minutes=5)
    timing: Timing = USUAL


@dataclass(frozen=True, slots=True)
class _Listed:
    source: Source
    objects: Mapping[Hashable, Any]


@dataclass(frozen=True, slots=True)
class _Changed:
    source: Source
    kept: Kept


@dataclass(frozen=True, slots=True)
class _Withdrawn:
    source: Source


class ClusterState:
    """Reads the cluster in threads of its own from `start` to `stop`.

    `workloads` gives the controllers that policies add to those Fallgate knows; it is asked again and again.
    """

    def __init__(
        self,
        client: Client,
        settings: ClusterSettings,
        *,
        events: EventLog,
        clock: Callable[[], datetime],
        workloads: Callable[[], Iterable[WorkloadKind]] = tuple,
    ) -> None:
        self.client = client
        self.settings = settings
        self.served: Served | None = None
        self.fault = ""
        self._events = events
        self._said = said_in(events)
        self._clock = clock
        self._workloads = workloads
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._inbox: deque[_Listed | _Changed | _Withdrawn | Server] = deque()
        self._reflectors: dict[str, Reflector] = {}
        self._threads: list[threading.Thread] = []
        self._fleet = build_fleet(())
        self._known: dict[str, set[Hashable]] = {}
        self._current: Fleet | None = None
        self._all_begun = False
        self._refused: set[str] = set()
        self._settling = Settling()
        self.snapshots = 0

    # What others ask

    def current(self) -> Fleet | None:
        """The newest snapshot; None before every required kind was listed."""
        return self._current

    @property
    def progress(self) -> tuple[tuple[Source, Progress], ...]:
        """How each kind is doing."""
        return tuple((reflector.source, reflector.progress) for reflector in tuple(self._reflectors.values()))

    def source_of(self, kind: str, api_version: str = "") -> Source | None:
        """Where the objects of a kind are, as far as they are read; `api_version` tells kinds of one name apart."""
        group = api_version.rpartition("/")[0]
        for reflector in tuple(self._reflectors.values()):
            found = reflector.source
            if found.kind.kind == kind and (not api_version or found.kind.group == group):
                return found
        return None

    # The life of the threads

    def start(self) -> None:
        """Begin to read. Returns at once."""
        for name, run in (("snapshots", self._make_snapshots), ("discovery", self._keep_discovering)):
            self._begin(name, run)

    def stop(self) -> None:
        """Ask all threads to end."""
        self._stop.set()
        self._wake.set()
        for reflector in tuple(self._reflectors.values()):
            reflector.stop()

    def join(self, seconds: float) -> None:
        """Wait for the threads to end, after `stop`."""
        for thread in tuple(self._threads):
            thread.join(seconds)

    def _begin(self, name: str, run: Callable[[], None]) -> None:
        # Daemons: one that waits for a silent server must not hold up the end of the process.
        thread = threading.Thread(target=run, name=f"cluster {name}", daemon=True)
        self._threads.append(thread)
        thread.start()

    # What is where

    def _keep_discovering(self) -> None:
        asked: tuple[Kind, ...] = ()
        rest = 0.0
        while not self._stop.is_set():
            kinds = kinds_read(self.settings.features, self._workloads())
            if rest <= 0 or kinds != asked:
                rest = self._discover(kinds)
                asked = kinds
            self._stop.wait(_TICK)
            rest -= _TICK

    def _discover(self, kinds: tuple[Kind, ...]) -> float:
        """Find the kinds, begin to read those that are new. Gives in how many seconds to ask again."""
        try:
            served = discover(self.client, kinds)
        except Exception as fault:  # noqa: BLE001 - also after a fault of ours it is asked again: nobody else does
            why = str(fault) if isinstance(fault, ClusterError) else f"{type(fault).__name__}: {fault}"
            if why != self.fault:
                self._events.error("cluster cannot be asked", why=why)
            self.fault = why
            asked = fault.retry_after if isinstance(fault, ClusterError) else 0.0
            return max(_DISCOVERY_AGAIN, min(asked, self.settings.timing.longest_asked))
        lacking = [kind.kind for kind in served.missing if kind.required]
        self.fault = f"the API server ({served.git_version}) does not serve {', '.join(lacking)}" if lacking else ""
        if self.served is None or self.served.git_version != served.git_version:
            versions = ", ".join(served.resource_versions) or "none"
            self._events.info("cluster found", server=self.client.where, version=served.git_version, resource_versions=versions)
        self.served = served
        self._put(Server(version=self.settings.server_version or served.version, gates=dict(self.settings.gates)))
        for source in served.sources:
            self._reflect(source)
        self._all_begun = True
        return _DISCOVERY_AGAIN if lacking else _DISCOVERY

    def _reflect(self, source: Source) -> None:
        old = self._reflectors.get(source.name)
        if old is not None:
            if old.source == source:
                return
            # Another version of the API: what is seen there replaces what was seen here.
            old.stop()
        reflector = Reflector(
            client=self.client,
            source=source,
            sink=self,
            clock=self._clock,
            timing=self.settings.timing,
            report=self._said.report,
            ignoring=self._said.ignoring,
        )
        self._reflectors[source.name] = reflector
        if self._stop.is_set():
            return
        self._begin(source.name, reflector.run)

    # What reflectors see

    def listed(self, source: Source, objects: Mapping[Hashable, Any]) -> None:
        """All objects of a kind."""
        self._refused.discard(source.name)
        self._events.info("listed", kind=source.name, kept=len(objects), version=source.api_version)
        self._put(_Listed(source, objects))

    def changed(self, source: Source, kept: Kept) -> None:
        """One object."""
        self._put(_Changed(source, kept))

    def refused(self, source: Source, fault: ApiError) -> None:
        """A kind that we may not see, or that is not served any more: it is as if it had never been looked at.

        Required kinds are kept: they grow old, and old facts never deny.
        """
        if source.name not in self._refused:
            self._refused.add(source.name)
            self._events.warning("not readable", kind=source.name, why=str(fault))
        if not source.kind.required:
            self._put(_Withdrawn(source))

    def _put(self, item: _Listed | _Changed | _Withdrawn | Server) -> None:
        self._inbox.append(item)
        self._wake.set()

    # Snapshots

    def _make_snapshots(self) -> None:
        while not self._stop.is_set():
            if self._wake.wait(_TICK):
                self._stop.wait(_GATHERING)
                self._wake.clear()
            try:
                self._take()
                self._publish()
            except Exception:  # noqa: BLE001 - a fault of ours: what was given out stays, and everything is read anew
                self._events.error("snapshot failed", error=traceback.format_exc())
                self._begin_anew()

    def _begin_anew(self) -> None:
        self._inbox.clear()
        self._known.clear()
        self._fleet = build_fleet((), server=self._fleet.server)
        for reflector in tuple(self._reflectors.values()):
            reflector.list_again()
        self._stop.wait(_DISCOVERY_AGAIN)

    def _take(self) -> None:
        changes: dict[str, Any] = {}
        observed = set(self._fleet.observed)
        while self._inbox:
            item = self._inbox.popleft()
            if isinstance(item, Server):
                self._of_server(item)
                continue
            kind, known = item.source.kind, self._known.setdefault(item.source.name, set())
            part = changes.setdefault(kind.part, {})
            if isinstance(item, _Changed):
                part[item.kept.key] = item.kept.value
                self._settling.took()
                if item.kept.value is None:
                    known.discard(item.kept.key)
                else:
                    known.add(item.kept.key)
                continue
            objects = item.objects if isinstance(item, _Listed) else {}
            part.update(dict.fromkeys(known - objects.keys()))
            part.update(objects)
            self._known[item.source.name] = set(objects)
            if isinstance(item, _Listed):
                observed.add(kind.kind)
            else:
                observed.discard(kind.kind)
        if changes:
            self._fleet = with_changes(self._fleet, Changes(**changes))
        if observed != self._fleet.observed:
            self._fleet = replace(self._fleet, observed=frozenset(observed))

    def _of_server(self, server: Server) -> None:
        if server != self._fleet.server:
            old = self._fleet.inventory
            inventory = Inventory(old.pools, old.classes, server)
            holdings = self._fleet.holdings.changed((), (), inventory)
            self._fleet = replace(self._fleet, server=server, inventory=inventory, holdings=holdings)

    def _publish(self) -> None:
        if not self._complete:
            return
        as_of = self._as_of()
        if as_of is not None and (self._fleet.as_of is None or abs(as_of - self._fleet.as_of) >= _SECOND):
            self._fleet = seen_until(self._fleet, as_of)
        if self._current is not self._fleet:
            first = self._current is None
            self._current = self._fleet
            self.snapshots += 1
            if first:
                self._events.info("cluster read", nodes=len(self._fleet.nodes.names), pools=len(self._fleet.inventory.pools))

    @property
    def _complete(self) -> bool:
        """Whether everything was listed once: what is needed, and what is wanted as far as it can be had."""
        if self._current is not None:
            return True
        needed = {kind.kind for kind in kinds_read(())}
        return (
            self._all_begun
            and needed <= self._fleet.observed
            and all(
                source.kind.kind in self._fleet.observed or progress.state == "refused" or progress.errors >= _PATIENCE
                for source, progress in self.progress
                if not source.kind.required
            )
        )

    def _as_of(self) -> datetime | None:
        """Up to when everything that counts was seen. A kind that is not known counts for nothing."""
        heard = [progress.heard for source, progress in self.progress if source.kind.kind in self._fleet.observed]
        return min((instant for instant in heard if instant is not None), default=None)


_SECOND: Final = timedelta(seconds=1)
