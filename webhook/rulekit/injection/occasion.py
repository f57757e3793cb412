"""What is known when a tier's list is to be injected: the claim, the pod it is for, who chose, and who is left alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from webhook.fleet.nodes import NodeSet
from webhook.model.claim import Claim, ClaimSpec, ClaimTemplate
from webhook.model.meta import Meta
from webhook.model.pod import Pod
from webhook.rulekit.compatibility.declared import UNIFORM_ANNOTATION
from webhook.rulekit.policies import TierFallback
from webhook.rulekit.view import POD_CLAIM_ANNOTATION, PodClaimSource, View

Target = Literal["generatedClaims", "claims", "templates"]

#: Opt out (`none`), or choose a TierFallback by its name.
FALLBACK_ANNOTATION: Final = "fallgate.dev/fallback"
OPT_OUT: Final = "none"
#: What a scheduler sets on the claims it makes for extended resources: it finds its requests by name and shape (KEP-5004).
_EXTENDED_CLAIM: Final = "resource.kubernetes.io/extended-resource-claim"
#: Controllers above a pod that are followed: pod, ReplicaSet, Deployment, and whatever made that.
_MOST_CONTROLLERS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Occasion:
    """A claim spec that a policy may inject into.

    `spec` is what it holds now, `authored` what its author wrote (the same, unless an earlier policy has injected already).
    `source` is the claim, or the template it comes from; `template` a generated claim's template, as far as it is known.
    `awaits_pod`: it is a pod's, and nothing is known of that pod. `any_pod`: it is for pods to come, whatever they declare.
    """

    view: View
    policy: TierFallback
    target: Target
    spec: ClaimSpec
    authored: ClaimSpec
    source: Claim | ClaimTemplate
    nodes: NodeSet
    pod: Pod | None = None
    pod_claim: str = ""
    template: ClaimTemplate | None = None
    awaits_pod: bool = False
    any_pod: bool = False


def occasion_under_review(view: View, policy: TierFallback, subject: Claim | ClaimTemplate, authored: ClaimSpec) -> Occasion:
    """The claim or template under review, and what its author wrote."""
    if isinstance(subject, ClaimTemplate):
        return Occasion(
            view=view,
            policy=policy,
            target="templates",
            spec=subject.spec,
            authored=authored,
            source=subject,
            nodes=view.feasible,
        )
    owner = subject.meta.controller
    pod_claim = subject.meta.annotations.get(POD_CLAIM_ANNOTATION, "") if view.generated else ""
    return Occasion(
        view=view,
        policy=policy,
        target="generatedClaims" if view.generated else "claims",
        spec=subject.spec,
        authored=authored,
        source=subject,
        nodes=view.feasible,
        pod=view.owner_pod,
        pod_claim=pod_claim,
        template=template_of(view),
        awaits_pod=view.owner_pod is None and owner is not None and (owner.api_version, owner.kind) == ("v1", "Pod"),
    )


def occasion_to_come(view: View, policy: TierFallback, source: PodClaimSource | None = None) -> Occasion | None:
    """The claims that will be generated: from the template under review, or from the one a workload's claim leads to."""
    template = source.template if source is not None else view.subject
    if not isinstance(template, ClaimTemplate):
        return None
    return Occasion(
        view=view,
        policy=policy,
        target="generatedClaims",
        spec=template.spec,
        authored=template.spec,
        source=template,
        nodes=view.feasible,
        pod=view.pod,
        pod_claim=source.entry.name if source is not None else "",
        any_pod=source is None,
    )


def template_of(view: View) -> ClaimTemplate | None:
    """The template that the claim under review was generated from, when its pod and the template are known."""
    pod = view.owner_pod if view.generated else None
    if pod is None:
        return None
    pod_claim = view.meta.annotations[POD_CLAIM_ANNOTATION]
    entry = next((item for item in pod.claims if item.name == pod_claim), None)
    return view.follow(pod, entry).template if entry is not None else None


def choice(occasion: Occasion) -> str:
    """What the author says about fallbacks: `none`, the name of a TierFallback, or "". The nearest annotation counts."""
    for written in _annotations(occasion):
        said = written.get(FALLBACK_ANNOTATION, "").strip()
        if said:
            return said
    return ""


def _annotations(occasion: Occasion) -> Iterator[Mapping[str, str]]:
    if occasion.pod is not None:
        yield occasion.pod.meta.annotations
    if isinstance(occasion.source, ClaimTemplate):
        yield occasion.source.claim_annotations
    yield occasion.source.meta.annotations
    if occasion.template is not None:
        yield occasion.template.meta.annotations


def meant(occasion: Occasion) -> bool:
    """Whether the policy is for this claim: by its targets, and by the author's choice, else by the namespace's tier.

    Claims that are marked as a scheduler's own are left alone whoever sent them: not every scheduler is known to us.
    """
    policy, chosen = occasion.policy, choice(occasion)
    if occasion.target not in policy.targets or occasion.source.meta.annotations.get(_EXTENDED_CLAIM) == "true":
        return False
    if chosen in ("", OPT_OUT) or _unknown_choice(occasion, chosen):
        return occasion.view.tier in policy.tiers
    return chosen == policy.header.name


def why_not(occasion: Occasion) -> str:
    """Why nothing is injected into this claim whatever it asks for, or ""."""
    view, chosen, skip = occasion.view, choice(occasion), occasion.policy.skip_when
    if chosen == OPT_OUT:
        return f"{FALLBACK_ANNOTATION}: {OPT_OUT} opts it out"
    if not view.fleet.server.prioritized_lists:
        return f"this API server ({view.fleet.server}) drops firstAvailable: feature gate DRAPrioritizedList is off"
    if occasion.awaits_pod:
        return "the pod it is for is not known (yet), nor what it declares"
    pod = occasion.pod
    if pod is not None and pod.meta.annotations.get(UNIFORM_ANNOTATION) == "true":
        return f'{UNIFORM_ANNOTATION}: "true" on its pod asks for one shape only'
    queue = next((key for key in skip.labels if any(key in meta.labels for meta in _labelled(occasion))), "")
    if queue:
        return f"label {queue} gives it to a queue manager that cannot admit lists"
    if skip.local_queues and view.namespace_name in view.fleet.local_queue_namespaces:
        return f"namespace {view.namespace_name} has a LocalQueue, and Kueue cannot admit lists"
    if pod is not None and pod.scheduler_name in skip.scheduler_names:
        return f"scheduler {pod.scheduler_name} cannot place lists"
    return ""


def unknown_choice(occasion: Occasion) -> str:
    """The TierFallback that the author chose and that does not exist, or ""."""
    chosen = choice(occasion)
    return chosen if _unknown_choice(occasion, chosen) else ""


def _unknown_choice(occasion: Occasion, chosen: str) -> bool:
    known = occasion.view.policies.tier_fallback
    return chosen not in ("", OPT_OUT) and all(policy.header.name != chosen for policy in known)


def _labelled(occasion: Occasion) -> Iterator[Meta]:
    """Whatever may carry a queue manager's label: the object, its namespace, its pod, and the controllers above the pod."""
    view = occasion.view
    yield view.meta
    yield view.namespace.meta
    if occasion.pod is not None:
        yield occasion.pod.meta
    above = view.controller_meta
    for _ in range(_MOST_CONTROLLERS):
        if above is None:
            return
        yield above
        above = view.controller_of(above)
