"""Whether a CEL error is certain: on an otherwise idle cluster no feasible node gets past it.

The scheduler asks the feasible nodes one by one, each by itself. On a node an error on the way gives up the pod altogether, and
whether it is on the way depends on the order of devices, on the count, on the rest of the claim: see first_fit.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Final, TypeAlias

from webhook.cel import Selector
from webhook.fleet.fleet import Fleet
from webhook.fleet.matching import POOL_LIMIT, compile_for, dialect_of, match_pools
from webhook.fleet.memo import Memo, remembered
from webhook.fleet.nodes import NodeSet
from webhook.fleet.pool import Pool
from webhook.model.claim import MAX_ALTERNATIVES, MAX_RESULTS, Alternative, ClaimSpec
from webhook.model.device import Device
from webhook.model.server_version import Server
from webhook.rulekit.shapes.first_fit import MOST_STEPS, Fate, Outcome, Terms, fate_on_node, likeness
from webhook.rulekit.shapes.node_pools import Gathered, View, gather

#: Steps for all nodes together: beyond, nothing is certain.
MOST_STEPS_TOGETHER: Final = 200_000
#: Steps within which finding out is cheaper than looking whether another node was like this one.
_FEW_STEPS: Final = 12
#: Answers kept per inventory before all are dropped.
_KEPT: Final = 256
#: From this minor version on, with the default gates, the scheduler goes through devices in a known order.
_ORDERED_SINCE: Final = 36

_Outcomes: TypeAlias = Mapping[str, Outcome]


def error_is_certain(fleet: Fleet, spec: ClaimSpec, nodes: NodeSet) -> bool:
    """True when on every one of `nodes` the claim either does not fit or errs first, and on at least one it errs.

    Remembered on the inventory. False too when it would take too many steps to find out.
    """
    if not _understood(spec, fleet.server):
        return False
    key = (repr((spec.requests, spec.constraints)), nodes)
    return remembered(_memo_for(fleet), key, lambda: _is_certain(fleet, spec, nodes), _KEPT)


def _memo_for(fleet: Fleet) -> Memo:
    """The answers for these nodes, taints and this server: a change of any starts anew."""
    held = fleet.inventory.memo.get("certainty")
    if held is None or held[0] is not fleet.nodes or held[1] is not fleet.taint_rules or held[2] is not fleet.server:
        held = fleet.inventory.memo["certainty"] = (fleet.nodes, fleet.taint_rules, fleet.server, {})
    memo: Memo = held[3]
    return memo


def _is_certain(fleet: Fleet, spec: ClaimSpec, nodes: NodeSet) -> bool:
    texts = {
        alternative.pointer: _texts(fleet, alternative) for request in spec.requests for alternative in request.alternatives
    }

    if any(_is_too_costly(fleet, item) for request in spec.requests for item in request.alternatives):
        return False
    by_pool: dict[Pool, dict[str, _Outcomes]] = {}

    def judge(alternative: Alternative, view: View, device: Device) -> Outcome:
        held = by_pool.setdefault(view.pool, {})
        found = held.get(alternative.pointer)
        if found is None:
            found = held[alternative.pointer] = _outcomes(view.pool, texts[alternative.pointer], fleet.server)
        return found.get(device.name, "no match")

    fates = _Fates(Terms(fleet, spec, judge, _is_ordered(fleet.server)))
    errs = False
    for node in fleet.nodes.members(nodes):
        fate = fates.on(gather(fleet, node.name))
        if fate in ("fits", "unknown"):
            return False
        errs = errs or fate == "errs"
    return errs


class _Fates:
    """What a claim comes to on one node after the other: what takes long is found out once for all nodes that are alike."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._known: dict[Hashable, Fate] = {}
        self._left = MOST_STEPS_TOGETHER

    def on(self, gathered: Gathered) -> Fate:
        """What the claim comes to on a node with these devices."""
        fate = self._found(gathered, _FEW_STEPS)
        if fate != "unknown":
            return fate
        like = likeness(self._terms, gathered)
        if like not in self._known:
            self._known[like] = self._found(gathered, MOST_STEPS) if like is not None else "unknown"
        return self._known[like]

    def _found(self, gathered: Gathered, most_steps: int) -> Fate:
        fate, steps = fate_on_node(self._terms, gathered, min(most_steps, self._left))
        self._left -= steps
        return fate


def _understood(spec: ClaimSpec, server: Server) -> bool:
    """Whether all of a claim means something to us: nothing is concluded from what the API would refuse either."""
    return (
        len(spec.requests) <= MAX_RESULTS
        and not any(constraint.unknown for constraint in spec.constraints)
        and all(
            0 < len(request.alternatives) <= MAX_ALTERNATIVES
            and request.form in ("exactly", "flat", "list")
            and (server.prioritized_lists or not request.prioritized)
            and all(alternative.understood for alternative in request.alternatives)
            for request in spec.requests
        )
    )


def _is_ordered(server: Server) -> bool:
    """Whether the allocator is the one that sorts pools and slices. The other one is used where gates are switched off."""
    newer = ("DRAConsumableCapacity", "DRADeviceBindingConditions")
    return server.minor >= _ORDERED_SINCE and any(map(server.enabled, newer)) and server.enabled("DRAPartitionableDevices")


# What selectors say.


def _texts(fleet: Fleet, alternative: Alternative) -> tuple[str, ...]:
    device_class = fleet.inventory.classes.get(alternative.device_class)
    own = (selector.expression for selector in alternative.selectors)
    return (*(device_class.selectors if device_class is not None else ()), *own)


def _is_too_costly(fleet: Fleet, alternative: Alternative) -> bool:
    own = tuple(selector.expression for selector in alternative.selectors)
    return fleet.inventory.match(alternative.device_class, own).too_costly != ""


def _outcomes(pool: Pool, texts: tuple[str, ...], server: Server) -> _Outcomes:
    """What these selectors say of a pool's devices, those that they do not match left out. Remembered on the pool."""
    return remembered(pool.memo, ("outcomes", dialect_of(server), texts), lambda: _evaluate(pool, texts, server), POOL_LIMIT)


def _evaluate(pool: Pool, texts: tuple[str, ...], server: Server) -> _Outcomes:
    selectors: list[Selector] = []
    for text in texts:
        compiled = compile_for(server, text)
        if isinstance(compiled, tuple):
            break
        selectors.append(compiled)
    # A selector that does not compile is an error on a device for which its turn comes.
    past: Outcome = "match" if len(selectors) == len(texts) else "error"
    found: dict[str, Outcome] = {}
    for matches in match_pools((pool,), tuple(selectors)):
        found.update((device.name, past) for device in matches.matched)
        found.update((error.device.name, "error") for error in matches.errors)
    return found
