"""The memory that large bodies may take together."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

from tests.server.serving import FixedDecider, Parts, review_body, serving
from tests.server.test_connection import read_answer, until
from webhook.model.finding import Decision
from webhook.model.meta import ObjectRef
from webhook.server.budget import Budget
from webhook.settings import HttpSettings

MIB = 1024 * 1024
SMALL = json.dumps(review_body()).encode()
HEAD = "POST /validate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
TOO_MANY = "too many large bodies are being answered; call again"


def large(size: int) -> bytes:
    """A review of about that size."""
    metadata = {"name": "one-gpu", "annotations": {"a": "x" * (size - len(SMALL) - 50)}}
    return json.dumps(
        review_body(object={"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": metadata})
    ).encode()


LARGE = large(300_000)
#: So much of it has come, and so much of the room, all but the free bytes, is taken then; another of them has none.
COME, ENOUGH = 250_000, 180_000


def call(body: bytes) -> bytes:
    return f"{HEAD}Content-Length: {len(body)}\r\n\r\n".encode() + body


def parts(mib: float = 0.3, **others: object) -> Parts:
    return Parts(http=HttpSettings(max_bodies_bytes=int(mib * MIB)), **others)


def test_the_first_bytes_of_every_body_are_free() -> None:
    budget = Budget(100, free=10)
    shares = [budget.share() for _ in range(1000)]
    assert all(share.reach(10) for share in shares)
    assert budget.taken == 0


def test_what_is_beyond_them_is_taken_as_it_grows_and_given_back() -> None:
    budget = Budget(100, free=10)
    with budget.share() as first, budget.share() as second:
        assert first.reach(50)
        assert first.reach(30)
        assert budget.taken == 40
        assert second.reach(70)
        assert budget.taken == 100
        assert not first.reach(51)
        assert not second.reach(71)
        assert budget.taken == 100
        second.give_back()
        assert first.reach(110)
    assert budget.taken == 0


def test_asking_for_room_takes_none() -> None:
    budget = Budget(100, free=10)
    with budget.share() as share, budget.share() as other:
        assert share.could_reach(110)
        assert budget.taken == 0
        assert other.reach(30)
        assert share.could_reach(90)
        assert not share.could_reach(91)
        assert share.could_reach(10)
        assert budget.taken == 20


async def test_to_announce_large_bodies_takes_no_room_from_others(certificates: Path) -> None:
    async with serving(certificates, parts()) as served:
        connections = [await served.connect() for _ in range(4)]
        for _, writer in connections:
            writer.write(call(LARGE)[: -len(LARGE)])
        await until(lambda: served.listener.in_flight == 4)
        assert served.parts.budget.taken == 0
        assert (await served.validate(LARGE)).status_code == 200
        for _, writer in connections:
            writer.close()


async def test_a_large_body_too_many_is_refused_before_it_is_read_and_small_ones_are_not(certificates: Path) -> None:
    async with serving(certificates, parts()) as served:
        (first, to_first), (second, to_second) = await served.connect(), await served.connect()
        to_first.write(call(LARGE)[:COME])
        await until(lambda: served.parts.budget.taken > ENOUGH)

        to_second.write(call(LARGE)[:1000])
        status, headers, body = await read_answer(second)
        assert (status, headers["retry-after"], json.loads(body)["message"]) == (429, "1", TOO_MANY)
        assert served.parts.recorder.refusals == ["overloaded"]
        assert (await served.validate()).status_code == 200

        # The rest of it is passed over, and the connection goes on as if nothing had been.
        to_second.write(call(LARGE)[1000:] + call(SMALL))
        assert (await read_answer(second))[0] == 200

        to_first.write(call(LARGE)[COME:])
        assert (await read_answer(first))[0] == 200
        assert served.parts.budget.taken == 0
        to_second.write(call(LARGE))
        assert (await read_answer(second))[0] == 200
        for writer in (to_first, to_second):
            writer.close()


async def test_a_body_that_does_not_say_how_long_it_is_takes_what_it_comes_to(certificates: Path) -> None:
    async with serving(certificates, parts()) as served:
        (first, to_first), (second, to_second) = await served.connect(), await served.connect()
        to_first.write(call(LARGE)[:COME])
        await until(lambda: served.parts.budget.taken > ENOUGH)
        before = served.parts.budget.taken

        to_second.write(f"{HEAD}Transfer-Encoding: chunked\r\n\r\n".encode())
        for start in range(0, len(LARGE), 50_000):
            piece = LARGE[start : start + 50_000]
            to_second.write(b"%x\r\n" % len(piece) + piece + b"\r\n")
        to_second.write(b"0\r\n\r\n" + call(SMALL))
        status, headers, body = await read_answer(second)
        assert (status, headers["retry-after"], json.loads(body)["message"]) == (429, "1", TOO_MANY)
        assert (await read_answer(second))[0] == 200
        assert served.parts.budget.taken == before

        to_first.write(call(LARGE)[COME:])
        assert (await read_answer(first))[0] == 200
        for writer in (to_first, to_second):
            writer.close()


async def test_who_leaves_in_the_middle_gives_back_what_he_had(certificates: Path) -> None:
    async with serving(certificates, parts()) as served:
        _, writer = await served.connect()
        writer.write(call(LARGE)[:COME])
        await until(lambda: served.parts.budget.taken > ENOUGH)
        writer.close()
        await until(lambda: served.parts.budget.taken == 0)


async def test_a_body_that_is_refused_for_its_size_takes_nothing(certificates: Path) -> None:
    http = HttpSettings(max_bodies_bytes=MIB, max_body_bytes=200_000)
    async with serving(certificates, Parts(http=http)) as served:
        reader, writer = await served.connect()
        writer.write(call(LARGE)[:250_000])
        await until(lambda: served.listener.in_flight == 1)
        assert served.parts.budget.taken == 0
        writer.write(call(LARGE)[250_000:])
        assert (await read_answer(reader))[0] == 413
        writer.close()


class Waiting:
    """A lookup that lasts as long as a test wants."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.go_on = asyncio.Event()
        self.objects: tuple[object, ...] = ()
        self.absent: frozenset[ObjectRef] = frozenset()

    async def __call__(self, refs: Sequence[ObjectRef], seconds: float) -> Waiting:
        self.begun.set()
        await self.go_on.wait()
        return self


async def test_the_room_is_kept_while_something_is_looked_up(certificates: Path) -> None:
    wanted = (ObjectRef(kind="DeviceClass", namespace="", name="gpu.example.com"),)
    look_up = Waiting()
    with_lookup = parts(decider=FixedDecider(Decision(allowed=True, wanted=wanted)), look_up=look_up)
    async with serving(certificates, with_lookup) as served:
        first = asyncio.create_task(served.validate(LARGE))
        await look_up.begun.wait()
        assert (await served.validate(LARGE)).status_code == 429
        look_up.go_on.set()
        assert (await first).status_code == 200
        assert served.parts.budget.taken == 0
