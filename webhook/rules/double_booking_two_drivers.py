"""A card that two DRA drivers publish.

Reads:    uuids and PCI addresses of the devices on each node; the claims of a pod, or the claim itself
Allows:   devices that one driver alone publishes
Because:  each pool is consistent in itself, and nothing in the API relates two pools: the card can be allocated once through
          each (a sharing driver beside the vendor's, a network driver beside an SR-IOV driver; kubernetes-sigs/dranet#138)
"""

from __future__ import annotations

from collections.abc import Iterator

from webhook.model.finding import Finding
from webhook.rulekit.ownership.text import numbered
from webhook.rulekit.ownership.twins import TwinAsk, twin_asks
from webhook.rulekit.policies import Checks
from webhook.rulekit.rule import Reason, Rule
from webhook.rulekit.view import View

REASON = "double-booking-two-drivers"


def check(view: View, _policy: Checks) -> Iterator[Finding]:
    """One finding per alternative that may take such a card."""
    for ask in twin_asks(view, "across drivers"):
        yield Finding(
            rule=RULE.id,
            reason=REASON,
            severity="warn",
            headline=f'{view.kind} "{view.meta.display_name}" may be given a card that another driver publishes too',
            path=ask.place.path,
            via=ask.place.via,
            place=ask.place.place,
            detail=_detail(ask),
            remedy=_remedy(ask),
        )


def _detail(ask: TwinAsk) -> str:
    first = ask.twins[0]
    device, other = first.device, first.other
    more = len({twin.device.key for twin in ask.twins}) - 1
    return (
        f"{ask.place.text} may take {device.name} of {device.driver} on {device.reach.node_name}, and {other.driver} publishes "
        f"the same card as {other.name} ({first.by})"
        + (f"; the same holds for {numbered(more, 'more device')}" if more else "")
    )


def _remedy(ask: TwinAsk) -> str:
    device, other = ask.twins[0].device, ask.twins[0].other
    return f"let one driver publish the cards of {device.reach.node_name}: switch {device.driver} or {other.driver} off there"


RULE = Rule(
    id="double-booking-two-drivers",
    policy_kind="Checks",
    subjects=frozenset({"Pod", "Workload", "ResourceClaim"}),
    alike_for_pods=True,
    reasons=(Reason(id=REASON, severity="warn", summary="two DRA drivers publish one card, and it may be taken"),),
    check=check,
)
