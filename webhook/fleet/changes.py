"""A fleet after events: what they touch is replaced, everything else is the same object as before, memos included."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from webhook.fleet.fleet import Fleet, Key
from webhook.fleet.holdings import Change, Holdings
from webhook.fleet.inventory import Inventory
from webhook.fleet.nodes import Nodes
from webhook.fleet.sharded import changed_map
from webhook.model.claim import Claim, ClaimTemplate
from webhook.model.cluster import Namespace, Node, Quota, TaintRule
from webhook.model.device import DeviceClass, ResourceSlice
from webhook.model.meta import Meta
from webhook.model.pod import Pod

_Name = TypeVar("_Name")
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """Objects by what names them: as they are now, or None for what is gone. Controllers are named by their uid."""

    slices: Mapping[str, ResourceSlice | None] = field(default_factory=dict)
    classes: Mapping[str, DeviceClass | None] = field(default_factory=dict)
    taint_rules: Mapping[str, TaintRule | None] = field(default_factory=dict)
    nodes: Mapping[str, Node | None] = field(default_factory=dict)
    namespaces: Mapping[str, Namespace | None] = field(default_factory=dict)
    quotas: Mapping[Key, Quota | None] = field(default_factory=dict)
    claims: Mapping[Key, Claim | None] = field(default_factory=dict)
    templates: Mapping[Key, ClaimTemplate | None] = field(default_factory=dict)
    pods: Mapping[Key, Pod | None] = field(default_factory=dict)
    controllers: Mapping[str, Meta | None] = field(default_factory=dict)
    local_queues: Mapping[Key, Meta | None] = field(default_factory=dict)


def has_devices(pod: Pod) -> bool:
    """Whether a pod asks for devices, by claims or as extended resources: only such pods are kept."""
    return bool(pod.claims) or any(container.extended for container in pod.containers)


def with_changes(fleet: Fleet, changes: Changes) -> Fleet:
    """`fleet` after `changes`; itself when they change nothing that is read. `observed` and `as_of` stay."""
    slices = {name: item for name, item in changes.slices.items() if item != fleet.inventory.slice_named(name)}
    classes = _different(fleet.inventory.classes, changes.classes)
    kept = {key: pod if pod is not None and has_devices(pod) else None for key, pod in changes.pods.items()}
    pods, claims = _different(fleet.pods, kept), _different(fleet.claims, changes.claims)
    inventory, pools = fleet.inventory.changed(slices, classes)
    queues = _queues(fleet, changes.local_queues)
    new = replace(
        fleet,
        inventory=inventory,
        nodes=_nodes(fleet, changes.nodes, inventory, pools),
        holdings=_holdings(fleet, pods, claims, inventory, pools),
        namespaces=_changed(fleet.namespaces, changes.namespaces),
        templates=_changed(fleet.templates, changes.templates),
        claims=changed_map(fleet.claims, claims),
        pods=changed_map(fleet.pods, pods),
        controllers=_changed(fleet.controllers, changes.controllers),
        quotas=_quotas(fleet.quotas, changes.quotas),
        taint_rules=_taint_rules(fleet, changes.taint_rules),
        local_queues=queues,
        local_queue_namespaces=fleet.local_queue_namespaces
        if queues is fleet.local_queues
        else frozenset(namespace for namespace, _ in queues),
    )
    return new if any(getattr(new, part) is not getattr(fleet, part) for part in _PARTS) else fleet


_PARTS: Final = (
    "inventory",
    "nodes",
    "holdings",
    "namespaces",
    "templates",
    "claims",
    "pods",
    "controllers",
    "quotas",
    "taint_rules",
    "local_queues",
)


def quotas_by_namespace(quotas: Iterable[Quota]) -> dict[str, tuple[Quota, ...]]:
    """Quotas of each namespace, in the order of their names."""
    found: dict[str, tuple[Quota, ...]] = {}
    for quota in sorted(quotas, key=lambda item: item.meta.name):
        found[quota.meta.namespace] = (*found.get(quota.meta.namespace, ()), quota)
    return found


def _different(old: Mapping[_Name, _Value], new: Mapping[_Name, _Value | None]) -> dict[_Name, _Value | None]:
    """What of `new` is not in `old` already: most events of a quiet cluster say nothing that is read."""
    return {key: value for key, value in new.items() if value != old.get(key)}


def _changed(old: Mapping[_Name, _Value], new: Mapping[_Name, _Value | None]) -> Mapping[_Name, _Value]:
    return changed_map(old, _different(old, new)) if new else old


def _nodes(fleet: Fleet, nodes: Mapping[str, Node | None], inventory: Inventory, pools: Iterable[tuple[str, str]]) -> Nodes:
    touched: set[str] = set()
    for key in pools:
        for pool in (fleet.inventory.by_key.get(key), inventory.by_key.get(key)):
            if pool is not None:
                touched.update(pool.named_nodes)
    return fleet.nodes.changed(nodes, touched, inventory.bound_names()) if nodes or touched else fleet.nodes


def _holdings(
    fleet: Fleet,
    pods: Mapping[Key, Pod | None],
    claims: Mapping[Key, Claim | None],
    inventory: Inventory,
    pools: Iterable[tuple[str, str]],
) -> Holdings:
    if not pods and not claims and inventory is fleet.inventory:
        return fleet.holdings
    held: list[Change[Pod]] = [(fleet.pods.get(key), pod) for key, pod in pods.items()]
    allocated: list[Change[Claim]] = [(fleet.claims.get(key), claim) for key, claim in claims.items()]
    return fleet.holdings.changed(held, allocated, inventory, pools)


def _quotas(old: Mapping[str, tuple[Quota, ...]], new: Mapping[Key, Quota | None]) -> Mapping[str, tuple[Quota, ...]]:
    changes: dict[str, tuple[Quota, ...] | None] = {}
    for namespace in {namespace for namespace, _ in new}:
        quotas: dict[Key, Quota] = {(namespace, quota.meta.name): quota for quota in old.get(namespace, ())}
        own = {key: quota for key, quota in new.items() if key[0] == namespace}
        changes[namespace] = quotas_by_namespace(changed_map(quotas, own).values()).get(namespace)
    return _changed(old, changes)


def _taint_rules(fleet: Fleet, new: Mapping[str, TaintRule | None]) -> tuple[TaintRule, ...]:
    old = {rule.meta.name: rule for rule in fleet.taint_rules}
    rules = _changed(old, new)
    if rules == old:
        return fleet.taint_rules
    return tuple(sorted(rules.values(), key=lambda rule: rule.meta.name))


def _queues(fleet: Fleet, new: Mapping[Key, Meta | None]) -> frozenset[Key]:
    there = {key for key, queue in new.items() if queue is not None}
    queues = (fleet.local_queues - new.keys()) | there if new else fleet.local_queues
    return fleet.local_queues if queues == fleet.local_queues else queues
