"""Node by node who offers and who holds the devices of a group, and in which order to move nodes to DRA. Data, no output."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from webhook.fleet.fleet import Fleet
from webhook.fleet.nodes import NodeSet
from webhook.model.cluster import Node
from webhook.model.meta import Meta
from webhook.rulekit.ownership.sides import Owners, Sides, owners, sides
from webhook.rulekit.ownership.text import offered, plugin_held, published
from webhook.rulekit.policies import DeviceOwnership, NodeOwner

NodeGroup = Literal["conflict", "held-by-other-side", "plugin-only", "dra-only", "split"]

#: The groups, the worst first.
GROUPS: Final[tuple[NodeGroup, ...]] = ("conflict", "held-by-other-side", "plugin-only", "dra-only", "split")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRow:
    """One node of the group's hardware.

    `group`: "conflict" when both sides offer its devices, "held-by-other-side" when one offers and pods or claims of the other
    still hold some, "plugin-only" and "dra-only" when one side alone has it, "split" when the policy says that each side has
    devices of its own. `allocatable` and `plugin_held` are by extended resource, `plugin_pods` and `claims` (the holders) are
    `namespace/name`, `devices` are those the driver publishes.
    """

    node: str
    owner: NodeOwner | Literal["undecided"]
    group: NodeGroup
    allocatable: Mapping[str, int]
    plugin_held: Mapping[str, int]
    plugin_pods: tuple[str, ...]
    devices: int
    dra_held: int
    claims: tuple[str, ...]

    @property
    def held(self) -> int:
        """The units that plugin pods hold: what has to end before the node can be DRA's."""
        return sum(self.plugin_held.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One step of a migration to DRA: the nodes of a pool (or a single node), and the plugin pods that have to go first."""

    pool: str
    nodes: tuple[str, ...]
    held: int
    plugin_pods: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnershipTable:
    """What one DeviceOwnership policy finds in a fleet.

    `rows` are by group, the worst first, then by name; nodes that neither side has are left out. `moves` are in the proposed
    order: idle pools first, then those where the fewest units are held. `plugin_holdings_known` is False when nobody looked
    at pods: then `plugin_held` says nothing.
    """

    policy: str
    driver: str
    extended_resources: tuple[str, ...]
    plugin_holdings_known: bool
    rows: tuple[NodeRow, ...]
    moves: tuple[Move, ...]

    def rows_of(self, group: NodeGroup) -> tuple[NodeRow, ...]:
        """The rows of one group."""
        return tuple(row for row in self.rows if row.group == group)


def ownership_table(fleet: Fleet, policy: DeviceOwnership, pool_label: str = "") -> OwnershipTable:
    """The table of a policy. `pool_label` is the node label whose values name node pools; without it, or for a node without
    the label, each node is moved by itself."""
    owned, has = owners(fleet.nodes, policy), sides(fleet, policy)
    members = fleet.nodes.members(has.plugin | has.dra)
    rows = [_row(fleet, policy, node, owned, has) for node in members]
    to_move = [row for row in rows if row.group != "split" and fleet.nodes.named((row.node,)) & has.plugin]
    return OwnershipTable(
        policy=policy.header.name,
        driver=policy.driver,
        extended_resources=policy.extended_resources,
        plugin_holdings_known="Pod" in fleet.observed,
        rows=tuple(sorted(rows, key=lambda row: (GROUPS.index(row.group), row.node))),
        moves=_moves(fleet, to_move, pool_label),
    )


def _row(fleet: Fleet, policy: DeviceOwnership, node: Node, owned: Owners, has: Sides) -> NodeRow:
    here = fleet.nodes.named((node.name,))
    held = plugin_held(fleet, policy, node)
    pods = (pod.meta for resource in held for pod in fleet.holdings.plugin_pods(node.name, resource))
    claimed = fleet.holdings.dra_held(node.name, policy.driver)
    return NodeRow(
        node=node.name,
        owner=_owner(owned, here),
        group=_group(owned, has, here),
        allocatable=offered(policy, node),
        plugin_held=held,
        plugin_pods=_names(pods),
        devices=published(fleet, policy, node),
        dra_held=len(claimed),
        claims=_names(item.claim.meta for item in claimed),
    )


def _owner(owned: Owners, here: NodeSet) -> NodeOwner | Literal["undecided"]:
    if owned.undecided & here:
        return "undecided"
    if owned.split & here:
        return "split"
    return "dra" if owned.dra & here else "device-plugin"


def _group(owned: Owners, has: Sides, here: NodeSet) -> NodeGroup:
    if owned.split & here:
        return "split"
    if has.plugin_offers & has.dra_offers & here:
        return "conflict"
    if has.plugin & has.dra & here:
        return "held-by-other-side"
    return "plugin-only" if has.plugin & here else "dra-only"


def _names(metas: Iterable[Meta]) -> tuple[str, ...]:
    return tuple(sorted({f"{meta.namespace}/{meta.name}" for meta in metas}))


def _moves(fleet: Fleet, rows: Iterable[NodeRow], pool_label: str) -> tuple[Move, ...]:
    pools: dict[tuple[str, str], list[NodeRow]] = {}
    for row in rows:
        pool = fleet.nodes.by_name[row.node].meta.labels.get(pool_label, "")
        # A node without the label is a pool of its own, never one with a pool of that name.
        pools.setdefault((pool, "" if pool else row.node), []).append(row)
    moves = (
        Move(
            pool=pool or node,
            nodes=tuple(row.node for row in members),
            held=sum(row.held for row in members),
            plugin_pods=tuple(sorted({name for row in members for name in row.plugin_pods})),
        )
        for (pool, node), members in pools.items()
    )
    return tuple(sorted(moves, key=lambda move: (move.held, move.pool, move.nodes)))
