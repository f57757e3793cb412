"""Certificates in a Secret: where each replica reads its pair, and the one writer among them that keeps everything right."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from secrets import token_hex

from certs.configurations import Server
from certs.contents import read_contents
from certs.lease import Lease
from certs.model import CertificateError
from certs.names import called_as, service_names
from certs.plan import Schedule
from certs.reload import Material, Source, no_clients
from certs.store import ObjectStore, StoreError
from certs.writer import Place, Writer
from webhook.run.daemon import in_daemon
from webhook.server.ports import Clock, Condition
from webhook.settings import CertificateSettings
from webhook.telemetry import EventLog

#: How often a replica looks at the Secret, and the writer at everything that it keeps right.
LOOK_SECONDS = 3.0
#: How long the end of the process waits for the Lease to be given back.
_RELEASE_SECONDS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """A Secret that replicas share, and the API server that has it."""

    store: ObjectStore
    place: Place


def shared(settings: CertificateSettings, namespace: str, store: ObjectStore) -> Shared:
    """The Secret that the settings name, in our namespace."""
    server = Server(service=settings.service, namespace=namespace, names=settings.names)
    place = Place(namespace=namespace, name=settings.secret, configurations=settings.configurations, server=server)
    return Shared(store=store, place=place)


def expected_names(settings: CertificateSettings, namespace: str) -> tuple[str, ...]:
    """What a certificate must be for: what the API server calls us."""
    return ((called_as(settings.service, namespace),) if settings.service else ()) + settings.names


def from_secret(known: Shared, clients: Callable[[], bytes] = no_clients) -> Source:
    """The pair in the Secret, which its own ca.crt must vouch for."""

    def read() -> Material:
        place = known.place
        secret = known.store.get(place.secret)
        if secret is None:
            raise CertificateError(f"there is no Secret {place.namespace}/{place.name}: the writer among the replicas makes it")
        contents = read_contents(secret)
        if not contents.leaf.certificate and not contents.leaf.key:
            raise CertificateError(f"the Secret {place.namespace}/{place.name} holds no certificate yet: the writer makes one")
        # A pair without authorities is not trusted either: an empty text would say that nobody need vouch for it.
        trusted = contents.authorities or b"none"
        return Material(pair=contents.leaf, trusted=trusted, clients=clients())

    return read


class CertificateWriter:
    """A Writer with somebody who calls it, reported to log, readiness and metrics."""

    def __init__(self, settings: CertificateSettings, known: Shared, *, events: EventLog, clock: Clock) -> None:
        place = known.place
        names = (*service_names(settings.service, place.namespace), *settings.names)
        self._events = events
        self._identity = f"{socket.gethostname()}-{token_hex(4)}"
        lease = Lease(known.store, place.namespace, place.name, self._identity, time.monotonic)
        schedule = Schedule(names=names, settle=timedelta(seconds=settings.settle_seconds))
        self._writer = Writer(known.store, place, schedule, lease, clock)
        self._fault = ""
        self._waiting = ""
        self.writes = False

    def conditions(self) -> Iterable[Condition]:
        """`certificate-writer`: what keeps it from its work. The server is ready all the same: what it serves is good."""
        if self._fault:
            yield Condition(name="certificate-writer", state="degraded", detail=self._fault)
        elif self.writes:
            yield Condition(name="certificate-writer", state="ok", detail=self._waiting or "everything is as it should be")

    async def run(self) -> None:
        """Do what there is to do, every few seconds, for ever. At the end another replica becomes the writer at once."""
        try:
            while True:
                await in_daemon(self.round)
                await asyncio.sleep(LOOK_SECONDS)
        finally:
            self._end()

    def round(self) -> None:
        """One round. Never raises for what it finds."""
        try:
            report = self._writer.round()
        except (StoreError, CertificateError) as error:
            self._fail(str(error))
            return
        except Exception:  # noqa: BLE001 - a fault of ours must not end the process while what is served is good
            self._fail(traceback.format_exc())
            return
        if report.writer and not self.writes:
            self._events.info("writer of certificates", identity=self._identity)
        for done in report.done:
            self._events.info("certificates kept", what=done.what, why=done.why)
        if report.waiting and report.waiting != self._waiting:
            self._events.info("certificates wait", why=report.waiting)
        self.writes, self._waiting, self._fault = report.writer, report.waiting, ""

    def _fail(self, why: str) -> None:
        if why != self._fault:
            self._events.error("certificates cannot be kept", why=why)
        self._fault = why

    def _end(self) -> None:
        release = threading.Thread(target=self._writer.end, daemon=True)
        release.start()
        release.join(_RELEASE_SECONDS)
