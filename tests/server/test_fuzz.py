"""Whatever bytes come in, the answer is an AdmissionReview or a 4xx that says why: no 5xx, no traceback."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path

from tests.server.serving import Parts, review_body, serving
from webhook.engine import decide
from webhook.server.app import Application

ROUNDS = 4000
PIECES = (
    *(b'"', b"{", b"}", b"[", b"]", b",", b":", b"null", b"true", b"-1", b"1e400", b"9" * 20, b"\\", b"\x00", b"\xff", b"\xc3"),
    *(b'"\\ud800"', b'"uid"', b'"object"', b'"kind"', b'{"metadata":{"annotations":{"fallgate.dev/compatible-shapes":"2x"}}}'),
)


def broken(body: bytes, dice: random.Random) -> bytes:
    """`body` with a few bytes replaced, left out, doubled or put in."""
    data = bytearray(body)
    for _ in range(dice.randint(1, 6)):
        at = dice.randrange(len(data) + 1)
        span = dice.choice((0, 0, 1, 1, 5, 40))
        data[at : at + span] = dice.choice((dice.choice(PIECES), dice.randbytes(dice.randint(0, 4)), data[at : at + 20], b""))
    return bytes(data)


async def ask(app: Application, body: bytes, path: str) -> tuple[int, bytes]:
    """One call to the application, without a socket."""
    said: list[dict[str, object]] = []
    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "query_string": b"",
        "headers": [(b"content-type", b"application/json")],
    }

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, object]) -> None:
        said.append(message)

    await app(scope, receive, send)
    return said[0]["status"], said[1]["body"]


async def test_broken_bodies() -> None:
    parts = Parts(decider=decide)
    app, dice = parts.app(), random.Random(20261130)
    good = json.dumps(review_body()).encode()
    seen = dict.fromkeys((200, 400), 0)
    for round_ in range(ROUNDS):
        body = broken(good, dice) if round_ % 50 else dice.randbytes(dice.randint(0, 300))
        status, answer = await ask(app, body, "/validate" if round_ % 2 else "/mutate")
        seen[status] += 1
        assert json.loads(answer)["kind"] == ("AdmissionReview" if status == 200 else "Status")
        assert b"Traceback" not in answer
    assert min(seen.values()) > ROUNDS // 20
    assert parts.recorder.failures == []
    assert parts.event_lines() == []


async def test_broken_http(certificates: Path) -> None:
    dice = random.Random(20261130)
    body = json.dumps(review_body()).encode()
    call = (
        b"POST /validate?timeout=5s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        % len(body)
    )
    async with serving(certificates) as served:
        for _ in range(150):
            reader, writer = await served.connect()
            writer.write(broken(call, dice) + body)
            writer.write(b"\r\n\r\n")
            answer = await first_line(reader)
            assert answer == b"" or b"200" <= answer.split()[1] < b"500", answer
            writer.close()
        assert served.parts.recorder.failures == []
        assert served.parts.event_lines() == []
        assert (await served.validate()).status_code == 200


async def first_line(reader: asyncio.StreamReader) -> bytes:
    """The first line of an answer, nothing when the server waits for more."""
    try:
        async with asyncio.timeout(0.02):
            return await reader.readline()
    except (TimeoutError, ConnectionError):
        return b""
