"""The claims a review is about, each with the pod it is for, and what is declared about its requests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from webhook.fleet.nodes import NodeSet
from webhook.model.claim import Alternative, Claim, ClaimSpec, ClaimTemplate, Request
from webhook.model.pod import Pod
from webhook.model.pointer import field_path
from webhook.rulekit.compatibility.declared import Declared, declared_for
from webhook.rulekit.compatibility.undeclared import Uncovered, uncovered
from webhook.rulekit.injection.authored import injected_request
from webhook.rulekit.injection.provenance import InjectedRequest
from webhook.rulekit.shapes.possible import alternative_shapes
from webhook.rulekit.shapes.shape import AlternativeShapes
from webhook.rulekit.view import POD_CLAIM_ANNOTATION, PodClaimSource, View


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedClaim:
    """A claim, or what a template makes.

    `pod` is the pod it is for (a workload's pod template, the owner of a generated claim), None when none is known;
    `pod_claim` is that pod's name for it. `entry` is how the pod under review leads to it, None when the claim or template
    itself is under review. `nodes` are those it can be allocated for.
    """

    source: Claim | ClaimTemplate
    pod: Pod | None
    pod_claim: str
    entry: PodClaimSource | None
    nodes: NodeSet

    @property
    def spec(self) -> ClaimSpec:
        """The claim's spec."""
        return self.source.spec

    @property
    def allocated(self) -> Claim | None:
        """The claim, if it has been given its devices already."""
        return self.source if isinstance(self.source, Claim) and self.source.allocation is not None else None

    def declared(self, view: View, request: Request) -> Declared:
        """What is declared about one of its requests."""
        return declared_for(view, pod=self.pod, pod_claim=self.pod_claim, source=self.source, request=request.name)

    def possible(self, view: View, request: Request, alternative: Alternative) -> AlternativeShapes:
        """What one of its alternatives may be given."""
        return alternative_shapes(view.fleet, view.policies, self.spec, request, alternative, self.nodes)

    def uncovered(self, view: View, request: Request, alternative: Alternative, declared: Declared) -> Uncovered:
        """The possible shapes of one of its alternatives that `declared` does not cover."""
        asked = (view.fleet, view.policies, self.spec, request, alternative, self.nodes, declared)
        return uncovered(*asked, among=view.alternatives_followed)

    def injected(self, view: View, request: Request) -> InjectedRequest | None:
        """What was injected into one of its requests; None for a request that is as its author wrote it."""
        return injected_request(view, self.source, self.pod, self.pod_claim, request)

    def path(self, pointer: str) -> str:
        """The field path in the object under review for something at `pointer` of the claim or template."""
        return field_path(self.entry.entry.pointer if self.entry is not None else pointer)

    @property
    def via(self) -> tuple[str, ...]:
        """How one gets from the object under review to the claim or template."""
        return (self.entry.via,) if self.entry is not None else ()


def judged_claims(view: View) -> Iterator[JudgedClaim]:
    """The claim or template under review, or what the pod under review leads to, as far as it is known."""
    subject = view.subject
    if isinstance(subject, Claim | ClaimTemplate):
        pod_claim = subject.meta.annotations.get(POD_CLAIM_ANNOTATION, "") if view.generated else ""
        pod = view.owner_pod if view.generated else None
        yield JudgedClaim(source=subject, pod=pod, pod_claim=pod_claim, entry=None, nodes=view.feasible)
    for entry in view.pod_claims:
        source = entry.template or entry.claim
        if source is not None:
            yield JudgedClaim(source=source, pod=view.pod, pod_claim=entry.entry.name, entry=entry, nodes=view.feasible)


def all_declared(view: View, judged: JudgedClaim, request: Request) -> bool:
    """Whether something is declared about a request and covers every possible shape of all its alternatives."""
    declared = judged.declared(view, request)
    return declared.present and not any(judged.uncovered(view, request, item, declared).shapes for item in request.alternatives)


def written_lists(view: View) -> Iterator[tuple[JudgedClaim, Request]]:
    """The firstAvailable lists that somebody wrote into the claim or template under review.

    Lists that were injected are the policy's business, and a generated claim repeats its template.
    """
    if view.generated:
        return
    for judged in judged_claims(view):
        for request in judged.spec.requests:
            if request.prioritized and judged.injected(view, request) is None:
                yield judged, request
