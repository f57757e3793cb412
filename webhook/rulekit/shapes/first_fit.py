"""What kube-scheduler's allocator makes of a claim on one node of an idle cluster: the first devices that fit, in its order.

A model of k8s.io/dynamic-resource-allocation structured/internal/incubating (Kubernetes 1.36 and 1.37 with their default
gates), checked against it by differential tests. It goes through devices one after the other and through alternatives in the
order of the list, and takes back what it chose when the rest of the claim cannot be met. A CEL error ends it at once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from webhook.fleet.fleet import Fleet
from webhook.model.claim import ALL, MAX_RESULTS, Alternative, ClaimSpec, Constraint, Request
from webhook.model.device import Attribute, Device
from webhook.rulekit.shapes.candidates import billionths
from webhook.rulekit.shapes.device_taints import kept_off
from webhook.rulekit.shapes.node_pools import Gathered, Place, View

#: What a claim comes to on a node. `errs`: a CEL error; `fails`: another error that gives up the pod; `unknown`: it would take
#: too many steps to find out, or depends on something that is not modelled.
Fate: TypeAlias = Literal["fits", "errs", "fails", "does not fit", "unknown"]

#: What a class's and an alternative's selectors say of a device.
Outcome: TypeAlias = Literal["match", "no match", "error"]
Judge: TypeAlias = Callable[[Alternative, View, Device], Outcome]

#: Devices looked at on one node, choices included.
MOST_STEPS: Final = 5_000


class _CelError(Exception):
    """A selector raises an error on a device."""


class _Failure(Exception):
    """The allocator gives up for another reason."""


class _Unknown(Exception):
    """It cannot be told."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What holds for all nodes: the claim, how selectors turn out, and whether the order of devices is known.

    Without a known order an error counts as no match, and is only remembered (`errs` then means that the claim does not fit
    whatever the order, and that a device raised an error).
    """

    fleet: Fleet
    spec: ClaimSpec
    judge: Judge
    ordered: bool


def fate_on_node(terms: Terms, gathered: Gathered, most_steps: int = MOST_STEPS) -> tuple[Fate, int]:
    """What the claim comes to on a node with these devices, and the steps it took."""
    attempt = _Attempt(terms, gathered, most_steps)
    try:
        attempt.prepare()
        fits = attempt.allocate()
    except _CelError:
        return "errs", attempt.steps
    except _Failure:
        return "fails", attempt.steps
    except _Unknown:
        return "unknown", attempt.steps
    if fits:
        return "fits", attempt.steps
    return ("errs" if attempt.met_error else "does not fit"), attempt.steps


def likeness(terms: Terms, gathered: Gathered) -> Hashable:
    """What decides about a node: two nodes with an equal one have the same fate. None when that cannot be told."""
    numbers: dict[int, int] = {}
    try:
        return (
            tuple(
                (numbers.setdefault(id(place.view), len(numbers)), place.here, _kind(terms, place)) for place in gathered.places
            ),
            gathered.faults,
            tuple(tuple(_budget(view).items()) for view in {id(place.view): place.view for place in gathered.places}.values()),
        )
    except _Unknown:
        return None


def _kind(terms: Terms, place: Place) -> Hashable:
    device, spec = place.device, terms.spec
    alternatives = [alternative for request in spec.requests for alternative in request.alternatives]
    return (
        tuple([terms.judge(alternative, place.view, device) for alternative in alternatives]),
        tuple([kept_off(terms.fleet, device, alternative) for alternative in alternatives]),
        tuple([device.attributes.get(item.match_attribute or item.distinct_attribute) for item in spec.constraints]),
        tuple(_consumed(device)),
        bool(device.binding_conditions),
        device.sharable,
        tuple(device.capacity.items()) if any(alternative.capacity for alternative in alternatives) else (),
    )


#: What a step of the search comes to. `too many`: a claim cannot have as many devices; then a shorter alternative may do.
_Found: TypeAlias = Literal["yes", "no", "too many"]


class _Attempt:
    """One run of the allocator."""

    def __init__(self, terms: Terms, gathered: Gathered, most_steps: int) -> None:
        self.terms = terms
        self.gathered = gathered
        self.steps = 0
        self.met_error = False
        self._most_steps = most_steps
        self._server = terms.fleet.server
        self._consumable = self._server.enabled("DRAConsumableCapacity")
        self._binding = self._server.enabled("DRADeviceBindingConditions")
        self._taken: list[int] = []
        self._in_use: set[int] = set()
        self._everything: dict[str, list[int]] = {}
        self._outcomes: dict[tuple[str, int], bool] = {}
        self._held: list[tuple[Constraint, list[Attribute]]] = []
        self._ledgers: dict[int, dict[tuple[str, str], int]] = {}
        self._kinds: dict[int, Hashable] = {}

    # Before the search: every alternative is looked at, and `All` finds its devices.

    def prepare(self) -> None:
        """Everything that can fail before the first device is chosen."""
        if any(fault == "unsettled" for _, fault in self.gathered.faults):
            raise _Unknown
        least = 0
        for request in self.terms.spec.requests:
            fewest = min([self._prepare(alternative) for alternative in request.alternatives])
            if fewest > MAX_RESULTS - least:
                raise _Failure
            least += fewest
        for constraint in self.terms.spec.constraints:
            if constraint.match_attribute or (constraint.distinct_attribute and self._consumable):
                self._held.append((constraint, []))
            elif not constraint.distinct_attribute:
                raise _Failure

    def _prepare(self, alternative: Alternative) -> int:
        if alternative.device_class not in self.terms.fleet.inventory.classes:
            raise _Failure
        if alternative.allocation_mode != ALL:
            return alternative.count
        found = self._everything[alternative.pointer] = list(self._selectable_everywhere(alternative))
        return len(found)

    def _selectable_everywhere(self, alternative: Alternative) -> Iterator[int]:
        end, fault = next(iter(self.gathered.faults), (len(self.gathered.places), ""))
        for at in range(end):
            if self._selectable(alternative, at) and self._has_capacity(alternative, at):
                yield at
        if fault:
            # All devices of a pool of which not all are known, or which contradicts itself.
            raise _Failure

    # The search.

    def allocate(self) -> bool:
        """Whether the claim can be met. Raises as the allocator does."""
        return self._request(0) == "yes"

    def _request(self, number: int) -> _Found:
        if number == len(self.terms.spec.requests):
            return "yes"
        request = self.terms.spec.requests[number]
        if not request.prioritized:
            return self._devices(number, request.alternatives[0], 0, 0)
        answer: _Found = "too many"
        for alternative in request.alternatives:
            found = self._devices(number, alternative, 0, 0)
            if found == "yes":
                return found
            if found == "no":
                answer = "no"
        return answer

    def _devices(self, number: int, alternative: Alternative, had: int, start: int) -> _Found:
        """Whether the rest of an alternative, of which `had` devices are chosen, and the requests after it can be met."""
        self._step()
        everything = self._everything.get(alternative.pointer)
        if everything is not None and not everything:
            return "no"
        needed = alternative.count if everything is None else len(everything)
        if had >= needed:
            return self._request(number + 1)
        if needed - had > MAX_RESULTS - len(self._taken):
            return "too many"
        if everything is not None:
            return self._take(number, alternative, had, everything[had], must=True)
        in_vain: set[Hashable] = set()
        for at in range(start, len(self.gathered.places)):
            if at in self._in_use or not self._selectable(alternative, at) or not self._has_capacity(alternative, at):
                continue
            # What a device led to, one that is like it in everything leads to as well; not so where all devices are wanted,
            # because which of them comes first then decides between "no" and a failure.
            if in_vain and self._kind_of(at) in in_vain:
                continue
            found = self._take(number, alternative, had, at, must=False)
            if found != "no":
                return found
            if not self._everything:
                in_vain.add(self._kind_of(at))
        return "no"

    def _take(self, number: int, alternative: Alternative, had: int, at: int, *, must: bool) -> _Found:
        if not self._choose(self.terms.spec.requests[number], alternative, at, must=must):
            return "no"
        found = self._devices(number, alternative, had + 1, at + 1)
        if found != "yes":
            self._give_back(self.terms.spec.requests[number], alternative, at)
        return found

    def _step(self) -> None:
        self.steps += 1
        if self.steps > self._most_steps:
            raise _Unknown

    # One device.

    def _kind_of(self, at: int) -> Hashable:
        kind = self._kinds.get(at)
        if kind is None:
            place = self.gathered.places[at]
            kind = self._kinds[at] = (id(place.view) if place.device.consumes else 0, _kind(self.terms, place))
        return kind

    def _selectable(self, alternative: Alternative, at: int) -> bool:
        self._step()
        key = (alternative.pointer, at)
        known = self._outcomes.get(key)
        if known is None:
            known = self._outcomes[key] = self._judge(alternative, self.gathered.places[at])
        return known

    def _judge(self, alternative: Alternative, place: Place) -> bool:
        if place.device.binding_conditions and not self._binding:
            return False
        outcome = self.terms.judge(alternative, place.view, place.device)
        if outcome == "error":
            if self.terms.ordered:
                raise _CelError
            self.met_error = True
        return outcome == "match" and place.here

    def _has_capacity(self, alternative: Alternative, at: int) -> bool:
        if not self._consumable or not alternative.capacity:
            return True
        return _enough(self.gathered.places[at].device, alternative.capacity)

    def _choose(self, request: Request, alternative: Alternative, at: int, *, must: bool) -> bool:
        if at in self._in_use:
            return False
        place = self.gathered.places[at]
        if place.device.sharable and self._consumable and at in self._taken:
            # What is left of a shared device depends on policies that are not read.
            raise _Unknown
        if not self._pay(place):
            return False
        if kept_off(self.terms.fleet, place.device, alternative):
            self._refund(place)
            return False
        if not self._constrain(request, alternative, place.device):
            self._refund(place)
            if must:
                raise _Failure
            return False
        if not (place.device.sharable and self._consumable):
            self._in_use.add(at)
        self._taken.append(at)
        return True

    def _give_back(self, request: Request, alternative: Alternative, at: int) -> None:
        self._taken.pop()
        self._in_use.discard(at)
        for constraint, values in self._held:
            if constraint.covers(request.name, alternative.name):
                values.pop()
        self._refund(self.gathered.places[at])

    def _constrain(self, request: Request, alternative: Alternative, device: Device) -> bool:
        """Add a device to all constraints that cover it, or to none."""
        added: list[list[Attribute]] = []
        for constraint, values in self._held:
            if not constraint.covers(request.name, alternative.name):
                continue
            attribute = device.attributes.get(constraint.match_attribute or constraint.distinct_attribute)
            if attribute is None or not self._allowed(constraint, values, attribute):
                for held in added:
                    held.pop()
                return False
            values.append(attribute)
            added.append(values)
        return True

    def _allowed(self, constraint: Constraint, values: list[Attribute], attribute: Attribute) -> bool:
        if not values:
            return True
        if isinstance(attribute.value, tuple):
            # Without gate DRAListTypeAttributes a list never matches and never differs; with it, it may.
            if self._server.enabled("DRAListTypeAttributes"):
                raise _Unknown
            return False
        if constraint.match_attribute:
            return values[0] == attribute
        if self._server.minor < _DISTINCT_TO_ALL:
            raise _Unknown
        return attribute not in values

    def _pay(self, place: Place) -> bool:
        """Take what the device consumes from its pool's counters, if they have it."""
        if not place.device.consumes:
            return True
        left = self._ledger(place.view)
        self._draw(place, -1)
        if any(left.get(key, 0) < 0 for key, _ in _consumed(place.device)):
            self._refund(place)
            return False
        return True

    def _refund(self, place: Place) -> None:
        if place.device.consumes:
            self._draw(place, 1)

    def _draw(self, place: Place, sign: int) -> None:
        left = self._ledger(place.view)
        for key, amount in _consumed(place.device):
            left[key] = left.get(key, 0) + sign * amount

    def _ledger(self, view: View) -> dict[tuple[str, str], int]:
        held = self._ledgers.get(id(view))
        if held is None:
            held = self._ledgers[id(view)] = _budget(view)
        return held


#: From this minor version on, a distinct attribute differs on all devices; before, values could repeat in one request.
_DISTINCT_TO_ALL: Final = 37


def _budget(view: View) -> dict[tuple[str, str], int]:
    return {
        (counters.name, name): _amount(text) for counters in view.pool.counter_sets for name, text in counters.counters.items()
    }


def _consumed(device: Device) -> Iterator[tuple[tuple[str, str], int]]:
    for use in device.consumes:
        for name, text in use.counters.items():
            yield (use.counter_set, name), _amount(text)


def _amount(text: str) -> int:
    amount = billionths(text)
    if amount is None:
        raise _Unknown
    return amount


def _enough(device: Device, wanted: Mapping[str, str]) -> bool:
    """Whether a device that nobody uses has the capacity. Raises _Unknown where a policy of the device may decide."""
    for name, text in wanted.items():
        held = device.capacity.get(name if "/" in name else f"{device.driver}/{name}")
        if held is None or _amount(held) < _amount(text):
            return False
    raise _Unknown
