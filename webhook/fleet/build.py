"""From raw objects to a Fleet, and a few more objects laid over one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from datetime import datetime
from typing import Final

from webhook.fleet.changes import Changes, has_devices, quotas_by_namespace, with_changes
from webhook.fleet.fleet import Fleet
from webhook.fleet.holdings import Holdings
from webhook.fleet.inventory import Inventory
from webhook.fleet.nodes import Nodes
from webhook.fleet.pool import PoolKey, make_pool
from webhook.fleet.reading import read_parts
from webhook.model.device import ResourceSlice
from webhook.model.server_version import NEWEST, Server

#: Where kubectl puts a namespaced object that names no namespace.
DEFAULT_NAMESPACE: Final = "default"


def build_fleet(
    objects: Iterable[object],
    *,
    server: Server = NEWEST,
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
        quotas=quotas_by_namespace(parts.quotas.values()),
        taint_rules=tuple(sorted(parts.taint_rules.values(), key=lambda rule: rule.meta.name)),
        local_queues=frozenset(parts.local_queues),
        local_queue_namespaces=frozenset(namespace for namespace, _ in parts.local_queues),
        observed=frozenset(observed) | parts.kinds,
        as_of=as_of,
    )


def with_objects(fleet: Fleet, objects: Iterable[object], *, namespace: str = DEFAULT_NAMESPACE) -> Fleet:
    """`fleet` with `objects` added or replaced, as if they had been applied. What they do not touch is the same object as
    before, memos included; `observed` and `as_of` stay."""
    parts = read_parts(objects, namespace)
    return with_changes(fleet, Changes(**{part.name: getattr(parts, part.name) for part in fields(Changes)}))


def _by_pool(slices: Iterable[ResourceSlice]) -> dict[PoolKey, list[ResourceSlice]]:
    found: dict[PoolKey, list[ResourceSlice]] = {}
    for item in slices:
        found.setdefault((item.driver, item.pool), []).append(item)
    return found
