"""A workload whose pods may be given different devices.

Reads:    the number of pods, the possible shapes of the requests in their templates; declared shapes, fallgate.dev/uniform
Allows:   single pods and DaemonSets, templates with one possible shape, claims that all pods share, stateless replicas
          (Deployment, ReplicaSet) whose shapes are all declared, pods that are uniform by annotation
Because:  every pod gets a claim of its own, and each claim picks its own alternative: a gang runs at the pace of its slowest
          member, or fails on the smallest memory (P16; consistency across claims is a non-goal of KEP-4816)
"""

from __future__ import annotations

from collections.abc import Iterator

from webhook.model.claim import ClaimTemplate, Request
from webhook.model.finding import Finding
from webhook.model.pod import Workload
from webhook.model.pointer import field_path
from webhook.rulekit.compatibility.declared import UNIFORM_ANNOTATION
from webhook.rulekit.compatibility.judged_claims import JudgedClaim, all_declared, judged_claims
from webhook.rulekit.compatibility.text import in_words, listed
from webhook.rulekit.policies import Checks
from webhook.rulekit.rule import Reason, Rule
from webhook.rulekit.shapes.shape import Shape
from webhook.rulekit.view import View

REASON = "replicas-may-differ"


def check(view: View, _policy: Checks) -> Iterator[Finding]:
    """One finding per request that pods of one workload may get satisfied differently."""
    workload = view.subject
    # What a controller made was said of the controller.
    if not isinstance(workload, Workload) or workload.meta.controller is not None or not _has_several_pods(workload):
        return
    # Whether that is kept is fallback-compatibility's question.
    if workload.pod.meta.annotations.get(UNIFORM_ANNOTATION) == "true":
        return
    for judged in judged_claims(view):
        if not isinstance(judged.source, ClaimTemplate):
            continue
        for request in judged.spec.requests:
            shapes = _shapes(view, judged, request)
            if not request.prioritized and len(shapes) < 2:
                continue
            if workload.gang or not all_declared(view, judged, request):
                yield _finding(workload, judged, request, shapes)


def _has_several_pods(workload: Workload) -> bool:
    """A gang whose size its kind does not tell has several; a DaemonSet has one on each node, which is why nodes differ."""
    return workload.gang if workload.replicas is None else workload.replicas > 1


def _shapes(view: View, judged: JudgedClaim, request: Request) -> tuple[Shape, ...]:
    possible = (judged.possible(view, request, alternative) for alternative in request.alternatives)
    return tuple(dict.fromkeys(shape for item in possible for shape in item.shapes))


def _finding(workload: Workload, judged: JudgedClaim, request: Request, shapes: tuple[Shape, ...]) -> Finding:
    number = f"{workload.replicas} pods" if workload.replicas is not None else "pods"
    choices = listed(shapes) if shapes else in_words([f'"{item.name}"' for item in request.alternatives])
    pace = "; they work as one, and the slowest sets the pace" if workload.gang else ""
    return Finding(
        rule=RULE.id,
        reason=REASON,
        severity="warn",
        headline=f'the pods of {workload.kind} "{workload.meta.display_name}" may get different devices',
        path=judged.path(request.pointer),
        via=judged.via,
        place=field_path(request.pointer),
        detail=f'each of its {number} picks for itself from "{request.name}": {choices}{pace}',
        remedy=f'if they have to be equal, set {UNIFORM_ANNOTATION}: "true" in the pod template\'s annotations, '
        "which refuses claims that leave a choice, and ask for one model in one count",
    )


RULE = Rule(
    id="replicas-may-differ",
    policy_kind="Checks",
    subjects=frozenset({"Workload"}),
    reasons=(Reason(id=REASON, severity="warn", summary="pods of one workload may be given different devices"),),
    check=check,
)
