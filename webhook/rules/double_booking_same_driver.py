"""A card that its own driver publishes twice.

Reads:    uuids, PCI addresses, types and counters of one driver's devices on each node; who holds them; the claims of a pod, or
          the claim itself
Allows:   partitions of one card, devices that draw on one counter set, twins that nobody holds and no class selects
Because:  with passthrough on, a GPU is listed as gpu-0 and as gpu-vfio-0; both can be allocated, and the second one unbinds the
          kernel driver under the first or fails to start (kubernetes-sigs/dra-driver-nvidia-gpu#1089)
"""

from __future__ import annotations

from collections.abc import Iterator

from webhook.fleet.fleet import Fleet
from webhook.model.device import Device
from webhook.model.finding import Finding
from webhook.rulekit.ownership.identity import Twin
from webhook.rulekit.ownership.text import numbered
from webhook.rulekit.ownership.twins import TwinAsk, classes_taking, twin_asks
from webhook.rulekit.policies import Checks
from webhook.rulekit.rule import Reason, Rule
from webhook.rulekit.view import View

REASON = "double-booking-same-driver"


def check(view: View, _policy: Checks) -> Iterator[Finding]:
    """One finding per alternative that may take such a card."""
    for ask in twin_asks(view, "within a driver"):
        told = [(twin, state) for twin in ask.twins for state in (_state(view.fleet, twin.other),) if state]
        if told:
            yield _finding(view, ask, told)


def _state(fleet: Fleet, device: Device) -> str:
    """What makes a twin dangerous: who has it, or which class can take it; "" when nothing does."""
    holders = fleet.holdings.holder(*device.key)
    if holders:
        claim = holders[0].meta
        return f"allocated to claim {claim.namespace}/{claim.name}"
    name = classes_taking(fleet.inventory, "within a driver").get(device.key)
    return f"free to be taken through class {name}" if name else ""


def _finding(view: View, ask: TwinAsk, told: list[tuple[Twin, str]]) -> Finding:
    # A twin that somebody has weighs more than one that is free.
    twin, state = next((one for one in told if one[1].startswith("allocated")), told[0])
    device, other = twin.device, twin.other
    more = len({item.device.key for item, _ in told}) - 1
    return Finding(
        rule=RULE.id,
        reason=REASON,
        severity="warn",
        headline=f'{view.kind} "{view.meta.display_name}" may be given a card that its driver publishes twice',
        path=ask.place.path,
        via=ask.place.via,
        place=ask.place.place,
        detail=f"{ask.place.text} may take {device.name} on {device.reach.node_name}, and {other.name} is the same card "
        f"({twin.by}), {state}" + (f"; the same holds for {numbered(more, 'more device')}" if more else ""),
        remedy=f"let {device.driver} publish each card once: keep cards of the other type on nodes of their own",
    )


RULE = Rule(
    id="double-booking-same-driver",
    policy_kind="Checks",
    subjects=frozenset({"Pod", "Workload", "ResourceClaim"}),
    alike_for_pods=True,
    reasons=(Reason(id=REASON, severity="warn", summary="a driver publishes one card twice, and both can be taken"),),
    check=check,
)
