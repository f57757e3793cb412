"""What a claim is charged under a ResourceQuota, and whether a namespace's quotas can pay it.

As the API server counts on CREATE, for the worst case and never adjusted to what is allocated later (kubernetes
pkg/quota/v1/evaluator/core/resource_claims.go):
a plain ask its count, `All` 32, a list *per class* the largest count among the alternatives of that class; all requests added
up. A class is charged under its own key, and for the extended resource it serves under that one's too.
`count/resourceclaims.resource.k8s.io` counts objects and is not touched by what is inside a claim. Claims match no scope
(generic.MatchesNoScopeFunc): a quota with `scopes` or a `scopeSelector` never counts one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from webhook.fleet.fleet import Fleet
from webhook.fleet.inventory import IMPLICIT_RESOURCE_PREFIX
from webhook.model.claim import ALL, MAX_RESULTS, Alternative, Request
from webhook.model.cluster import Quota
from webhook.model.quantity import Quantity, parse_quantity

CLASS_KEY_SUFFIX: Final = ".deviceclass.resource.k8s.io/devices"
REQUESTS_PREFIX: Final = "requests."
#: The first minor version that charges ordinary claims under the extended resource of their class.
_EXTENDED_CHARGED_SINCE: Final = 35


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortage:
    """A quota that cannot pay: `key` would be charged `needed`; `hard` is its limit, `left` what is not used of it."""

    quota: str
    key: str
    needed: int
    hard: str
    left: str


def devices_charged(requests: Iterable[Request]) -> Mapping[str, int]:
    """DeviceClass -> devices charged for these requests."""
    charged: dict[str, int] = {}
    for request in requests:
        for device_class, count in _largest(request.alternatives).items():
            charged[device_class] = charged.get(device_class, 0) + count
    return charged


def charges(requests: Iterable[Request], fleet: Fleet) -> Mapping[str, int]:
    """Quota key -> devices charged for these requests."""
    found: dict[str, int] = {}
    for device_class, count in devices_charged(requests).items():
        for key in _keys(device_class, fleet):
            found[key] = found.get(key, 0) + count
    return found


def shortage(before: Mapping[str, int], after: Mapping[str, int], quotas: Iterable[Quota]) -> Shortage | None:
    """The first quota that cannot pay `after` under a key whose charge is higher than `before`.

    Neither the limit nor what is left of it may be exceeded. A limit that is no quantity is none.
    """
    for quota in quotas:
        if quota.scoped:
            continue
        for key, needed in after.items():
            hard = _quantity(quota.hard.get(key, ""))
            if needed <= before.get(key, 0) or hard is None:
                continue
            used = _quantity(quota.used.get(key, ""))
            left = hard if used is None else hard - used
            if parse_quantity(str(needed)) > min(hard, left):
                return Shortage(quota=quota.meta.name, key=key, needed=needed, hard=str(hard), left=str(left))
    return None


def _largest(alternatives: Iterable[Alternative]) -> Mapping[str, int]:
    largest: dict[str, int] = {}
    for alternative in alternatives:
        count = MAX_RESULTS if alternative.allocation_mode == ALL else alternative.count
        largest[alternative.device_class] = max(count, largest.get(alternative.device_class, 0))
    return largest


def _keys(device_class: str, fleet: Fleet) -> Iterable[str]:
    yield device_class + CLASS_KEY_SUFFIX
    if fleet.server.minor < _EXTENDED_CHARGED_SINCE or not fleet.server.extended_resources:
        return
    yield REQUESTS_PREFIX + IMPLICIT_RESOURCE_PREFIX + device_class
    known = fleet.inventory.classes.get(device_class)
    if known is not None and known.extended_resource_name:
        yield REQUESTS_PREFIX + known.extended_resource_name


def _quantity(text: str) -> Quantity | None:
    try:
        return parse_quantity(text)
    except ValueError:
        return None
