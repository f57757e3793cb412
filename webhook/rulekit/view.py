"""What one review looks like to a rule: the object, its namespace, the claims behind it, the cluster, the policies.

A View is made for one review and thrown away. It computes lazily and remembers; it never does I/O. What it looked for and did
not find is in `wanted`, unless it is known not to exist.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from webhook.fleet.fleet import Fleet
from webhook.fleet.nodes import NodeSet
from webhook.model.claim import Claim, ClaimSpec, ClaimTemplate
from webhook.model.cluster import Namespace
from webhook.model.meta import Meta, ObjectRef
from webhook.model.pod import Pod, PodClaim, Workload
from webhook.model.pointer import field_path
from webhook.model.review import Review
from webhook.rulekit.lazy import lazy
from webhook.rulekit.policies import PolicySet
from webhook.rulekit.reading_limits import MOST_ALTERNATIVES, number_of_alternatives, within_limits
from webhook.rulekit.subject import Subject, subject_kind

TIER_LABEL = "fallgate.dev/tier"
#: Set by the resourceclaim controller on claims it generates (kubernetes pkg/controller/resourceclaim).
POD_CLAIM_ANNOTATION = "resource.kubernetes.io/pod-claim-name"
#: Owners of pods that are no workloads: a node owns the mirrors of its static pods.
_NO_WORKLOADS = frozenset({"Node", "Pod"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PodClaimSource:
    """What an entry of a pod's spec.resourceClaims leads to.

    `state`: "template" and "claim" when it was found (then `spec` is set), "missing" when it is named but not known, "unknown"
    when the entry refers to something we do not know how to follow. `ref` names what was looked for.
    """

    entry: PodClaim
    state: Literal["template", "claim", "missing", "unknown"]
    ref: ObjectRef | None = None
    spec: ClaimSpec | None = None
    claim: Claim | None = None
    template: ClaimTemplate | None = None

    @property
    def via(self) -> str:
        """`spec.resourceClaims[0] "gpu" -> ResourceClaimTemplate one-gpu`, for the context line of a message."""
        target = f" -> {self.ref.kind} {self.ref.name}" if self.ref else ""
        return f'{field_path(self.entry.pointer)} "{self.entry.name}"{target}'


def _read_together(fleet: Fleet, sources: Iterable[PodClaimSource]) -> tuple[PodClaimSource, ...]:
    """The same sources with the selectors withheld that are too much to be read together."""
    found = tuple(sources)
    followed = [source for source in found if source.spec is not None]
    written = [source.spec for source in followed if source.spec is not None]
    read = within_limits(fleet.inventory, written)
    if all(spec is other for spec, other in zip(read, written, strict=True)):
        return found
    others = {id(source): _with_spec(source, spec) for source, spec in zip(followed, read, strict=True)}
    return tuple(others.get(id(source), source) for source in found)


def _with_spec(source: PodClaimSource, spec: ClaimSpec) -> PodClaimSource:
    claim, template = source.claim, source.template
    return replace(
        source,
        spec=spec,
        claim=replace(claim, spec=spec) if claim is not None else None,
        template=replace(template, spec=spec) if template is not None else None,
    )


class View:
    """One review, as rules see it."""

    def __init__(
        self,
        *,
        review: Review,
        subject: Subject,
        fleet: Fleet,
        policies: PolicySet,
        now: datetime,
        phase: str = "validate",
        absent: frozenset[ObjectRef] = frozenset(),
    ) -> None:
        """`absent` are objects that the fleet does not have and that were looked up live: they do not exist."""
        self.review = review
        self._written = subject
        self.fleet = fleet
        self.policies = policies
        self.now = now
        self.phase = phase
        self.absent = absent
        self._missed: dict[ObjectRef, None] = {}

    def with_object(self, review: Review, subject: Subject) -> View:
        """The same review of a changed object; what was looked for and not found stays noted."""
        changed = View(
            review=review,
            subject=subject,
            fleet=self.fleet,
            policies=self.policies,
            now=self.now,
            phase=self.phase,
            absent=self.absent,
        )
        changed._missed.update(self._missed)
        return changed

    @lazy
    def subject(self) -> Subject:
        """The object under review; a claim's or template's selectors as far as they are read, see reading_limits."""
        written = self._written
        if not isinstance(written, Claim | ClaimTemplate):
            return written
        (spec,) = within_limits(self.fleet.inventory, (written.spec,))
        return written if spec is written.spec else replace(written, spec=spec)

    @property
    def missed(self) -> tuple[ObjectRef, ...]:
        """What was looked for and not found so far, whether it exists or not."""
        return tuple(self._missed)

    @property
    def wanted(self) -> tuple[ObjectRef, ...]:
        """What was looked for and not found so far, and may exist all the same."""
        return tuple(ref for ref in self._missed if ref not in self.absent)

    def want(self, ref: ObjectRef) -> None:
        """Note that `ref` was looked for and not found."""
        self._missed[ref] = None

    def certainly_absent(self, ref: ObjectRef) -> bool:
        """Whether what is not in the fleet does not exist: it was looked up live, or the fleet is no live cluster's."""
        return ref in self.absent or self.fleet.as_of is None

    def missing_class(self, name: str) -> ObjectRef | None:
        """The DeviceClass of that name when the fleet does not have it; it is then noted as looked for."""
        if not name or name in self.fleet.inventory.classes:
            return None
        ref = ObjectRef(kind="DeviceClass", namespace="", name=name)
        self.want(ref)
        return ref

    def class_is_known_missing(self, name: str) -> bool:
        """Whether the classes of the cluster are known and there is none of that name, or it was looked up and is not there."""
        ref = self.missing_class(name)
        return ref is not None and ("DeviceClass" in self.fleet.observed or ref in self.absent)

    def want_classes(self, spec: ClaimSpec | None) -> None:
        """Note every class that `spec` asks for and that the fleet does not have."""
        for request in spec.requests if spec is not None else ():
            for alternative in request.alternatives:
                self.missing_class(alternative.device_class)

    @property
    def kind(self) -> str:
        """The SubjectKind of the object."""
        return subject_kind(self._written)

    @property
    def meta(self) -> Meta:
        """The object's own metadata (a Workload's, not its pod template's)."""
        return self._written.meta

    @property
    def namespace_name(self) -> str:
        """The object's namespace; for a Namespace its own name."""
        return self.review.namespace or self.meta.namespace or (self.meta.name if self.kind == "Namespace" else "")

    @lazy
    def namespace(self) -> Namespace:
        """The object's namespace; one without labels when nothing is known of it."""
        if isinstance(self.subject, Namespace):
            return self.subject
        known = self.fleet.namespaces.get(self.namespace_name)
        if known is not None:
            return known
        if self.namespace_name:
            self.want(ObjectRef(kind="Namespace", namespace="", name=self.namespace_name))
        return Namespace(meta=Meta(name=self.namespace_name), known=False)

    @lazy
    def tier(self) -> str:
        """The namespace's tier, the policies' default tier, or ""."""
        return self.namespace.labels.get(TIER_LABEL) or self.policies.default_tier

    @property
    def pod(self) -> Pod | None:
        """The pod under review: a Pod, or a Workload's pod template. None for everything else."""
        if isinstance(self.subject, Pod):
            return self.subject
        return self.subject.pod if isinstance(self.subject, Workload) else None

    @property
    def claim_spec(self) -> ClaimSpec | None:
        """The spec under review of a ResourceClaim or ResourceClaimTemplate."""
        return self.subject.spec if isinstance(self.subject, Claim | ClaimTemplate) else None

    @lazy
    def pod_claims(self) -> tuple[PodClaimSource, ...]:
        """The claims of the pod under review, each followed to its template or claim, as far as they are read together."""
        pod = self.pod
        if pod is None or not pod.claims:
            return ()
        return _read_together(self.fleet, self._followed(pod))

    def _followed(self, pod: Pod) -> Iterator[PodClaimSource]:
        left = MOST_ALTERNATIVES
        for number, entry in enumerate(pod.claims):
            source = self.follow(pod, entry) if number < MOST_ALTERNATIVES else PodClaimSource(entry=entry, state="unknown")
            left -= number_of_alternatives(source.spec) if source.spec is not None else 0
            yield source if left >= 0 else PodClaimSource(entry=entry, state="unknown", ref=source.ref)

    def follow(self, pod: Pod, entry: PodClaim) -> PodClaimSource:
        """What `entry` of `pod` leads to in the pod's namespace."""
        namespace = pod.meta.namespace or self.namespace_name
        if entry.template_name:
            ref = ObjectRef(kind="ResourceClaimTemplate", namespace=namespace, name=entry.template_name)
            template = self.fleet.templates.get((namespace, entry.template_name))
            if template is not None:
                self.want_classes(template.spec)
                return PodClaimSource(entry=entry, state="template", ref=ref, spec=template.spec, template=template)
            self.want(ref)
            return PodClaimSource(entry=entry, state="missing", ref=ref)
        if entry.claim_name:
            ref = ObjectRef(kind="ResourceClaim", namespace=namespace, name=entry.claim_name)
            claim = self.fleet.claims.get((namespace, entry.claim_name))
            if claim is not None:
                self.want_classes(claim.spec)
                return PodClaimSource(entry=entry, state="claim", ref=ref, spec=claim.spec, claim=claim)
            self.want(ref)
            return PodClaimSource(entry=entry, state="missing", ref=ref)
        return PodClaimSource(entry=entry, state="unknown")

    @lazy
    def alternatives_followed(self) -> int:
        """The alternatives of all claims that the pod under review leads to."""
        return sum(number_of_alternatives(source.spec) for source in self.pod_claims if source.spec is not None)

    @property
    def generated(self) -> bool:
        """Whether the claim under review was generated from a template (it says which entry of its owner it is for)."""
        return isinstance(self.subject, Claim) and bool(
            self.meta.annotations.get(POD_CLAIM_ANNOTATION) and self.meta.controller
        )

    @lazy
    def owner_pod(self) -> Pod | None:
        """The pod that owns the claim under review. None for claims of PodGroups, hand-made claims, unknown pods."""
        owner = self.meta.controller
        if not isinstance(self.subject, Claim) or owner is None or owner.kind != "Pod" or owner.api_version != "v1":
            return None
        pod = self.fleet.pods.get((self.namespace_name, owner.name))
        if pod is not None and pod.meta.uid == owner.uid:
            return pod
        self.want(ObjectRef(kind="Pod", namespace=self.namespace_name, name=owner.name, uid=owner.uid))
        return None

    @lazy
    def feasible(self) -> NodeSet:
        """The nodes that matter: the pod's (or the owner pod's) feasible nodes, all nodes for a claim or template alone."""
        pod = self.pod or self.owner_pod
        return self.fleet.nodes.feasible(pod) if pod is not None else self.fleet.nodes.all

    @lazy
    def controller_meta(self) -> Meta | None:
        """The metadata of the controller of the pod under review (or of the claim's owner pod), as far as it is known."""
        pod = self.pod or self.owner_pod
        return self.controller_of(pod.meta) if pod is not None else None

    def controller_of(self, meta: Meta) -> Meta | None:
        """The metadata of an object's controller. None without one, and for one that is not known.

        That is looked for only where controllers of its kind are known at all: others are never read.
        """
        owner = meta.controller
        if owner is None:
            return None
        known = self.fleet.controllers.get(owner.uid)
        if known is None and owner.kind in self.fleet.observed - _NO_WORKLOADS:
            self.want(
                ObjectRef(
                    kind=owner.kind,
                    namespace=self.namespace_name,
                    name=owner.name,
                    uid=owner.uid,
                    api_version=owner.api_version,
                )
            )
        return known

    @lazy
    def memo(self) -> dict[object, object]:
        """Scratch space of this review, for functions of rulekit that several rules call with the same arguments."""
        return {}
