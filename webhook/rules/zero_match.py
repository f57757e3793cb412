"""A selector that matches no device of its class.

Reads:    the selectors of every alternative against every known device; capacities that miss by little
Allows:   asks of a class without selectors, classes that are missing or do not compile, selectors that raise errors (there are
          rules for these); where the catalog has an example that matches, a note is made and no warning given
Because:  mostly it is a mistake, and the pod waits without a word; but pools scale from zero, and then the device comes after
          the pod (kubernetes autoscaler issue 7684), so that it never denies by itself
"""

from __future__ import annotations

from collections.abc import Iterator

from webhook.fleet.inventory import Inventory
from webhook.model.claim import Alternative
from webhook.model.finding import Finding, Severity
from webhook.model.pointer import field_path
from webhook.rulekit.ownership.text import numbered, some
from webhook.rulekit.policies import Checks
from webhook.rulekit.rule import Reason, Rule
from webhook.rulekit.selectors.missed import why_nothing_matches
from webhook.rulekit.selectors.near_misses import NearMiss, near_misses
from webhook.rulekit.selectors.selections import Selection, own_selections, texts_of
from webhook.rulekit.selectors.steps import Steps
from webhook.rulekit.shapes.catalog import catalog_for
from webhook.rulekit.shapes.possible import example_devices
from webhook.rulekit.view import View

ZERO, NOTE, NEAR = "zero-match", "zero-match-note", "near-miss-capacity"
UNREAD, UNPUBLISHED = "capacity-zero-sentinel", "no-slices-for-driver"


#: Alternatives of a claim for which devices are looked for that nearly match: the others are said to match nothing.
_EXPLAINED = 8


def check(view: View, policy: Checks) -> Iterator[Finding]:
    """Findings per alternative with selectors of its own that match nothing."""
    number, steps = 0, Steps()
    for found in own_selections(view):
        if found.alternative.selectors and _matches_nothing(found):
            yield from _findings(view, policy, found, steps, explained=number < _EXPLAINED)
            number += 1


def _matches_nothing(found: Selection) -> bool:
    matches = found.matches
    return not (matches.count or matches.error or matches.class_missing or matches.problems or matches.too_costly)


def _findings(view: View, policy: Checks, found: Selection, steps: Steps, *, explained: bool) -> Iterator[Finding]:
    inventory, alternative = view.fleet.inventory, found.alternative
    silent = _silent_drivers(inventory, alternative)
    if silent:
        detail = f"DeviceClass {alternative.device_class} is there, but no device of driver {some(silent)} is published"
        remedy = "look at the driver's pods and at rejected ResourceSlices; the selector may well be right"
        yield _finding(view, UNPUBLISHED, "warn", alternative, detail, remedy)
        return
    known = any(True for _ in example_devices(inventory, catalog_for(view.policies), alternative))
    noted = known or policy.rules.get(ZERO) == "note"
    of_class = inventory.match(alternative.device_class)
    detail = f"no known device matches; DeviceClass {alternative.device_class} has {numbered(of_class.count, 'device')}"
    remedy = why_nothing_matches(inventory, of_class.match, texts_of(alternative), steps) if explained else ""
    yield _finding(view, NOTE if noted else ZERO, "note" if noted else "warn", alternative, detail, remedy)
    # What an example matches asks for something that is not there now, not for what it misses.
    if known or not explained:
        return
    for reason, misses in _by_reason(near_misses(inventory, alternative.device_class, texts_of(alternative))):
        yield _missed(view, reason, alternative, misses)


def _silent_drivers(inventory: Inventory, alternative: Alternative) -> list[str]:
    """The drivers of a class when none of them publishes a device."""
    drivers = sorted(inventory.drivers_of_class(alternative.device_class))
    return [] if any(pool.devices for driver in drivers for pool in inventory.pools_of(driver)) else drivers


def _by_reason(misses: tuple[NearMiss, ...]) -> Iterator[tuple[str, list[NearMiss]]]:
    for reason, zero in ((UNREAD, True), (NEAR, False)):
        chosen = [miss for miss in misses if miss.is_zero == zero]
        if chosen:
            yield reason, chosen


def _missed(view: View, reason: str, alternative: Alternative, misses: list[NearMiss]) -> Finding:
    first, more = misses[0], len(misses) - 1
    others = f" and {numbered(more, 'other')}" if more else ""
    domain, _, name = first.capacity.partition("/")
    who = f"device {first.device.name} of pool {first.device.pool}{others}"
    if reason == UNREAD:
        detail = f"{who} would match but for {name}: {first.held} is published, which means that the driver could not read it"
        remedy = (
            f"look at the set-up of driver {first.device.driver} (its privileges, the kernel's support), not at the selector"
        )
    else:
        detail = f"{who} would match but for {name}: {first.held} is published, {first.distance}"
        remedy = f'compare device.capacity["{domain}"].{name} with quantity("{first.held}"), or select the product by name'
    return _finding(view, reason, "warn", alternative, detail, remedy)


def _finding(view: View, reason: str, severity: Severity, alternative: Alternative, detail: str, remedy: str) -> Finding:
    return Finding(
        rule=RULE.id,
        reason=reason,
        severity=severity,
        headline=f'{view.kind} "{view.meta.display_name}" asks for devices that nobody publishes',
        path=field_path(alternative.selectors[0].pointer),
        detail=detail,
        remedy=remedy,
    )


RULE = Rule(
    id="zero-match",
    policy_kind="Checks",
    subjects=frozenset({"ResourceClaim", "ResourceClaimTemplate"}),
    reasons=(
        Reason(id=ZERO, severity="warn", summary="a selector matches no known device"),
        Reason(id=NOTE, severity="note", summary="the same, where the policies say that pools scale from zero"),
        Reason(id=NEAR, severity="warn", summary="a selector misses devices by a small difference of capacity"),
        Reason(id=UNREAD, severity="warn", summary="a selector misses devices whose driver could not read a capacity"),
        Reason(id=UNPUBLISHED, severity="warn", summary="the class's driver publishes no device at all"),
    ),
    check=check,
)
