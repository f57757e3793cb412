"""What an object asks devices for: by claims, and by extended resources; and on which nodes each ask can be met.

Facts of this minute: a node counts for an ask when the devices published there are enough for it (allocated or not, tainted or
not). Pools in the middle of an update count too, because they will be complete before the pod is placed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Final

from webhook.fleet.fleet import Fleet
from webhook.fleet.holdings import units_held
from webhook.fleet.inventory import IMPLICIT_RESOURCE_PREFIX, PoolMatches
from webhook.fleet.nodes import Nodes, NodeSet
from webhook.model.claim import EXACT_COUNT, MAX_RESULTS, AllocatedDevice, Alternative, Claim, ClaimSpec, Request
from webhook.model.pod import Pod
from webhook.rulekit.ownership.extended_resources import Served, class_in_force, served
from webhook.rulekit.ownership.memo import kept
from webhook.rulekit.view import PodClaimSource, View

#: From this minor version on, one request is given a shared device once (k8s.io/dynamic-resource-allocation structured).
SHARED_ONCE_SINCE: Final = 36


@dataclass(frozen=True, slots=True, eq=False)
class Takeable:
    """Where an ask can be met: `nodes`; and where it can be met with at least one device of a driver: `by_driver`."""

    nodes: NodeSet
    by_driver: Mapping[str, NodeSet]


NOWHERE: Final = Takeable(0, {})


@dataclass(frozen=True, slots=True, eq=False)
class Option:
    """One way to meet a request. `alternative` is None for a claim that has its devices already."""

    alternative: Alternative | None
    takes: Takeable


@dataclass(frozen=True, slots=True, eq=False)
class ClaimAsk:
    """One request of a claim, without its adminAccess alternatives: those take nothing away from anybody.

    `source` is the pod's entry that leads to the claim, None for the claim under review itself.
    """

    source: PodClaimSource | None
    request: Request
    options: tuple[Option, ...]

    @property
    def nodes(self) -> NodeSet:
        """Where the request can be met."""
        return reduce(or_, (option.takes.nodes for option in self.options), 0)

    def takes(self, driver: str) -> NodeSet:
        """Where the request can take a device of `driver`, by any of its alternatives."""
        return reduce(or_, (option.takes.by_driver.get(driver, 0) for option in self.options), 0)


@dataclass(frozen=True, slots=True, eq=False)
class ResourceAsk:
    """An extended resource that containers of `pod` ask, and who serves it where.

    `units` is what the pod occupies of it, `by_class` where the class in force for the resource has so many devices.
    """

    pod: Pod
    resource: str
    units: int
    served: Served
    by_class: Takeable

    def takes(self, driver: str) -> NodeSet:
        """Where DRA serves the resource with a device of `driver`."""
        return self.served.dra & self.by_class.by_driver.get(driver, 0)


@dataclass(frozen=True, slots=True, eq=False)
class DeviceAsks:
    """All that an object asks."""

    claims: tuple[ClaimAsk, ...]
    resources: tuple[ResourceAsk, ...]


def asks_of(view: View) -> DeviceAsks:
    """What the object under review asks: a pod (template) by its claims and containers; a claim by its own requests, with
    the containers of the pod it was generated for. Claims that are not known ask nothing. Remembered in the view."""
    found = view.memo.get("device asks")
    if not isinstance(found, DeviceAsks):
        found = view.memo["device asks"] = _asks_of(view)
    return found


def _asks_of(view: View) -> DeviceAsks:
    subject, fleet = view.subject, view.fleet
    if isinstance(subject, Claim):
        pod = view.owner_pod
        claims = tuple(_requests(fleet, None, subject.spec))
    else:
        pod = view.pod
        claims = tuple(ask for source in view.pod_claims for ask in _behind(fleet, source))
    for resource in pod.extended if pod is not None else ():
        if resource.startswith(IMPLICIT_RESOURCE_PREFIX):
            view.missing_class(resource.removeprefix(IMPLICIT_RESOURCE_PREFIX))
    return DeviceAsks(claims, resource_asks(fleet, pod) if pod is not None else ())


def resource_asks(fleet: Fleet, pod: Pod) -> tuple[ResourceAsk, ...]:
    """The extended resources of a pod, in the order in which its containers name them."""
    held = units_held(pod)
    return tuple(_resource_ask(fleet, pod, resource, held[resource]) for resource in pod.extended)


def _resource_ask(fleet: Fleet, pod: Pod, resource: str, units: int) -> ResourceAsk:
    device_class = class_in_force(fleet, resource)
    by_class = NOWHERE if device_class is None else takeable(fleet, device_class.name, (), units)
    return ResourceAsk(pod, resource, units, served(fleet, resource), by_class)


def _behind(fleet: Fleet, source: PodClaimSource) -> Iterable[ClaimAsk]:
    if source.spec is None:
        return ()
    if source.claim is not None and source.claim.allocation is not None:
        return _allocated(fleet, source, source.spec, source.claim.allocation)
    return _requests(fleet, source, source.spec)


def _requests(fleet: Fleet, source: PodClaimSource | None, spec: ClaimSpec) -> Iterable[ClaimAsk]:
    for request in spec.requests:
        options = tuple(
            Option(alternative, _by_alternative(fleet, alternative))
            for alternative in request.alternatives
            if not alternative.admin_access
        )
        yield ClaimAsk(source, request, options)


def _by_alternative(fleet: Fleet, alternative: Alternative) -> Takeable:
    # An allocation mode we do not know still takes at least one device.
    count = alternative.count if alternative.allocation_mode == EXACT_COUNT else 1
    if alternative.unread:
        return _anywhere(fleet)
    selectors = tuple(selector.expression for selector in alternative.selectors)
    return takeable(fleet, alternative.device_class, selectors, count)


def _allocated(
    fleet: Fleet, source: PodClaimSource, spec: ClaimSpec, allocation: tuple[AllocatedDevice, ...]
) -> Iterable[ClaimAsk]:
    for request in spec.requests:
        given = [item for item in allocation if item.request.partition("/")[0] == request.name and not item.admin_access]
        yield ClaimAsk(source, request, tuple(Option(None, _given(fleet, item)) for item in given))


def _given(fleet: Fleet, allocated: AllocatedDevice) -> Takeable:
    device = fleet.inventory.device(allocated.driver, allocated.pool, allocated.device)
    nodes = fleet.nodes.reached(device.reach) if device is not None else fleet.nodes.named((fleet.holdings.node_of(allocated),))
    return Takeable(nodes, {allocated.driver: nodes})


def takeable(fleet: Fleet, device_class: str, selectors: tuple[str, ...], count: int) -> Takeable:
    """Where `count` devices pass the class and the selectors.

    Nowhere when the class is missing, when a text does not compile, and for more devices than a claim can be given. Anywhere,
    of no driver that is known, when the selectors are too costly to be tried.
    """
    of_shared = count if _given_repeatedly(fleet) else 1
    key = ("takeable", device_class, selectors, count, of_shared)
    return kept(fleet.nodes.memo, key, (fleet.inventory,), lambda: _takeable(fleet, device_class, selectors, count, of_shared))


def _anywhere(fleet: Fleet) -> Takeable:
    """What selectors come to that nobody has tried: any node will do, and no driver is known to give something."""
    return Takeable(fleet.nodes.all, {})


def _takeable(fleet: Fleet, device_class: str, selectors: tuple[str, ...], count: int, of_shared: int) -> Takeable:
    matches = fleet.inventory.match(device_class, selectors)
    if matches.too_costly:
        return _anywhere(fleet)
    worth = max(of_shared, 1)
    numbers: dict[NodeSet, int] = {}
    drivers: dict[str, NodeSet] = {}
    # Most pools are on one node: they are counted by its name, and made node sets of together.
    on_node: dict[str, int] = {}
    of_driver: dict[str, list[str]] = {}
    for found in matches.pools if matches.match else ():  # what only errs gives nothing
        if found.pool.node:
            on_node[found.pool.node] = on_node.get(found.pool.node, 0) + _number(found, worth)
            of_driver.setdefault(found.pool.driver, []).append(found.pool.node)
            continue
        for device in found.matched:
            reached = fleet.nodes.reached(device.reach)
            numbers[reached] = numbers.get(reached, 0) + (worth if device.sharable else 1)
            drivers[found.pool.driver] = drivers.get(found.pool.driver, 0) | reached
    for nodes, number in _by_number(fleet.nodes, on_node):
        numbers[nodes] = numbers.get(nodes, 0) + number
    for driver, names in of_driver.items():
        drivers[driver] = drivers.get(driver, 0) | fleet.nodes.named(names)
    enough = _with_enough(numbers, count)
    return Takeable(enough, {driver: nodes & enough for driver, nodes in drivers.items()})


def _number(found: PoolMatches, worth: int) -> int:
    """What a pool has to give; a device that can be shared is worth `worth`."""
    return found.match.bit_count() if worth == 1 else sum(worth if device.sharable else 1 for device in found.matched)


def _by_number(nodes: Nodes, on_node: Mapping[str, int]) -> Iterator[tuple[NodeSet, int]]:
    names: dict[int, list[str]] = {}
    for name, number in on_node.items():
        names.setdefault(number, []).append(name)
    return ((nodes.named(found), number) for number, found in names.items())


def _given_repeatedly(fleet: Fleet) -> bool:
    """Whether one request may be given a device that can be shared several times."""
    return fleet.server.enabled("DRAConsumableCapacity") and fleet.server.minor < SHARED_ONCE_SINCE


def _with_enough(numbers: Mapping[NodeSet, int], count: int) -> NodeSet:
    """The nodes that reach `count` devices or more (one, when `count` is 0)."""
    if count > MAX_RESULTS:
        return 0
    # at_least[i] are the nodes that reach more than i of the devices counted so far; each device moves its nodes up by one.
    at_least: list[NodeSet] = [0] * max(count, 1)
    for reached, number in numbers.items():
        for _ in range(min(number, len(at_least))):
            rising = reached
            for i, nodes in enumerate(at_least):
                at_least[i], rising = nodes | rising, nodes & rising
    return at_least[-1]
