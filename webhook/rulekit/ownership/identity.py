"""Which published devices are one and the same card: by uuid and PCI address, across drivers and within one.

Sources: the attributes that drivers publish. Standard is resource.kubernetes.io/pciBusID; dranet and SR-IOV write pciAddress,
HAMi pcieBusID, older AMD drivers pciAddr; partitions carry their parent's address and name the parent (parentUUID, ...).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations
from typing import Final, TypeAlias

from webhook.fleet.inventory import Inventory, Pool
from webhook.fleet.memo import remembered
from webhook.model.device import Device

#: Attributes that hold a device's PCI address; names without a domain are in the driver's own.
ADDRESSES: Final = ("resource.kubernetes.io/pciBusID", "dra.net/pciAddress", "pciBusID", "pcieBusID", "pciAddress", "pciAddr")
#: The same for the whole card, on a partition of it.
PARENT_ADDRESSES: Final = ("parentPciAddr",)
#: Attributes that only a part of a card has.
PARTITION_MARKS: Final = ("parentUUID", "parentPciAddr", "parentDeviceID", "partitionProfile", "partition")

_ADDRESS = re.compile(r"(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}:[0-9a-f]{2}\.[0-7])")


@dataclass(frozen=True, slots=True)
class Identity:
    """What tells cards apart. `cards` are all names of the card that the device is, or is a part of; `uuid` and `address` its
    own, "" when they are not published."""

    uuid: str
    address: str
    cards: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Twin:
    """A device and another one that is the same card. `by` says how that shows: `uuid GPU-1`, `PCI address 0000:07:00.0`."""

    device: Device
    other: Device
    by: str


#: Every device that has a twin, by its key, and all of its twins in the allocator's order.
Twins: TypeAlias = Mapping[tuple[str, str, str], tuple[Twin, ...]]


_UNKNOWN: Final = Identity("", "", ())


def identity(device: Device) -> Identity:
    """What a device says about which card it is."""
    telling = _telling(device.driver)
    published = device.attributes.keys()
    if telling.all.isdisjoint(published):
        return _UNKNOWN
    uuid, parent = _text(device, telling.uuid), _text(device, telling.parent_uuid)
    address = parent_address = ""
    if not telling.places.isdisjoint(published):
        address, parent_address = _address(device, telling.addresses), _address(device, telling.parent_addresses)
    cards = [f"uuid {one}" for one in (uuid, parent) if one]
    cards += [f"PCI address {one}" for one in (address, parent_address) if one]
    return Identity(uuid, address, tuple(dict.fromkeys(cards)))


@dataclass(frozen=True)
class _Telling:
    """The qualified names of the attributes that tell a driver's cards apart."""

    uuid: str
    parent_uuid: str
    addresses: tuple[str, ...]
    parent_addresses: tuple[str, ...]

    @cached_property
    def places(self) -> frozenset[str]:
        """Those that hold addresses."""
        return frozenset((*self.addresses, *self.parent_addresses))

    @cached_property
    def all(self) -> frozenset[str]:
        """All of them."""
        return self.places | {self.uuid, self.parent_uuid}


@lru_cache(maxsize=256)
def _telling(driver: str) -> _Telling:
    def qualified(names: Iterable[str]) -> tuple[str, ...]:
        return tuple(name if "/" in name else f"{driver}/{name}" for name in names)

    return _Telling(f"{driver}/uuid", f"{driver}/parentUUID", qualified(ADDRESSES), qualified(PARENT_ADDRESSES))


def _text(device: Device, name: str) -> str:
    held = device.attributes.get(name)
    return held.value if held is not None and isinstance(held.value, str) else ""


def _address(device: Device, names: Iterable[str]) -> str:
    """The first PCI address among the attributes, as `0000:07:00.0` (NVML writes the domain with eight digits)."""
    for name in names:
        if name in device.attributes:
            found = _ADDRESS.fullmatch(_text(device, name).lower())
            if found:
                return f"{int(found[1] or '0', 16):04x}:{found[2]}"
    return ""


def is_partition(device: Device) -> bool:
    """Whether a device is a part of a card: then other parts of it share the card's address without harm."""
    kind = device.text_attribute("type").lower()
    return (
        kind == "mig"
        or "partition" in kind
        or any(f"{device.driver}/{mark}" in device.attributes for mark in PARTITION_MARKS)
        or any(name.rpartition("/")[2].startswith("memorySlice") for name in device.capacity)
    )


def twins_across_drivers(inventory: Inventory) -> Twins:
    """The devices that another driver publishes too, on the same node."""
    return remembered(inventory.memo, ("twins", "across"), lambda: _twins(inventory, _pairs_across))


def twins_within_driver(inventory: Inventory) -> Twins:
    """The devices that their own driver publishes a second time, on the same node, and that no counters keep apart."""
    return remembered(inventory.memo, ("twins", "within"), lambda: _twins(inventory, _pairs_within))


_Pair: TypeAlias = tuple[Device, Device, str]


def _twins(inventory: Inventory, pairs: Callable[[str, tuple[Pool, ...]], Iterable[_Pair]]) -> Twins:
    found: dict[tuple[str, str, str], list[Twin]] = {}
    for node in inventory.node_names:
        for one, other, by in pairs(node, inventory.pools_bound_to(node)):
            found.setdefault(one.key, []).append(Twin(one, other, by))
            found.setdefault(other.key, []).append(Twin(other, one, by))
    return {key: tuple(sorted(twins, key=lambda twin: twin.other.key)) for key, twins in found.items()}


def _pairs_across(node: str, pools: tuple[Pool, ...]) -> Iterator[_Pair]:
    if len(pools) < 2 or len({pool.driver for pool in pools}) < 2:
        return
    by_card: dict[str, list[Device]] = {}
    for pool in pools:
        for device, known in _identities(pool):
            if device.reach.node_name == node:
                for card in known.cards:
                    by_card.setdefault(card, []).append(device)
    told: set[tuple[object, object]] = set()
    for card, devices in by_card.items():
        for one, other in combinations(devices, 2):
            if one.driver != other.driver and (one.key, other.key) not in told:
                told.add((one.key, other.key))
                yield one, other, card


def _pairs_within(node: str, pools: tuple[Pool, ...]) -> Iterable[_Pair]:
    return _of_pool(pools[0]) if len(pools) == 1 and pools[0].node else _pairs_by_driver(node, pools)


def _pairs_by_driver(node: str, pools: tuple[Pool, ...]) -> Iterator[_Pair]:
    by_driver: dict[str, list[Pool]] = {}
    for pool in pools:
        by_driver.setdefault(pool.driver, []).append(pool)
    for of_driver in by_driver.values():
        yield from _same_cards(node, of_driver) if len(of_driver) > 1 or not of_driver[0].node else _of_pool(of_driver[0])


def _of_pool(pool: Pool) -> tuple[_Pair, ...]:
    """The usual case, one pool of a driver on a node: what changes elsewhere does not matter."""
    return remembered(pool.memo, ("one card twice",), lambda: tuple(_same_cards(pool.node, (pool,))))


def _same_cards(node: str, pools: Iterable[Pool]) -> Iterator[_Pair]:
    by_card: dict[str, list[tuple[Device, Identity]]] = {}
    for pool in pools:
        for device, known in _identities(pool):
            if device.reach.node_name == node:
                for card in known.cards:
                    by_card.setdefault(card, []).append((device, known))
    told: set[tuple[object, object]] = set()
    for card, devices in by_card.items():
        if len(devices) == 1:
            continue
        for (one, mine), (other, yours) in combinations([item for item in devices if not is_partition(item[0])], 2):
            if _one_card(one, mine, other, yours) and (one.key, other.key) not in told:
                told.add((one.key, other.key))
                yield one, other, card


def _one_card(one: Device, mine: Identity, other: Device, yours: Identity) -> bool:
    """Whether two devices of one driver that share a uuid or an address are one card, published twice.

    A uuid alone does not tell: TPU drivers give all chips of a host the same one. Devices that draw on one counter set are
    kept apart by it.
    """
    if mine.address and yours.address and mine.address != yours.address:
        return False
    if one.pool == other.pool and _counter_sets(one) & _counter_sets(other):
        return False
    types_differ = one.text_attribute("type") != other.text_attribute("type")
    if mine.uuid and mine.uuid == yours.uuid:
        return types_differ or bool(mine.address and yours.address) or one.pool != other.pool
    return types_differ


def _counter_sets(device: Device) -> frozenset[str]:
    return frozenset(use.counter_set for use in device.consumes)


def _identities(pool: Pool) -> tuple[tuple[Device, Identity], ...]:
    return remembered(pool.memo, ("identities",), lambda: tuple((device, identity(device)) for device in pool.devices))
