"""From the bytes of an AdmissionReview to the bytes of the answer: read, decide, answer.

There is no I/O in it but one: what was created a moment ago and may matter is looked up, once and within the time left.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Final, Literal, TypeAlias

import msgspec

from webhook.engine.faults import APOLOGY
from webhook.errors import ReviewError
from webhook.fleet.build import with_objects
from webhook.fleet.fleet import Fleet
from webhook.model.finding import Decision
from webhook.model.meta import read_meta
from webhook.model.review import Review, read_review
from webhook.rulekit.policies import PolicySet
from webhook.server.answers import RETRY_SOON, Refused
from webhook.server.aside import LARGE_BYTES, Aside, Quick, sort_of
from webhook.server.decision_record import decision_record
from webhook.server.envelope import decode_review
from webhook.server.ports import Clock, Decider, FleetSource, LiveAnswer, Lookup, PolicySource, Responder
from webhook.telemetry import EventLog, LineLog, Phase, Recorder

_TOO_LATE = "Fallgate got to this object after the time allowed by the caller had passed"

#: Seconds that a lookup may take: part of what is left of the caller's time, and never so long that calls pile up.
_LONGEST_LOOKUP = 1.0
_SHORTEST_LOOKUP = 0.02
_SHARE_FOR_LOOKUP = 0.5

_write_json = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """The functions that decide, and what they are given. `undecided` answers where `decide` could not."""

    decide: Decider
    undecided: Callable[[str], Decision]
    respond: Responder
    fleet: FleetSource
    policies: PolicySource
    clock: Clock
    look_up: Lookup | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One admission call: which of the two, when its headers came in, until when its answer is wanted (perf_counter)."""

    phase: Phase
    received: float
    deadline: float


_Failure: TypeAlias = Literal["deadline", "rule", "decision"]


@dataclass(frozen=True, slots=True)
class _Judged:
    """An answer, with what is counted and logged of it. `failure` says what broke, if something did, `error` how."""

    review: Review
    decision: Decision
    reply: bytes
    failure: _Failure | None
    error: str


_WORDS: Final[dict[_Failure, str]] = {"deadline": "a call was late", "rule": "a rule failed", "decision": "a decision failed"}


@dataclass(frozen=True, slots=True)
class _Case:
    """A call, its body, and what it is decided by: two decisions of one call must not be about two clusters."""

    call: Call
    body: bytes
    fleet: Fleet
    policies: PolicySet

    @property
    def on(self) -> tuple[object, ...]:
        """What says, beside the review, how long it takes to be judged."""
        return self.fleet.inventory, self.fleet.nodes, self.fleet.templates, self.policies


class Judge:
    """Answers reviews. Every answer is counted and logged here, once."""

    def __init__(self, engine: Engine, recorder: Recorder, decisions: LineLog, events: EventLog) -> None:
        self._engine = engine
        self._recorder = recorder
        self._decisions = decisions
        self._events = events
        self._aside = Aside()
        self._quick = Quick()

    async def answer(self, call: Call, body: bytes) -> bytes:
        """The AdmissionReview that answers `body`. Raises Refused when there is none."""
        engine = self._engine
        fleet, policies = engine.fleet.current(), engine.policies.current()
        if fleet is None or policies is None:
            missing = "policies" if policies is None else "fleet"
            raise Refused(f"not ready: no {missing} loaded yet", status=503, why="not-ready", headers=(RETRY_SOON,))
        case = _Case(call, body, fleet, policies)
        judged = await self._first(case)
        if judged.decision.wanted and engine.look_up is not None:
            found = await self._looked_up(call, engine.look_up, judged.decision)
            again = await self._beside(case, found=found) if found is not None else None
            judged = again or judged
        self._note(call, judged, policies)
        return judged.reply

    async def _first(self, case: _Case) -> _Judged:
        """The decision by what is known: at once where that is known to be quick, else beside the event loop."""
        sort = None
        if len(case.body) <= LARGE_BYTES:
            review = read(case.body)
            sort = sort_of(review, case.body)
            if sort is None or self._quick.knows(sort, case.on):
                return self._judged(case, review)
            del review  # it takes up to 25 times the memory of its body: nobody keeps one while others are judged
        return await self._beside(case, sort=sort) or self._judged(case, read(case.body), late=True)

    async def _beside(self, case: _Case, *, found: LiveAnswer | None = None, sort: Hashable = None) -> _Judged | None:
        """The decision, made beside the event loop; None when its turn has not come in time."""
        turn = await self._aside(lambda: self._judged(case, read(case.body), found), case.call.deadline - perf_counter())
        if turn is None:
            return None
        judged, seconds = turn
        # What was not decided, or not to the end, says nothing of how long that takes.
        if sort is not None and judged.failure is None and not judged.decision.wanted:
            self._quick.learn(sort, case.on, seconds)
        return judged

    def _judged(self, case: _Case, review: Review, found: LiveAnswer | None = None, *, late: bool = False) -> _Judged:
        """The decision on a review, with what was looked up for it. Touches nothing that another thread may be at."""
        engine = self._engine
        failure: _Failure | None = None
        error = ""
        try:
            if late or (found is None and perf_counter() >= case.call.deadline):
                failure, decision = "deadline", engine.undecided(_TOO_LATE)
            else:
                known = with_objects(case.fleet, found.objects) if found is not None else case.fleet
                absent = found.absent if found is not None else frozenset()
                now, phase = engine.clock(), case.call.phase
                decision = engine.decide(review, known, case.policies, now, phase=phase, absent=absent)
                failure, error = ("rule" if decision.internal_error else None), decision.internal_error
            reply = _write_json(engine.respond(decision, review.uid))
        except Exception:  # noqa: BLE001 - whatever it was, the caller gets an answer and no traceback
            failure, error = "decision", traceback.format_exc()
            decision = engine.undecided(APOLOGY)
            reply = _write_json(engine.respond(decision, review.uid))
        return _Judged(_without_objects(review), decision, reply, failure, error)

    async def _looked_up(self, call: Call, look_up: Lookup, first: Decision) -> LiveAnswer | None:
        """What `first` has missed, as far as the API server answers in time. None when that changes nothing."""
        seconds = min(_LONGEST_LOOKUP, (call.deadline - perf_counter()) * _SHARE_FOR_LOOKUP)
        if seconds < _SHORTEST_LOOKUP:
            return None
        found = await look_up(first.wanted, seconds)
        self._recorder.looked_up(
            found=len(found.objects),
            absent=len(found.absent),
            unanswered=len(first.wanted) - len(found.objects) - len(found.absent),
        )
        return found if found.objects or found.absent else None

    def _note(self, call: Call, judged: _Judged, policies: PolicySet) -> None:
        review, decision = judged.review, judged.decision
        if judged.failure is not None:
            self._recorder.failed(judged.failure)
            say = self._events.warning if judged.failure == "deadline" else self._events.error
            say(_WORDS[judged.failure], uid=review.uid, **({"error": judged.error} if judged.error else {}))
        seconds = perf_counter() - call.received
        self._recorder.decided(call.phase, review, decision, seconds)
        self._decisions.write(decision_record(call.phase, review, decision, policies.digest, self._engine.clock(), seconds))


def _without_objects(review: Review) -> Review:
    """What is said of a review. A whole one takes up to 25 times the memory of its body: nobody keeps it for long."""
    name = review.name or read_meta(review.object).display_name
    return replace(review, name=name, object=None, old_object=None)


def read(body: bytes) -> Review:
    """The review in a body. Raises Refused (400) when it is none that can be answered."""
    try:
        return read_review(decode_review(body))
    except msgspec.DecodeError as error:
        raise Refused(f"the body is not JSON: {error}", status=400, why="json") from error
    except RecursionError as error:
        raise Refused("the body is JSON nested too deeply", status=400, why="json") from error
    except ReviewError as error:
        raise Refused(str(error), status=error.status, why="review") from error
