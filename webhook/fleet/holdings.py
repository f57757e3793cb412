"""Who holds devices on which node: the device plugin's pods and allocated claims."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from webhook.fleet.inventory import Inventory
from webhook.fleet.node_names import changed_names, count_names
from webhook.fleet.nodes import Nodes, NodeSet
from webhook.fleet.pool import PoolKey
from webhook.fleet.sharded import changed_map
from webhook.model.claim import AllocatedDevice, Claim
from webhook.model.pod import Pod

#: Phases in which a pod holds nothing any more. One that is being deleted still holds.
FINISHED_PHASES = frozenset({"Succeeded", "Failed"})


@dataclass(frozen=True, slots=True, eq=False)
class HeldDevice:
    """A device that is allocated to a claim."""

    claim: Claim
    device: AllocatedDevice


Key: TypeAlias = tuple[str, str]
_Item = TypeVar("_Item", Pod, Claim)
#: What was there before, and what is there now.
Change: TypeAlias = "tuple[_Item | None, _Item | None]"

_PluginPods: TypeAlias = Mapping[str, Mapping[str, tuple[Pod, ...]]]
_Allocated: TypeAlias = Mapping[PoolKey, tuple[HeldDevice, ...]]


class Holdings:
    """What is handed out. Results with adminAccess hold nothing: they share a device with whoever holds it."""

    def __init__(self, inventory: Inventory, pods: Iterable[Pod], claims: Iterable[Claim]) -> None:
        self._inventory = inventory
        self._plugin_pods: _PluginPods = _by_node(pods)
        self._allocated: _Allocated = _by_pool(claims)
        self._plugin_names = count_names((resource, node) for node, held in self._plugin_pods.items() for resource in held)
        self._dra_names = count_names(pair for key in self._allocated for pair in self._places(key))

    def changed(
        self,
        pods: Iterable[Change[Pod]],
        claims: Iterable[Change[Claim]],
        inventory: Inventory,
        pools: Iterable[PoolKey] = (),
    ) -> Holdings:
        """What is handed out after events, with the devices placed by `inventory`; itself when nothing is different.

        A change is what was there before and what is there now, None for nothing. `pools` are those that are others in
        `inventory` than they were.
        """
        on_nodes, in_pools = self._plugin_pods_with(pods), self._allocated_with(claims)
        if not on_nodes and not in_pools and inventory is self._inventory:
            return self
        other = Holdings.__new__(Holdings)
        other._inventory = inventory
        other._plugin_pods = changed_map(self._plugin_pods, on_nodes)
        other._allocated = changed_map(self._allocated, in_pools)
        other._plugin_names = changed_names(
            self._plugin_names,
            [(resource, node) for node in on_nodes for resource in self._plugin_pods.get(node, {})],
            [(resource, node) for node, held in on_nodes.items() for resource in held or {}],
        )
        touched = {*in_pools, *pools}
        other._dra_names = changed_names(
            self._dra_names,
            [pair for key in touched for pair in self._places(key)],
            [pair for key in touched for pair in other._places(key)],
        )
        return other

    def _places(self, key: PoolKey) -> Iterator[tuple[str, str]]:
        """Driver and node of each device of a pool that is allocated; those that several nodes reach are left out."""
        for held in self._allocated.get(key, ()):
            node = self.node_of(held.device)
            if node:
                yield key[0], node

    def _plugin_pods_with(self, changes: Iterable[Change[Pod]]) -> dict[str, Mapping[str, tuple[Pod, ...]] | None]:
        nodes: dict[str, dict[Key, Pod]] = {}
        for old, new in changes:
            for pod, there in ((old, False), (new, True)):
                if pod is None or not any(_from_plugin(pod)):
                    continue
                if pod.node_name not in nodes:
                    held = self._plugin_pods.get(pod.node_name, {})
                    nodes[pod.node_name] = {_key(item): item for found in held.values() for item in found}
                if there:
                    nodes[pod.node_name][_key(pod)] = pod
                else:
                    nodes[pod.node_name].pop(_key(pod), None)
        return {node: _by_node(found.values()).get(node) for node, found in nodes.items()}

    def _allocated_with(self, changes: Iterable[Change[Claim]]) -> dict[PoolKey, tuple[HeldDevice, ...] | None]:
        pools: dict[PoolKey, list[HeldDevice]] = {}
        for old, new in changes:
            before, after = _by_pool((old,) if old else ()), _by_pool((new,) if new else ())
            for key in before.keys() | after.keys():
                if key not in pools:
                    pools[key] = list(self._allocated.get(key, ()))
                if old is not None:
                    pools[key] = [held for held in pools[key] if held.claim is not old]
                pools[key].extend(after.get(key, ()))
        return {key: _sorted(found) or None for key, found in pools.items()}

    def plugin_pods(self, node: str, resource: str) -> tuple[Pod, ...]:
        """The pods bound to `node`, not finished, that were given the extended resource by a device plugin."""
        return self._plugin_pods.get(node, {}).get(resource, ())

    def plugin_held(self, node: str, resource: str) -> int:
        """The units of the extended resource that these pods hold."""
        return sum(units_held(pod).get(resource, 0) for pod in self.plugin_pods(node, resource))

    def plugin_resources(self, node: str) -> Iterable[str]:
        """The extended resources that some pod on `node` holds through a device plugin."""
        return self._plugin_pods.get(node, {}).keys()

    @property
    def plugin_nodes(self) -> Iterable[str]:
        """The nodes on which some pod holds an extended resource through a device plugin."""
        return self._plugin_pods.keys()

    def plugin_sets(self, nodes: Nodes) -> Mapping[str, NodeSet]:
        """Each extended resource that some pod holds through a device plugin, with the nodes such pods are on."""
        return {resource: nodes.counted(names) for resource, names in self._plugin_names.items()}

    def dra_nodes(self) -> Mapping[str, frozenset[str]]:
        """Each driver with devices allocated on some node, and the nodes they are on (as `dra_held` has it)."""
        return {driver: frozenset(names) for driver, names in self._dra_names.items()}

    def dra_sets(self, nodes: Nodes) -> Mapping[str, NodeSet]:
        """As `dra_nodes`, as sets of `nodes`."""
        return {driver: nodes.counted(names) for driver, names in self._dra_names.items()}

    def dra_held(self, node: str, driver: str) -> tuple[HeldDevice, ...]:
        """The devices of `driver` on `node` that are allocated.

        A device is on the node that its slice names, one that is not published any more on its pool's node, and when the
        pool is gone on the node of the pool's name (what most drivers name their pools after). A device that several nodes
        reach is on none of them.
        """
        pools = self._inventory.pools_bound_to(node)
        keys = {pool.key for pool in pools if pool.driver == driver} | {(driver, node)}
        return tuple(held for key in sorted(keys) for held in self._allocated.get(key, ()) if self.node_of(held.device) == node)

    def holder(self, driver: str, pool: str, device: str) -> tuple[Claim, ...]:
        """The claims to which a device is allocated: several when it can be shared."""
        held = self._allocated.get((driver, pool), ())
        return tuple(item.claim for item in held if item.device.device == device)

    def node_of(self, allocated: AllocatedDevice) -> str:
        """The node an allocated device is on; "" when several nodes reach it. For a pool that is gone its name, whether or not
        there is such a node."""
        pool = self._inventory.by_key.get((allocated.driver, allocated.pool))
        if pool is None:
            return allocated.pool
        device = pool.by_name.get(allocated.device)
        if device is not None:
            return device.reach.node_name
        # A pool without devices has no node of its own: its driver withdrew them.
        return pool.node if pool.devices else pool.name


def units_held(pod: Pod) -> Mapping[str, int]:
    """The units of each extended resource that a pod occupies: containers and sidecars together, or its largest init container
    with the sidecars before it (k8s.io/component-helpers resource PodRequests)."""
    running: Counter[str] = Counter()
    sidecars: Counter[str] = Counter()
    initialising: dict[str, int] = {}
    for container in pod.containers:
        for resource, amount in container.extended.items():
            if container.kind == "init":
                initialising[resource] = max(initialising.get(resource, 0), sidecars[resource] + amount)
                continue
            if container.kind == "sidecar":
                sidecars[resource] += amount
            running[resource] += amount
    return {resource: max(running[resource], initialising.get(resource, 0)) for resource in pod.extended}


def _from_plugin(pod: Pod) -> Iterator[str]:
    """The extended resources that a device plugin has given to a pod."""
    if pod.node_name and pod.phase not in FINISHED_PHASES:
        yield from (resource for resource in pod.extended if resource not in pod.extended_by_dra)


def _by_node(pods: Iterable[Pod]) -> dict[str, Mapping[str, tuple[Pod, ...]]]:
    found: dict[str, dict[str, list[Pod]]] = {}
    for pod in pods:
        for resource in _from_plugin(pod):
            found.setdefault(pod.node_name, {}).setdefault(resource, []).append(pod)
    # In the order of their names: it must not matter in which order pods were seen.
    return {node: {resource: tuple(sorted(held, key=_key)) for resource, held in by.items()} for node, by in found.items()}


def _by_pool(claims: Iterable[Claim]) -> dict[PoolKey, tuple[HeldDevice, ...]]:
    found: dict[PoolKey, list[HeldDevice]] = {}
    for claim in claims:
        for device in claim.allocation or ():
            if not device.admin_access:
                found.setdefault((device.driver, device.pool), []).append(HeldDevice(claim, device))
    return {key: _sorted(held) for key, held in found.items()}


def _sorted(held: Iterable[HeldDevice]) -> tuple[HeldDevice, ...]:
    """By the names of the claims; the devices of one claim stay as they were allocated."""
    return tuple(sorted(held, key=lambda item: _key(item.claim)))


def _key(item: Pod | Claim) -> Key:
    return (item.meta.namespace, item.meta.name)
