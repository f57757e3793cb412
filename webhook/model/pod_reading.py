"""JSON -> Pod, Workload. Never raises on odd input."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from webhook.model.meta import read_meta
from webhook.model.pod import Container, ContainerClaim, ContainerKind, NodeToleration, Pod, PodClaim, Workload
from webhook.model.quantity import cached_quantity
from webhook.model.tolerant import Json, at, integer, mapping, quantity_text, sequence, string_map, text
from webhook.model.workload_kinds import WorkloadKind

_INT64_DIGITS = 18
_EXACT_FLOATS = 2.0**53


def read_pod(raw: object, pointer: str = "") -> Pod:
    """The pod, or pod template, at `pointer` of `raw`."""
    body = mapping(at(raw, pointer) if pointer else raw)
    spec = mapping(body.get("spec"))
    status = mapping(body.get("status"))
    base = f"{pointer}/spec"
    affinity = mapping(mapping(spec.get("affinity")).get("nodeAffinity"))
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    terms = tuple(mapping(item) for item in sequence(required.get("nodeSelectorTerms"))) if isinstance(required, dict) else None
    special = mapping(status.get("extendedResourceClaimStatus"))
    return Pod(
        meta=read_meta(body),
        pointer=pointer,
        node_name=text(spec.get("nodeName")),
        node_selector=string_map(spec.get("nodeSelector")),
        required_terms=terms,
        tolerations=tuple([_read_toleration(mapping(item)) for item in sequence(spec.get("tolerations"))]),
        scheduler_name=text(spec.get("schedulerName")),
        scheduling_group=text(mapping(spec.get("schedulingGroup")).get("podGroupName")),
        claims=tuple(
            [
                _read_pod_claim(mapping(item), f"{base}/resourceClaims/{i}")
                for i, item in enumerate(sequence(spec.get("resourceClaims")))
            ]
        ),
        containers=(
            *_read_containers(spec.get("initContainers"), f"{base}/initContainers", init=True),
            *_read_containers(spec.get("containers"), f"{base}/containers", init=False),
        ),
        phase=text(status.get("phase")),
        extended_by_dra=frozenset(
            text(item.get("resourceName")) for item in map(mapping, sequence(special.get("requestMappings")))
        ),
    )


def read_workload(raw: object, kind: WorkloadKind) -> Workload:
    """A controller of the given kind."""
    body = mapping(raw)
    replicas = at(body, kind.replicas) if kind.replicas else None
    pod = read_pod(body, kind.template)
    meta = read_meta(body)
    if not pod.meta.namespace:
        pod = replace(pod, meta=replace(pod.meta, namespace=meta.namespace))
    return Workload(
        api_version=text(body.get("apiVersion")),
        kind=text(body.get("kind")),
        meta=meta,
        pod=pod,
        replicas=integer(replicas, 1) if kind.replicas else None,
        gang=kind.gang,
    )


def _read_pod_claim(raw: Json, pointer: str) -> PodClaim:
    # `source:` was the form before 1.31; the API server refuses it today, old manifests still have it.
    source = mapping(raw.get("source")) or raw
    return PodClaim(
        name=text(raw.get("name")),
        pointer=pointer,
        claim_name=text(source.get("resourceClaimName")),
        template_name=text(source.get("resourceClaimTemplateName")),
    )


def _read_containers(raw: object, pointer: str, *, init: bool) -> tuple[Container, ...]:
    return tuple([_read_container(mapping(item), f"{pointer}/{i}", init) for i, item in enumerate(sequence(raw))])


def _read_container(raw: Json, pointer: str, init: bool) -> Container:
    resources = mapping(raw.get("resources"))
    kind: ContainerKind = "container"
    if init:
        kind = "sidecar" if raw.get("restartPolicy") == "Always" else "init"
    asked: Json = mapping(resources.get("limits"))
    if requested := mapping(resources.get("requests")):
        asked = {**requested, **asked}
    return Container(
        name=text(raw.get("name")),
        kind=kind,
        pointer=pointer,
        claims=tuple(
            [
                ContainerClaim(
                    name=text(item.get("name")),
                    pointer=f"{pointer}/resources/claims/{i}",
                    request=text(item.get("request")),
                )
                for i, item in enumerate(map(mapping, sequence(resources.get("claims"))))
            ]
        ),
        extended=read_extended(asked),
    )


def read_extended(amounts: Mapping[str, object], *, keep_zero: bool = False) -> Mapping[str, int]:
    """The extended resources (names with a `/`) among `amounts`; those of amount 0 only with `keep_zero`."""
    found = {}
    for name, amount in amounts.items():
        if "/" not in name:
            continue
        whole = _whole(amount)
        if whole or keep_zero:
            found[name] = whole
    return found


def _whole(amount: object) -> int:
    """An extended resource is a whole number of at least 0, written as any quantity: `8`, `"8"`, `1k`, `1.0`."""
    written = quantity_text(amount)
    if written.isascii() and written.isdigit() and len(written) <= _INT64_DIGITS:
        return int(written)
    try:
        number = cached_quantity(written).as_float()
    except ValueError:
        return 0
    return int(number) if 0 < number < _EXACT_FLOATS and number.is_integer() else 0


def _read_toleration(raw: Json) -> NodeToleration:
    return NodeToleration(
        key=text(raw.get("key")),
        operator=text(raw.get("operator")) or "Equal",
        value=text(raw.get("value")),
        effect=text(raw.get("effect")),
    )
