"""Certificates in a Secret, as the process uses them: read by every replica, kept by one, changed while calls are made."""

from __future__ import annotations

import asyncio
import io
import json
import ssl
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from certs.configurations import Server
from certs.contents import read_contents
from certs.issue import issue_authority, issue_leaf
from certs.reload import Reloader
from certs.store import StoreError
from tests.certs.cluster import NOW, PLACE, MemoryStore, installed
from tests.real_clock import real_now
from tests.server.serving import Parts, review_body, serving_with
from webhook.run.certificate import ServedCertificate
from webhook.run.credentials import CertificateWriter, expected_names, from_secret, shared
from webhook.run.daemon import in_daemon
from webhook.server.ports import Condition
from webhook.settings import CertificateSettings
from webhook.telemetry import EventLog, ListRecorder

SETTINGS = CertificateSettings(secret="fallgate-certs", service="fallgate", configurations="fallgate", names=("localhost",))
DAY = timedelta(days=1)
NAME = "fallgate.fallgate-system.svc"


class Replica:
    """What one process has of certificates."""

    def __init__(self, store: MemoryStore, **settings: Any) -> None:
        self.now = NOW
        self.recorder = ListRecorder()
        self.events = io.BytesIO()
        events = EventLog(self.events, lambda: NOW)
        wanted = CertificateSettings(**{field: getattr(SETTINGS, field) for field in SETTINGS.__slots__} | settings)
        known = shared(wanted, "fallgate-system", store)
        self.certificate = ServedCertificate(
            wanted,
            0.5,
            recorder=self.recorder,
            events=events,
            clock=lambda: self.now,
            namespace="fallgate-system",
            known=known,
        )
        self.writer = CertificateWriter(wanted, known, events=events, clock=lambda: self.now)

    def conditions(self) -> list[Condition]:
        return [*self.certificate.conditions(), *self.writer.conditions()]

    def said(self) -> list[tuple[str, str]]:
        lines = [json.loads(line) for line in self.events.getvalue().splitlines()]
        return [(line["event"], str(line.get("why", line.get("subject", "")))) for line in lines]


def test_what_the_settings_come_to() -> None:
    known = shared(SETTINGS, "fallgate-system", installed())
    assert known.place.server == Server(service="fallgate", namespace="fallgate-system", names=("localhost",))
    assert (known.place.secret, known.place.configurations) == (PLACE.secret, "fallgate")
    assert expected_names(SETTINGS, "fallgate-system") == (NAME, "localhost")
    assert expected_names(CertificateSettings(folder=Path("c"), names=("a",)), "ns") == ("a",)


async def test_a_replica_is_ready_when_the_writer_has_made_a_certificate() -> None:
    store = installed()
    replica = Replica(store)
    await replica.certificate.begin()
    assert replica.conditions() == [Condition(name="certificate", state="failed", detail="not loaded yet")]
    replica.certificate.look()
    missing = "there is no Secret fallgate-system/fallgate-certs: the writer among the replicas makes it"
    assert replica.conditions() == [Condition(name="certificate", state="failed", detail=missing)]
    replica.writer.round()
    replica.certificate.look()
    assert replica.conditions() == [
        Condition(name="certificate", state="ok", detail=f"{NAME}, valid until 2027-04-01T00:00:00Z"),
        Condition(name="certificate-writer", state="ok", detail="everything is as it should be"),
    ]
    assert replica.certificate.not_after() == (NOW + 90 * DAY).timestamp()
    assert replica.writer.writes is True
    assert replica.said() == [
        ("certificate not loaded", missing),
        ("writer of certificates", ""),
        ("certificates kept", "there is none"),
        ("certificates kept", "it holds 1 authority now"),
        ("certificates kept", "there is no certificate: it is empty"),
        ("certificate loaded", NAME),
    ]
    assert b"PRIVATE" not in replica.events.getvalue()


def test_an_empty_secret() -> None:
    store = installed()
    store.put(PLACE.secret, {"kind": "Secret", "metadata": {"name": "fallgate-certs"}})
    replica = Replica(store)
    replica.certificate.look()
    assert replica.conditions()[0].detail == (
        "the Secret fallgate-system/fallgate-certs holds no certificate yet: the writer makes one"
    )


def test_another_replica_writes() -> None:
    store = installed()
    first, second = Replica(store), Replica(store)
    first.writer.round()
    second.writer.round()
    second.certificate.look()
    assert [item.name for item in second.conditions()] == ["certificate"]
    assert second.writer.writes is False


@pytest.mark.parametrize("damage", ["deleted", "foreign", "torn"])
def test_what_is_served_stays_whatever_happens_to_the_secret(damage: str) -> None:
    store = installed()
    replica = Replica(store)
    replica.writer.round()
    replica.certificate.look()
    if damage == "deleted":
        del store.objects[PLACE.secret]
        why = "there is no Secret fallgate-system/fallgate-certs: the writer among the replicas makes it"
    elif damage == "foreign":
        theirs = issue_leaf(issue_authority("theirs", now=NOW, valid_for=DAY), [NAME, "localhost"], now=NOW, valid_for=DAY)
        store.change_secret(tls_crt=theirs.certificate, tls_key=theirs.key)
        why = (
            "the certificate was signed by none of the authorities in ca.crt: the API server, which is told to trust those, "
            "would refuse it"
        )
    else:
        store.change_secret(tls_key=None)
        why = "there is no private key: it is empty"
    before = replica.certificate.not_after()
    replica.certificate.look()
    assert replica.conditions()[:2] == [
        Condition(name="certificate", state="ok", detail=f"{NAME}, valid until 2027-04-01T00:00:00Z"),
        Condition(name="certificate-newest", state="degraded", detail=f"the newest pair is not served: {why}"),
    ]
    assert replica.certificate.not_after() == before


def test_not_ready_before_the_end() -> None:
    replica = Replica(installed(), not_ready_before_seconds=60.0)
    replica.writer.round()
    replica.certificate.look()
    replica.now = NOW + 90 * DAY - timedelta(seconds=61)
    assert replica.conditions()[0].state == "ok"
    replica.now += timedelta(seconds=1)
    assert replica.conditions()[0] == Condition(
        name="certificate",
        state="failed",
        detail=f"{NAME}, valid until 2027-04-01T00:00:00Z: less than 60 seconds are left, and there is no newer one",
    )


def test_an_api_server_that_refuses_is_told_once_and_does_not_make_it_unready() -> None:
    store = installed()
    replica = Replica(store)
    replica.writer.round()
    replica.certificate.look()

    def refuse(path: str) -> None:
        raise StoreError("GET leases: 403: forbidden")

    store.on_read = refuse
    replica.writer.round()
    replica.writer.round()
    assert replica.conditions()[-1] == Condition(
        name="certificate-writer", state="degraded", detail="GET leases: 403: forbidden"
    )
    assert replica.said()[-1] == ("certificates cannot be kept", "GET leases: 403: forbidden")
    assert replica.said().count(replica.said()[-1]) == 1
    store.on_read = lambda path: None
    replica.writer.round()
    assert replica.conditions()[-1].state == "ok"


def test_a_fault_of_ours_does_not_end_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    replica = Replica(installed())

    def broken(*_: object) -> None:
        raise ZeroDivisionError("a fault")

    monkeypatch.setattr("certs.writer.plan", broken)
    replica.writer.round()
    (condition,) = replica.writer.conditions()
    assert (condition.name, condition.state) == ("certificate-writer", "degraded")
    assert condition.detail.endswith("ZeroDivisionError: a fault\n")


async def test_the_lease_is_given_back_at_the_end() -> None:
    store = installed()
    replica = Replica(store)
    running = asyncio.create_task(replica.writer.run())
    while not replica.writer.writes:
        await asyncio.sleep(0.01)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    (lease,) = [found for path, found in store.objects.items() if "leases" in path]
    assert lease["spec"]["holderIdentity"] == ""
    other = Replica(store)
    other.writer.round()
    assert other.writer.writes is True


def api_server_trusts(store: MemoryStore) -> ssl.SSLContext:
    """What an API server trusts now, by the caBundle of one entry."""
    return ssl.create_default_context(cadata=store.ca_bundles()[0].decode())


async def test_three_changes_of_the_authority_under_load() -> None:
    store = installed()
    # Far longer than the API server is behind, so that a machine that is busy for a second fails nothing.
    replica = Replica(store, settle_seconds=2.0)
    replica.now = real_now()
    replica.writer.round()
    reloader = Reloader(from_secret(shared(SETTINGS, "fallgate-system", store)), (NAME,))
    assert reloader.poll(real_now()).kind == "swapped"
    body = json.dumps(review_body()).encode()
    call = (
        b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    )
    failures: list[Exception] = []
    answered, serials = 0, set[str]()
    stopping = asyncio.Event()

    async with serving_with(reloader, api_server_trusts(store), Parts()) as served:

        async def calls() -> None:
            nonlocal answered
            while not stopping.is_set():
                trust = api_server_trusts(store)
                await asyncio.sleep(0.1)  # an API server that is a little behind
                try:
                    reader, writer = await asyncio.open_connection(
                        "127.0.0.1", served.port, ssl=trust, server_hostname="localhost"
                    )
                    writer.write(call)
                    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
                    serials.add(writer.get_extra_info("peercert")["serialNumber"])
                    writer.close()
                    answered += 1
                except Exception as error:  # noqa: BLE001 - whatever it is, it is a failed call
                    failures.append(error)

        clients = [asyncio.create_task(calls()) for _ in range(4)]
        for _ in range(3):
            store.ask("ca")
            signer = read_contents(store.objects[PLACE.secret]).leaf.certificate
            async with asyncio.timeout(20):
                while reloader.poll(real_now()).kind != "swapped":
                    replica.now = real_now()
                    replica.writer.round()
                    await asyncio.sleep(0.02)
            assert read_contents(store.objects[PLACE.secret]).leaf.certificate != signer
            await asyncio.sleep(0.2)
        stopping.set()
        await asyncio.gather(*clients)
    assert failures == []
    assert answered > 12
    assert len(serials) == 4
    assert len(store.authorities) == 4


async def test_calls_in_daemon_threads() -> None:
    assert await in_daemon(lambda: 7) == 7

    def fails() -> None:
        raise StoreError("no")

    with pytest.raises(StoreError, match="no"):
        await in_daemon(fails)
    goes_on = threading.Event()
    waiting = asyncio.create_task(in_daemon(lambda: goes_on.wait(5)))
    await asyncio.sleep(0.05)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    goes_on.set()
    await asyncio.sleep(0.05)
