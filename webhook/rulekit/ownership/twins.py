"""Which cards that are published twice an object may be given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from webhook.fleet.fleet import Fleet
from webhook.fleet.inventory import Inventory
from webhook.fleet.memo import remembered
from webhook.fleet.nodes import NodeSet
from webhook.rulekit.ownership.asks import asks_of
from webhook.rulekit.ownership.extended_resources import class_in_force
from webhook.rulekit.ownership.identity import Twin, Twins, twins_across_drivers, twins_within_driver
from webhook.rulekit.ownership.places import Place, place_of_option, place_of_resource
from webhook.rulekit.view import View

Among = Literal["across drivers", "within a driver"]


@dataclass(frozen=True, slots=True, eq=False)
class TwinAsk:
    """An ask that may take devices which have twins: where it is written, and each such device with each of its twins."""

    place: Place
    twins: tuple[Twin, ...]


def twin_asks(view: View, among: Among) -> Iterator[TwinAsk]:
    """The asks of the object under review that may take a device with a twin on a feasible node, one per alternative.

    A claim that has its devices already takes no others; adminAccess takes none away.
    """
    fleet = view.fleet
    if not _twins(fleet.inventory, among):
        return
    asks = asks_of(view)
    for claim in asks.claims:
        for option in claim.options:
            if option.alternative is not None and not option.alternative.unread:
                selectors = tuple(selector.expression for selector in option.alternative.selectors)
                found = _on(fleet, view.feasible, _taken(fleet.inventory, among, option.alternative.device_class, selectors))
                if found:
                    yield TwinAsk(place_of_option(claim, option), found)
    for resource in asks.resources:
        device_class = class_in_force(fleet, resource.resource)
        if device_class is not None:
            nodes = view.feasible & resource.served.dra
            found = _on(fleet, nodes, _taken(fleet.inventory, among, device_class.name, ()))
            if found:
                yield TwinAsk(place_of_resource(resource), found)


def classes_taking(inventory: Inventory, among: Among) -> Mapping[tuple[str, str, str], str]:
    """For every device with a twin that some class selects, by its key, the first such class by name."""
    return remembered(inventory.memo, ("classes taking twins", among), lambda: _classes_taking(inventory, among))


def _classes_taking(inventory: Inventory, among: Among) -> Mapping[tuple[str, str, str], str]:
    found: dict[tuple[str, str, str], str] = {}
    for name in sorted(inventory.classes):
        for twin in _taken(inventory, among, name, ()):
            found.setdefault(twin.device.key, name)
    return found


def _twins(inventory: Inventory, among: Among) -> Twins:
    return twins_across_drivers(inventory) if among == "across drivers" else twins_within_driver(inventory)


def _taken(inventory: Inventory, among: Among, device_class: str, selectors: tuple[str, ...]) -> tuple[Twin, ...]:
    """The devices with twins that pass a class and selectors, each with each of its twins."""
    key = ("twins taken", among, device_class, selectors)
    return remembered(inventory.memo, key, lambda: _matched(inventory, _twins(inventory, among), device_class, selectors))


def _matched(inventory: Inventory, twins: Twins, device_class: str, selectors: tuple[str, ...]) -> tuple[Twin, ...]:
    pools = inventory.match(device_class, selectors).pools
    return tuple(twin for found in pools for device in found.matched for twin in twins.get(device.key, ()))


def _on(fleet: Fleet, nodes: NodeSet, twins: tuple[Twin, ...]) -> tuple[Twin, ...]:
    return tuple(twin for twin in twins if fleet.nodes.reached(twin.device.reach) & nodes)
