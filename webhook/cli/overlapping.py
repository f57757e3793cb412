"""Ownership tables as text and documents. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from rich.text import Text

from webhook.cli.console import STYLES
from webhook.cli.outputs.tables import aligned
from webhook.rulekit.ownership.table import NodeGroup, NodeRow, OwnershipTable

_WORDS: Final[dict[NodeGroup, tuple[str, str]]] = {
    "conflict": ("both hand out", STYLES["deny"]),
    "held-by-other-side": ("other side still holds", STYLES["warn"]),
    "plugin-only": ("device plugin only", ""),
    "dra-only": ("DRA only", STYLES["allow"]),
    "split": ("split by policy", ""),
}


def table_text(table: OwnershipTable) -> Iterator[Text]:
    """One device group: its nodes, the worst first, and the order to move them to DRA."""
    resources = ", ".join(table.extended_resources)
    yield Text(f"{table.policy}: driver {table.driver}, extended resources {resources}", "bold")
    if not table.rows:
        yield Text("  no node has these devices")
        return
    if not table.plugin_holdings_known:
        yield Text("  the fleet has no pods: what device plugin pods hold is not known", STYLES["warn"])
    header = ("NODE", "STATE", "OWNER", "ALLOCATABLE", "HELD BY PODS", "DEVICES", "HELD BY CLAIMS")
    lines = aligned([header, *(_row(row) for row in table.rows)])
    yield Text(f"  {lines[0]}", "bold")
    for line, row in zip(lines[1:], table.rows, strict=True):
        yield Text(f"  {line}", _WORDS[row.group][1])
    if table.moves:
        yield Text("  order to move to DRA:", "bold")
    for number, move in enumerate(table.moves, 1):
        what = move.pool if (move.pool,) == move.nodes else f"{move.pool} ({', '.join(move.nodes)})"
        yield Text(f"    {number}. {what}: {_waiting(move.held, move.plugin_pods)}")


def _row(row: NodeRow) -> tuple[str, ...]:
    return (
        row.node,
        _WORDS[row.group][0],
        row.owner,
        _amounts(row.allocatable),
        _amounts(row.plugin_held),
        str(row.devices or "-"),
        str(row.dra_held or "-"),
    )


def _amounts(amounts: Any) -> str:
    return ", ".join(f"{name} {amount}" for name, amount in amounts.items()) or "-"


def _waiting(held: int, pods: tuple[str, ...]) -> str:
    if not pods:
        return "idle, can be moved now"
    shown = ", ".join(pods[:3]) + (f" and {len(pods) - 3} more" if len(pods) > 3 else "")
    return f"after {shown} ({held} unit{'' if held == 1 else 's'} held)"


def table_document(table: OwnershipTable) -> dict[str, Any]:
    """What `overlap -o json` prints of one device group."""
    return {
        "policy": table.policy,
        "driver": table.driver,
        "extendedResources": list(table.extended_resources),
        "pluginHoldingsKnown": table.plugin_holdings_known,
        "nodes": [
            {
                "node": row.node,
                "group": row.group,
                "owner": row.owner,
                "allocatable": dict(row.allocatable),
                "pluginHeld": dict(row.plugin_held),
                "pluginPods": list(row.plugin_pods),
                "devices": row.devices,
                "draHeld": row.dra_held,
                "claims": list(row.claims),
            }
            for row in table.rows
        ],
        "moves": [
            {"pool": move.pool, "nodes": list(move.nodes), "held": move.held, "pluginPods": list(move.plugin_pods)}
            for move in table.moves
        ],
    }
