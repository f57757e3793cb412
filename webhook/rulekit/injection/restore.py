"""Injections as everybody else sees them: take them out, keep re-applied manifests alive, do not believe forged records.

None of this asks a policy's mode: it runs whatever the policies or caps say.
"""

from __future__ import annotations

from typing import Any, Final

from webhook.model.finding import PatchOp
from webhook.model.review import Review
from webhook.model.tolerant import Json, at, mapping
from webhook.rulekit.injection.authenticity import injection_is_authentic, stored_injection_is_believed
from webhook.rulekit.injection.provenance import INJECTED
from webhook.rulekit.injection.requests_writing import in_v1, in_version_of, is_flat, spec_pointer
from webhook.rulekit.injection.sameness import same_spec
from webhook.rulekit.injection.undo import undo, undone
from webhook.rulekit.patching import ANNOTATIONS, remove_annotation, set_annotation
from webhook.rulekit.policies import PolicySet

__all__ = [
    "INJECTED",
    "injection_is_authentic",
    "restore",
    "stored_injection_is_believed",
    "strip_forged",
    "undo",
]

_KINDS: Final = ("ResourceClaim", "ResourceClaimTemplate")


def restore(review: Review) -> tuple[PatchOp, ...] | None:
    """What makes an UPDATE with the author's own manifest a no-op on an object that was injected into; None for any other.

    Specs are immutable: `kubectl apply` of the manifest in git would be refused for ever. When the new spec is what the record
    on the *old* object says the author wrote (defaults and API versions apart), spec and annotation become the stored ones.
    Nothing but the two objects is read, and the outcome can only be what is stored already.
    """
    new, old = review.object, review.old_object
    if review.operation != "UPDATE" or review.kind not in _KINDS or not isinstance(new, dict) or not isinstance(old, dict):
        return None
    found = undone(old)
    if found is None or not isinstance(new.get("metadata"), dict) or not same_spec(new, found[0]):
        return None
    stored = mapping(at(old, ANNOTATIONS))[INJECTED]
    return ({"op": "replace", "path": "/spec", "value": _spec_for(new, old)}, *set_annotation(new, INJECTED, stored))


def strip_forged(review: Review, policies: PolicySet) -> tuple[PatchOp, ...]:
    """What takes `fallgate.dev/injected` off an object that is being created, unless it is the record of our own injection in
    an earlier mutating call (reinvocationPolicy IfNeeded). Nothing when there is none.

    Claims get the annotations of their template's spec.metadata, where we never write it: there it always goes.
    """
    raw = review.object
    if review.operation != "CREATE" or review.kind not in _KINDS or not isinstance(raw, dict):
        return ()
    is_template = review.kind == "ResourceClaimTemplate"
    copied = remove_annotation(raw, INJECTED, "/spec/metadata/annotations") if is_template else ()
    own = () if injection_is_authentic(raw, policies) else remove_annotation(raw, INJECTED)
    return (*own, *copied)


def _spec_for(new: Json, old: Json) -> Any:
    """The old object's spec, in the new one's API version."""
    if is_flat(new) == is_flat(old):
        return old["spec"]
    pointer = spec_pointer(old)
    spec = dict(mapping(at(old, pointer)))
    devices = dict(mapping(spec.get("devices")))
    written = [in_version_of(in_v1(item, is_flat(old)), is_flat(new)) for item in devices["requests"]]
    spec["devices"] = {**devices, "requests": written}
    return spec if pointer == "/spec" else {**old["spec"], "spec": spec}
