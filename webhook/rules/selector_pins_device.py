"""A template whose selector pins one physical device.

Reads:    the selectors of a template, the devices that match, the number of pods of a workload that uses it
Allows:   claims made by hand, single pods, selectors by model; lists with an alternative that pins nothing; shared devices;
          a place that every node has (the same bus address on each) is only noted, until a workload has more pods than that
Because:  a template is there to be used more than once: the second pod waits for ever, and numbers and addresses change
          when a card or a kernel does (dra-driver-nvidia-gpu issue 427)
"""

from __future__ import annotations

from collections.abc import Iterator

from webhook.model.claim import ClaimTemplate, Request
from webhook.model.finding import Finding, Severity
from webhook.model.pod import Workload
from webhook.rulekit.compatibility.judged_claims import JudgedClaim, judged_claims
from webhook.rulekit.ownership.text import numbered
from webhook.rulekit.policies import Checks
from webhook.rulekit.rule import Reason, Rule
from webhook.rulekit.selectors.pinning import Pin, pin_of
from webhook.rulekit.selectors.selections import texts_of
from webhook.rulekit.view import View

PINS, EXCEED = "selector-pins-device", "replicas-exceed-matches"

_REMEDY = "select the model (productName, type, memory) and let the scheduler choose"


def check(view: View, _policy: Checks) -> Iterator[Finding]:
    """Findings per request of a template that pins a device, and per workload with more pods than devices that are pinned."""
    workload = view.subject if isinstance(view.subject, Workload) else None
    if workload is not None and (workload.meta.controller is not None or (workload.replicas or 0) < 2):
        return
    for judged in judged_claims(view):
        if not isinstance(judged.source, ClaimTemplate):
            continue
        for request in judged.spec.requests:
            pins = _pins(view, request)
            if pins:
                yield from _findings(view, judged, request, pins)


def _pins(view: View, request: Request) -> tuple[Pin, ...]:
    """What all alternatives of a request pin, one each; nothing when one of them pins nothing."""
    found: list[Pin] = []
    for item in request.alternatives:
        pin = None if item.admin_access else pin_of(view.fleet.inventory, item.device_class, texts_of(item))
        if pin is None:
            return ()
        found.append(pin)
    return tuple(found)


def _findings(view: View, judged: JudgedClaim, request: Request, pins: tuple[Pin, ...]) -> Iterator[Finding]:
    pin, matches = pins[0], sum(pin.devices for pin in pins)
    pods = view.subject.replicas or 0 if isinstance(view.subject, Workload) else 0
    severity: Severity = "warn" if pods or matches == 1 else "note"
    name = pin.attribute.rpartition("/")[2]
    where = "" if matches == 1 else ", at most one on a node"
    verb = "matches" if matches == 1 else "match"
    found = f"{numbered(matches, 'device')} of the cluster {verb}{where}"
    detail = f'request "{request.name}" pins a device by its {name} ({pin.value}): {found}'
    at = request.pointer
    yield _finding(view, judged, at, PINS, severity, detail, _REMEDY)
    if pods > matches:
        detail = f'request "{request.name}": {found}, and there are to be {pods} pods'
        yield _finding(view, judged, at, EXCEED, "warn", detail, f"run {numbered(matches, 'pod')}, or select by model")


def _finding(
    view: View, judged: JudgedClaim, pointer: str, reason: str, severity: Severity, detail: str, remedy: str
) -> Finding:
    return Finding(
        rule=RULE.id,
        reason=reason,
        severity=severity,
        headline=f'{view.kind} "{view.meta.display_name}" is tied to one physical device',
        path=judged.path(pointer),
        via=judged.via,
        detail=detail,
        remedy=remedy,
    )


RULE = Rule(
    id=PINS,
    policy_kind="Checks",
    subjects=frozenset({"ResourceClaimTemplate", "Workload"}),
    reasons=(
        Reason(id=PINS, severity="warn", summary="the selector of a template pins one physical device"),
        Reason(id=EXCEED, severity="warn", summary="a workload has more pods than devices match its template"),
    ),
    check=check,
)
