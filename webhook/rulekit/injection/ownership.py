"""Whether an alternative that would be injected could be given devices that another mechanism hands out too.

A generated claim that could is refused, and its pod waits for ever: the pod was let through, and steered, for what its template
asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import Final

from webhook.fleet.nodes import NodeSet
from webhook.model.claim import Alternative, ClaimSpec, Request
from webhook.rulekit.injection.occasion import Occasion
from webhook.rulekit.matching import applies
from webhook.rulekit.modes import wished_mode
from webhook.rulekit.ownership.asks import ClaimAsk, DeviceAsks, Option, resource_asks, takeable
from webhook.rulekit.ownership.conflicts import conflicts, group_asks
from webhook.rulekit.ownership.text import with_numbers
from webhook.rulekit.policies import DeviceOwnership

_RULE: Final = "device-ownership"


def double_booked(
    occasion: Occasion,
    spec: ClaimSpec,
    request: Request,
    others: Sequence[Alternative],
    alternative: Alternative,
    possible: Sequence[Alternative],
) -> str:
    """Why `alternative` would bring a conflict to nodes where `others` of the request have none; "" when it does not.

    An alternative of another class or driver can be what a policy's `match` is for: then the whole claim (`spec`) is judged
    by it. `possible` is all that may be injected.
    """
    view = occasion.view
    for policy in view.policies.device_ownership:
        match = policy.header.match
        if wished_mode(policy.header, _RULE, view) == "off" or not applies(match, view, possible):
            continue
        new = _conflicting(occasion, policy, request, alternative)
        if not applies(match, view) and applies(match, view, (alternative,)):
            new |= _conflicts_of_all(occasion, policy, spec)
        else:
            new &= ~reduce(or_, (_conflicting(occasion, policy, request, other) for other in others), 0)
        if new:
            numbers = with_numbers(view.fleet, policy, new)
            return f"it may be given devices of {policy.driver} that somebody else hands out too, on {numbers}"
    return ""


def _conflicts_of_all(occasion: Occasion, policy: DeviceOwnership, spec: ClaimSpec) -> NodeSet:
    asked = ((request, item) for request in spec.requests for item in request.alternatives if not item.admin_access)
    return reduce(or_, (_conflicting(occasion, policy, request, item) for request, item in asked), 0)


def _conflicting(occasion: Occasion, policy: DeviceOwnership, request: Request, alternative: Alternative) -> NodeSet:
    """The nodes where the alternative, with what the pod asks besides, would be double booked."""
    fleet = occasion.view.fleet
    selectors = tuple(selector.expression for selector in alternative.selectors)
    option = Option(alternative, takeable(fleet, alternative.device_class, selectors, max(alternative.count, 1)))
    claim = ClaimAsk(None, request, (option,))
    resources = resource_asks(fleet, occasion.pod) if occasion.pod is not None else ()
    asks = group_asks(DeviceAsks((claim,), resources), policy)
    return conflicts(fleet, policy, asks, occasion.nodes).nodes & claim.takes(policy.driver) if asks is not None else 0
