"""JSON -> Node, Namespace, Quota, TaintRule. Never raises on odd input."""

from __future__ import annotations

from collections.abc import Mapping

from webhook.model.cluster import Namespace, Node, NodeTaint, Quota, TaintRule
from webhook.model.device_reading import read_taint
from webhook.model.meta import read_meta
from webhook.model.pod_reading import read_extended
from webhook.model.tolerant import Json, mapping, quantity_text, sequence, text


def read_node(raw: object) -> Node:
    """A Node."""
    body = mapping(raw)
    status = mapping(body.get("status"))
    return Node(
        meta=read_meta(body),
        taints=tuple(_read_taint(mapping(item)) for item in sequence(mapping(body.get("spec")).get("taints"))),
        allocatable=read_extended(mapping(status.get("allocatable")), keep_zero=True),
        capacity=read_extended(mapping(status.get("capacity")), keep_zero=True),
    )


def read_namespace(raw: object) -> Namespace:
    """A Namespace."""
    return Namespace(meta=read_meta(raw))


def read_quota(raw: object) -> Quota:
    """A ResourceQuota. The API server goes by the status; the spec speaks for a quota that no controller has seen yet."""
    body = mapping(raw)
    status = mapping(body.get("status"))
    spec = mapping(body.get("spec"))
    return Quota(
        meta=read_meta(body),
        hard=_quantities(status.get("hard") or spec.get("hard")),
        used=_quantities(status.get("used")),
        scoped=bool(sequence(spec.get("scopes")) or sequence(mapping(spec.get("scopeSelector")).get("matchExpressions"))),
    )


def read_taint_rule(raw: object) -> TaintRule:
    """A DeviceTaintRule of any API version."""
    body = mapping(raw)
    spec = mapping(body.get("spec"))
    selector = spec.get("deviceSelector")
    fields = mapping(selector)
    return TaintRule(
        meta=read_meta(body),
        taint=read_taint(mapping(spec.get("taint"))),
        selects=isinstance(selector, dict),
        driver=text(fields.get("driver")),
        pool=text(fields.get("pool")),
        device=text(fields.get("device")),
    )


def _quantities(raw: object) -> Mapping[str, str]:
    return {key: quantity_text(value) for key, value in mapping(raw).items() if quantity_text(value)}


def _read_taint(raw: Json) -> NodeTaint:
    return NodeTaint(key=text(raw.get("key")), value=text(raw.get("value")), effect=text(raw.get("effect")))
