"""A list whose alternatives come from different drivers.

Reads:    the drivers of the devices that each alternative matches; the declared shapes
Allows:   lists of one driver, and lists all of whose possible shapes are declared
Because:  a container built for one vendor's user-space stack finds no device node of the other's
"""

from __future__ import annotations

from collections.abc import Iterator

from webhook.model.claim import Alternative, Request
from webhook.model.finding import Finding
from webhook.model.pointer import field_path
from webhook.rulekit.compatibility.declared import SHAPES_ANNOTATION
from webhook.rulekit.compatibility.judged_claims import JudgedClaim, all_declared, written_lists
from webhook.rulekit.compatibility.text import in_words
from webhook.rulekit.policies import Checks
from webhook.rulekit.rule import Reason, Rule
from webhook.rulekit.view import View

REASON = "fallback-crosses-driver"


def check(view: View, _policy: Checks) -> Iterator[Finding]:
    """One finding per list with alternatives of several drivers."""
    for judged, request in written_lists(view):
        drivers = {item.name: _drivers(view, judged, request, item) for item in request.alternatives}
        if len({driver for found in drivers.values() for driver in found}) > 1 and not all_declared(view, judged, request):
            sides = [f'"{name}" from {in_words(found)}' for name, found in drivers.items() if found]
            yield Finding(
                rule=RULE.id,
                reason=REASON,
                severity="warn",
                headline=f'{view.kind} "{view.meta.display_name}" may hand out devices of different drivers',
                path=field_path(request.pointer),
                detail=f"the alternatives come from different drivers, {in_words(sides)}, and not all shapes are declared",
                remedy=f"declare every shape that the program runs on ({SHAPES_ANNOTATION}), "
                "or keep the alternatives of one driver",
            )


def _drivers(view: View, judged: JudgedClaim, request: Request, alternative: Alternative) -> list[str]:
    found = judged.possible(view, request, alternative).drivers
    return sorted(found or view.fleet.inventory.drivers_of_class(alternative.device_class))


RULE = Rule(
    id="fallback-crosses-driver",
    policy_kind="Checks",
    subjects=frozenset({"ResourceClaim", "ResourceClaimTemplate"}),
    reasons=(Reason(id=REASON, severity="warn", summary="a list has alternatives from different drivers"),),
    check=check,
)
