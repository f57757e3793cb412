"""FallbackCompatibility: which claims need a declaration, and what happens without one."""

from __future__ import annotations

from typing import Any, Literal

from webhook.model.finding import Mode
from webhook.policyfile.common_spec import COMMON, header
from webhook.policyfile.field_types import OneOf
from webhook.policyfile.instants import Instant
from webhook.policyfile.kind import Kind
from webhook.policyfile.record import Record, Values, maybe, needed, optional
from webhook.rulekit.policies import Existing, FallbackCompatibility

_REQUESTS = optional(
    "requests",
    OneOf[Literal["lists", "all"]](("lists", "all")),
    "`lists`: requests with `firstAvailable`, written or injected. `all`: also a plain ask that several models satisfy.",
    "lists",
    shown="lists",
)
_UNDECLARED = optional(
    "undeclared",
    OneOf[Literal["defer", "deny"]](("defer", "deny")),
    "A template without a declaration: `defer` warns and judges the pod, `deny` refuses the template.",
    "defer",
    shown="defer",
)
_WORKLOADS = optional(
    "workloads",
    OneOf[Literal["warn", "deny"]](("warn", "deny")),
    "Deployments, Jobs and other controllers whose pods would be refused: `warn`, or `deny` already there.",
    "warn",
    shown="warn",
)
_ON_UNCERTAIN = optional(
    "onUncertain",
    OneOf[Literal["note", "warn", "deny"]](("note", "warn", "deny")),
    "An alternative of which it is not known what it may give, because it matches no known device.",
    "warn",
    shown="warn",
)

_CREATED_BEFORE = needed(
    "createdBefore", Instant(end_of_day=False), "Controllers older than this. A date means its beginning, in UTC."
)
_MODE = optional(
    "mode", OneOf[Mode](("warn", "audit", "off")), "The mode in which their pods are judged.", "warn", shown="warn"
)
_UNTIL = maybe("until", Instant(end_of_day=True), "Until when. A date means the end of that day, in UTC.")


def _check_existing(values: Values) -> None:
    until = values[_UNTIL]
    if until is not None and values.good(_CREATED_BEFORE) and until < values[_CREATED_BEFORE]:
        spot = values.spot(_UNTIL)
        spot.error(f"{spot.shown} lies before createdBefore", "existing controllers keep the mode until this date")


_EXISTING_RECORD = Record(
    name="existing",
    doc="Pods of controllers older than a date keep coming back after a drain; they are judged more gently for a while.",
    keys=(_CREATED_BEFORE, _MODE, _UNTIL),
    build=lambda values: Existing(created_before=values[_CREATED_BEFORE], mode=values[_MODE], until=values[_UNTIL]),
    checks=_check_existing,
)
_EXISTING = maybe("existing", _EXISTING_RECORD, "A gentler mode for the pods of controllers that were there before.")


def _build(values: Values) -> FallbackCompatibility:
    return FallbackCompatibility(
        header=header(values),
        requests=values[_REQUESTS],
        undeclared=values[_UNDECLARED],
        workloads=values[_WORKLOADS],
        on_uncertain=values[_ON_UNCERTAIN],
        existing=values[_EXISTING],
    )


KIND: Kind[Any] = Kind(
    name="FallbackCompatibility",
    doc="Which claims need a declaration of the shapes their workload runs on, and what happens without one.",
    spec=Record(
        name="FallbackCompatibility spec",
        doc="The policy.",
        keys=(*COMMON, _REQUESTS, _UNDECLARED, _WORKLOADS, _ON_UNCERTAIN, _EXISTING),
        build=_build,
    ),
    example="""\
apiVersion: fallgate.dev/v1alpha1
kind: FallbackCompatibility
metadata: {name: declared-fallbacks}
spec:
  mode: enforce
  match: {tiers: [production, research]}
  requests: lists
  undeclared: defer
  workloads: warn
  onUncertain: warn
  existing: {createdBefore: 2027-01-15, mode: warn, until: 2027-04-01}
""",
)
