"""Which attributes and capacities the devices of a driver have."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from webhook.fleet.device_sets import Bits
from webhook.fleet.inventory import Inventory, Pool
from webhook.fleet.memo import remembered
from webhook.model.device import Device
from webhook.rulekit.selectors.paths import Kind
from webhook.rulekit.selectors.values import devices_in


@dataclass(frozen=True, slots=True)
class Names:
    """Qualified names that some device has."""

    attributes: frozenset[str] = frozenset()
    capacities: frozenset[str] = frozenset()

    def of(self, kind: Kind) -> frozenset[str]:
        """The names of attributes, or of capacities."""
        return self.capacities if kind == "capacity" else self.attributes

    @property
    def domains(self) -> frozenset[str]:
        """The domains of all of them."""
        return frozenset(name.rpartition("/")[0] for name in self.attributes | self.capacities)

    def __or__(self, other: Names) -> Names:
        return Names(self.attributes | other.attributes, self.capacities | other.capacities)


_NOTHING: Final = Names()


def names_of(inventory: Inventory, driver: str) -> Names:
    """What the devices of a driver have; nothing for a driver that publishes none. Remembered on the inventory."""
    if not inventory.pools_of(driver):
        return _NOTHING
    return remembered(inventory.memo, ("names", driver), lambda: _names_of(inventory, driver))


def _names_of(inventory: Inventory, driver: str) -> Names:
    # Pools are few in kind: the same names are put together once.
    kinds = {names_in(pool) for pool in inventory.pools_of(driver)}
    found = _NOTHING
    for names in kinds:
        found |= names
    return found


def names_among(inventory: Inventory, devices: Bits) -> Names:
    """What some of these devices have, as the fleet's sets number them. Remembered on the inventory."""
    return remembered(inventory.memo, ("names", devices), lambda: _names(devices_in(inventory, devices)))


def names_in(pool: Pool) -> Names:
    """What the devices of a pool have. Remembered on the pool."""
    return remembered(pool.memo, "names", lambda: _names(pool.devices))


def _names(devices: Iterable[Device]) -> Names:
    attributes: set[str] = set()
    capacities: set[str] = set()
    for device in devices:
        attributes.update(device.attributes)
        capacities.update(device.capacity)
    return Names(frozenset(attributes), frozenset(capacities))
