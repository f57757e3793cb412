"""A small API server in memory: objects by path, resourceVersions, conflicts, and failures where a test wants them."""

from __future__ import annotations

import base64
import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from certs.authority import Authority, read_authorities
from certs.configurations import Server, paths
from certs.contents import Contents, read_contents
from certs.lease import Lease
from certs.plan import Schedule
from certs.store import Conflict, Object, StoreError
from certs.writer import Place, Writer

NOW = datetime(2027, 1, 1, tzinfo=UTC)
NAMES = ("fallgate.fallgate-system.svc", "fallgate")
SERVER = Server(service="fallgate", namespace="fallgate-system", names=("hooks.example.com",))
PLACE = Place(namespace="fallgate-system", name="fallgate-certs", configurations="fallgate", server=SERVER)
MUTATING, VALIDATING = paths("fallgate")
LEASE = "/apis/coordination.k8s.io/v1/namespaces/fallgate-system/leases/fallgate-certs"


@dataclass
class MemoryStore:
    """Objects by path. `before` and `after` are told of every write, and may raise."""

    objects: dict[str, Object] = field(default_factory=dict)
    version: int = 0
    writes: list[tuple[str, str]] = field(default_factory=list)
    reads: list[str] = field(default_factory=list)
    before: Callable[[str, str], None] = lambda verb, path: None
    after: Callable[[str, str], None] = lambda verb, path: None
    on_read: Callable[[str], None] = lambda path: None

    def get(self, path: str) -> Object | None:
        self.on_read(path)
        self.reads.append(path)
        return copy.deepcopy(self.objects.get(path))

    def create(self, path: str, body: Object) -> Object:
        full = f"{path}/{body['metadata']['name']}"
        self.before("create", full)
        if full in self.objects:
            raise Conflict(f"{full} exists already")
        return self._store("create", full, body)

    def update(self, path: str, body: Object) -> Object:
        self.before("update", path)
        if path not in self.objects:
            raise StoreError(f"{path} is not there")
        if body["metadata"].get("resourceVersion") != self.objects[path]["metadata"]["resourceVersion"]:
            raise Conflict(f"{path} has changed")
        return self._store("update", path, body)

    def put(self, path: str, body: Object) -> None:
        """Write as somebody else does, whatever is there."""
        self._store("", path, body)

    def _store(self, verb: str, path: str, body: Object) -> Object:
        self.version += 1
        stored = copy.deepcopy(body)
        stored["metadata"]["resourceVersion"] = str(self.version)
        self.objects[path] = stored
        if verb:
            self.writes.append((verb, path))
            self.after(verb, path)
        return copy.deepcopy(stored)

    # What is in it.

    @property
    def contents(self) -> Contents:
        """Our Secret."""
        return read_contents(self.objects.get(PLACE.secret))

    @property
    def authorities(self) -> tuple[Authority, ...]:
        """The authorities of our Secret."""
        return read_authorities(self.contents.authorities)

    def ca_bundles(self) -> list[bytes]:
        """caBundle of our entries."""
        return [
            base64.b64decode(hook["clientConfig"].get("caBundle", ""))
            for path in (MUTATING, VALIDATING)
            for hook in self.objects[path]["webhooks"]
            if hook["name"].startswith("ours")
        ]

    def change_secret(self, **data: bytes | None) -> None:
        """Set keys of our Secret (`tls_crt` for tls.crt), or take them out."""
        secret = copy.deepcopy(self.objects[PLACE.secret])
        for key, value in data.items():
            name = key.replace("_", ".")
            secret["data"].pop(name, None)
            if value is not None:
                secret["data"][name] = base64.b64encode(value).decode()
        self.put(PLACE.secret, secret)

    def ask(self, what: str) -> None:
        """Annotate our Secret."""
        secret = copy.deepcopy(self.objects[PLACE.secret])
        secret["metadata"]["annotations"] = {"fallgate.dev/rotate": what, "team": "a"}
        self.put(PLACE.secret, secret)


def hook(name: str, **client: Any) -> dict[str, Any]:
    """An entry of a webhook configuration."""
    return {"name": name, "clientConfig": client, "failurePolicy": "Ignore", "sideEffects": "None"}


def our_hook(name: str = "ours.fallgate.dev") -> dict[str, Any]:
    return hook(name, service={"name": "fallgate", "namespace": "fallgate-system", "path": "/validate", "port": 443})


def installed(**options: Any) -> MemoryStore:
    """A cluster with our two configurations, nobody's caBundle set, and an entry of somebody else in each."""
    store = MemoryStore(**options)
    for path, kind in ((MUTATING, "MutatingWebhookConfiguration"), (VALIDATING, "ValidatingWebhookConfiguration")):
        foreign = hook("theirs", service={"name": "other", "namespace": "fallgate-system"}, caBundle="dGhlaXJz")
        entries = [our_hook("ours-1.fallgate.dev"), foreign, our_hook("ours-2.fallgate.dev")]
        store.put(path, {"kind": kind, "metadata": {"name": "fallgate", "labels": {"a": "b"}}, "webhooks": entries})
    return store


@dataclass
class Candidate:
    """A replica's writer, with a clock of the test."""

    store: MemoryStore
    name: str = "pod-a"
    schedule: Schedule = field(default_factory=lambda: Schedule(names=NAMES))
    now: datetime = NOW

    def __post_init__(self) -> None:
        lease = Lease(self.store, "fallgate-system", "fallgate-certs", self.name, lambda: (self.now - NOW).total_seconds())
        self.lease = lease
        self.writer = Writer(self.store, PLACE, self.schedule, lease, lambda: self.now)

    def round(self, after: timedelta | float = 0) -> list[str]:
        """One round a while later: what was done."""
        self.now += after if isinstance(after, timedelta) else timedelta(seconds=after)
        self.report = self.writer.round()
        return [done.what for done in self.report.done]

    def rounds(self, seconds: float, every: float = 3) -> list[str]:
        """Rounds for so long: all that was done."""
        return [what for _ in range(int(seconds / every)) for what in self.round(every)]
