"""Whether a CEL error is certain: on an otherwise idle cluster no feasible node gets past it.

The scheduler asks the feasible nodes one by one, each by itself. On a node an error on the way gives up the pod altogether, and
whether it is on the way depends on the order of devices, on the count, on the rest of the claim: see first_fit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from webhook.cel import CelError, Selector, Verdict, compile_selector
from webhook.fleet.fleet import Fleet
from webhook.fleet.matching import POOL_LIMIT, compile_all, match_pools
from webhook.fleet.memo import remembered
from webhook.fleet.nodes import NodeSet
from webhook.fleet.pool import Pool
from webhook.model.claim import MAX_ALTERNATIVES, MAX_RESULTS, Alternative, ClaimSpec
from webhook.model.device import Device
from webhook.model.server_version import Server
from webhook.rulekit.first_fit import MOST_STEPS, Outcome, Terms, fate_on_node
from webhook.rulekit.node_pools import View, gather

#: Steps for all nodes together: beyond, nothing is certain.
MOST_STEPS_TOGETHER: Final = 200_000
#: From this minor version on, with the default gates, the scheduler goes through devices in a known order.
_ORDERED_SINCE: Final = 36

_Outcomes: TypeAlias = Mapping[str, Outcome]


def error_is_certain(fleet: Fleet, spec: ClaimSpec, nodes: NodeSet) -> bool:
    """True when on every one of `nodes` the claim either does not fit or errs first, and on at least one it errs."""
    if not _understood(spec, fleet.server):
        return False
    asks = {
        alternative.pointer: _texts(fleet, alternative) for request in spec.requests for alternative in request.alternatives
    }

    def judge(alternative: Alternative, view: View, device: Device) -> Outcome:
        return _outcomes(view.pool, asks[alternative.pointer]).get(device.name, "no match")

    terms = Terms(fleet, spec, judge, _is_ordered(fleet.server))
    errs, left = False, MOST_STEPS_TOGETHER
    for node in fleet.nodes.members(nodes):
        fate, steps = fate_on_node(terms, gather(fleet, node.name), min(left, MOST_STEPS))
        if fate in ("fits", "unknown"):
            return False
        errs = errs or fate == "errs"
        left -= steps
    return errs


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


def _outcomes(pool: Pool, texts: tuple[str, ...]) -> _Outcomes:
    """What these selectors say of a pool's devices, those that they do not match left out. Remembered on the pool."""
    return remembered(pool.memo, ("outcomes", texts), lambda: _evaluate(pool, texts), POOL_LIMIT)


def _evaluate(pool: Pool, texts: tuple[str, ...]) -> _Outcomes:
    selectors, problems = compile_all(texts)
    if problems:
        # A selector that does not compile is an error when the allocator gets to it, not before.
        compiled = [compile_selector(text) for text in texts]
        judged = ((device.name, _judge(compiled, device)) for device in pool.devices)
        return {name: outcome for name, outcome in judged if outcome != "no match"}
    found: dict[str, Outcome] = {}
    for matches in match_pools((pool,), selectors):
        found.update((device.name, "match") for device in matches.matched)
        found.update((error.device.name, "error") for error in matches.errors)
    return found


def _judge(compiled: Sequence[Selector | tuple[object, ...]], device: Device) -> Outcome:
    for selector in compiled:
        if isinstance(selector, tuple):
            return "error"
        outcome = selector.against(device)
        if isinstance(outcome, CelError):
            return "error"
        if outcome is not Verdict.MATCH:
            return "no match"
    return "match"
