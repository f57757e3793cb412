"""`fallgate overlap`: who hands out which cards, and the order to move nodes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.build import node, pod

BASE = ("--policies", "policies", "--fleet", "fleet")


def plugin_pod(name: str, where: str, units: int) -> Any:
    return pod(name, extended={"nvidia.com/gpu": units}, nodeName=where, status={"phase": "Running"})


def test_text_has_the_worst_nodes_first_and_the_order_to_move(run: Any, write: Callable[..., str]) -> None:
    write(
        "fleet/nodes.yaml",
        node("node-a", allocatable={"nvidia.com/gpu": 4}),
        node("node-h"),
        node("node-p", allocatable={"nvidia.com/gpu": 8}),
        plugin_pod("old", "node-h", 1),
        plugin_pod("busy", "node-p", 3),
    )
    found = run("overlap", *BASE)
    assert found.exit_code == 1
    assert found.stdout == (
        "nvidia-gpus: driver gpu.nvidia.com, extended resources nvidia.com/gpu\n"
        "  NODE    STATE                   OWNER      ALLOCATABLE       HELD BY PODS      DEVICES  HELD BY CLAIMS\n"
        "  node-a  both hand out           undecided  nvidia.com/gpu 4  -                 4        -\n"
        "  node-h  other side still holds  undecided  -                 nvidia.com/gpu 1  2        -\n"
        "  node-p  device plugin only      undecided  nvidia.com/gpu 8  nvidia.com/gpu 3  -        -\n"
        "  order to move to DRA:\n"
        "    1. node-a: idle, can be moved now\n"
        "    2. node-h: after team-a/old (1 unit held)\n"
        "    3. node-p: after team-a/busy (3 units held)\n"
    )


def test_nodes_are_moved_by_pool_where_a_label_names_them(run: Any, write: Callable[..., str]) -> None:
    labels = {"pool": "big"}
    write(
        "fleet/nodes.yaml",
        node("node-p", labels, allocatable={"nvidia.com/gpu": 8}),
        node("node-q", labels, allocatable={"nvidia.com/gpu": 8}),
    )
    found = run("overlap", *BASE, "--pool-label", "pool")
    assert found.exit_code == 0
    assert "    1. big (node-p, node-q): idle, can be moved now\n" in found.stdout


def test_a_fleet_without_pods_says_that_holders_are_not_known(run: Any) -> None:
    found = run("overlap", *BASE)
    assert found.exit_code == 0
    assert "  the fleet has no pods: what device plugin pods hold is not known\n" in found.stdout


def test_json_is_one_device_group_a_line(run: Any, write: Callable[..., str]) -> None:
    write("fleet/nodes.yaml", node("node-a", allocatable={"nvidia.com/gpu": 4}), plugin_pod("p", "node-a", 2))
    found = run("overlap", *BASE, "-o", "json")
    assert found.exit_code == 1
    (table,) = [json.loads(line) for line in found.stdout.splitlines()]
    assert (table["policy"], table["driver"], table["extendedResources"]) == (
        "nvidia-gpus",
        "gpu.nvidia.com",
        ["nvidia.com/gpu"],
    )
    assert table["pluginHoldingsKnown"] is True
    assert table["nodes"][0] == {
        "node": "node-a",
        "group": "conflict",
        "owner": "undecided",
        "allocatable": {"nvidia.com/gpu": 4},
        "pluginHeld": {"nvidia.com/gpu": 2},
        "pluginPods": ["team-a/p"],
        "devices": 4,
        "draHeld": 0,
        "claims": [],
    }
    assert table["moves"] == [{"pool": "node-a", "nodes": ["node-a"], "held": 2, "pluginPods": ["team-a/p"]}]


def test_without_an_ownership_policy_there_is_nothing_to_compare(run: Any, write: Callable[..., str]) -> None:
    write("checks.yaml", {"apiVersion": "fallgate.dev/v1alpha1", "kind": "Checks", "metadata": {"name": "c"}, "spec": {}})
    found = run("overlap", "--policies", "checks.yaml", "--fleet", "fleet")
    assert found.exit_code == 2
    assert found.stderr == (
        "error: no policy says which driver and which extended resources are the same cards: add a DeviceOwnership\n"
    )


def test_a_group_without_devices_and_a_missing_fleet(run: Any, write: Callable[..., str]) -> None:
    write("none/node.yaml", node("node-a"))
    found = run("overlap", "--policies", "policies", "--fleet", "none")
    assert (found.exit_code, found.stdout) == (
        0,
        "nvidia-gpus: driver gpu.nvidia.com, extended resources nvidia.com/gpu\n  no node has these devices\n",
    )
    assert run("overlap", "--policies", "policies").exit_code == 2
