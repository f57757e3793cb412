"""What the server needs from others, as small interfaces. Whoever composes the process hands in the real ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol, TypeAlias

from webhook.fleet.fleet import Fleet
from webhook.model.finding import Decision
from webhook.model.meta import ObjectRef
from webhook.model.review import Review
from webhook.rulekit.policies import PolicySet
from webhook.telemetry import Phase

Clock: TypeAlias = Callable[[], datetime]


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One thing that `/readyz?verbose` lists. "degraded" is shown but leaves the server ready; "failed" makes it not ready."""

    name: str
    state: Literal["ok", "degraded", "failed"]
    detail: str = ""


#: Whoever has something to say about readiness.
Conditions: TypeAlias = Callable[[], Iterable[Condition]]


class FleetSource(Protocol):
    """Where the cluster's facts come from."""

    def current(self) -> Fleet | None:
        """The newest snapshot, None before the first complete one."""

    def conditions(self) -> Iterable[Condition]:
        """How the source is doing."""


class PolicySource(Protocol):
    """Where policies come from."""

    def current(self) -> PolicySet | None:
        """The set in force, None as long as there has never been a good one."""

    def conditions(self) -> Iterable[Condition]:
        """How the source is doing."""


class Decider(Protocol):
    """`webhook.engine.decide` with its settings bound."""

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
        """What to answer. Pure, and total: a fault of its own is in the decision."""


class LiveAnswer(Protocol):
    """What a lookup has found out."""

    @property
    def objects(self) -> tuple[dict[str, Any], ...]:
        """Objects that are there, as JSON has them."""

    @property
    def absent(self) -> frozenset[ObjectRef]:
        """References of which there is no object."""


class Lookup(Protocol):
    """Asks the API server for single objects."""

    async def __call__(self, refs: Sequence[ObjectRef], seconds: float) -> LiveAnswer:
        """Each of `refs`, asked for once; what is not answered within `seconds` is in neither part. Never raises."""


class Responder(Protocol):
    """`webhook.engine.respond`."""

    def __call__(self, decision: Decision, uid: str) -> dict[str, Any]:
        """The AdmissionReview that says so."""
