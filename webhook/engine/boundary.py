"""What is never judged: whose requests, which objects, which operations pass by every rule.

Rules of this file:
1. Finalizer, status and metadata-only updates pass: a claim denied today may exist from yesterday, and must be deletable.
2. What kube-scheduler creates for extended resources passes, and only that: the annotation alone can be forged.
3. A claim of more parts than any claim can have passes: the API server refuses it after the mutating webhooks, in words of its
   own, and before the validating ones.
4. Excluded namespaces pass, also when the webhook configuration forgot them.
"""

from __future__ import annotations

from webhook.engine.settings import EngineSettings
from webhook.model.claim import Claim, ClaimSpec, ClaimTemplate
from webhook.model.cluster import Namespace
from webhook.model.device import DeviceClass
from webhook.model.pod import Workload
from webhook.model.review import Review
from webhook.model.tolerant import at, mapping
from webhook.rulekit.reading_limits import MOST_ALTERNATIVES, number_of_alternatives
from webhook.rulekit.subject import Subject

#: Set by kube-scheduler on the claims it makes for extended resources (KEP-5004).
EXTENDED_CLAIM_ANNOTATION = "resource.kubernetes.io/extended-resource-claim"
#: The API allows 32 requests, constraints and configs each (k8s.io/api resource/v1).
_MOST_PARTS = 4 * 32
LABEL_PREFIX = "fallgate.dev/"
#: The label that opens a namespace for adminAccess (since 1.34).
ADMIN_ACCESS_LABEL = "resource.kubernetes.io/admin-access"


def passes_by(review: Review, settings: EngineSettings) -> str:
    """Why the request is not even read, or ""."""
    if review.subresource:
        return f"subresource {review.subresource}"
    if review.operation not in ("CREATE", "UPDATE"):
        return f"operation {review.operation}"
    if review.object is None:
        return "no object"
    if not isinstance(review.object.get("metadata"), dict):
        return "no metadata"
    if review.namespace in settings.excluded_namespaces:
        return f"namespace {review.namespace} is excluded"
    return ""


def not_judged(review: Review, subject: Subject, settings: EngineSettings) -> str:
    """Why no rule is asked about the object, or ""."""
    if isinstance(subject, Claim) and is_schedulers_claim(review, subject, settings):
        return "made by the scheduler for extended resources"
    if isinstance(subject, Claim | ClaimTemplate) and _is_beyond_the_api(subject.spec):
        return "more requests, alternatives, constraints or configs than the API server accepts"
    if review.operation == "CREATE" or _changed(review, subject):
        return ""
    return "nothing that rules read has changed"


def _is_beyond_the_api(spec: ClaimSpec) -> bool:
    """Whether a claim has several times the parts that the API allows, so that a server that allows a few more is no matter."""
    parts = max(len(spec.requests), len(spec.constraints), len(spec.configs))
    return parts > _MOST_PARTS or number_of_alternatives(spec) > MOST_ALTERNATIVES


def is_schedulers_claim(review: Review, claim: Claim, settings: EngineSettings) -> bool:
    """A special claim of kube-scheduler: marked, owned by a pod, and really sent by the scheduler."""
    owner = claim.meta.controller
    return (
        claim.meta.annotations.get(EXTENDED_CLAIM_ANNOTATION) == "true"
        and review.user.name in settings.scheduler_users
        and owner is not None
        and (owner.api_version, owner.kind) == ("v1", "Pod")
    )


def _changed(review: Review, subject: Subject) -> bool:
    """Whether an UPDATE changes what rules read. Claims, templates and pods are immutable there: never."""
    if isinstance(subject, Workload):
        pointer = subject.pod.pointer
        return bool(at(review.object, pointer) != at(review.old_object, pointer))
    if isinstance(subject, Namespace):
        return _own_labels(review.object) != _own_labels(review.old_object)
    if isinstance(subject, DeviceClass):
        return bool(mapping(review.object).get("spec") != mapping(review.old_object).get("spec"))
    return False


def _own_labels(raw: object) -> dict[str, object]:
    labels = mapping(at(raw, "/metadata/labels"))
    return {key: value for key, value in labels.items() if key.startswith(LABEL_PREFIX) or key == ADMIN_ACCESS_LABEL}
