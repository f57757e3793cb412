"""The devices that a condition is asked about: of those that it cannot tell apart, one stands for all.

Only attributes and capacities whose names it can look at make a difference to it (webhook/cel/names_read.py). Pools that are
alike in these, and nodes with the like pools, are looked at once: a fleet of thousands of nodes has a handful of different
machines.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from webhook.fleet.fleet import Fleet
from webhook.fleet.inventory import PoolMatches
from webhook.fleet.likeness import Reads, likeness
from webhook.fleet.nodes import NodeSet
from webhook.fleet.pool import Pool
from webhook.model.claim import MAX_RESULTS
from webhook.model.device import Device
from webhook.rulekit.selectors.names import names_in
from webhook.rulekit.shapes.candidates import offers
from webhook.rulekit.shapes.catalog import Catalog
from webhook.rulekit.shapes.possible import Usable

#: A device with its model.
Named: TypeAlias = "tuple[str, Device]"
#: By model: one device of each sort, and how many of that sort there are.
Supply: TypeAlias = "Mapping[str, list[tuple[Device, int]]]"
_SHARABLE: Final = ("sharable", "")
#: The attributes and capacities of a device that are read.
_Names: TypeAlias = "tuple[tuple[str, ...], tuple[str, ...]]"
_Layout: TypeAlias = "_Names | tuple[frozenset[str], frozenset[str]]"


class Apart:
    """What an expression can tell apart that looks at these names, None for all."""

    def __init__(self, names: frozenset[str] | None) -> None:
        self._names = names
        self._read: dict[_Layout, _Names] = {}

    def sort(self, device: Device) -> Hashable:
        """Equal for devices that say the same wherever it looks."""
        attributes, capacity = self._of((tuple(device.attributes), tuple(device.capacity)))
        said = tuple([device.attributes[name] for name in attributes])
        held = tuple([device.capacity[name] for name in capacity])
        return device.driver, device.sharable, attributes, said, capacity, held

    def likeness(self, pool: Pool) -> Hashable:
        """Equal for pools whose devices, one by one, are of the same sorts."""
        names = names_in(pool)
        attributes, capacity = self._of((names.attributes, names.capacities))
        reads: Reads = (
            *[("attribute", name) for name in attributes],
            *[("capacity", name) for name in capacity],
            _SHARABLE,
        )
        return reads, likeness(pool, reads)

    def _of(self, names: _Layout) -> _Names:
        found = self._read.get(names)
        if found is None:
            attributes, capacity = (tuple(sorted(name for name in part if self._looks_at(name))) for part in names)
            found = self._read[names] = (attributes, capacity)
        return found

    def _looks_at(self, name: str) -> bool:
        return self._names is None or name.rpartition("/")[2] in self._names


@dataclass(frozen=True, slots=True)
class Part:
    """Devices with their models, all reached from the same nodes. `like` is equal for parts that cannot be told apart."""

    like: int
    nodes: NodeSet
    devices: tuple[Named, ...]


def parts_of(fleet: Fleet, catalog: Catalog, usable: Iterable[Usable], apart: Apart) -> Iterator[Part]:
    """The devices that may be given, in the allocator's order: those of a pool of one node together, others one by one."""
    known: dict[Hashable, tuple[int, tuple[Named, ...]]] = {}
    for found, members in usable:
        pool, models = found.pool, catalog.models_in(found.pool, fleet.inventory)
        if not pool.node:
            for model, device in _named(found, models):
                like, devices = known.setdefault((model, apart.sort(device)), (len(known), ((model, device),)))
                yield Part(like, fleet.nodes.reached(device.reach) & members, devices)
            continue
        key = (pool.driver, found.match, apart.likeness(pool), models.names)
        part = known.get(key)
        if part is None:
            part = known[key] = (len(known), _named(found, models))
        yield Part(part[0], fleet.nodes.reached(pool.devices[0].reach) & members, part[1])


def _named(found: PoolMatches, models: Mapping[str, str]) -> tuple[Named, ...]:
    return tuple([(models[device.name], device) for device in found.matched])


def supply_of(devices: Iterable[tuple[Named, int]], apart: Apart) -> Supply:
    """The devices of a fleet, or examples, by model and sort; each is given with how many of the like there are."""
    groups: dict[str, dict[Hashable, tuple[Device, int]]] = {}
    for (model, device), times in devices:
        sorts = groups.setdefault(model, {})
        sort = apart.sort(device)
        first, number = sorts.get(sort, (device, 0))
        sorts[sort] = (first, number + times * (MAX_RESULTS if device.sharable else 1))
    return {model: list(sorts.values()) for model, sorts in groups.items()}


def counted(parts: Iterable[Part], most: int) -> list[tuple[Named, int]] | None:
    """The devices of all parts that some node reaches, the like ones once with their number. None with more than `most`."""
    numbers: dict[int, int] = {}
    firsts: dict[int, tuple[Named, ...]] = {}
    left = most
    for part in parts:
        if not part.nodes:
            continue
        if part.like not in firsts:
            firsts[part.like] = part.devices
            left -= len(part.devices)
            if left < 0:
                return None
        numbers[part.like] = numbers.get(part.like, 0) + 1
    return [(named, numbers[like]) for like, devices in firsts.items() for named in devices]


def whole_nodes(parts: Iterable[Part], most: int) -> list[tuple[Named, ...]] | None:
    """All devices of each node, the like nodes once. None when that would take more than `most` looks at a part."""
    local: dict[NodeSet, list[Part]] = {}
    wide: list[tuple[NodeSet, Part]] = []
    for part in parts:
        if not part.nodes:
            continue
        if part.nodes & (part.nodes - 1) == 0:
            local.setdefault(part.nodes, []).append(part)
        else:
            wide.append((part.nodes, part))
    if len(wide) * (len(local) + len(wide)) > most:
        return None
    different: dict[tuple[int, ...], tuple[Named, ...]] = {}
    for here in offers(local, wide):
        like = tuple([part.like for part in here])
        if like not in different:
            different[like] = tuple([named for part in here for named in part.devices])
    return list(different.values())
