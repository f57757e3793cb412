"""The fleet: all that is known of a cluster, as one immutable snapshot.

Parts that change at different speeds are separate objects, so that one event replaces one part and what was derived from the
others stays: `inventory` (slices and classes), `nodes`, `holdings` (who holds devices), and plain mappings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from webhook.fleet.holdings import Holdings
from webhook.fleet.inventory import Inventory
from webhook.fleet.memo import Memo
from webhook.fleet.nodes import Nodes
from webhook.model.claim import Claim, ClaimTemplate
from webhook.model.cluster import Namespace, Quota, TaintRule
from webhook.model.meta import Meta
from webhook.model.pod import Pod
from webhook.model.server_version import Server

#: namespace, name
Key = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fleet:
    """A snapshot. Mappings are keyed by (namespace, name), `controllers` by uid, `quotas` by namespace.

    `observed` names the kinds that were really looked at: an empty mapping of an observed kind means that there are none, of
    any other that we do not know. `as_of` is the instant up to which the facts are known to hold, None for a folder. `memo` is
    for what was found out about this very snapshot.
    """

    server: Server = field(default_factory=Server)
    inventory: Inventory
    nodes: Nodes
    holdings: Holdings
    namespaces: Mapping[str, Namespace] = field(default_factory=dict)
    templates: Mapping[Key, ClaimTemplate] = field(default_factory=dict)
    claims: Mapping[Key, Claim] = field(default_factory=dict)
    pods: Mapping[Key, Pod] = field(default_factory=dict)
    controllers: Mapping[str, Meta] = field(default_factory=dict)
    quotas: Mapping[str, tuple[Quota, ...]] = field(default_factory=dict)
    taint_rules: tuple[TaintRule, ...] = ()
    local_queues: frozenset[Key] = frozenset()
    local_queue_namespaces: frozenset[str] = frozenset()
    observed: frozenset[str] = frozenset()
    as_of: datetime | None = None
    memo: Memo = field(default_factory=dict, init=False, repr=False)


def seen_until(fleet: Fleet, as_of: datetime) -> Fleet:
    """The same facts, known to hold up to another instant. What was found out about them stays."""
    later = replace(fleet, as_of=as_of)
    later.memo.update(fleet.memo)
    return later
