"""A device class that does not exist.

Reads:    deviceClassName of every alternative; for a DeviceClass, the classes that templates and claims ask for
Allows:   classes that are there; every class while nothing is known of the classes of the cluster. Of a live cluster a class
          is missing for certain when it was looked up once more; until then it is a warning
Because:  the scheduler looks up the classes of all alternatives first, and a missing one is an error for the whole claim: the
          other alternatives are never tried (k8s.io/dynamic-resource-allocation validateDeviceRequest)
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from webhook.model.claim import Alternative, ClaimSpec, Request
from webhook.model.device import DeviceClass
from webhook.model.finding import Finding
from webhook.model.pointer import field_path, join
from webhook.rulekit.ownership.text import some
from webhook.rulekit.policies import Checks
from webhook.rulekit.rule import Reason, Rule
from webhook.rulekit.view import View

REASON = "class-missing"


def check(view: View, _policy: Checks) -> Iterator[Finding]:
    """One finding per alternative whose class is not there, or for a class that is named almost as a missing one."""
    if isinstance(view.subject, DeviceClass):
        yield from _misspelt(view, view.subject)
    observed = "DeviceClass" in view.fleet.observed
    for request in view.claim_spec.requests if view.claim_spec is not None else ():
        for alternative in request.alternatives:
            ref = view.missing_class(alternative.device_class)
            if ref is not None and (observed or ref in view.absent):
                yield _finding(view, request, alternative, certain=view.certainly_absent(ref))


def _finding(view: View, request: Request, alternative: Alternative, *, certain: bool) -> Finding:
    """`certain`: the class does not exist; otherwise it is not known, and could not be looked up live."""
    name = alternative.device_class
    others = [f'"{item.name}"' for item in request.alternatives if item.device_class != name]
    blocked = f", and {some(others)} {'is' if len(others) == 1 else 'are'} not tried either" if others else ""
    known = f"there is no DeviceClass {name}" if certain else f"no DeviceClass {name} is known, and it was not looked up live"
    near = get_close_matches(name, view.fleet.inventory.classes, n=1, cutoff=0.8)
    meant = f"did you mean {near[0]}? Otherwise " if near else ""
    way_out = f'remove the alternative "{alternative.name}"' if others else "ask for another class"
    return Finding(
        rule=RULE.id,
        reason=REASON,
        severity="deny" if certain else "warn",
        headline=f'{view.kind} "{view.meta.display_name}" asks for a device class that does not exist',
        path=field_path(join(alternative.pointer, "deviceClassName")),
        detail=f"{known}: while it is missing no pod with this claim is scheduled{blocked}",
        remedy=f"{meant}{way_out}, or have the class installed first",
    )


def _misspelt(view: View, device_class: DeviceClass) -> Iterator[Finding]:
    fleet = view.fleet
    specs = [*(item.spec for item in fleet.templates.values()), *(item.spec for item in fleet.claims.values())]
    wanted = {name for spec in specs for name in _classes(spec)} - fleet.inventory.classes.keys()
    near = get_close_matches(device_class.name, wanted, n=1, cutoff=0.8)
    if not near or device_class.name in wanted:
        return
    yield Finding(
        rule=RULE.id,
        reason=REASON,
        severity="warn",
        headline=f'DeviceClass "{device_class.name}" is not the class that claims ask for',
        path="metadata.name",
        detail=f"claims or templates of this cluster ask for DeviceClass {near[0]}, which does not exist",
        remedy=f"if that is what is meant, name this class {near[0]}",
    )


def _classes(spec: ClaimSpec) -> Iterator[str]:
    return (alternative.device_class for request in spec.requests for alternative in request.alternatives)


RULE = Rule(
    id=REASON,
    policy_kind="Checks",
    subjects=frozenset({"ResourceClaim", "ResourceClaimTemplate", "DeviceClass"}),
    reasons=(Reason(id=REASON, severity="deny", summary="a device class that does not exist"),),
    check=check,
)
