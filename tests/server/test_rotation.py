"""Certificates change while calls are made: none fails, new connections get the new one, old connections stay up."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections import Counter
from pathlib import Path

import pytest
import trustme

from certs.reload import Reloader, from_files
from tests.real_clock import real_now
from tests.server.serving import Parts, review_body, serving_with

ROTATIONS = 6
BODY = json.dumps(review_body()).encode()
CALL = (
    b"POST /validate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(BODY)
    + BODY
)


class Load:
    """Clients that call all the time, some on one connection, some on a new one for every call."""

    def __init__(self, port: int, trust: ssl.SSLContext) -> None:
        self.port, self.trust = port, trust
        self.answers: Counter[str] = Counter()
        self.failures: list[Exception] = []
        self.serial_numbers: set[str] = set()
        self.stopping = False

    async def kept(self) -> None:
        """Calls on one connection."""
        reader, writer = await self._open()
        while not self.stopping:
            await self._call(reader, writer, "kept")
        writer.close()

    async def fresh(self) -> None:
        """A connection per call."""
        while not self.stopping:
            reader, writer = await self._open()
            self.serial_numbers.add(writer.get_extra_info("peercert")["serialNumber"])
            await self._call(reader, writer, "fresh")
            writer.close()

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port, ssl=self.trust, server_hostname="localhost")

    async def _call(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, kind: str) -> None:
        try:
            writer.write(CALL)
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            body = await reader.readexactly(length)
            assert json.loads(body)["response"]["allowed"] is True
            self.answers[kind] += 1
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a failed call
            self.failures.append(error)
        await asyncio.sleep(0.01)


class Files:
    """A certificate and its key in a folder, replaced one after the other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority = trustme.CA()

    def trust(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.authority.configure_trust(context)
        return context

    def issue(self, key_type: trustme.KeyType) -> tuple[bytes, bytes]:
        pair = self.authority.issue_cert("localhost", key_type=key_type)
        return b"".join(blob.bytes() for blob in pair.cert_chain_pems), pair.private_key_pem.bytes()


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


async def test_rotation_under_load(files: Files) -> None:
    certificate, key = files.folder / "tls.crt", files.folder / "tls.key"
    reloader = Reloader(from_files(certificate, key))

    def replace(pair: tuple[bytes, bytes]) -> list[str]:
        outcomes = []
        for path, data in zip((certificate, key), pair, strict=True):
            path.write_bytes(data)
            outcomes.append(reloader.poll(real_now()).kind)
        return outcomes

    replace(files.issue(trustme.KeyType.ECDSA))
    async with serving_with(reloader, files.trust(), Parts()) as served:
        load = Load(served.port, served.trust)
        clients = [asyncio.create_task(load.kept()) for _ in range(12)] + [asyncio.create_task(load.fresh()) for _ in range(3)]
        outcomes = []
        for turn in range(ROTATIONS):
            await asyncio.sleep(0.15)
            outcomes.append(replace(files.issue(trustme.KeyType.RSA if turn % 2 else trustme.KeyType.ECDSA)))
            await asyncio.sleep(0.1)
        connections = served.listener.open_connections
        load.stopping = True
        await asyncio.gather(*clients)
    assert outcomes == [["refused", "swapped"]] * ROTATIONS
    assert load.failures == []
    assert len(load.serial_numbers) == ROTATIONS + 1
    assert connections >= 12
    assert load.answers["kept"] > 12 * ROTATIONS
    assert load.answers["fresh"] > 3 * ROTATIONS
