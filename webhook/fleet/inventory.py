"""Devices: pools in their newest generation, device classes, and which devices a class and selectors match."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import Final

from webhook.fleet.matching import DeviceError, Matches, PoolMatches, compile_all, match_pools
from webhook.fleet.memo import Memo, remembered
from webhook.fleet.pool import Pool, PoolKey
from webhook.model.device import Device, DeviceClass
from webhook.model.server_version import Server

__all__ = ["IMPLICIT_RESOURCE_PREFIX", "DeviceError", "Inventory", "Matches", "Pool", "PoolMatches"]

#: Every class serves `<prefix><class name>` as an extended resource (k8s.io/api resource/v1 ResourceDeviceClassPrefix).
IMPLICIT_RESOURCE_PREFIX: Final = "deviceclass.resource.kubernetes.io/"

_NEWEST_SERVER: Final = Server()

# The implicit resource exists only for class names that are a legal last part of a resource name.
_RESOURCE_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_DRIVER_IS = re.compile(r"""\bdevice\.driver\s*==\s*(?:"([^"\\]+)"|'([^'\\]+)')""")
_IS_DRIVER = re.compile(r"""(?:"([^"\\]+)"|'([^'\\]+)')\s*==\s*device\.driver\b""")


class Inventory:
    """All pools and classes at one instant.

    `pools` are in the allocator's order: by driver, then by name. A pool is a value of its own with its own memo: an
    inventory in which one pool is another evaluates selectors on that pool only. `memo` is for what is derived from this
    inventory (use `memo.remembered`); what depends on node sets too must have the Nodes in its key. `server` is the one whose
    CEL the selectors are in.
    """

    def __init__(self, pools: Iterable[Pool], classes: Mapping[str, DeviceClass], server: Server = _NEWEST_SERVER) -> None:
        self.server = server
        self.pools: tuple[Pool, ...] = tuple(sorted(pools, key=attrgetter("key")))
        self.classes: Mapping[str, DeviceClass] = classes
        self.memo: Memo = {}
        self.by_key: Mapping[PoolKey, Pool] = {pool.key: pool for pool in self.pools}
        self.shared_pools: tuple[Pool, ...] = tuple(pool for pool in self.pools if pool.devices and not pool.node)
        by_driver: dict[str, list[Pool]] = {}
        bound: dict[str, list[Pool]] = {}
        for pool in self.pools:
            by_driver.setdefault(pool.key[0], []).append(pool)
            for node in pool.named_nodes:
                bound.setdefault(node, []).append(pool)
        self._by_driver = {driver: tuple(found) for driver, found in by_driver.items()}
        self._bound = {node: tuple(found) for node, found in bound.items()}
        self._serving = _explicit_resources(classes.values())

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
        """The devices that pass the class's selectors, then these. Remembered by pool and as a whole."""
        return remembered(self.memo, ("match", class_name, selectors), lambda: self._match(class_name, selectors))

    def _match(self, class_name: str, selectors: tuple[str, ...]) -> Matches:
        device_class = self.classes.get(class_name)
        compiled, problems = compile_all((*(device_class.selectors if device_class else ()), *selectors), self.server)
        if device_class is None or problems:
            return Matches(class_missing=device_class is None, problems=problems)
        found = match_pools(self.pools, compiled)
        return Matches(pools=found, count=sum(len(matches.matched) for matches in found))

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
