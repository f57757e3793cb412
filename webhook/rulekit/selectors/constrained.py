"""What a claim's constraints are about: the alternatives that each covers, with the devices they would take."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from webhook.model.claim import ALL, Constraint
from webhook.model.device import Device
from webhook.rulekit.compatibility.judged_claims import judged_claims
from webhook.rulekit.selectors.selections import Selection, errors_on, own_alternatives, selection
from webhook.rulekit.view import View

#: Devices under all constraints of a claim, counted for each alternative and constraint.
_MOST_LOOKED_AT: Final = 250_000


@dataclass(frozen=True, slots=True)
class Covered:
    """An alternative under a constraint, with its matching devices on the nodes that matter."""

    selection: Selection
    devices: tuple[Device, ...]

    @property
    def number(self) -> int:
        """How many devices are asked for, at least."""
        return 1 if self.selection.alternative.allocation_mode == ALL else self.selection.alternative.count


@dataclass(frozen=True, slots=True)
class Constrained:
    """A constraint, the attribute it is about, and what it covers by request, in the claim's order."""

    constraint: Constraint
    attribute: str
    requests: tuple[tuple[Covered, ...], ...]


def constrained(view: View) -> Iterator[Constrained]:
    """The constraints of the claim or template under review that can be judged.

    None of a generated claim, which repeats its template; none with fields that mean something we do not know, or that the
    server drops; none from where on they would cover more than 250,000 devices, each time anew. An alternative whose devices
    cannot be told (its class is missing, a selector errs) is as if not covered.
    """
    if view.claim_spec is None or view.generated:
        return
    (judged,) = judged_claims(view)
    devices_of = _Devices(view)
    left = _MOST_LOOKED_AT
    for constraint in judged.spec.constraints:
        attribute = constraint.match_attribute or constraint.distinct_attribute
        dropped = not constraint.match_attribute and not view.fleet.server.enabled("DRAConsumableCapacity")
        if constraint.unknown or dropped or "/" not in attribute:
            continue
        requests = []
        for request in judged.spec.requests:
            chosen = [
                selection(view.fleet, request, item)
                for item in own_alternatives(view, judged, request)
                if constraint.covers(request.name, item.name)
            ]
            covered = tuple(Covered(item, devices_of(item)) for item in chosen if _is_known(view, item))
            left -= sum(len(item.devices) for item in covered)
            if covered:
                requests.append(covered)
        if left < 0:
            return
        yield Constrained(constraint, attribute, tuple(requests))


class _Devices:
    """The devices of selections, found once for all that match the same: a claim has up to 32 constraints on 256 of them."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._known: dict[int, tuple[Device, ...]] = {}

    def __call__(self, found: Selection) -> tuple[Device, ...]:
        match = found.matches.match
        known = self._known.get(match)
        if known is None:
            known = self._known[match] = found.devices(self._view.fleet, self._view.feasible)
        return known


def _is_known(view: View, found: Selection) -> bool:
    matches = found.matches
    unclear = matches.class_missing or matches.problems or matches.too_costly or errors_on(view.fleet, matches, view.feasible)
    return found.alternative.understood and not unclear
