"""A field that this API server drops because its feature gate is off.

Reads:    spec.devices.requests[*] (firstAvailable, tolerations, adminAccess, capacity), constraints[*].distinctAttribute
Allows:   fields whose gate is on for the server's version (kubernetes pkg/features/kube_features.go)
Because:  the server drops them silently, after mutating and before validating webhooks (strategy dropDisabledFields): the claim
          is refused with a message that points elsewhere, or accepted as something else than was asked
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from webhook.model.claim import Alternative, Constraint, Request
from webhook.model.finding import Finding, Severity
from webhook.model.pointer import field_path, join
from webhook.model.server_version import GATES_ON_SINCE
from webhook.rulekit.policies import Checks
from webhook.rulekit.rule import Reason, Rule
from webhook.rulekit.view import View

REASON = "feature-not-available"


@dataclass(frozen=True, slots=True)
class _Dropped:
    """One field that will be dropped: where, by which gate, and what becomes of the object."""

    pointer: str
    field: str
    gate: str
    effect: str
    severity: Severity
    remedy: str


def check(view: View, _policy: Checks) -> Iterator[Finding]:
    """One finding per field that the server will drop."""
    spec = view.claim_spec
    if spec is None:
        return
    for request in spec.requests:
        for dropped in _dropped_of_request(view, request):
            yield _finding(view, dropped)
    for constraint in spec.constraints:
        for dropped in _dropped_of_constraint(view, constraint):
            yield _finding(view, dropped)


def _dropped_of_request(view: View, request: Request) -> Iterator[_Dropped]:
    server = view.fleet.server
    if not server.prioritized_lists:
        if request.form in ("list", "both"):
            yield _Dropped(
                join(request.pointer, "firstAvailable"),
                "the list",
                "DRAPrioritizedList",
                "the request is refused as if it asked for nothing",
                "deny",
                "ask for one shape with deviceClassName alone, or wait for Kubernetes 1.34",
            )
        elif request.form == "none":
            yield _Dropped(
                request.pointer,
                "a firstAvailable list, if there was one,",
                "DRAPrioritizedList",
                "the request is refused because it asks for nothing",
                "deny",
                "ask for one shape with deviceClassName alone, or wait for Kubernetes 1.34",
            )
    for alternative in request.alternatives:
        yield from _dropped_of_alternative(view, alternative)


def _dropped_of_alternative(view: View, alternative: Alternative) -> Iterator[_Dropped]:
    server = view.fleet.server
    if alternative.tolerations and not server.enabled("DRADeviceTaints"):
        yield _Dropped(
            join(alternative.pointer, "tolerations"),
            "the tolerations",
            "DRADeviceTaints",
            "the request is accepted without them",
            "warn",
            "remove the tolerations, or have the gate switched on",
        )
    if alternative.admin_access and not server.enabled("DRAAdminAccess"):
        yield _Dropped(
            join(alternative.pointer, "adminAccess"),
            "adminAccess",
            "DRAAdminAccess",
            "the request takes the devices away from others instead of watching them",
            "deny",
            "do not create this claim here, or have the gate switched on",
        )
    if alternative.capacity and not server.enabled("DRAConsumableCapacity"):
        yield _Dropped(
            join(alternative.pointer, "capacity"),
            "the capacity request",
            "DRAConsumableCapacity",
            "the request takes a whole device, whatever its capacity",
            "warn",
            "select on device.capacity in a selector instead, or have the gate switched on",
        )


def _dropped_of_constraint(view: View, constraint: Constraint) -> Iterator[_Dropped]:
    if not constraint.distinct_attribute or view.fleet.server.enabled("DRAConsumableCapacity"):
        return
    alone = not constraint.match_attribute
    yield _Dropped(
        join(constraint.pointer, "distinctAttribute"),
        "distinctAttribute",
        "DRAConsumableCapacity",
        "the constraint is refused as empty" if alone else "only matchAttribute is left of the constraint",
        "deny" if alone else "warn",
        "remove the constraint, or have the gate switched on",
    )


def _finding(view: View, dropped: _Dropped) -> Finding:
    server, since = view.fleet.server, GATES_ON_SINCE[dropped.gate]
    return Finding(
        rule=RULE.id,
        reason=REASON,
        severity=dropped.severity,
        headline=f'{view.kind} "{view.meta.display_name}" uses what this API server does not have',
        path=field_path(dropped.pointer),
        detail=f"{dropped.field} will be dropped by this server ({server}): feature gate {dropped.gate} is off "
        f"(on by default since 1.{since}), so {dropped.effect}",
        remedy=dropped.remedy,
    )


RULE = Rule(
    id="feature-not-available",
    policy_kind="Checks",
    subjects=frozenset({"ResourceClaim", "ResourceClaimTemplate"}),
    phases=frozenset({"mutate", "validate"}),
    reads_fleet=False,
    reasons=(Reason(id=REASON, severity="warn", summary="a field whose feature gate is off would be dropped by the server"),),
    check=check,
)
