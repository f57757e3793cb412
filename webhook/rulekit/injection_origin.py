"""The author's own ask inside an injected list: other rules judge it as the plain ask that it was."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from webhook.model.claim import Claim, ClaimTemplate, Request
from webhook.rulekit.injection_authenticity import injection_is_authentic
from webhook.rulekit.injection_occasion import template_of
from webhook.rulekit.provenance import INJECTED, InjectedRequest, read_provenance
from webhook.rulekit.view import View

_NOTHING: Final[Mapping[str, str]] = {}


def authored_in(view: View, source: Claim | ClaimTemplate, request: Request) -> str | None:
    """The name of the alternative of `request` that stands for what its author asked for.

    None when the list is the author's own, when the policy replaced the ask, and when the record is not to be believed.
    """
    found = injected_into(view, source, request)
    return found.author if found is not None else None


def injected_into(view: View, source: Claim | ClaimTemplate, request: Request) -> InjectedRequest | None:
    """What was injected into `request` of `source`, which is the object under review or what a pod's claim leads to.

    The record on an object under review must be authentic. That on a stored object was, when it was created; who writes it
    later gains nothing that a declaration would not give. A generated claim is a copy of its template's spec, and has the
    record there.
    """
    recorded = read_provenance(_record_of(view, source))
    found = recorded.request(request.name) if recorded is not None else None
    names = frozenset(alternative.name for alternative in request.alternatives)
    return found if found is not None and found.names == names else None


def _record_of(view: View, source: Claim | ClaimTemplate) -> Mapping[str, str]:
    if source is not view.subject:
        return source.meta.annotations
    if INJECTED in source.meta.annotations:
        return source.meta.annotations if _is_authentic(view) else _NOTHING
    template = template_of(view)
    return template.meta.annotations if template is not None else _NOTHING


def _is_authentic(view: View) -> bool:
    if "injection_is_authentic" not in view.memo:
        view.memo["injection_is_authentic"] = injection_is_authentic(view.review.object, view.policies)
    return bool(view.memo["injection_is_authentic"])
