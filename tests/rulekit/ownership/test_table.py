"""The table of a device group: nodes by who offers and who holds, and the order in which to move pools."""

from __future__ import annotations

from tests.build import claim, device_slice, fleet_of, gpu, node, pod, result
from tests.ownership import PLUGIN, owner, ownership
from webhook.fleet.fleet import Fleet
from webhook.rulekit.ownership.table import Move, NodeRow, OwnershipTable, ownership_table

STACK, POOL, MIG = "stack", "example.com/pool", "nvidia.com/mig-1g.5gb"
OWNERS = (owner("dra", {STACK: "dra"}), owner("device-plugin", {STACK: "plugin"}), owner("split", {STACK: "split"}))


def holder(name: str, where: str, units: int = 1, resource: str = PLUGIN) -> dict:
    return pod(name, extended={resource: str(units)}, nodeName=where)


def plugin(name: str, labels: dict[str, str] | None = None, units: int = 8) -> dict:
    return node(name, labels, allocatable={PLUGIN: str(units)})


def dra(name: str, count: int = 2) -> dict:
    return device_slice(name, *(gpu(f"gpu-{i}") for i in range(count)))


def cluster() -> Fleet:
    return fleet_of(
        node("cpu"),
        plugin("both-declared", {STACK: "dra"}), dra("both-declared"),
        plugin("both-undecided"), dra("both-undecided"), holder("b", "both-undecided", 2),
        node("claims-left", allocatable={PLUGIN: "8"}), claim("old", allocated=[result("gpu-0", "claims-left")]),
        plugin("pods-left", units=0), dra("pods-left"), holder("p", "pods-left", 3), holder("q", "pods-left", 1, MIG),
        plugin("plugin-busy", {STACK: "plugin"}), holder("r", "plugin-busy"),
        plugin("plugin-idle"),
        node("dra-alone", {STACK: "dra"}), dra("dra-alone"),
        claim("new", allocated=[result("gpu-0", "dra-alone"), result("gpu-1", "dra-alone")]),
        plugin("split", {STACK: "split"}), dra("split"), holder("s", "split"),
    )  # fmt: skip


def table(fleet: Fleet, pool_label: str = "") -> OwnershipTable:
    return ownership_table(fleet, ownership(*OWNERS), pool_label)


def test_the_head_of_a_table() -> None:
    found = table(cluster())
    assert (found.policy, found.driver, found.extended_resources) == (
        "nvidia-gpus",
        "gpu.nvidia.com",
        (PLUGIN, "nvidia.com/mig-*", "nvidia.com/gpu.shared"),
    )
    assert found.plugin_holdings_known
    assert not table(fleet_of(plugin("n"))).plugin_holdings_known


def test_nodes_are_grouped_the_worst_first() -> None:
    assert [(row.node, row.owner, row.group) for row in table(cluster()).rows] == [
        ("both-declared", "dra", "conflict"),
        ("both-undecided", "undecided", "conflict"),
        ("claims-left", "undecided", "held-by-other-side"),
        ("pods-left", "undecided", "held-by-other-side"),
        ("plugin-busy", "device-plugin", "plugin-only"),
        ("plugin-idle", "undecided", "plugin-only"),
        ("dra-alone", "dra", "dra-only"),
        ("split", "split", "split"),
    ]
    assert [row.node for row in table(cluster()).rows_of("plugin-only")] == ["plugin-busy", "plugin-idle"]


def test_the_numbers_and_names_of_a_row() -> None:
    rows = {row.node: row for row in table(cluster()).rows}
    assert rows["pods-left"] == NodeRow(
        node="pods-left",
        owner="undecided",
        group="held-by-other-side",
        allocatable={PLUGIN: 0},
        plugin_held={PLUGIN: 3, "nvidia.com/mig-1g.5gb": 1},
        plugin_pods=("team-a/p", "team-a/q"),
        devices=2,
        dra_held=0,
        claims=(),
    )
    assert rows["pods-left"].held == 4
    alone = rows["dra-alone"]
    assert (alone.allocatable, alone.plugin_held, alone.devices, alone.dra_held, alone.claims, alone.held) == (
        {},
        {},
        2,
        2,
        ("team-a/new",),
        0,
    )


def test_idle_nodes_move_first_then_by_what_is_held() -> None:
    assert [(move.pool, move.nodes, move.held, move.plugin_pods) for move in table(cluster()).moves] == [
        ("both-declared", ("both-declared",), 0, ()),
        ("claims-left", ("claims-left",), 0, ()),
        ("plugin-idle", ("plugin-idle",), 0, ()),
        ("plugin-busy", ("plugin-busy",), 1, ("team-a/r",)),
        ("both-undecided", ("both-undecided",), 2, ("team-a/b",)),
        ("pods-left", ("pods-left",), 4, ("team-a/p", "team-a/q")),
    ]


def test_pools_by_a_node_label_move_together() -> None:
    fleet = fleet_of(
        plugin("a-1", {POOL: "a"}), holder("x", "a-1", 2), holder("y", "a-1", 1),
        plugin("a-2", {POOL: "a"}), holder("z", "a-2", 1),
        plugin("b-1", {POOL: "b"}), holder("w", "b-1", 3),
        plugin("b"),
        plugin("c-1", {POOL: ""}),
    )  # fmt: skip
    assert table(fleet, POOL).moves == (
        Move(pool="b", nodes=("b",), held=0, plugin_pods=()),
        Move(pool="c-1", nodes=("c-1",), held=0, plugin_pods=()),
        Move(pool="b", nodes=("b-1",), held=3, plugin_pods=("team-a/w",)),
        Move(pool="a", nodes=("a-1", "a-2"), held=4, plugin_pods=("team-a/x", "team-a/y", "team-a/z")),
    )


def test_an_empty_table() -> None:
    found = table(fleet_of(node("cpu")))
    assert (found.rows, found.moves) == ((), ())
