"""Whether a CEL error is certain: on an otherwise idle cluster no feasible node gets past it.

The scheduler asks every feasible node on its own. On a node it goes through pools by driver and name, devices as published,
class selectors first, and stops when the count is met; an error on the way gives up the pod altogether (kubernetes
dynamic-resource-allocation structured/internal allocators). `All` looks at every device.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from webhook.fleet.fleet import Fleet
from webhook.fleet.inventory import Matches, Pool, PoolMatches
from webhook.fleet.nodes import NodeSet
from webhook.model.claim import ALL, Alternative, ClaimSpec

#: What an alternative, a request or a whole claim comes to on one node.
Passage = Literal["fits", "errs", "does not fit"]


def error_is_certain(fleet: Fleet, spec: ClaimSpec, nodes: NodeSet) -> bool:
    """True when on every one of `nodes` the claim either does not fit or errs first, and on at least one it errs."""
    matches = {
        alternative.pointer: fleet.inventory.match(
            alternative.device_class, tuple(selector.expression for selector in alternative.selectors)
        )
        for request in spec.requests
        for alternative in request.alternatives
    }
    found = {_on_node(fleet, spec, matches, node.name) for node in fleet.nodes.members(nodes)}
    return "errs" in found and "fits" not in found


def _on_node(fleet: Fleet, spec: ClaimSpec, matches: Mapping[str, Matches], node: str) -> Passage:
    reachable = _pools_for(fleet, node)
    for request in spec.requests:
        passage: Passage = "does not fit"
        for alternative in request.alternatives:
            passage = _alternative(fleet, alternative, matches[alternative.pointer], reachable, node)
            if passage != "does not fit":
                break
        if passage != "fits":
            return passage
    return "fits"


def _alternative(fleet: Fleet, alternative: Alternative, found: Matches, pools: Iterable[Pool], node: str) -> Passage:
    by_pool = {item.pool.key: item for item in found.pools}
    needed, taken = alternative.count, 0
    here = 1 << fleet.nodes.index(node)
    for pool in pools:
        outcomes = by_pool.get(pool.key)
        if outcomes is None:
            continue
        matched, erring = _outcomes(outcomes)
        for device in pool.devices:
            if not fleet.nodes.reached(device.reach) & here:
                continue
            if device.name in erring:
                return "errs"
            taken += device.name in matched
            if alternative.allocation_mode != ALL and taken >= needed:
                return "fits"
    return "fits" if alternative.allocation_mode == ALL and taken else "does not fit"


def _outcomes(found: PoolMatches) -> tuple[frozenset[str], frozenset[str]]:
    return frozenset(item.name for item in found.matched), frozenset(item.device.name for item in found.errors)


def _pools_for(fleet: Fleet, node: str) -> tuple[Pool, ...]:
    pools = (*fleet.inventory.pools_on(node), *fleet.inventory.shared_pools)
    return tuple(sorted(pools, key=lambda pool: pool.key))
