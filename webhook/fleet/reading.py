"""Raw Kubernetes objects, sorted by kind and read into the model: what a fleet is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from webhook.fleet.fleet import Key
from webhook.model.claim import Claim, ClaimTemplate
from webhook.model.claim_reading import read_claim, read_claim_template
from webhook.model.cluster import Namespace, Node, Quota, TaintRule
from webhook.model.cluster_reading import read_namespace, read_node, read_quota, read_taint_rule
from webhook.model.device import DeviceClass, ResourceSlice
from webhook.model.device_reading import read_class, read_slice
from webhook.model.meta import Meta, read_meta
from webhook.model.pod import Pod
from webhook.model.pod_reading import read_pod
from webhook.model.tolerant import Json, mapping, text

RESOURCE_GROUP: Final = "resource.k8s.io"
KUEUE_GROUP: Final = "kueue.x-k8s.io"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Objects by what names them. A later object replaces an earlier one of the same name. Mutable while it is being read."""

    slices: dict[str, ResourceSlice] = field(default_factory=dict)
    classes: dict[str, DeviceClass] = field(default_factory=dict)
    taint_rules: dict[str, TaintRule] = field(default_factory=dict)
    nodes: dict[str, Node] = field(default_factory=dict)
    namespaces: dict[str, Namespace] = field(default_factory=dict)
    quotas: dict[Key, Quota] = field(default_factory=dict)
    claims: dict[Key, Claim] = field(default_factory=dict)
    templates: dict[Key, ClaimTemplate] = field(default_factory=dict)
    pods: dict[Key, Pod] = field(default_factory=dict)
    controllers: dict[str, Meta] = field(default_factory=dict)
    local_queues: dict[Key, Meta] = field(default_factory=dict)
    kinds: set[str] = field(default_factory=set)


_Take = Callable[[Parts, Json], None]


def read_parts(objects: Iterable[object], namespace: str) -> Parts:
    """`objects` (single ones, no Lists) by kind. Namespaced ones that name no namespace are taken to be in `namespace`.

    What is no object with a kind and a name is passed over.
    """
    parts = Parts()
    for raw in objects:
        body = mapping(raw)
        kind, name = text(body.get("kind")), text(mapping(body.get("metadata")).get("name"))
        if not kind or not name:
            continue
        parts.kinds.add(kind)
        group = text(body.get("apiVersion")).rpartition("/")[0]
        if (group, kind) in _CLUSTER_SCOPED:
            _CLUSTER_SCOPED[group, kind](parts, body)
        elif (group, kind) in _NAMESPACED:
            _NAMESPACED[group, kind](parts, _with_namespace(body, namespace))
        else:
            _take_controller(parts, body)
    return parts


def _with_namespace(body: Json, namespace: str) -> Json:
    meta = mapping(body.get("metadata"))
    return body if text(meta.get("namespace")) else {**body, "metadata": {**meta, "namespace": namespace}}


def _key(meta: Meta) -> Key:
    return (meta.namespace, meta.name)


def _take_slice(parts: Parts, body: Json) -> None:
    read = read_slice(body)
    if read.driver and read.pool:
        parts.slices[read.meta.name] = read


def _take_class(parts: Parts, body: Json) -> None:
    read = read_class(body)
    parts.classes[read.name] = read


def _take_taint_rule(parts: Parts, body: Json) -> None:
    read = read_taint_rule(body)
    parts.taint_rules[read.meta.name] = read


def _take_node(parts: Parts, body: Json) -> None:
    read = read_node(body)
    parts.nodes[read.name] = read


def _take_namespace(parts: Parts, body: Json) -> None:
    read = read_namespace(body)
    parts.namespaces[read.name] = read


def _take_quota(parts: Parts, body: Json) -> None:
    read = read_quota(body)
    parts.quotas[_key(read.meta)] = read


def _take_claim(parts: Parts, body: Json) -> None:
    read = read_claim(body)
    parts.claims[_key(read.meta)] = read


def _take_template(parts: Parts, body: Json) -> None:
    read = read_claim_template(body)
    parts.templates[_key(read.meta)] = read


def _take_pod(parts: Parts, body: Json) -> None:
    read = read_pod(body)
    parts.pods[_key(read.meta)] = read


def _take_local_queue(parts: Parts, body: Json) -> None:
    meta = read_meta(body)
    parts.local_queues[_key(meta)] = meta


def _take_controller(parts: Parts, body: Json) -> None:
    meta = read_meta(body)
    if meta.uid:
        parts.controllers[meta.uid] = meta


_CLUSTER_SCOPED: Final[Mapping[tuple[str, str], _Take]] = {
    (RESOURCE_GROUP, "ResourceSlice"): _take_slice,
    (RESOURCE_GROUP, "DeviceClass"): _take_class,
    (RESOURCE_GROUP, "DeviceTaintRule"): _take_taint_rule,
    ("", "Node"): _take_node,
    ("", "Namespace"): _take_namespace,
}
_NAMESPACED: Final[Mapping[tuple[str, str], _Take]] = {
    ("", "ResourceQuota"): _take_quota,
    (RESOURCE_GROUP, "ResourceClaim"): _take_claim,
    (RESOURCE_GROUP, "ResourceClaimTemplate"): _take_template,
    ("", "Pod"): _take_pod,
    (KUEUE_GROUP, "LocalQueue"): _take_local_queue,
}
