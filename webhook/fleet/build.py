"""From raw objects to a Fleet, and a few more objects laid over one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final, TypeVar

from webhook.fleet.fleet import Fleet, Key
from webhook.fleet.holdings import FINISHED_PHASES, Holdings
from webhook.fleet.inventory import Inventory
from webhook.fleet.nodes import Nodes
from webhook.fleet.pool import Pool, PoolKey, make_pool
from webhook.fleet.reading import Parts, read_parts
from webhook.model.claim import Claim
from webhook.model.cluster import Quota, TaintRule
from webhook.model.device import ResourceSlice
from webhook.model.pod import Pod
from webhook.model.server_version import Server

#: Where kubectl puts a namespaced object that names no namespace.
DEFAULT_NAMESPACE: Final = "default"

_NEWEST_SERVER: Final = Server()
_Name = TypeVar("_Name")
_Value = TypeVar("_Value")


def build_fleet(
    objects: Iterable[object],
    *,
    server: Server = _NEWEST_SERVER,
    as_of: datetime | None = None,
    namespace: str = DEFAULT_NAMESPACE,
    observed: Iterable[str] = (),
) -> Fleet:
    """The fleet that raw objects (in any order and API version, Lists already split) describe.

    Of two objects of one kind, namespace and name the later counts; unknown kinds and odd objects are passed over.
    `namespace` is where namespaced objects without a namespace are taken to be. `observed` names further kinds that were
    looked at although no object of them is there.
    """
    parts = read_parts(objects, namespace)
    inventory = Inventory(map(make_pool, _by_pool(parts.slices.values()).values()), parts.classes, server)
    pods = {key: pod for key, pod in parts.pods.items() if has_devices(pod)}
    return Fleet(
        server=server,
        inventory=inventory,
        nodes=Nodes(parts.nodes.values(), inventory.node_names),
        holdings=Holdings(inventory, pods.values(), parts.claims.values()),
        namespaces=parts.namespaces,
        templates=parts.templates,
        claims=parts.claims,
        pods=pods,
        controllers=parts.controllers,
        quotas=_quotas_by_namespace(parts.quotas.values()),
        taint_rules=tuple(sorted(parts.taint_rules.values(), key=lambda rule: rule.meta.name)),
        local_queue_namespaces=frozenset(namespace for namespace, _ in parts.local_queues),
        observed=frozenset(observed) | parts.kinds,
        as_of=as_of,
    )


def with_objects(fleet: Fleet, objects: Iterable[object], *, namespace: str = DEFAULT_NAMESPACE) -> Fleet:
    """`fleet` with `objects` added or replaced, as if they had been applied. What they do not touch is the same object as
    before, memos included; `observed` and `as_of` stay."""
    parts = read_parts(objects, namespace)
    if not parts.kinds:
        return fleet
    inventory = _inventory_with(fleet.inventory, parts)
    return replace(
        fleet,
        inventory=inventory,
        nodes=_nodes_with(fleet.nodes, parts, inventory),
        holdings=_holdings_with(fleet, parts, inventory),
        namespaces=_merged(fleet.namespaces, parts.namespaces),
        templates=_merged(fleet.templates, parts.templates),
        claims=_merged(fleet.claims, parts.claims),
        pods=_pods_with(fleet.pods, parts.pods),
        controllers=_merged(fleet.controllers, parts.controllers),
        quotas=_quotas_with(fleet.quotas, parts.quotas),
        taint_rules=_taint_rules_with(fleet, parts),
        local_queue_namespaces=fleet.local_queue_namespaces.union(namespace for namespace, _ in parts.local_queues),
    )


def has_devices(pod: Pod) -> bool:
    """Whether a pod asks for devices, by claims or as extended resources: only such pods are kept."""
    return bool(pod.claims) or any(container.extended for container in pod.containers)


def _by_pool(slices: Iterable[ResourceSlice]) -> dict[PoolKey, list[ResourceSlice]]:
    found: dict[PoolKey, list[ResourceSlice]] = {}
    for item in slices:
        found.setdefault((item.driver, item.pool), []).append(item)
    return found


def _quotas_by_namespace(quotas: Iterable[Quota]) -> dict[str, tuple[Quota, ...]]:
    found: dict[str, tuple[Quota, ...]] = {}
    for quota in sorted(quotas, key=lambda item: item.meta.name):
        found[quota.meta.namespace] = (*found.get(quota.meta.namespace, ()), quota)
    return found


def _merged(old: Mapping[_Name, _Value], new: Mapping[_Name, _Value]) -> Mapping[_Name, _Value]:
    return {**old, **new} if new else old


def _inventory_with(old: Inventory, parts: Parts) -> Inventory:
    if not parts.slices and not parts.classes:
        return old
    classes = _merged(old.classes, parts.classes)
    return Inventory(_pools_with(old.pools, parts.slices), classes, old.server)


def _pools_with(pools: tuple[Pool, ...], slices: Mapping[str, ResourceSlice]) -> Iterable[Pool]:
    if not slices:
        return pools
    kept: list[Pool] = []
    changed = _by_pool(slices.values())
    for pool in pools:
        if pool.key not in changed and not any(item.meta.name in slices for item in pool.slices):
            kept.append(pool)
        elif left := [item for item in pool.slices if item.meta.name not in slices]:
            changed.setdefault(pool.key, []).extend(left)
    return (*kept, *map(make_pool, changed.values()))


def _nodes_with(old: Nodes, parts: Parts, inventory: Inventory) -> Nodes:
    named = inventory.node_names if parts.slices else ()
    if not parts.nodes and all(name in old.by_name for name in named):
        return old
    return Nodes({**old.by_name, **parts.nodes}.values(), named)


def _holdings_with(fleet: Fleet, parts: Parts, inventory: Inventory) -> Holdings:
    pods = any(_may_hold(pod) or _may_hold(fleet.pods.get(key)) for key, pod in parts.pods.items())
    claims = any(_is_allocated(claim) or _is_allocated(fleet.claims.get(key)) for key, claim in parts.claims.items())
    if pods or claims:
        all_pods, all_claims = _pods_with(fleet.pods, parts.pods), _merged(fleet.claims, parts.claims)
        return Holdings(inventory, all_pods.values(), all_claims.values())
    return fleet.holdings if inventory is fleet.inventory else fleet.holdings.seen_with(inventory)


def _may_hold(pod: Pod | None) -> bool:
    return pod is not None and bool(pod.node_name) and pod.phase not in FINISHED_PHASES


def _is_allocated(claim: Claim | None) -> bool:
    return claim is not None and bool(claim.allocation)


def _pods_with(old: Mapping[Key, Pod], new: Mapping[Key, Pod]) -> Mapping[Key, Pod]:
    kept = {key: pod for key, pod in new.items() if has_devices(pod)}
    gone = {key for key in new if key not in kept and key in old}
    return _merged({key: pod for key, pod in old.items() if key not in gone} if gone else old, kept)


def _quotas_with(old: Mapping[str, tuple[Quota, ...]], new: Mapping[Key, Quota]) -> Mapping[str, tuple[Quota, ...]]:
    if not new:
        return old
    before = {(quota.meta.namespace, quota.meta.name): quota for quotas in old.values() for quota in quotas}
    return _quotas_by_namespace({**before, **new}.values())


def _taint_rules_with(fleet: Fleet, parts: Parts) -> tuple[TaintRule, ...]:
    if not parts.taint_rules:
        return fleet.taint_rules
    rules = {rule.meta.name: rule for rule in fleet.taint_rules} | parts.taint_rules
    return tuple(sorted(rules.values(), key=lambda rule: rule.meta.name))
