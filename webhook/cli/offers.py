"""What a fleet offers, by model and node. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from webhook.fleet.fleet import Fleet
from webhook.fleet.pool import Pool
from webhook.model.cluster import TaintRule
from webhook.model.device import Device
from webhook.rulekit.policies import PolicySet
from webhook.rulekit.shapes.catalog import UNKNOWN, catalog_for

#: Taint effects that keep a device from being given to a claim that does not tolerate them.
_KEEPS_OFF = frozenset({"NoSchedule", "NoExecute"})


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeOffer:
    """Devices of one model on one node; `node` is "" for those that several nodes reach.

    `allocated` are held by claims, `tainted` kept from claims that do not tolerate it, `incomplete` in a pool of which slices
    are missing: it gives out nothing.
    """

    node: str
    devices: int = 0
    allocated: int = 0
    tainted: int = 0
    incomplete: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """All devices of one model and driver. `known` is False for a name that no catalog gave."""

    model: str
    driver: str
    known: bool
    nodes: tuple[NodeOffer, ...]
    taints: tuple[str, ...]

    def total(self, part: str) -> int:
        """The sum of one of NodeOffer's numbers over all nodes."""
        return sum(getattr(node, part) for node in self.nodes)


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolFault:
    """A pool out of which the scheduler gives nothing, and why."""

    driver: str
    pool: str
    why: str


def offers(fleet: Fleet, policies: PolicySet) -> tuple[Offer, ...]:
    """What there is of each model, sorted by driver and model; devices of no model last."""
    catalog = catalog_for(policies)
    counts: dict[tuple[str, str], dict[str, list[int]]] = {}
    taints: dict[tuple[str, str], dict[str, None]] = {}
    for pool in fleet.inventory.pools:
        models = catalog.models_in(pool, fleet.inventory)
        for device in pool.devices:
            key = (device.driver, models[device.name])
            found = tuple(_taints(device, fleet.taint_rules))
            taints.setdefault(key, {}).update(dict.fromkeys(found))
            numbers = counts.setdefault(key, {}).setdefault(device.reach.node_name, [0, 0, 0, 0])
            held = bool(fleet.holdings.holder(*device.key))
            for i, counted in enumerate((True, held, bool(found), bool(fault_of(pool)))):
                numbers[i] += counted
    return tuple(
        Offer(
            model=model,
            driver=driver,
            known=not model.startswith(UNKNOWN),
            nodes=tuple(_node_offer(node, by_node[node]) for node in sorted(by_node)),
            taints=tuple(taints[driver, model]),
        )
        for (driver, model), by_node in sorted(counts.items(), key=lambda item: (item[0][1].startswith(UNKNOWN), item[0]))
    )


def pool_faults(fleet: Fleet) -> tuple[PoolFault, ...]:
    """The pools that give out nothing, in the allocator's order."""
    return tuple(
        PoolFault(driver=pool.driver, pool=pool.name, why=why) for pool in fleet.inventory.pools if (why := fault_of(pool))
    )


def fault_of(pool: Pool) -> str:
    """Why nothing is given out of a pool, or ""."""
    if pool.duplicates:
        return f"device {pool.duplicates[0]} is published twice"
    if pool.complete:
        return ""
    newest = [item for item in pool.slices if item.generation == pool.generation]
    return f"generation {pool.generation} has {len(newest)} of {newest[0].slice_count} slices"


def offer_document(offer: Offer) -> dict[str, Any]:
    """What `shapes -o json` prints of one model."""
    return {
        "model": offer.model,
        "driver": offer.driver,
        "inCatalog": offer.known,
        **{part: offer.total(part) for part in ("devices", "allocated", "tainted", "incomplete")},
        "taints": list(offer.taints),
        "nodes": [
            {
                "node": node.node,
                "devices": node.devices,
                "allocated": node.allocated,
                "tainted": node.tainted,
                "incomplete": node.incomplete,
            }
            for node in offer.nodes
        ],
    }


def _node_offer(node: str, numbers: list[int]) -> NodeOffer:
    devices, allocated, tainted, incomplete = numbers
    return NodeOffer(node=node, devices=devices, allocated=allocated, tainted=tainted, incomplete=incomplete)


def _taints(device: Device, rules: tuple[TaintRule, ...]) -> Iterator[str]:
    taints = [*device.taints, *(rule.taint for rule in rules if _selects(rule, device))]
    for taint in taints:
        if taint.effect in _KEEPS_OFF:
            yield f"{taint.key}{'=' + taint.value if taint.value else ''}:{taint.effect}"


def _selects(rule: TaintRule, device: Device) -> bool:
    return rule.selects and all(
        wanted in ("", has)
        for wanted, has in ((rule.driver, device.driver), (rule.pool, device.pool), (rule.device, device.name))
    )
