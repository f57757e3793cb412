"""The alternatives that somebody wrote into the claim or template under review, and the devices that pass their selectors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from webhook.fleet.device_sets import Bits, everything
from webhook.fleet.fleet import Fleet
from webhook.fleet.inventory import Matches, Pool
from webhook.fleet.matching import DeviceError
from webhook.fleet.memo import remembered
from webhook.fleet.nodes import NodeSet
from webhook.model.claim import Alternative, ClaimSpec, Request
from webhook.model.device import Device
from webhook.rulekit.compatibility.judged_claims import JudgedClaim, judged_claims
from webhook.rulekit.view import View


@dataclass(frozen=True, slots=True)
class Selection:
    """An alternative of a request, and what the fleet has for its class and selectors."""

    request: Request
    alternative: Alternative
    matches: Matches

    @property
    def name(self) -> str:
        """`request "gpu"`, `alternative "gpu/big"`"""
        if self.alternative.name:
            return f'alternative "{self.request.name}/{self.alternative.name}"'
        return f'request "{self.request.name}"'

    def devices(self, fleet: Fleet, nodes: NodeSet) -> tuple[Device, ...]:
        """The matching devices that can be used from some of `nodes`, in the allocator's order."""
        reached = fleet.nodes.reached
        return tuple(item for pool in self.matches.pools for item in pool.matched if reached(item.reach) & nodes)


def texts_of(alternative: Alternative) -> tuple[str, ...]:
    """The CEL texts of an alternative's own selectors."""
    return tuple(selector.expression for selector in alternative.selectors)


def selection(fleet: Fleet, request: Request, alternative: Alternative) -> Selection:
    """What the fleet has for an alternative."""
    return Selection(request, alternative, fleet.inventory.match(alternative.device_class, texts_of(alternative)))


def own_alternatives(view: View, judged: JudgedClaim, request: Request) -> tuple[Alternative, ...]:
    """The alternatives of a request without those that were injected, which are the policy's business."""
    injected = judged.injected(view, request)
    added = injected.added if injected is not None else ()
    return tuple(alternative for alternative in request.alternatives if not alternative.name or alternative.name not in added)


def authored_spec(view: View) -> ClaimSpec | None:
    """The spec of the claim or template under review as its author wrote it: an injected list is the ask that it was.

    A list that took the place of an ask stays what it is. None for other objects.
    """
    if view.claim_spec is None:
        return None
    (judged,) = judged_claims(view)
    requests = (
        replace(request, alternatives=own_alternatives(view, judged, request) or request.alternatives)
        for request in judged.spec.requests
    )
    return replace(judged.spec, requests=tuple(requests))


def own_selections(view: View) -> Iterator[Selection]:
    """The alternatives of the claim or template under review; none of a generated claim, which repeats its template."""
    if view.claim_spec is None or view.generated:
        return
    for judged in judged_claims(view):
        for request in judged.spec.requests:
            for alternative in own_alternatives(view, judged, request):
                yield selection(view.fleet, request, alternative)


@dataclass(frozen=True, slots=True)
class Errors:
    """CEL errors: the first in the allocator's order, and on how many devices there is one."""

    first: DeviceError
    count: int


def errors_on(fleet: Fleet, matches: Matches, nodes: NodeSet) -> Errors | None:
    """The CEL errors on devices that can be used from some of `nodes`, None without any."""
    among = _reached_devices(fleet, nodes) if matches.error else 0
    first = matches.first_error(among)
    return Errors(first, (matches.error & among).bit_count()) if first is not None else None


def _reached_devices(fleet: Fleet, nodes: NodeSet) -> Bits:
    """The devices that can be used from some of `nodes`, as the fleet's sets number them."""
    reached = fleet.nodes.reached

    def of_pool(pool: Pool) -> Bits:
        if pool.node and pool.devices:  # all of them are that node's
            return everything(pool) if reached(pool.devices[0].reach) & nodes else 0
        return sum(1 << index for index, device in enumerate(pool.devices) if reached(device.reach) & nodes)

    return remembered(fleet.memo, ("reached devices", nodes), lambda: fleet.inventory.sets.joined(of_pool))
