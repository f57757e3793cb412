"""Devices: pools in their newest generation, device classes, and which devices a class and selectors match."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Container, Iterable, Iterator, Mapping
from operator import attrgetter
from typing import Final

from webhook.fleet.fleet_sets import LIMIT, FleetSets
from webhook.fleet.matching import DeviceError, Matches, PoolMatches, compile_all
from webhook.fleet.memo import Memo, remembered
from webhook.fleet.node_names import changed_names, count_names
from webhook.fleet.nodes import Nodes, NodeSet
from webhook.fleet.pool import Pool, PoolKey, make_pool
from webhook.fleet.sharded import changed_map
from webhook.model.device import Device, DeviceClass, ResourceSlice
from webhook.model.server_version import NEWEST, Server

__all__ = ["IMPLICIT_RESOURCE_PREFIX", "DeviceError", "Inventory", "Matches", "Pool", "PoolMatches"]

#: Every class serves `<prefix><class name>` as an extended resource (k8s.io/api resource/v1 ResourceDeviceClassPrefix).
IMPLICIT_RESOURCE_PREFIX: Final = "deviceclass.resource.kubernetes.io/"

_KEY: Final = attrgetter("key")
#: Indexed anew, rather than changed in place, when more than 1 in 8 pools changed.
_FEW: Final = 8

# The implicit resource exists only for class names that are a legal last part of a resource name.
_RESOURCE_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_DRIVER_IS = re.compile(r"""\bdevice\.driver\s*==\s*(?:"([^"\\]+)"|'([^'\\]+)')""")
_IS_DRIVER = re.compile(r"""(?:"([^"\\]+)"|'([^'\\]+)')\s*==\s*device\.driver\b""")


class Inventory:
    """All pools and classes at one instant.

    `pools` are in the allocator's order: by driver, then by name. A pool is a value of its own with its own memo: an
    inventory in which one pool is another evaluates selectors on that pool only. `memo` is for what is derived from this
    inventory (use `memo.remembered`); what depends on node sets too must have the Nodes in its key. `server` is the one whose
    CEL the selectors are in, `sets` is what they say.
    """

    def __init__(self, pools: Iterable[Pool], classes: Mapping[str, DeviceClass], server: Server = NEWEST) -> None:
        self.server = server
        self.pools: tuple[Pool, ...] = tuple(sorted(pools, key=_KEY))
        self.classes: Mapping[str, DeviceClass] = classes
        self.memo: Memo = {}
        self.by_key: Mapping[PoolKey, Pool] = {pool.key: pool for pool in self.pools}
        self.shared_pools: tuple[Pool, ...] = tuple(pool for pool in self.pools if _is_shared(pool))
        by_driver: dict[str, list[Pool]] = {}
        bound: dict[str, list[Pool]] = {}
        for pool in self.pools:
            by_driver.setdefault(pool.key[0], []).append(pool)
            for node in pool.named_nodes:
                bound.setdefault(node, []).append(pool)
        self._by_driver = {driver: tuple(found) for driver, found in by_driver.items()}
        self._bound: Mapping[str, tuple[Pool, ...]] = {node: tuple(found) for node, found in bound.items()}
        self._serving = _explicit_resources(classes.values())
        self.sets = FleetSets(self.pools)
        self._bound_names = count_names(pair for pool in self.pools for pair in _names_bound(pool))
        self._pool_of: Mapping[str, PoolKey] = {item.meta.name: pool.key for pool in self.pools for item in pool.slices}

    def slice_named(self, name: str) -> ResourceSlice | None:
        """The slice of that name, of whatever generation, or None."""
        key = self._pool_of.get(name)
        slices = self.by_key[key].slices if key is not None else ()
        return next((item for item in slices if item.meta.name == name), None)

    def changed(
        self, slices: Mapping[str, ResourceSlice | None], classes: Mapping[str, DeviceClass | None]
    ) -> tuple[Inventory, frozenset[PoolKey]]:
        """This inventory after events, and the pools that are others now; itself when there are none.

        Slices and classes are given by name: those that are there now, or gone (None).
        """
        if not slices and not classes:
            return self, frozenset()
        pools = self._pools_with(slices)
        for key in pools:
            if (before := self.by_key.get(key)) is not None:
                # What was found out about a pool leads back to it: without that it goes as soon as nobody uses it any more.
                before.memo.clear()
        if len(pools) > len(self.by_key) // _FEW:
            merged = changed_map(self.by_key, pools)
            return Inventory(merged.values(), changed_map(self.classes, classes), self.server), frozenset(pools)
        other = Inventory.__new__(Inventory)
        other.server = self.server
        other.classes = changed_map(self.classes, classes)
        other.memo = {}
        other.by_key = changed_map(self.by_key, pools)
        other.pools = _placed(self.pools, pools)
        other.shared_pools = _placed(
            self.shared_pools, {key: pool if _is_shared(pool) else None for key, pool in pools.items()}
        )
        other._by_driver = self._by_driver_with(pools)
        other._bound = self._bound_with(pools)
        other._serving = _explicit_resources(other.classes.values()) if classes else self._serving
        placed = {name: (item.driver, item.pool) if item is not None else None for name, item in slices.items()}
        other.sets = self.sets.after(other.pools)
        other._pool_of = changed_map(self._pool_of, placed)
        other._bound_names = changed_names(
            self._bound_names,
            [pair for key in pools for pair in _names_bound(self.by_key.get(key))],
            [pair for pool in pools.values() for pair in _names_bound(pool)],
        )
        return other, frozenset(pools)

    def _pools_with(self, slices: Mapping[str, ResourceSlice | None]) -> dict[PoolKey, Pool | None]:
        """Every pool that these slices have left, entered or changed."""
        left: dict[PoolKey, list[ResourceSlice]] = {}
        for name, item in slices.items():
            for key in {self._pool_of.get(name), (item.driver, item.pool) if item is not None else None}:
                if key is not None and key not in left:
                    pool = self.by_key.get(key)
                    left[key] = [other for other in pool.slices if other.meta.name not in slices] if pool is not None else []
            if item is not None:
                left[item.driver, item.pool].append(item)
        return {key: make_pool(found) if found else None for key, found in left.items()}

    def _by_driver_with(self, pools: Mapping[PoolKey, Pool | None]) -> dict[str, tuple[Pool, ...]]:
        found = dict(self._by_driver)
        for driver in {driver for driver, _ in pools}:
            own = {key: pool for key, pool in pools.items() if key[0] == driver}
            found[driver] = _placed(found.get(driver, ()), own)
            if not found[driver]:
                del found[driver]
        # In the order of their names, as a new inventory has them.
        return found if found.keys() == self._by_driver.keys() else dict(sorted(found.items()))

    def _bound_with(self, pools: Mapping[PoolKey, Pool | None]) -> Mapping[str, tuple[Pool, ...]]:
        changes: dict[str, tuple[Pool, ...] | None] = {}
        for key, pool in pools.items():
            old = self.by_key.get(key)
            now = pool.named_nodes if pool is not None else frozenset()
            for node in now.union(old.named_nodes if old is not None else ()):
                bound = changes.get(node, self._bound.get(node)) or ()
                changes[node] = _placed(bound, {key: pool if node in now else None}) or None
        return changed_map(self._bound, changes)

    def bound_set(self, driver: str, nodes: Nodes) -> NodeSet:
        """The nodes that devices of a driver are bound to by name."""
        names = self._bound_names.get(driver)
        return nodes.counted(names) if names is not None else 0

    def bound_names(self) -> Container[str]:
        """The names in `node_names`, to look one up."""
        return self._bound

    @property
    def node_names(self) -> Iterable[str]:
        """The nodes that devices are bound to by name."""
        return self._bound.keys()

    @property
    def drivers(self) -> Iterable[str]:
        """The drivers that publish a pool, in the order of their names."""
        return self._by_driver.keys()

    def device(self, driver: str, pool: str, name: str) -> Device | None:
        """The device of that name in the newest generation of the pool, or None."""
        found = self.by_key.get((driver, pool))
        return found.by_name.get(name) if found is not None else None

    def pools_of(self, driver: str) -> tuple[Pool, ...]:
        """The pools of a driver."""
        return self._by_driver.get(driver, ())

    def pools_on(self, node: str) -> tuple[Pool, ...]:
        """The pools all of whose devices are reached from that one node. All others that have devices: `shared_pools`."""
        return tuple(pool for pool in self.pools_bound_to(node) if pool.node)

    def pools_bound_to(self, node: str) -> tuple[Pool, ...]:
        """The pools with at least one device that names that node, `pools_on` included."""
        return self._bound.get(node, ())

    def match(self, class_name: str, selectors: tuple[str, ...] = ()) -> Matches:
        """The devices that pass the class's selectors, then these. Remembered for these pools, whatever happens to classes."""
        device_class = self.classes.get(class_name)
        texts = (*(device_class.selectors if device_class is not None else ()), *selectors)
        key = ("match", device_class is None, texts)
        return remembered(self.sets.memo, key, lambda: self._match(device_class is None, texts), LIMIT)

    def _match(self, class_missing: bool, texts: tuple[str, ...]) -> Matches:
        compiled, problems = compile_all(texts, self.server)
        if class_missing or problems:
            return Matches(class_missing=class_missing, problems=problems)
        return Matches(self.sets, compiled)

    def classes_serving(self, resource: str) -> tuple[DeviceClass, ...]:
        """The classes that serve an extended resource, the one in force first.

        By `extendedResourceName`: the newest, of equally old ones the smallest name (k8s.io/dynamic-resource-allocation
        extended resource cache); and by the implicit `deviceclass.resource.kubernetes.io/<class>`. Whether the server
        serves extended resources at all (gate DRAExtendedResource) is not asked here.
        """
        if resource.startswith(IMPLICIT_RESOURCE_PREFIX):
            name = resource.removeprefix(IMPLICIT_RESOURCE_PREFIX)
            implicit = self.classes.get(name) if _RESOURCE_NAME.fullmatch(name) else None
            return (implicit,) if implicit is not None else ()
        return self._serving.get(resource, ())

    @property
    def extended_resources(self) -> Iterable[str]:
        """The resources that some class serves by its `extendedResourceName`."""
        return self._serving.keys()

    def drivers_of_class(self, class_name: str) -> frozenset[str]:
        """The drivers of the devices that a class matches; when none match, those that its selectors name literally."""
        return remembered(self.memo, ("drivers", class_name), lambda: self._drivers_of_class(class_name))

    def _drivers_of_class(self, class_name: str) -> frozenset[str]:
        found = frozenset(matches.pool.driver for matches in self.match(class_name).pools if matches.matched)
        device_class = self.classes.get(class_name)
        if found or device_class is None:
            return found
        named = (pair for text in device_class.selectors for like in (_DRIVER_IS, _IS_DRIVER) for pair in like.findall(text))
        return frozenset(double or single for double, single in named)


def _names_bound(pool: Pool | None) -> Iterator[tuple[str, str]]:
    """A pool's driver, with each node that its devices name."""
    if pool is not None:
        yield from ((pool.driver, node) for node in pool.named_nodes)


def _is_shared(pool: Pool | None) -> bool:
    return pool is not None and bool(pool.devices) and not pool.node


def _placed(pools: tuple[Pool, ...], changes: Mapping[PoolKey, Pool | None]) -> tuple[Pool, ...]:
    """Pools in the order of their keys, with some set and some (None) taken out."""
    found = list(pools)
    for key, pool in changes.items():
        i = bisect_left(found, key, key=_KEY)
        there = i < len(found) and found[i].key == key
        found[i : i + there] = [] if pool is None else [pool]
    return tuple(found)


def _explicit_resources(classes: Iterable[DeviceClass]) -> Mapping[str, tuple[DeviceClass, ...]]:
    serving: dict[str, list[DeviceClass]] = {}
    for device_class in sorted(classes, key=lambda item: item.name):
        if device_class.extended_resource_name:
            serving.setdefault(device_class.extended_resource_name, []).append(device_class)
    # RFC 3339 in UTC, as the API server writes it, sorts as text. The sort is stable: equal times stay sorted by name.
    return {
        resource: tuple(sorted(found, key=lambda item: item.meta.creation_timestamp, reverse=True))
        for resource, found in serving.items()
    }
