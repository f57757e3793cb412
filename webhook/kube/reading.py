"""From an object of the API to what is kept of it: what it is called, and its value in the model."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from webhook.fleet.changes import has_devices
from webhook.kube.kinds import Part
from webhook.kube.stripping import asks_for_devices, stripped
from webhook.model.claim_reading import read_claim, read_claim_template
from webhook.model.cluster_reading import read_namespace, read_node, read_quota, read_taint_rule
from webhook.model.device_reading import read_class, read_slice
from webhook.model.meta import read_meta
from webhook.model.pod_reading import read_pod
from webhook.model.tolerant import Json, mapping, text


@dataclass(frozen=True, slots=True)
class Kept:
    """An object by its key in `webhook.fleet.changes.Changes`. `value` is None when nothing of it is kept."""

    key: Hashable
    value: Any


def read_object(raw: Json, part: Part, kind: str, api_version: str) -> Kept:
    """What is kept of an object of a list or a watch. Never raises on odd input."""
    key = key_of(raw, part)
    if part == "pods" and not asks_for_devices(raw):
        return Kept(key, None)
    value = _READERS[part](stripped(raw, kind, api_version))
    if (part == "pods" and not has_devices(value)) or (part == "slices" and not (value.driver and value.pool)):
        return Kept(key, None)
    return Kept(key, value)


def key_of(raw: Json, part: Part) -> Hashable:
    """What an object is called: controllers by their uid, others by name, namespaced ones by namespace and name."""
    meta = mapping(raw.get("metadata"))
    if part == "controllers":
        return text(meta.get("uid"))
    name = text(meta.get("name"))
    return name if part in _CLUSTER_SCOPED else (text(meta.get("namespace")), name)


def has_name(key: Hashable) -> bool:
    """Whether a key of `key_of` says which object it is of."""
    return all(key) if isinstance(key, tuple) else bool(key)


_CLUSTER_SCOPED: Final[frozenset[Part]] = frozenset({"slices", "classes", "taint_rules", "nodes", "namespaces"})
_READERS: Final[Mapping[Part, Callable[[object], Any]]] = {
    "slices": read_slice,
    "classes": read_class,
    "taint_rules": read_taint_rule,
    "nodes": read_node,
    "namespaces": read_namespace,
    "quotas": read_quota,
    "claims": read_claim,
    "templates": read_claim_template,
    "pods": read_pod,
    "controllers": read_meta,
    "local_queues": read_meta,
}
