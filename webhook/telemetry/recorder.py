"""What is counted: one small interface, and a version that keeps everything in a list.

All words that end up as metric labels come from the closed sets below; names of objects never do.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol, TypeAlias, get_args

from webhook.model.finding import Decision
from webhook.model.review import Review

Phase: TypeAlias = Literal["mutate", "validate"]

#: Why a call got no AdmissionReview as its answer.
Refusal: TypeAlias = Literal[
    "method",
    "path",
    "content-type",
    "body-size",
    "json",
    "review",
    "timeout-parameter",
    "overloaded",
    "client",
    "not-ready",
    "read-timeout",
    "http",
]
#: What went wrong on our side: the decision, its deadline, or the server around it.
Failure: TypeAlias = Literal["rule", "decision", "deadline", "server"]
#: What is loaded while serving.
Source: TypeAlias = Literal["policies", "fleet", "certificate"]

REFUSALS: tuple[Refusal, ...] = get_args(Refusal)
FAILURES: tuple[Failure, ...] = get_args(Failure)
SOURCES: tuple[Source, ...] = get_args(Source)


class Recorder(Protocol):
    """Counts what happens. No method may raise or block."""

    def decided(self, phase: Phase, review: Review, decision: Decision, seconds: float) -> None:
        """A review was answered, `seconds` after its headers had come in."""

    def refused(self, why: Refusal) -> None:
        """A call was answered with an HTTP error, or cut off."""

    def failed(self, where: Failure) -> None:
        """Something broke on our side."""

    def looked_up(self, *, found: int, absent: int, unanswered: int) -> None:
        """Objects that a decision had missed were asked for live."""

    def loaded(self, source: Source, at: datetime) -> None:
        """The newest version of a source is in force since `at`."""

    def rejected(self, source: Source) -> None:
        """The newest version of a source cannot be used; whatever was in force still is."""


@dataclass(slots=True)
class ListRecorder:
    """A Recorder that remembers every call, for tests and for commands that print a summary."""

    decisions: list[tuple[Phase, Review, Decision]] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    loads: list[tuple[Source, bool]] = field(default_factory=list)
    lookups: list[tuple[int, int, int]] = field(default_factory=list)

    def decided(self, phase: Phase, review: Review, decision: Decision, seconds: float) -> None:
        """Remember a decision."""
        self.decisions.append((phase, review, decision))

    def refused(self, why: Refusal) -> None:
        """Remember a refusal."""
        self.refusals.append(why)

    def failed(self, where: Failure) -> None:
        """Remember a failure."""
        self.failures.append(where)

    def looked_up(self, *, found: int, absent: int, unanswered: int) -> None:
        """Remember a lookup."""
        self.lookups.append((found, absent, unanswered))

    def loaded(self, source: Source, at: datetime) -> None:
        """Remember a good load."""
        self.loads.append((source, True))

    def rejected(self, source: Source) -> None:
        """Remember a bad load."""
        self.loads.append((source, False))
