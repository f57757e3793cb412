"""Reviews that may take long are judged beside the event loop, one at a time; what was quick is judged on it."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.server.serving import FixedSource, Parts, review_body, serving
from webhook.fleet.build import build_fleet
from webhook.model.finding import Decision
from webhook.model.meta import ObjectRef
from webhook.model.review import Review, read_review
from webhook.server.aside import LARGE_BYTES, QUICK_SECONDS, Aside, Quick, sort_of

A, B, C = object(), object(), object()


def claim(count: int = 1, text: str = "true", annotations: dict[str, str] | None = None) -> dict[str, Any]:
    asked = {"deviceClassName": "gpu", "count": count, "selectors": [{"cel": {"expression": text}}]}
    spec = {"devices": {"requests": [{"name": "r", "exactly": asked}]}}
    return {"metadata": {"name": "c", "annotations": annotations or {}}, "spec": spec}


def pod(template: str = "t", **spec: Any) -> dict[str, Any]:
    entries = [{"name": "gpu", "resourceClaimTemplateName": template}] if template else []
    return {"metadata": {"generateName": "p-"}, "spec": {"resourceClaims": entries, "containers": [{"name": "c"}], **spec}}


def sort(body: Any, kind: str = "ResourceClaim", **request: Any) -> Any:
    group = "" if kind == "Pod" else "resource.k8s.io"
    document = review_body(kind={"group": group, "version": "v1", "kind": kind}, object=body, **request)
    return sort_of(read_review(document), json.dumps(document).encode())


def test_what_leads_to_no_claim_has_no_sort() -> None:
    assert sort(pod(""), "Pod") is None
    assert sort({"spec": {}}, "Namespace") is None
    assert sort({"spec": {"template": pod("")}}, "JobSet") == sort({"spec": {"template": pod("")}}, "JobSet")
    assert sort({"metadata": {"annotations": {"a": '"resourceClaims"'}}}, "Deployment") is None
    assert sort({"spec": 7, "metadata": []}, "Pod") is None
    assert sort({"spec": {"resourceClaims": 7, "containers": "x", "initContainers": [7]}}, "Pod") is not None


def test_the_same_but_for_names_is_of_one_sort() -> None:
    assert sort(claim(), name="a", uid="1") == sort(claim(), name="b", uid="2")
    assert sort(pod(volumes=[{"name": "token-abc"}]), "Pod") == sort(pod(volumes=[{"name": "token-def"}]), "Pod")


def test_what_decides_how_long_it_takes_makes_another_sort() -> None:
    claims = [
        sort(claim()),
        sort(claim(count=2)),
        sort(claim(text="1 > 0")),
        sort(claim(annotations={"fallgate.dev/compatible-shapes": "x"})),
        sort(claim(), namespace="other"),
        sort(claim(), oldObject=claim(count=3)),
        sort({"spec": claim()["spec"] | {"constraints": [{"matchAttribute": "a/b"}]}}),
        sort({"spec": {"devices": {}}}),
    ]
    pods = [
        sort(pod(), "Pod"),
        sort(pod("other"), "Pod"),
        sort(pod(nodeSelector={"a": "b"}), "Pod"),
        sort(pod(tolerations=[{"operator": "Exists"}]), "Pod"),
        sort(pod(containers=[{"resources": {"limits": {"nvidia.com/gpu": "1"}}}]), "Pod"),
        sort(pod() | {"metadata": {"annotations": {"fallgate.dev/compatible-when": "true"}}}, "Pod"),
    ]
    jobs = [sort({"spec": {"jobs": [pod("t"), pod(second)]}}, "JobSet") for second in ("u", "v")]
    assert None not in [*claims, *pods, *jobs]
    assert len({*claims, *pods, *jobs}) == len(claims) + len(pods) + len(jobs)


def test_what_was_quick_is_known_on_its_snapshots_only() -> None:
    quick = Quick()
    quick.learn("a", (A, B), QUICK_SECONDS / 2)
    quick.learn("b", (A, B), QUICK_SECONDS)
    assert [quick.knows(name, (A, B)) for name in ("a", "b", "c")] == [True, False, False]
    assert not quick.knows("a", (A, C))
    assert not quick.knows("a", (A, B))


def test_what_is_known_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webhook.server.aside._KEPT", 2)
    quick = Quick()
    for name in ("a", "b", "c"):
        quick.learn(name, (A,), 0.0)
    assert [quick.knows(name, (A,)) for name in ("a", "b", "c")] == [False, False, True]


async def test_one_waits_for_the_other_and_the_loop_for_neither() -> None:
    aside, order = Aside(), list[str]()
    begun, go_on = threading.Event(), threading.Event()

    def slow() -> None:
        order.append("slow begins")
        begun.set()
        assert go_on.wait(10)
        order.append("slow ends")

    first = asyncio.create_task(aside(slow, 10))
    await asyncio.to_thread(begun.wait, 10)
    second = asyncio.create_task(aside(lambda: order.append("other"), 10))
    assert await aside(lambda: order.append("never"), 0.001) is None
    order.append("meanwhile")
    go_on.set()
    await asyncio.gather(first, second)
    assert order == ["slow begins", "meanwhile", "slow ends", "other"]


async def test_what_it_raises_is_raised_and_the_next_has_its_turn() -> None:
    def fail() -> None:
        raise ValueError("no")

    aside = Aside()
    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            await aside(fail, 10)
    turn = await aside(threading.get_ident, 10)
    assert turn is not None
    assert turn[0] != threading.get_ident()
    assert turn[1] >= 0


class Held:
    """Decides on what is called slow when it is told to, on everything else at once; remembers on which thread."""

    def __init__(self, wanted: tuple[ObjectRef, ...] = ()) -> None:
        self.begun, self.go_on = threading.Event(), threading.Event()
        self.wanted = wanted
        self.on_loop: list[bool] = []

    def __call__(self, review: Review, *_args: object, absent: frozenset[ObjectRef] = frozenset(), **_: object) -> Decision:
        self.on_loop.append(threading.current_thread() is threading.main_thread())
        if review.name == "slow":
            self.begun.set()
            assert self.go_on.wait(10)
        return Decision(allowed=True, wanted=() if absent else self.wanted)


def asked(name: str, count: int = 1) -> dict[str, Any]:
    return review_body(name=name, object=claim(count))


async def test_a_slow_review_holds_up_neither_others_nor_readiness(certificates: Path) -> None:
    held = Held()
    async with serving(certificates, Parts(decider=held)) as up:
        plain = {"kind": {"group": "", "version": "v1", "kind": "Pod"}, "name": "p", "object": pod("")}
        slow = asyncio.create_task(up.validate(asked("slow")))
        await asyncio.to_thread(held.begun.wait, 10)
        assert (await up.validate(review_body(**plain))).status_code == 200
        assert (await up.client.get("/readyz")).status_code == 200
        late = (await up.validate(asked("late", 2), "/validate?timeout=1ms")).json()["response"]
        assert not slow.done()
        held.go_on.set()
        assert (await slow).json()["response"]["allowed"] is True
    assert [line["name"] for line in up.parts.decision_lines()] == ["p", "late", "slow"]
    assert late["warnings"] == ["Fallgate got to this object after the time allowed by the caller had passed"]
    assert held.on_loop == [False, True]


async def test_the_like_of_what_was_quick_is_judged_at_once_until_the_cluster_changes(certificates: Path) -> None:
    held = Held()
    fleet = FixedSource(build_fleet([]))
    async with serving(certificates, Parts(decider=held, fleet=fleet)) as up:
        for name in ("a", "b"):
            await up.validate(asked(name))
        await up.validate(asked("c", 2))
        fleet.value = build_fleet([])
        await up.validate(asked("d"))
        await up.validate(b'{"padding":"%s",' % (b"x" * LARGE_BYTES) + json.dumps(asked("e")).encode()[1:])
    assert held.on_loop == [False, True, False, False, False]


async def test_what_was_not_decided_is_not_known_to_be_quick(certificates: Path) -> None:
    held = Held()
    async with serving(certificates, Parts(decider=held)) as up:
        await up.validate(asked("late"), "/validate?timeout=0s")
        await up.validate(asked("now"))
    assert held.on_loop == [False]


async def test_what_something_was_looked_up_for_is_judged_aside_both_times_and_again(certificates: Path) -> None:
    missing = ObjectRef(kind="ResourceClaimTemplate", namespace="a", name="t")

    async def look_up(_refs: object, _seconds: float) -> Any:
        return Found()

    class Found:
        objects: tuple[Any, ...] = ()
        absent = frozenset({missing})

    held = Held(wanted=(missing,))
    async with serving(certificates, Parts(decider=held, look_up=look_up)) as up:
        for name in ("a", "b"):
            await up.validate(asked(name))
    assert held.on_loop == [False] * 4
