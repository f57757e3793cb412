"""Connections that are slow, broken, many, or up while the server drains."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.server.serving import FixedDecider, Parts, Served, review_body, serving
from webhook.model.finding import Decision
from webhook.model.meta import ObjectRef
from webhook.settings import HttpSettings

READ_SECONDS = 0.25
BODY = json.dumps(review_body()).encode()
HEAD = b"POST /validate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n" % len(BODY)
CALL = HEAD + b"\r\n" + BODY
HALF = CALL[:-10]
TOO_SLOW = "the request was not complete within 0.25 seconds"


@pytest.fixture
async def served(certificates: Path) -> AsyncIterator[Served]:
    async with serving(certificates, Parts(http=HttpSettings(read_seconds=READ_SECONDS, max_in_flight=2))) as up:
        yield up


async def read_answer(reader: asyncio.StreamReader) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of one answer."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
    return int(head[0].split()[1]), headers, await reader.readexactly(int(headers["content-length"]))


async def test_half_a_body_is_timed_out(served: Served) -> None:
    reader, writer = await served.connect()
    writer.write(HALF)
    status, headers, body = await read_answer(reader)
    assert (status, headers["connection"], json.loads(body)["message"]) == (408, "close", TOO_SLOW)
    assert await reader.read() == b""
    assert served.parts.recorder.refusals == ["read-timeout"]
    assert served.parts.decider.asked == []
    writer.close()


async def test_half_the_headers_are_timed_out(served: Served) -> None:
    reader, writer = await served.connect()
    writer.write(HEAD[:30])
    status, headers, body = await read_answer(reader)
    assert (status, headers["connection"], json.loads(body)["message"]) == (408, "close", TOO_SLOW)
    assert await reader.read() == b""
    writer.close()


async def test_second_request_is_timed_out_too(served: Served) -> None:
    reader, writer = await served.connect()
    writer.write(CALL)
    assert (await read_answer(reader))[0] == 200
    writer.write(HALF)
    assert (await read_answer(reader))[0] == 408
    writer.write(b"x")
    assert await reader.read() == b""
    writer.close()


async def test_trickling_does_not_extend_the_time(served: Served) -> None:
    reader, writer = await served.connect()
    answer = asyncio.create_task(read_answer(reader))
    for byte in HALF:
        if answer.done():
            break
        writer.write(bytes([byte]))
        await asyncio.sleep(READ_SECONDS / 20)
    assert (await answer)[0] == 408
    writer.close()


async def test_connection_that_sends_nothing_is_closed(served: Served) -> None:
    reader, writer = await served.connect()
    assert await asyncio.wait_for(reader.read(), 5) == b""
    assert served.parts.recorder.refusals == ["read-timeout"]
    writer.close()


async def test_handshake_that_never_comes_is_cut(served: Served) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    assert await asyncio.wait_for(reader.read(), 5) == b""
    writer.close()


async def test_junk_between_requests_does_not_keep_a_connection(served: Served) -> None:
    reader, writer = await served.connect()
    writer.write(CALL)
    await read_answer(reader)
    writer.write(b"\r\n")
    assert await asyncio.wait_for(reader.read(), 5) == b""
    writer.close()


async def test_idle_connection_outlives_the_read_time(served: Served) -> None:
    reader, writer = await served.connect()
    for _ in range(2):
        writer.write(CALL)
        assert (await read_answer(reader))[0] == 200
        await asyncio.sleep(READ_SECONDS * 2)
    assert served.parts.recorder.refusals == []
    writer.close()


async def test_idle_connection_is_kept_longer_than_the_api_server_keeps_it(served: Served) -> None:
    assert served.listener.config.timeout_keep_alive > 90


async def test_broken_http(served: Served) -> None:
    reader, writer = await served.connect()
    writer.write(b"what?\r\n\r\n")
    status, headers, body = await read_answer(reader)
    assert (status, headers["connection"]) == (400, "close")
    assert json.loads(body)["message"] == "Invalid HTTP request received."
    assert await reader.read() == b""
    assert served.parts.recorder.refusals == ["http"]
    writer.close()


async def test_pipelined_calls_are_answered_in_order(certificates: Path) -> None:
    async with serving(certificates) as served:
        await pipelined(served)


async def pipelined(served: Served) -> None:
    reader, writer = await served.connect()
    writer.write(CALL + b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n" + CALL)
    answers = [await read_answer(reader) for _ in range(3)]
    assert [status for status, _, _ in answers] == [200, 200, 200]
    assert answers[1][2] == b"ok"
    assert len(served.parts.decider.asked) == 2
    writer.close()


async def test_huge_body_is_refused_before_it_is_sent(served: Served) -> None:
    reader, writer = await served.connect()
    writer.write(HEAD.replace(b"Content-Length: ", b"Content-Length: 99999") + b"\r\n")
    status, headers, _ = await read_answer(reader)
    assert (status, headers["connection"]) == (413, "close")
    writer.close()


async def test_time_allowed_begins_with_the_headers(served: Served) -> None:
    reader, writer = await served.connect()
    call = CALL.replace(b"/validate", b"/validate?timeout=100ms")
    writer.write(call[:-10])
    await asyncio.sleep(0.15)
    writer.write(call[-10:])
    assert (await read_answer(reader))[0] == 200
    assert served.parts.recorder.failures == ["deadline"]
    writer.close()


async def test_expect_continue(served: Served) -> None:
    reader, writer = await served.connect()
    writer.write(HEAD + b"Expect: 100-continue\r\n\r\n")
    assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    writer.write(BODY)
    assert (await read_answer(reader))[0] == 200
    writer.close()


async def test_refused_call_is_not_told_to_continue(served: Served) -> None:
    reader, writer = await served.connect()
    writer.write(HEAD.replace(b"/json", b"/xml") + b"Expect: 100-continue\r\n\r\n")
    assert (await read_answer(reader))[0] == 415
    writer.close()


async def test_client_that_leaves_in_the_middle(served: Served) -> None:
    _, writer = await served.connect()
    writer.write(HALF)
    await writer.drain()
    writer.close()
    await writer.wait_closed()
    assert (await served.validate()).status_code == 200
    assert len(served.parts.decider.asked) == 1
    assert served.parts.recorder.failures == []
    assert served.parts.event_lines() == []


async def test_overload(served: Served) -> None:
    slow = [await served.connect() for _ in range(2)]
    for _, writer in slow:
        writer.write(HALF)
    await until(lambda: served.listener.in_flight == 2)

    answer = await served.validate()
    assert answer.status_code == 429
    assert answer.headers["retry-after"] == "1"
    assert answer.json()["message"] == "more than 2 calls are being answered; call again"
    assert answer.json()["reason"] == "TooManyRequests"
    assert served.parts.recorder.refusals == ["overloaded"]
    assert (await served.client.get("/livez")).status_code == 200

    for reader, writer in slow:
        writer.write(CALL[-10:])
        assert (await read_answer(reader))[0] == 200
        writer.close()
    assert (await served.validate()).status_code == 200


async def test_answers_while_draining_close_the_connection(served: Served) -> None:
    idle_reader, idle_writer = await served.connect()
    idle_writer.write(CALL)
    assert "connection" not in (await read_answer(idle_reader))[1]
    half_reader, half_writer = await served.connect()
    half_writer.write(HALF)
    await until(lambda: served.listener.in_flight == 1)

    served.listener.drain()

    half_writer.write(CALL[-10:])
    idle_writer.write(CALL)
    new_reader, new_writer = await served.connect()
    new_writer.write(CALL)
    for reader, writer in ((half_reader, half_writer), (idle_reader, idle_writer), (new_reader, new_writer)):
        status, headers, _ = await read_answer(reader)
        assert (status, headers["connection"]) == (200, "close")
        assert await reader.read() == b""
        writer.close()


async def test_calls_being_read_at_the_end_are_answered(certificates: Path) -> None:
    parts = Parts()
    async with serving(certificates, parts) as served:
        connections = [await served.connect() for _ in range(2)]
        connections[0][1].write(HALF)
        connections[1][1].write(HEAD[:30])
        await until(lambda: served.listener.in_flight == 1)
        await asyncio.sleep(0.05)
        served.listener.drain()
        served.listener.stop()
        await asyncio.sleep(0.05)
        connections[0][1].write(CALL[-10:])
        connections[1][1].write(CALL[30:])
        for reader, writer in connections:
            status, headers, _ = await read_answer(reader)
            assert (status, headers["connection"]) == (200, "close")
            writer.close()
    assert len(parts.decider.asked) == 2


async def test_call_that_never_ends_does_not_hold_the_end_up(certificates: Path) -> None:
    async with serving(certificates, stop_seconds=1) as served:
        _, writer = await served.connect()
        writer.write(HALF)
        await until(lambda: served.listener.in_flight == 1)
        served.listener.stop()
        await until(lambda: served.listener.in_flight == 0)
        writer.close()
    assert served.parts.decider.asked == []


async def test_old_tls_is_refused(served: Served) -> None:
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
    with pytest.warns(DeprecationWarning, match="TLSv1_1 is deprecated"):
        old.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await asyncio.open_connection("127.0.0.1", served.port, ssl=old)


async def test_only_http_1_1_is_negotiated(served: Served) -> None:
    served.trust.set_alpn_protocols(["h2", "http/1.1"])
    _, writer = await served.connect()
    connection = writer.get_extra_info("ssl_object")
    assert connection.selected_alpn_protocol() == "http/1.1"
    assert connection.version() == "TLSv1.3"
    writer.close()


async def until(condition: object) -> None:
    """Wait for something that happens on the same loop."""
    assert callable(condition)
    async with asyncio.timeout(5):
        while not condition():
            await asyncio.sleep(0.005)


BEHIND = b"content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n"


@pytest.mark.parametrize("start", [b"", BEHIND], ids=["before", "behind the body"])
@pytest.mark.parametrize("piece", [b"x: " + b"a" * 60_000 + b"\r\n", b"a" * 60_000], ids=["many", "one"])
async def test_headers_that_do_not_end_are_cut_off(certificates: Path, piece: bytes, start: bytes) -> None:
    async with serving(certificates, Parts()) as up:
        reader, writer = await up.connect()
        writer.write(b"POST /validate HTTP/1.1\r\nhost: localhost\r\n" + start)
        await writer.drain()
        await asyncio.sleep(0.05)  # what comes together with a body is not counted
        writer.write(b"y: ")
        # Just above the limit: all of it is read, so that the answer arrives instead of a reset.
        for _ in range(5):
            writer.write(piece)
        status, headers, body = await read_answer(reader)
        assert (status, headers["connection"]) == (431, "close")
        assert json.loads(body)["message"] == "the headers are larger than 262144 bytes"
        assert await reader.read() == b""
        assert up.parts.recorder.refusals == ["http"]
        writer.close()


class Slow:
    """A lookup that lasts as long as a test wants, so that a call is being answered for as long."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.go_on = asyncio.Event()
        self.objects: tuple[dict[str, Any], ...] = ()
        self.absent: frozenset[ObjectRef] = frozenset()

    async def __call__(self, refs: Sequence[ObjectRef], seconds: float) -> Slow:
        self.begun.set()
        await self.go_on.wait()
        return self


WANTED = Decision(allowed=True, wanted=(ObjectRef(kind="DeviceClass", namespace="", name="gpu.example.com"),))
ENDLESS = b"x: " + b"a" * 300_000 + b"\r\n"


@pytest.mark.parametrize(
    "second",
    [
        b"POST /validate HTTP/1.1\r\n" + ENDLESS,
        b"POST /validate HTTP/1.1\r\nhost: localhost\r\n" + BEHIND + ENDLESS,
        b"what?\r\n\r\n",
        b"POST /validate HTTP/1.1\r\nhost: localhost\r\n" + BEHIND.replace(b"\r\n1\r\na", b"\r\nz\r\na"),
        HEAD[:30],
        HALF,
    ],
    ids=["headers without end", "trailers without end", "broken", "broken body", "half the headers", "half a body"],
)
@pytest.mark.parametrize("between", [0, 1])
async def test_a_request_that_is_cut_off_takes_no_answer_from_those_before_it(
    certificates: Path, second: bytes, between: int
) -> None:
    slow = Slow()
    parts = Parts(http=HttpSettings(read_seconds=READ_SECONDS), decider=FixedDecider(WANTED), look_up=slow)
    async with serving(certificates, parts) as up:
        reader, writer = await up.connect()
        writer.write(CALL)
        await slow.begun.wait()
        writer.write(CALL * between + second)
        await until(lambda: bool(up.parts.recorder.refusals))
        writer.write(b"more")
        slow.go_on.set()
        answers = [await read_answer(reader) for _ in range(1 + between)]
        assert [status for status, _, _ in answers] == [200] * (1 + between)
        assert answers[-1][1]["connection"] == "close"
        assert await reader.read() == b""
        assert up.parts.recorder.refusals in (["http"], ["read-timeout"])
        writer.close()


async def test_a_request_that_was_answered_early_and_does_not_end_gets_no_second_answer(certificates: Path) -> None:
    async with serving(certificates, Parts(http=HttpSettings(read_seconds=READ_SECONDS))) as up:
        reader, writer = await up.connect()
        writer.write(HALF.replace(b"/json", b"/xml"))
        assert (await read_answer(reader))[0] == 415
        assert await reader.read() == b""
        assert up.parts.recorder.refusals == ["content-type", "read-timeout"]
        writer.close()
