"""What was injected into a request, as far as the record can be believed: users can write annotations too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webhook.fleet.memo import remembered
from webhook.model.claim import Alternative, Claim, ClaimTemplate, Request
from webhook.model.pod import Pod
from webhook.rulekit.injection.provenance import InjectedRequest, read_provenance
from webhook.rulekit.injection.restore import INJECTED, injection_is_authentic, stored_injection_is_believed
from webhook.rulekit.view import View


def injected_request(
    view: View, source: Claim | ClaimTemplate, pod: Pod | None, pod_claim: str, request: Request
) -> InjectedRequest | None:
    """What is recorded about the injection into `request`; None when there was none, or when the record is not to be believed.

    A claim generated from an injected template has the template's list, and the record stays with the template.
    """
    holder = source
    if INJECTED not in source.meta.annotations:
        template = _template_of(view, pod, pod_claim)
        if template is None or not _has(template, request):
            return None
        holder = template
    recorded = read_provenance(holder.meta.annotations)
    return recorded.request(request.name) if recorded is not None and _believed(view, holder) else None


def _template_of(view: View, pod: Pod | None, pod_claim: str) -> ClaimTemplate | None:
    entry = next((entry for entry in pod.claims if entry.name == pod_claim), None) if pod is not None else None
    return view.follow(pod, entry).template if pod is not None and entry is not None else None


def _has(template: ClaimTemplate, request: Request) -> bool:
    lists = {item.name: [alternative.name for alternative in item.alternatives] for item in template.spec.requests}
    return lists.get(request.name) == [alternative.name for alternative in request.alternatives]


def _believed(view: View, source: Claim | ClaimTemplate) -> bool:
    if source is view.subject:
        return injection_is_authentic(view.review.object, view.policies)
    memo = view.fleet.inventory.memo
    # The source is part of what is kept, so that its id cannot come to mean another.
    key = ("authentic", id(source), view.policies)
    kept: tuple[object, bool] = remembered(
        memo, key, lambda: (source, stored_injection_is_believed(_written(source), view.policies))
    )
    return kept[1]


def _written(source: Claim | ClaimTemplate) -> Mapping[str, Any]:
    """What was read, as a claim in v1 with nothing but lists: enough for the record, which is about lists. What was not
    understood makes the record incredible."""
    devices = {
        "requests": [
            {"name": request.name, "firstAvailable": [_alternative(item) for item in request.alternatives]}
            for request in source.spec.requests
        ],
        "config": [
            {"requests": list(config.requests), "opaque": {"driver": config.driver, "parameters": config.parameters}}
            for config in source.spec.configs
        ],
    }
    metadata = {"annotations": dict(source.meta.annotations)}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": metadata, "spec": {"devices": devices}}


def _alternative(item: Alternative) -> Mapping[str, Any]:
    return {
        "name": item.name,
        "deviceClassName": item.device_class,
        "selectors": [{"cel": {"expression": selector.expression}} for selector in item.written],
        "allocationMode": item.allocation_mode,
        "count": item.count,
        "tolerations": [
            {
                "key": held.key,
                "operator": held.operator,
                "value": held.value,
                "effect": held.effect,
                "tolerationSeconds": held.seconds,
            }
            for held in item.tolerations
        ],
        "capacity": {"requests": dict(item.capacity)},
        **dict.fromkeys(item.unknown, "not understood"),
    }
