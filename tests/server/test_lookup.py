"""What a decision has missed is looked up live: once, within the time left, and only when it can be of use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.build import template
from tests.server.serving import Parts, serving
from webhook.fleet.fleet import Fleet
from webhook.model.finding import Decision
from webhook.model.meta import ObjectRef
from webhook.model.review import Review
from webhook.rulekit.policies import PolicySet
from webhook.telemetry import Phase

TEMPLATE = ObjectRef(kind="ResourceClaimTemplate", namespace="team-a", name="one-gpu")
CLASS = ObjectRef(kind="DeviceClass", namespace="", name="gpu.example.com")
DEFERRED = Decision(allowed=True, warnings=("deferred",), wanted=(TEMPLATE, CLASS))


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a lookup answers."""

    objects: tuple[dict[str, Any], ...] = ()
    absent: frozenset[ObjectRef] = frozenset()


@dataclass(slots=True)
class FixedLookup:
    """Answers the same for ever, and remembers what it was asked."""

    said: Said
    asked: list[tuple[tuple[ObjectRef, ...], float]] = field(default_factory=list)

    async def __call__(self, refs: Sequence[ObjectRef], seconds: float) -> Said:
        self.asked.append((tuple(refs), seconds))
        return self.said


@dataclass(slots=True)
class MissingDecider:
    """Defers as long as it neither sees the template nor knows that it is absent; remembers what it was given."""

    given: list[tuple[bool, frozenset[ObjectRef]]] = field(default_factory=list)

    def __call__(
        self,
        review: Review,
        fleet: Fleet,
        policies: PolicySet,
        now: datetime,
        *,
        phase: Phase,
        absent: frozenset[ObjectRef] = frozenset(),
    ) -> Decision:
        there = ("team-a", "one-gpu") in fleet.templates
        self.given.append((there, absent))
        if there:
            return Decision(allowed=True)
        return Decision(allowed=False, code=403, message="there is none") if TEMPLATE in absent else DEFERRED


async def answered(
    certificates: Path, lookup: FixedLookup | None, timeout: str = "10s"
) -> tuple[dict[str, Any], MissingDecider, Parts]:
    """The response to one call, what the decider was asked, and all parts."""
    decider = MissingDecider()
    parts = Parts(decider=decider, look_up=lookup)
    async with serving(certificates, parts) as served:
        answer = await served.validate(path=f"/validate?timeout={timeout}")
        return answer.json()["response"], decider, parts


async def test_what_is_found_is_as_if_it_had_been_there(certificates: Path) -> None:
    lookup = FixedLookup(Said(objects=(template("one-gpu"),), absent=frozenset({CLASS})))
    response, decider, parts = await answered(certificates, lookup)
    assert response["allowed"] is True
    assert "warnings" not in response
    assert decider.given == [(False, frozenset()), (True, frozenset({CLASS}))]
    [(refs, seconds)] = lookup.asked
    assert refs == (TEMPLATE, CLASS)
    assert 0.9 < seconds <= 1.0
    assert parts.recorder.lookups == [(1, 1, 0)]
    assert len(parts.recorder.decisions) == 1


async def test_what_is_not_there_is_known_to_be_absent(certificates: Path) -> None:
    response, decider, _ = await answered(certificates, FixedLookup(Said(absent=frozenset({TEMPLATE}))))
    assert response["allowed"] is False
    assert decider.given == [(False, frozenset()), (False, frozenset({TEMPLATE}))]


async def test_without_an_answer_the_first_decision_stands(certificates: Path) -> None:
    response, decider, parts = await answered(certificates, FixedLookup(Said()))
    assert response["warnings"] == ["deferred"]
    assert len(decider.given) == 1
    assert parts.recorder.lookups == [(0, 0, 2)]


async def test_a_folder_is_all_there_is(certificates: Path) -> None:
    response, decider, parts = await answered(certificates, None)
    assert response["warnings"] == ["deferred"]
    assert len(decider.given) == 1
    assert parts.recorder.lookups == []


@pytest.mark.parametrize(("timeout", "least", "most"), [("1s", 0.3, 0.5), ("30s", 0.9, 1.0)])
async def test_it_takes_half_of_the_time_left_and_a_second_at_most(
    certificates: Path, timeout: str, least: float, most: float
) -> None:
    lookup = FixedLookup(Said())
    await answered(certificates, lookup, timeout)
    [(_, seconds)] = lookup.asked
    assert least < seconds <= most


async def test_without_time_nothing_is_looked_up(certificates: Path) -> None:
    lookup = FixedLookup(Said())
    response, _, _ = await answered(certificates, lookup, "35ms")
    assert response["allowed"] is True
    assert lookup.asked == []
