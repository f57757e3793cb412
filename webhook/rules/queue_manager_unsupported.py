"""A queued workload whose claims its queue manager cannot account for.

Reads:    the label kueue.x-k8s.io/queue-name on the workload, its pods or their controller; the claims of the pod
Allows:   templates that ask for a count of devices of a class, without constraints and config
Because:  Kueue counts devices by class from templates; with firstAvailable, All, adminAccess, constraints, config or a
          claim made by hand the workload is never admitted and waits in the queue (kueue issues 13599, 13601, 14130)
"""

from __future__ import annotations

from collections.abc import Iterator

from webhook.model.claim import ALL, ClaimSpec
from webhook.model.finding import Finding
from webhook.model.pointer import field_path
from webhook.rulekit.policies import Checks
from webhook.rulekit.rule import Reason, Rule
from webhook.rulekit.view import PodClaimSource, View

REASON = "queue-manager-unsupported"
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"


def check(view: View, _policy: Checks) -> Iterator[Finding]:
    """One finding per claim of a queued pod that uses what the queue manager cannot admit."""
    queue = _queue(view)
    if not queue:
        return
    for source in view.pod_claims:
        used = _unsupported(source)
        if used:
            yield Finding(
                rule=RULE.id,
                reason=REASON,
                severity="warn",
                headline=f'{view.kind} "{view.meta.display_name}" would wait in queue {queue} for ever',
                path=field_path(source.entry.pointer),
                via=(source.via,),
                place=field_path(source.spec.pointer) if source.spec is not None and source.template is not None else "",
                detail=f"queue {queue} cannot admit {_listed(used)}",
                remedy="ask for a count of devices of one class through a template, or run this workload without the label "
                f"{QUEUE_LABEL}",
            )


def _queue(view: View) -> str:
    controller = view.controller_meta
    labels = [view.meta.labels, view.pod.meta.labels if view.pod else {}, controller.labels if controller else {}]
    return next((found[QUEUE_LABEL] for found in labels if found.get(QUEUE_LABEL)), "")


def _unsupported(source: PodClaimSource) -> tuple[str, ...]:
    by_hand = ("a claim made by hand",) if source.entry.claim_name else ()
    return by_hand + (_unsupported_in(source.spec) if source.spec is not None else ())


def _unsupported_in(spec: ClaimSpec) -> tuple[str, ...]:
    alternatives = [alternative for request in spec.requests for alternative in request.alternatives]
    used = {
        "a firstAvailable list": any(request.prioritized for request in spec.requests),
        "allocationMode All": any(alternative.allocation_mode == ALL for alternative in alternatives),
        "adminAccess": any(alternative.admin_access for alternative in alternatives),
        "constraints": bool(spec.constraints),
        "device config": bool(spec.configs),
    }
    return tuple(name for name, present in used.items() if present)


def _listed(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


RULE = Rule(
    id="queue-manager-unsupported",
    policy_kind="Checks",
    subjects=frozenset({"Pod", "Workload"}),
    alike_for_pods=True,
    reasons=(Reason(id=REASON, severity="warn", summary="a queued workload asks for what its queue manager cannot admit"),),
    check=check,
)
