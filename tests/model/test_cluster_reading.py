"""Nodes, namespaces, quotas, taint rules."""

from __future__ import annotations

from typing import Any

import pytest

from tests.build import namespace, node, quota, taint_rule
from webhook.model.cluster import NodeTaint
from webhook.model.cluster_reading import read_namespace, read_node, read_quota, read_taint_rule


def test_a_node_keeps_extended_resources_of_zero() -> None:
    allocatable = {"cpu": "8", "nvidia.com/gpu": "0", "example.com/fpga": 2, "hugepages-2Mi": "0"}
    read = read_node(
        node("n", {"a": "b"}, taints=[{"key": "k", "value": "v", "effect": "NoSchedule"}], allocatable=allocatable)
    )
    assert (read.name, read.meta.labels) == ("n", {"a": "b"})
    assert read.taints == (NodeTaint(key="k", value="v", effect="NoSchedule"),)
    assert read.allocatable == {"nvidia.com/gpu": 0, "example.com/fpga": 2}
    assert read.capacity == read.allocatable


def test_a_namespace_that_was_read_is_known() -> None:
    read = read_namespace(namespace("team-a", {"fallgate.dev/tier": "research"}))
    assert (read.name, read.labels, read.known) == ("team-a", {"fallgate.dev/tier": "research"}, True)


@pytest.mark.parametrize(
    ("spec", "status", "hard"),
    [
        ({"hard": {"a": "2"}}, {}, {"a": "2"}),
        ({"hard": {"a": "2"}}, {"hard": {"a": "1"}}, {"a": "1"}),
        ({}, {"hard": {"a": "1"}}, {"a": "1"}),
        ({"hard": {"a": 3, "b": True, "c": None}}, {}, {"a": "3"}),
    ],
)
def test_the_quota_in_force_is_the_statuss(spec: Any, status: Any, hard: dict[str, str]) -> None:
    assert read_quota({"kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": spec, "status": status}).hard == hard


def test_what_a_quota_has_counted() -> None:
    read = read_quota(quota("q", {"a": "2"}, {"a": "1"}))
    assert (read.meta.name, read.meta.namespace, read.used) == ("q", "team-a", {"a": "1"})


def test_a_taint_rule_without_selector_selects_nothing_and_an_empty_one_everything() -> None:
    taint = {"key": "k", "effect": "NoExecute"}
    without, empty = read_taint_rule(taint_rule("r", taint)), read_taint_rule(taint_rule("r", taint, {}))
    assert (without.selects, empty.selects) == (False, True)
    assert (empty.taint.key, empty.taint.effect) == ("k", "NoExecute")
    assert (empty.driver, empty.pool, empty.device) == ("", "", "")
    chosen = read_taint_rule(taint_rule("r", taint, {"driver": "d", "pool": "p", "device": "x"}))
    assert (chosen.driver, chosen.pool, chosen.device) == ("d", "p", "x")


@pytest.mark.parametrize(
    ("spec", "scoped"),
    [
        ({}, False),
        ({"scopes": []}, False),
        ({"scopes": None, "scopeSelector": None}, False),
        ({"scopeSelector": {}}, False),
        ({"scopeSelector": {"matchExpressions": []}}, False),
        ({"scopes": ["BestEffort"]}, True),
        ({"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "Exists"}]}}, True),
    ],
)
def test_a_quota_with_scopes_of_either_kind_is_scoped(spec: Any, scoped: bool) -> None:
    assert read_quota({"kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": spec}).scoped is scoped
