"""Objects without what no rule reads: no managedFields, no pod bodies, no images of nodes. What is left is what is kept.

Annotations are kept of the domains in ANNOTATION_DOMAINS only: others are the business of other controllers, are large
(`kubectl.kubernetes.io/last-applied-configuration`), and change often.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from webhook.model.tolerant import Json, mapping, sequence, text

ANNOTATION_DOMAINS: Final = ("fallgate.dev", "resource.kubernetes.io", "kueue.x-k8s.io")
_SUBDOMAINS: Final = tuple(f".{domain}" for domain in ANNOTATION_DOMAINS)

_META: Final = (
    "name",
    "generateName",
    "namespace",
    "uid",
    "labels",
    "ownerReferences",
    "creationTimestamp",
    "deletionTimestamp",
)
_POD_SPEC: Final = ("nodeName", "nodeSelector", "tolerations", "resourceClaims", "schedulerName", "schedulingGroup")
_POD_STATUS: Final = ("phase", "resourceClaimStatuses", "extendedResourceClaimStatus")
_CONTAINER: Final = ("name", "restartPolicy", "resources")


def stripped(raw: Json, kind: str, api_version: str) -> dict[str, Any]:
    """`raw` with what is read of an object of this kind. Items of lists do not say what they are: the caller does."""
    body: dict[str, Any] = {"apiVersion": api_version, "kind": kind, "metadata": _metadata(mapping(raw.get("metadata")))}
    match kind:
        case "Pod":
            body["spec"], body["status"] = _pod_spec(mapping(raw.get("spec"))), _some(mapping(raw.get("status")), _POD_STATUS)
        case "Node":
            body["spec"], body["status"] = (
                _some(mapping(raw.get("spec")), ("taints",)),
                _node_status(mapping(raw.get("status"))),
            )
        case "ResourceClaim":
            body["spec"], body["status"] = raw.get("spec"), _some(mapping(raw.get("status")), ("allocation", "reservedFor"))
        case "ResourceQuota":
            body["spec"], body["status"] = _some(mapping(raw.get("spec")), ("hard",)), raw.get("status")
        case "ResourceSlice" | "DeviceClass" | "ResourceClaimTemplate" | "DeviceTaintRule":
            body["spec"] = raw.get("spec")
        # Of all others, namespaces, controllers and queues, metadata says everything.
    return {key: value for key, value in body.items() if value}


def asks_for_devices(raw: Json) -> bool:
    """Whether a pod has claims or an extended resource, by a glance: most pods of a cluster have not."""
    spec = mapping(raw.get("spec"))
    return bool(spec.get("resourceClaims")) or any("/" in name for name in _resource_names(spec))


def _resource_names(spec: Json) -> Iterator[str]:
    for field in ("containers", "initContainers"):
        for container in map(mapping, sequence(spec.get(field))):
            resources = mapping(container.get("resources"))
            yield from mapping(resources.get("limits"))
            yield from mapping(resources.get("requests"))


def _metadata(meta: Json) -> dict[str, Any]:
    kept = _some(meta, _META)
    annotations = {key: value for key, value in mapping(meta.get("annotations")).items() if _is_read(key)}
    return {**kept, "annotations": annotations} if annotations else kept


def _is_read(annotation: str) -> bool:
    domain = annotation.partition("/")[0]
    return domain in ANNOTATION_DOMAINS or domain.endswith(_SUBDOMAINS)


def _pod_spec(spec: Json) -> dict[str, Any]:
    kept = _some(spec, _POD_SPEC)
    affinity = mapping(mapping(spec.get("affinity")).get("nodeAffinity"))
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    if required in affinity:
        kept["affinity"] = {"nodeAffinity": {required: affinity[required]}}
    for field in ("initContainers", "containers"):
        containers = [_some(mapping(item), _CONTAINER) for item in sequence(spec.get(field))]
        if containers:
            kept[field] = containers
    return kept


def _node_status(status: Json) -> dict[str, Any]:
    extended = {field: _extended(mapping(status.get(field))) for field in ("allocatable", "capacity")}
    return {field: amounts for field, amounts in extended.items() if amounts}


def _extended(amounts: Json) -> dict[str, Any]:
    return {name: amount for name, amount in amounts.items() if "/" in text(name)}


def _some(body: Mapping[str, Any], fields: tuple[str, ...]) -> dict[str, Any]:
    return {field: body[field] for field in fields if body.get(field)}
