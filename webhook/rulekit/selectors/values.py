"""The different values that devices have under one name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from webhook.fleet.bits import indexes
from webhook.fleet.device_sets import Bits
from webhook.fleet.inventory import Inventory
from webhook.fleet.memo import remembered
from webhook.model.device import Attribute, Device
from webhook.rulekit.selectors.paths import Kind

#: Different values of one name that are looked at: what has more tells single devices apart, and none is nearer than another.
_MOST: Final = 256


@dataclass(frozen=True, slots=True)
class Values:
    """Attribute values, or amounts; `all_` says whether there are no others."""

    attributes: frozenset[Attribute] = frozenset()
    amounts: frozenset[str] = frozenset()
    all_: bool = True

    def __bool__(self) -> bool:
        return bool(self.attributes or self.amounts)


def values_of(inventory: Inventory, devices: Bits, kind: Kind, name: str) -> Values:
    """What these devices (as the fleet's sets number them) have under a qualified name. Remembered on the inventory."""
    return remembered(inventory.memo, ("values", devices, kind, name), lambda: _values_of(inventory, devices, kind, name))


def _values_of(inventory: Inventory, devices: Bits, kind: Kind, name: str) -> Values:
    attributes: set[Attribute] = set()
    amounts: set[str] = set()
    for device in devices_in(inventory, devices):
        if kind == "capacity" and name in device.capacity:
            amounts.add(device.capacity[name])
        elif kind == "attribute" and name in device.attributes:
            attributes.add(device.attributes[name])
        if len(attributes) + len(amounts) > _MOST:
            return Values(frozenset(attributes), frozenset(amounts), all_=False)
    return Values(frozenset(attributes), frozenset(amounts))


def devices_in(inventory: Inventory, devices: Bits) -> Iterator[Device]:
    """The devices of a set of the fleet's."""
    starts, pools = inventory.sets.starts, inventory.sets.pools
    held = devices.to_bytes(starts[-1], "little")
    for number, pool in enumerate(pools):
        bits = int.from_bytes(held[starts[number] : starts[number + 1]], "little")
        yield from (pool.devices[index] for index in indexes(bits))
