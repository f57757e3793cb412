"""Nodes and numbers in words, and YAML that can be pasted."""

from __future__ import annotations

import pytest
import yaml

from tests.build import device, device_slice, fleet_of, node
from tests.ownership import PLUGIN, ownership
from webhook.model.labels import LabelExpression
from webhook.rulekit.ownership.advice import affinity_advice, flow, limit_advice
from webhook.rulekit.ownership.steering import Steering
from webhook.rulekit.ownership.text import names_of, numbered, numbers, offered, published, some


@pytest.mark.parametrize(("count", "text"), [(0, "no devices"), (1, "1 device"), (8, "8 devices")])
def test_numbered(count: int, text: str) -> None:
    assert numbered(count, "device") == text


@pytest.mark.parametrize(
    ("texts", "total", "text"),
    [
        ([], 0, ""),
        (["a"], 0, "a"),
        (["a", "b"], 0, "a and b"),
        (["a", "b", "c"], 0, "a, b and c"),
        (["a", "b", "c", "d"], 0, "a, b, c and 1 more"),
        (["a", "b", "c"], 3, "a, b and c"),
        (["a", "b", "c"], 7, "a, b, c and 4 more"),
    ],
)
def test_some(texts: list[str], total: int, text: str) -> None:
    assert some(texts, total) == text


def test_names() -> None:
    fleet = fleet_of(*(node(name) for name in "abcde"))
    assert names_of(fleet, fleet.nodes.all) == "a, b, c and 2 more"
    assert names_of(fleet, fleet.nodes.named("bd")) == "b and d"


def test_offered_leaves_out_zeros_unless_there_is_nothing_else() -> None:
    policy = ownership()
    (some_node,) = fleet_of(
        node("n", allocatable={"nvidia.com/mig-2g.10gb": "0", PLUGIN: "4", "nvidia.com/mig-1g.5gb": "7", "amd.com/gpu": "1"})
    ).nodes.by_name.values()
    assert offered(policy, some_node) == {PLUGIN: 4, "nvidia.com/mig-1g.5gb": 7}
    assert list(offered(policy, some_node)) == [PLUGIN, "nvidia.com/mig-1g.5gb"]
    (zero,) = fleet_of(node("n", allocatable={PLUGIN: "0", "amd.com/gpu": "1"})).nodes.by_name.values()
    assert offered(policy, zero) == {PLUGIN: 0}


def test_published_counts_what_the_node_reaches() -> None:
    fleet = fleet_of(
        device_slice("n", device("a"), device("b")),
        device_slice("m", device("a"), pool="m"),
        device_slice("n", device("x"), driver="gpu.intel.com", pool="n-intel"),
        device_slice({"allNodes": True}, device("net"), pool="fabric"),
        device_slice({"allNodes": True}, device("net"), driver="gpu.intel.com", pool="fabric"),
        device_slice(
            {"perDeviceNodeSelection": True}, {"name": "p", "nodeName": "m"}, {"name": "q", "allNodes": True}, pool="mixed"
        ),
    )
    assert published(fleet, ownership(), fleet.nodes.by_name["n"]) == 4
    assert (
        numbers(fleet, ownership(), fleet.nodes.by_name["m"]) == "4 devices of gpu.nvidia.com, what plugin pods hold is unknown"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": ["b", {"c": 1}]}, "{a: [b, {c: 1}]}"),
        ({"example.com/gpu-stack": "dra"}, "{example.com/gpu-stack: dra}"),
        ("true", '"true"'),
        ("No", '"No"'),
        ("1", '"1"'),
        ("", '""'),
        ("a b", '"a b"'),
        ("nvidia.com/mig-*", '"nvidia.com/mig-*"'),
        ("a:b", '"a:b"'),
        ({}, "{}"),
        ([], "[]"),
    ],
)
def test_flow_is_yaml_that_means_the_same(value: object, text: str) -> None:
    assert flow(value) == text
    assert yaml.safe_load(text) == value


def test_affinity_advice_can_be_pasted() -> None:
    steering = Steering((LabelExpression(key="on", operator="NotIn", values=("true",)),), ("node-1",))
    head, line = affinity_advice(steering, "its", has_terms=False).split("\n")
    assert head == "add to its spec:"
    required = {"nodeSelectorTerms": [steering.requirements()]}
    assert yaml.safe_load(line) == {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}
    head, line = affinity_advice(steering, "their", has_terms=True).split("\n")
    assert head == "add to every term of their required node affinity:"
    assert yaml.safe_load("{" + line + "}") == steering.requirements()


def test_limit_advice_can_be_pasted() -> None:
    assert yaml.safe_load(limit_advice(PLUGIN, 2).split("\n")[1]) == {"resources": {"limits": {PLUGIN: 2}}}
