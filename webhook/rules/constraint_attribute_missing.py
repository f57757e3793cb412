"""A constraint on an attribute that the devices of a request do not have.

Reads:    spec.devices.constraints[*].matchAttribute and .distinctAttribute, the devices that each covered alternative matches
Allows:   attributes that at least one of them publishes; alternatives that match nothing, unless their class is of one driver
          and the attribute in the domain of another one that the constraint covers too
Because:  a device without the attribute is never chosen under such a constraint (k8s.io/dynamic-resource-allocation
          matchAttributeConstraint.add): the claim waits for ever, or an alternative of it is never taken
"""

from __future__ import annotations

from collections.abc import Iterator

from webhook.cel import Verdict
from webhook.fleet.matching import compile_all
from webhook.model.device import Device, Reach
from webhook.model.finding import Finding
from webhook.model.pointer import field_path, join
from webhook.rulekit.ownership.text import some
from webhook.rulekit.policies import Checks
from webhook.rulekit.rule import Reason, Rule
from webhook.rulekit.selectors.constrained import Constrained, Covered, constrained
from webhook.rulekit.view import View

REASON = "constraint-attribute-missing"

#: The attributes that Kubernetes itself defines are in this domain: no driver's own.
_STANDARD = "resource.kubernetes.io"
_NO_DRIVER = "driver.invalid"
#: What says where a device is: worth selecting by in place of a constraint.
_PLACES = frozenset({"numaNode", "pcieRoot", "pciRoot", "socket", "placementGroupId"})


def check(view: View, _policy: Checks) -> Iterator[Finding]:
    """One finding per constraint and alternative none of whose devices has the attribute."""
    for found in constrained(view):
        for request in found.requests:
            foreign = [item for item in request if _is_foreign(view, found, item)]
            all_of_it = len(foreign) == len(request[0].selection.request.alternatives)
            for item in request:
                if item in foreign:
                    yield _finding(view, found, item, _why_never(view, found, item), deny=all_of_it)
                elif item.devices and not any(found.attribute in device.attributes for device in item.devices):
                    detail = f"none of the {len(item.devices)} devices that match publishes it" if len(item.devices) > 1 else ""
                    yield _finding(view, found, item, detail or "the one device that matches does not publish it", deny=False)


def _is_foreign(view: View, found: Constrained, item: Covered) -> bool:
    """Whether the attribute is in the domain of a driver whose devices this alternative cannot take, and another one can."""
    domain = found.attribute.partition("/")[0]
    if _takes(view, item, domain):
        return False
    others = [other for request in found.requests for other in request if other is not item and _takes(view, other, domain)]
    # A class that is open to every driver says nothing about which drivers there are.
    is_driver = domain in view.fleet.inventory.drivers or not all(_takes(view, other, _NO_DRIVER) for other in others)
    return bool(others) and is_driver and not _published_by_others(view, domain)


def _takes(view: View, item: Covered, driver: str) -> bool:
    """Whether the class could take a device of a driver: it does not rule it out by the driver's name."""
    selectors, _ = compile_all(
        view.fleet.inventory.classes[item.selection.alternative.device_class].selectors, view.fleet.server
    )
    bare = Device(driver=driver, pool="", name="", reach=Reach())
    return all(selector.against(bare) is not Verdict.NO_MATCH for selector in selectors)


def _published_by_others(view: View, domain: str) -> bool:
    """Whether some other driver publishes attributes in a driver's domain after all."""
    return any(
        name.startswith(f"{domain}/")
        for pool in view.fleet.inventory.pools
        if pool.driver != domain
        for device in pool.devices
        for name in device.attributes
    )


def _why_never(view: View, found: Constrained, item: Covered) -> str:
    drivers = sorted(view.fleet.inventory.drivers_of_class(item.selection.alternative.device_class))
    domain = found.attribute.partition("/")[0]
    return f"it is an attribute of driver {domain}, and the devices are of {some(drivers) or 'another driver'}"


def _finding(view: View, found: Constrained, item: Covered, why: str, *, deny: bool) -> Finding:
    constraint = found.constraint
    field = "matchAttribute" if constraint.match_attribute else "distinctAttribute"
    return Finding(
        rule=RULE.id,
        reason=REASON,
        severity="deny" if deny else "warn",
        headline=f'{view.kind} "{view.meta.display_name}" has a constraint that cannot be met',
        path=field_path(join(constraint.pointer, field)),
        detail=f"{item.selection.name} has no {found.attribute}: {why}, and a device without it is never chosen",
        remedy=_remedy(found),
    )


def _remedy(found: Constrained) -> str:
    """A place that all sides publish, or one they have under the same name in their own domains."""
    sides = [{name for device in item.devices for name in device.attributes} for each in found.requests for item in each]
    common = sorted(name for name in set.intersection(*sides) if _tells_place(name))
    if common:
        return f"constrain {some(common)}, which devices of each request publish"
    bare = [{name.rpartition("/")[2] for name in side} for side in sides]
    alike = sorted(_PLACES.intersection(*bare))
    if alike:
        return f"remove the constraint, and select by {some(alike)}, which each publishes in its own domain"
    return "remove the constraint, or cover only requests whose devices publish the attribute"


def _tells_place(attribute: str) -> bool:
    return attribute.startswith(f"{_STANDARD}/") or attribute.rpartition("/")[2] in _PLACES


RULE = Rule(
    id=REASON,
    policy_kind="Checks",
    subjects=frozenset({"ResourceClaim", "ResourceClaimTemplate"}),
    reasons=(Reason(id=REASON, severity="deny", summary="a constraint on an attribute that a request's devices do not have"),),
    check=check,
)
