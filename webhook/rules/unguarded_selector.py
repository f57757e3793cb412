"""A selector that is kept from an error by luck: it reads, unguarded, what some devices of its class do not publish.

Reads:    what each selector of an alternative reads, guarded or not, and what the devices of its class publish
Allows:   reads behind has(), `in`, .? or [?]; what every device publishes; selectors that raise an error on a device already
          (cel-runtime-error has those), and devices that the class itself rules out
Because:  today the rest of the selector decides before the read; a device with another value there turns it into an error, and
          the scheduler gives up on the pod as soon as it looks at such a device (kubernetes issue 135184)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from webhook.cel import Reference, Selector
from webhook.fleet.inventory import Inventory
from webhook.fleet.matching import compile_for
from webhook.fleet.memo import remembered
from webhook.model.claim import SelectorText
from webhook.model.device import Device
from webhook.model.finding import Finding
from webhook.model.pointer import field_path
from webhook.rulekit.ownership.text import numbered
from webhook.rulekit.policies import Checks
from webhook.rulekit.rule import Reason, Rule
from webhook.rulekit.selectors.guards import guarded, kind_of
from webhook.rulekit.selectors.near_misses import candidates
from webhook.rulekit.selectors.paths import presence_of
from webhook.rulekit.selectors.selections import Selection, own_selections
from webhook.rulekit.selectors.steps import Steps
from webhook.rulekit.view import View

REASON = "unguarded-selector"


def check(view: View, _policy: Checks) -> Iterator[Finding]:
    """One finding per selector, about the first thing that it reads and some device lacks."""
    steps = Steps()
    for found in own_selections(view):
        if _is_judged(found):
            for written in found.alternative.selectors:
                yield from _of_selector(view, written, found.alternative.device_class, steps)


def _is_judged(found: Selection) -> bool:
    matches = found.matches
    return not (matches.class_missing or matches.problems or matches.error)


def _of_selector(view: View, written: SelectorText, device_class: str, steps: Steps) -> Iterator[Finding]:
    compiled = compile_for(view.fleet.server, written.expression)
    if not isinstance(compiled, Selector):
        return
    for read in sorted(compiled.references, key=lambda item: (item.domain, item.name, item.kind)):
        lacking = _lacking(view.fleet.inventory, device_class, read) if read.name and not read.guarded else None
        if lacking is not None:
            server = view.fleet.server
            whole = guarded(compiled, read, lacking[2], server, steps) if steps.takes_text() else ""
            presence = presence_of(kind_of(read), read.domain, read.name)
            yield _finding(view, written, read, lacking, f"write {whole or f'{presence} && before it'}")
            return


def _lacking(inventory: Inventory, device_class: str, read: Reference) -> tuple[int, int, Device] | None:
    """How many devices of the class do not publish what is read, out of how many, and the first; None when all do."""
    key = ("lacking", device_class, read.kind, read.domain, read.name)
    return remembered(inventory.memo, key, lambda: _without(candidates(inventory, device_class), read))


def _without(devices: Iterable[Device], read: Reference) -> tuple[int, int, Device] | None:
    asked = tuple(devices)
    lacking = [device for device in asked if f"{read.domain}/{read.name}" not in _published(device, read)]
    return (len(lacking), len(asked), lacking[0]) if lacking else None


def _published(device: Device, read: Reference) -> Mapping[str, object]:
    return device.capacity if read.kind == "capacity" else device.attributes


def _finding(view: View, written: SelectorText, read: Reference, found: tuple[int, int, Device], remedy: str) -> Finding:
    lacking, all_, first = found
    return Finding(
        rule=RULE.id,
        reason=REASON,
        severity="note",
        headline=f'{view.kind} "{view.meta.display_name}" has a selector that is near an error',
        path=field_path(written.pointer),
        detail=(
            f"it reads {read.name} without a guard, and {lacking} of {numbered(all_, 'device')} of the class "
            f"{'does' if lacking == 1 else 'do'} not publish it, such as {first.name} of pool {first.pool}: "
            "only the rest of the selector keeps it from an error there"
        ),
        remedy=remedy,
    )


RULE = Rule(
    id=REASON,
    policy_kind="Checks",
    subjects=frozenset({"ResourceClaim", "ResourceClaimTemplate"}),
    reasons=(Reason(id=REASON, severity="note", summary="a selector reads, unguarded, what some devices of its class lack"),),
    check=check,
)
