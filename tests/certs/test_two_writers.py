"""Two writers at once, which the Lease should prevent: their calls to the API server interleaved in every way chance finds.

Whatever one of them has read, and however long it slept before it wrote: what is served is signed by an authority that has been
in every caBundle for as long as it must, and no caBundle ever lacks an authority that has signed what replicas may still serve.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import cast

import pytest

from certs.authority import Authority, is_signed_by, read_authorities
from certs.lease import Lease
from certs.model import read_certificates
from certs.plan import Schedule
from certs.store import Object
from certs.writer import Writer
from tests.certs.cluster import NAMES, NOW, PLACE, MemoryStore, installed

SETTLE = 60.0
STEPS = 900


class Always:
    """A Lease that everybody holds."""

    held = True

    def hold(self, now: datetime) -> bool:
        return True


@dataclass
class Turns:
    """Lets one thread go on at a time, for one call, as chance decides."""

    chance: random.Random
    waiting: dict[str, threading.Semaphore] = field(default_factory=dict)
    back: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    over: bool = False

    def wait(self, name: str) -> None:
        """Called by a thread before each of its steps."""
        self.back.release()
        self.waiting[name].acquire()
        if self.over:
            raise SystemExit

    def step(self) -> None:
        """Let one of them do a step."""
        self.waiting[self.chance.choice(sorted(self.waiting))].release()
        self.back.acquire()


class Interrupted:
    """A store every call of which waits for its turn."""

    def __init__(self, store: MemoryStore, turn: Callable[[], None]) -> None:
        self.store = store
        self.turn = turn

    def get(self, path: str) -> Object | None:
        self.turn()
        return self.store.get(path)

    def create(self, path: str, body: Object) -> Object:
        self.turn()
        return self.store.create(path, body)

    def update(self, path: str, body: Object) -> Object:
        self.turn()
        return self.store.update(path, body)


class Watch:
    """Looks at every write. `since` is how long each authority has been in every caBundle."""

    def __init__(self, store: MemoryStore) -> None:
        self.store = store
        self.now = NOW
        self.since: dict[str, datetime] = {}
        self.served: list[bytes] = []
        self.leaves = 0

    def __call__(self, verb: str, path: str) -> None:
        everywhere = [{item.fingerprint for item in read_authorities(bundle)} for bundle in self.store.ca_bundles()]
        trusted = set.intersection(*everywhere)
        self.since = {item: self.since.get(item, self.now) for item in trusted}
        leaf = self.store.contents.leaf.certificate
        if leaf and leaf not in self.served:
            self.leaves += 1
            # The one before may be served by whoever has not looked yet.
            self.served = [*self.served[-1:], leaf]
            signer = self.signer(leaf)
            if self.leaves > 1:
                age = (self.now - self.since[signer.fingerprint]).total_seconds()
                assert age >= SETTLE, f"signed by an authority that is trusted for {age} seconds"
        for item in self.served:
            assert self.signer(item).fingerprint in trusted, f"{verb} {path}: a caBundle lacks the signer of what is served"

    def signer(self, leaf: bytes) -> Authority:
        certificate = read_certificates(leaf)[0]
        return next(item for item in self.store.authorities if is_signed_by(certificate, item))


@pytest.mark.parametrize("seed", range(6))
def test_two_writers_at_once(seed: int) -> None:
    store = installed()
    Writer(store, PLACE, Schedule(names=NAMES), cast(Lease, Always()), lambda: NOW).round()
    watch, turns = Watch(store), Turns(random.Random(seed))
    watch("", "")
    faults: list[BaseException] = []

    def work(name: str) -> None:
        gate = Interrupted(store, lambda: turns.wait(name))
        schedule = Schedule(names=NAMES, settle=timedelta(seconds=SETTLE))
        writer = Writer(gate, PLACE, schedule, cast(Lease, Always()), lambda: watch.now)
        try:
            while True:
                turns.wait(name)
                writer.round()
        except SystemExit:
            return
        except BaseException as fault:  # noqa: BLE001 - told by the test
            faults.append(fault)
            turns.back.release()

    threads = []
    for name in ("a", "b"):
        turns.waiting[name] = threading.Semaphore(0)
        threads.append(threading.Thread(target=work, args=(name,), daemon=True))
        threads[-1].start()
        turns.back.acquire()
    store.after = watch
    for step in range(STEPS):
        if step % 150 == 0 and not store.contents.asked:
            store.ask("ca")
        if turns.chance.random() < 0.3:
            watch.now += timedelta(seconds=turns.chance.uniform(0, 20))
        turns.step()
        assert faults == []
    turns.over = True
    for semaphore in turns.waiting.values():
        semaphore.release()
    for thread in threads:
        thread.join(5)
    assert watch.leaves >= 4
    assert len(store.authorities) >= 4
