"""A claim that poses as one of the scheduler's own claims for extended resources.

Reads:    metadata.annotations (of a claim; of a template's spec.metadata), the requesting user
Allows:   the annotation on claims that kube-scheduler creates for a pod: those never reach any rule
Because:  quota does not count marked claims that point at a pod (the pod was charged), so a forged one is free of charge
          (kubernetes issue 135404)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from webhook.model.claim import Claim, ClaimTemplate
from webhook.model.finding import Finding
from webhook.model.pointer import field_path, join
from webhook.rulekit.policies import Checks
from webhook.rulekit.rule import Reason, Rule
from webhook.rulekit.view import View

REASON = "forged-extended-claim"
ANNOTATION = "resource.kubernetes.io/extended-resource-claim"


def check(view: View, _policy: Checks) -> Iterator[Finding]:
    """A finding when the annotation is there: the scheduler's own claims have been let pass before."""
    pointer, annotations = _annotations(view)
    if annotations.get(ANNOTATION) != "true":
        return
    yield Finding(
        rule=RULE.id,
        reason=REASON,
        severity="deny",
        headline=f'{view.kind} "{view.meta.display_name}" poses as a claim that kube-scheduler made',
        path=field_path(join(pointer, ANNOTATION)),
        detail=f"only kube-scheduler may mark a claim with {ANNOTATION}, and user "
        f'"{view.review.user.name}" is not one of its users: quota would not count these devices',
        remedy=f"remove the annotation {ANNOTATION}; a scheduler of your own is named in Fallgate's setting schedulerUsers",
    )


def _annotations(view: View) -> tuple[str, Mapping[str, str]]:
    match view.subject:
        case Claim():
            return "/metadata/annotations", view.meta.annotations
        case ClaimTemplate():
            return "/spec/metadata/annotations", view.subject.claim_annotations
        case _:
            return "", {}


RULE = Rule(
    id="forged-extended-claim",
    policy_kind="Checks",
    subjects=frozenset({"ResourceClaim", "ResourceClaimTemplate"}),
    reads_fleet=False,
    reasons=(Reason(id=REASON, severity="deny", summary="a claim marked as the scheduler's own by somebody else"),),
    check=check,
)
