"""Years of rotation: at every instant, what each replica serves verifies against every caBundle that can be in force.

The writer rotates, crashes, loses its Lease; people ask for rotations, delete the Secret, break it. Replicas look at the Secret
late, API servers learn of a changed caBundle late. No call may fail at any time.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest

from certs.authority import is_signed_by, read_authorities
from certs.contents import read_contents
from certs.model import read_certificates
from certs.reload import Material, Reloader
from certs.writer import Report
from tests.certs.cluster import NAMES, PLACE, Candidate, MemoryStore, installed

YEARS = 4
#: API servers learn of a change within the time that the writer waits; replicas look at the Secret whenever they look.
LATEST_API_SERVER = 59.0
DAY = timedelta(days=1)


class Crash(Exception):
    """The writer's process is gone."""


@dataclass
class Replica:
    """A replica that looks at the Secret every so often."""

    store: MemoryStore
    every: timedelta
    looks_at: datetime
    leaf: bytes = b""

    def __post_init__(self) -> None:
        self.reloader = Reloader(self._read, NAMES)

    def look(self, now: datetime) -> None:
        if now >= self.looks_at:
            self.looks_at = now + self.every
            if self.reloader.poll(now).kind == "swapped":
                self.leaf = read_contents(self.store.objects.get(PLACE.secret)).leaf.certificate

    def _read(self) -> Material:
        contents = read_contents(self.store.objects.get(PLACE.secret))
        return Material(pair=contents.leaf, trusted=contents.authorities)


@dataclass
class ApiServer:
    """An API server whose caBundle is what it was some seconds ago."""

    store: MemoryStore
    chance: random.Random
    known: list[bytes] = field(default_factory=list)
    coming: list[tuple[datetime, list[bytes]]] = field(default_factory=list)

    def look(self, now: datetime) -> None:
        newest = self.coming[-1][1] if self.coming else self.known
        if self.store.ca_bundles() != newest:
            earliest = self.coming[-1][0] if self.coming else now
            due = max(earliest, now + timedelta(seconds=self.chance.uniform(0, LATEST_API_SERVER)))
            self.coming.append((due, self.store.ca_bundles()))
        while self.coming and self.coming[0][0] <= now:
            self.known = self.coming.pop(0)[1]


class Verified:
    """Whether a certificate verifies against a bundle, remembered: there are few of either."""

    def __init__(self) -> None:
        self._signed: dict[tuple[bytes, bytes], datetime | None] = {}

    def __call__(self, leaf: bytes, bundle: bytes, now: datetime) -> bool:
        key = (leaf, bundle)
        if key not in self._signed:
            certificate = read_certificates(leaf)[0]
            ends = [item.not_after for item in read_authorities(bundle) if is_signed_by(certificate, item)]
            self._signed[key] = min(max(ends), certificate.not_valid_after_utc) if ends else None
        end = self._signed[key]
        return end is not None and now < end


def crashes(chance: random.Random) -> Callable[[str, str], None]:
    def crash(verb: str, path: str) -> None:
        if "leases" not in path and chance.random() < 0.2:
            raise Crash

    return crash


MISHAPS: tuple[Callable[[MemoryStore], object], ...] = (
    lambda store: store.ask("ca"),
    lambda store: store.ask("leaf"),
    lambda store: store.objects.pop(PLACE.secret),
    lambda store: store.change_secret(ca_key=None),
    lambda store: store.change_secret(tls_key=b"torn"),
    lambda store: store.change_secret(ca_crt=b"-----BEGIN CERTIFICATE-----"),
    lambda store: store.change_secret(tls_crt=None, tls_key=None),
)


@pytest.mark.parametrize("seed", range(2))
def test_no_call_fails_at_any_time(seed: int) -> None:
    chance = random.Random(seed)
    store = installed()
    candidates = [Candidate(store, name=f"pod-{index}") for index in range(2)]
    now = candidates[0].now
    candidates[0].round()
    # The third looks once in three weeks: a node that was cut off, and serves its old certificate on.
    replicas = [Replica(store, timedelta(seconds=every), now) for every in (3, 40, 21 * 86_400)]
    servers = [ApiServer(store, chance), ApiServer(store, chance)]
    for server in servers:
        server.known = store.ca_bundles()
    for replica in replicas:
        replica.look(now)
    verified, end = Verified(), now + YEARS * 365 * DAY
    changed, version, checks, leaves = now, store.version, 0, set[bytes]()
    store.before = store.after = crashes(chance)
    while now < end:
        quiet = now - changed > timedelta(minutes=5)
        if quiet and chance.random() < 0.02 and PLACE.secret in store.objects:
            chance.choice(MISHAPS)(store)
        now += timedelta(seconds=chance.uniform(20_000, 90_000) if quiet else chance.uniform(1, 15))
        for candidate in candidates:
            candidate.now = now
            try:
                report: Report = candidate.writer.round()
                if report.done or report.waiting:
                    changed = now
            except Crash:
                changed = now
        for replica in replicas:
            replica.look(now)
            leaves.add(replica.leaf)
        for server in servers:
            server.look(now)
            if server.coming:
                changed = now
            for replica in replicas:
                for bundle in server.known:
                    checks += 1
                    assert verified(replica.leaf, bundle, now), (now, replica.every)
    assert version < store.version
    assert checks > 5_000
    assert len(leaves) > YEARS * 365 / 90
    assert len(store.authorities) <= 8
