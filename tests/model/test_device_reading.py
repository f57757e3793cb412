"""Slices and classes in every API version; bare and qualified names are one name."""

from __future__ import annotations

from typing import Any

import pytest

from tests.build import NVIDIA, device, device_class, device_slice, gpu
from webhook.model.device import Attribute, CounterSet, CounterUse, DeviceTaint, Reach
from webhook.model.device_reading import read_class, read_slice


def in_basic(raw: dict[str, Any], version: str) -> dict[str, Any]:
    """A slice as v1beta1 (values in objects) or v1alpha3 (plain quantities) has it."""
    devices = []
    for item in raw["spec"]["devices"]:
        inner = {key: value for key, value in item.items() if key != "name"}
        if version == "v1alpha3":
            inner["capacity"] = {key: value["value"] for key, value in inner["capacity"].items()}
        devices.append({"name": item["name"], "basic": inner})
    return {**raw, "apiVersion": f"resource.k8s.io/{version}", "spec": {**raw["spec"], "devices": devices}}


@pytest.mark.parametrize("version", ["v1", "v1beta1", "v1alpha3"])
def test_a_device_reads_the_same_in_every_version(version: str) -> None:
    fields = {"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}], "allowMultipleAllocations": True}
    raw = device_slice("node-1", {**gpu("gpu-0"), **fields})
    (found,) = read_slice(raw if version == "v1" else in_basic(raw, version)).devices
    assert found.key == (NVIDIA, "node-1", "gpu-0")
    assert found.attributes["gpu.nvidia.com/type"] == Attribute("string", "gpu")
    assert found.capacity == {"gpu.nvidia.com/memory": "81559Mi"}
    assert found.taints == (DeviceTaint(key="k", value="v", effect="NoSchedule"),)
    assert found.sharable
    assert found.reach == Reach(node_name="node-1")


def test_bare_and_qualified_names_are_one_name() -> None:
    attributes = {"type": "gpu", "gpu.nvidia.com/model": "h100", "resource.kubernetes.io/pcieRoot": "pci0000:15"}
    raw = device_slice("node-1", device("gpu-0", attributes, {"memory": "1Gi", "other.example.com/memory": "2Gi"}))
    (found,) = read_slice(raw).devices
    assert set(found.attributes) == {"gpu.nvidia.com/type", "gpu.nvidia.com/model", "resource.kubernetes.io/pcieRoot"}
    assert found.capacity == {"gpu.nvidia.com/memory": "1Gi", "other.example.com/memory": "2Gi"}
    assert found.text_attribute("type") == "gpu"
    assert found.text_attribute("resource.kubernetes.io/pcieRoot") == "pci0000:15"
    assert found.text_attribute("absent") == ""


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ({"string": "x"}, Attribute("string", "x")),
        ({"int": 3}, Attribute("int", 3)),
        ({"bool": False}, Attribute("bool", False)),
        ({"version": "1.2.3"}, Attribute("version", "1.2.3")),
        ({"strings": ["a", "b"]}, Attribute("strings", ("a", "b"))),
        ({"ints": [1, True, 2]}, Attribute("ints", (1, 2))),
        ({"bools": [True]}, Attribute("bools", (True,))),
        ({"versions": ["1.0.0"]}, Attribute("versions", ("1.0.0",))),
        ({"int": True}, None),
        ({"bool": 1}, None),
        ({"string": 1}, None),
        ({"colour": "red"}, None),
        ("x", None),
        ({}, None),
    ],
)
def test_attribute_values_by_their_kind(written: Any, read: Attribute | None) -> None:
    (found,) = read_slice(device_slice("n", {"name": "d", "attributes": {"a": written}})).devices
    assert found.attributes.get("gpu.nvidia.com/a") == read


@pytest.mark.parametrize("value", [None, {}, {"value": None}, {"value": True}, [], {"value": ["1"]}])
def test_a_capacity_that_is_no_quantity_is_left_out(value: Any) -> None:
    (found,) = read_slice(device_slice("n", {"name": "d", "capacity": {"memory": value}})).devices
    assert found.capacity == {}


@pytest.mark.parametrize(
    ("where", "reach"),
    [
        ("node-1", Reach(node_name="node-1")),
        ({"allNodes": True}, Reach(all_nodes=True)),
        ({"nodeSelector": {"nodeSelectorTerms": []}}, Reach(node_selector={"nodeSelectorTerms": []})),
        ({"something": "new"}, Reach()),
    ],
)
def test_reach_is_the_slices(where: Any, reach: Reach) -> None:
    read = read_slice(device_slice(where, {"name": "d", "nodeName": "not-this"}))
    assert (read.reach, read.devices[0].reach) == (reach, reach)


def test_reach_is_each_devices_own_with_per_device_node_selection() -> None:
    devices = [device("a", nodeName="node-1"), device("b", basic={"allNodes": True})]
    raw = device_slice({"perDeviceNodeSelection": True}, *devices)
    read = read_slice(raw)
    assert [item.reach for item in read.devices] == [Reach(node_name="node-1"), Reach(all_nodes=True)]
    assert read.reach is None


def test_counters_shared_and_consumed() -> None:
    uses = [{"counterSet": "card-0", "counters": {"memory": {"value": "10Gi"}, "odd": 3}}]
    raw = device_slice("n", {"name": "d", "consumesCounters": uses})
    raw["spec"]["sharedCounters"] = [{"name": "card-0", "counters": {"memory": {"value": "40Gi"}}}]
    read = read_slice(raw)
    assert read.counter_sets == (CounterSet(name="card-0", counters={"memory": "40Gi"}),)
    assert read.devices[0].consumes == (CounterUse(counter_set="card-0", counters={"memory": "10Gi"}),)


def test_pool_fields_and_binding_conditions() -> None:
    raw = device_slice("n", device("d", bindingConditions=["ready", 3]), generation=7, slices=2, name="n-a")
    read = read_slice(raw)
    assert (read.meta.name, read.driver, read.pool, read.generation, read.slice_count) == ("n-a", NVIDIA, "n", 7, 2)
    assert read.devices[0].binding_conditions == ("ready",)


def test_devices_of_odd_shape_are_left_out() -> None:
    raw = device_slice("n", {"name": "good"})
    raw["spec"]["devices"] += [None, 3, "x", [], {}, {"name": ""}, {"name": 7}]
    assert [item.name for item in read_slice(raw).devices] == ["good"]


def test_a_class_with_its_selectors_and_resource() -> None:
    raw = device_class("big", "a", "b", extended_resource="example.com/big", creationTimestamp="2027-01-01T00:00:00Z")
    read = read_class(raw)
    assert (read.name, read.selectors, read.extended_resource_name) == ("big", ("a", "b"), "example.com/big")
    assert read.meta.creation_timestamp == "2027-01-01T00:00:00Z"


def test_a_class_without_spec_selects_everything() -> None:
    read = read_class({"kind": "DeviceClass", "metadata": {"name": "all"}})
    assert (read.selectors, read.extended_resource_name) == ((), "")
