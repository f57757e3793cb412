"""Reviews that may take long are judged beside the event loop, one at a time; what was quick is judged on it."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.server.serving import Parts, review_body, serving
from webhook.model.finding import Decision
from webhook.model.review import Review
from webhook.server.aside import LARGE_BYTES, QUICK_SECONDS, Aside

CLAIM = b'{"request":{"namespace":"a","object":{"selectors":[{"cel":{"expression":"%s"}}]}}}'
POD = b'{"request":{"namespace":"%s","object":{"spec":{"resourceClaims":[{"resourceClaimTemplateName":"%s"}]}}}}'
PLAIN = b'{"request":{"namespace":"a","object":{"spec":{}}}}'


class Ticks:
    """A clock that goes on by `step` whenever it is read."""

    def __init__(self, step: float) -> None:
        self.step = step
        self.now = 0.0

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def where() -> bool:
    """Whether this is the event loop's thread."""
    return threading.current_thread() is threading.main_thread()


@pytest.mark.parametrize(
    ("body", "on_loop"),
    [
        (PLAIN, True),
        (CLAIM % b"true", False),
        (POD % (b"a", b"t"), False),
        (PLAIN + b" " * LARGE_BYTES, False),
    ],
    ids=["nothing that leads to CEL", "CEL", "a pod with claims", "large"],
)
async def test_where_a_review_is_judged_the_first_time(body: bytes, on_loop: bool) -> None:
    assert await Aside()(body, where) is on_loop


async def test_what_was_quick_is_judged_on_the_loop() -> None:
    aside = Aside(Ticks(QUICK_SECONDS / 2))
    for other in (CLAIM % b"1 > 0", POD % (b"a", b"t"), POD % (b"b", b"t"), POD % (b"a", b"u")):
        assert not await aside(other, where)
        assert await aside(other.replace(b'"object"', b'"uid":"x","object"'), where)


async def test_what_was_slow_stays_aside() -> None:
    aside = Aside(Ticks(QUICK_SECONDS))
    assert [await aside(CLAIM % b"true", where) for _ in range(3)] == [False] * 3


async def test_large_bodies_stay_aside_however_quick_they_were() -> None:
    aside = Aside(Ticks(0.0))
    body = CLAIM % b"true" + b" " * LARGE_BYTES
    assert [await aside(body, where) for _ in range(3)] == [False] * 3


async def test_what_is_known_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webhook.server.aside._KEPT", 2)
    aside = Aside(Ticks(0.0))
    bodies = [CLAIM % text for text in (b"1", b"2", b"3")]
    for body in bodies:
        await aside(body, where)
    assert [await aside(body, where) for body in bodies[::-1]] == [True, False, False]


async def test_the_loop_goes_on_and_one_waits_for_the_other() -> None:
    aside, order = Aside(), list[str]()
    begun, go_on = threading.Event(), threading.Event()

    def slow() -> None:
        order.append("slow begins")
        begun.set()
        assert go_on.wait(10)
        order.append("slow ends")

    first = asyncio.create_task(aside(CLAIM % b"slow", slow))
    await asyncio.to_thread(begun.wait, 10)
    second = asyncio.create_task(aside(CLAIM % b"other", lambda: order.append("other")))
    await aside(PLAIN, lambda: order.append("plain"))
    go_on.set()
    await asyncio.gather(first, second)
    assert order == ["slow begins", "plain", "slow ends", "other"]


@pytest.mark.parametrize("body", [PLAIN, CLAIM % b"true"])
async def test_what_it_raises_is_raised(body: bytes) -> None:
    def fail() -> None:
        raise ValueError("no")

    aside = Aside()
    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            await aside(body, fail)


def odd(text: str) -> bytes:
    return msgspec.json.encode({"expression": text})


@pytest.mark.parametrize("same", [False, True])
async def test_texts_are_compared_to_their_ends(same: bool) -> None:
    """Quotes and backslashes in CEL do not hide what comes behind them."""
    aside = Aside(Ticks(0.0))
    one, other = 'a == "\\"" && slow(1)', 'a == "\\"" && slow(2)'
    await aside(odd(one), where)
    assert await aside(odd(one if same else other), where) is same


class Held:
    """Decides on what is called slow when it is told to, on everything else at once."""

    def __init__(self) -> None:
        self.begun, self.go_on = threading.Event(), threading.Event()

    def __call__(self, review: Review, *_args: object, **_options: object) -> Decision:
        if review.name == "slow":
            self.begun.set()
            assert self.go_on.wait(10)
        return Decision(allowed=True)


def with_cel(name: str, text: str) -> dict[str, Any]:
    requests = [{"exactly": {"selectors": [{"cel": {"expression": text}}]}}]
    return review_body(name=name, object={"spec": {"devices": {"requests": requests}}})


async def test_a_slow_review_holds_up_neither_others_nor_readiness(certificates: Path) -> None:
    held = Held()
    async with serving(certificates, Parts(decider=held)) as up:
        slow = asyncio.create_task(up.validate(with_cel("slow", "true")))
        await asyncio.to_thread(held.begun.wait, 10)
        assert (await up.validate()).status_code == 200
        assert (await up.client.get("/readyz")).status_code == 200
        assert not slow.done()
        held.go_on.set()
        assert (await slow).json()["response"]["allowed"] is True
    assert [line["name"] for line in up.parts.decision_lines()] == ["one-gpu", "slow"]
