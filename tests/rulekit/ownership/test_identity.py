"""Which devices are one card: by uuid and PCI address, in every spelling, and which only look like it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.build import NVIDIA, device, device_slice, fleet_of
from webhook.fleet.fleet import Fleet
from webhook.model.device import Device
from webhook.rulekit.ownership.identity import Twins, identity, is_partition, twins_across_drivers, twins_within_driver

BUS = "resource.kubernetes.io/pciBusID"
HAMI, DRANET, AMD = "hami-core-gpu.project-hami.io", "dra.net", "gpu.amd.com"


def published(attributes: dict[str, Any], capacity: dict[str, str] | None = None, driver: str = NVIDIA) -> Device:
    fleet = fleet_of(device_slice("n", device("d", attributes, capacity), driver=driver))
    (pool,) = fleet.inventory.pools
    return pool.devices[0]


def said(twins: Twins) -> list[str]:
    return [
        f"{t.device.driver}/{t.device.name} {t.other.driver}/{t.other.name} {t.by}" for each in twins.values() for t in each
    ]


def across(*slices: dict) -> list[str]:
    return said(twins_across_drivers(fleet_of(*slices).inventory))


def within(*slices: dict) -> list[str]:
    found = twins_within_driver(fleet_of(*slices).inventory)
    return [f"{t.device.pool}/{t.device.name} {t.other.pool}/{t.other.name} {t.by}" for each in found.values() for t in each]


@pytest.mark.parametrize(
    ("driver", "attributes", "uuid", "address", "cards"),
    [
        (NVIDIA, {"uuid": "GPU-1", BUS: "0000:07:00.0"}, "GPU-1", "0000:07:00.0", ("uuid GPU-1", "PCI address 0000:07:00.0")),
        (NVIDIA, {"uuid": "MIG-1", "parentUUID": "GPU-1"}, "MIG-1", "", ("uuid MIG-1", "uuid GPU-1")),
        (NVIDIA, {}, "", "", ()),
        (NVIDIA, {"uuid": 7, BUS: 7}, "", "", ()),
        (HAMI, {"pcieBusID": "0000:07:00.0"}, "", "0000:07:00.0", ("PCI address 0000:07:00.0",)),
        (DRANET, {"dra.net/pciAddress": "0000:08:00.2"}, "", "0000:08:00.2", ("PCI address 0000:08:00.2",)),
        ("sriov.example.com", {"dra.net/pciAddress": "0000:08:00.2"}, "", "0000:08:00.2", ("PCI address 0000:08:00.2",)),
        ("sriov.example.com", {"pciAddress": "0000:08:00.2"}, "", "0000:08:00.2", ("PCI address 0000:08:00.2",)),
        ("gpu.example.com", {"pciBusID": "0000:08:00.0"}, "", "0000:08:00.0", ("PCI address 0000:08:00.0",)),
        (AMD, {"pciAddr": "0000:05:00.0"}, "", "0000:05:00.0", ("PCI address 0000:05:00.0",)),
        (AMD, {"parentPciAddr": "0000:05:00.0"}, "", "", ("PCI address 0000:05:00.0",)),
        (AMD, {"pciAddr": "0000:05:00.0", "parentPciAddr": "0000:05:00.0"}, "", "0000:05:00.0", ("PCI address 0000:05:00.0",)),
        (NVIDIA, {BUS: "00000000:0A:00.0"}, "", "0000:0a:00.0", ("PCI address 0000:0a:00.0",)),
        (NVIDIA, {BUS: "0a:00.0"}, "", "0000:0a:00.0", ("PCI address 0000:0a:00.0",)),
        (NVIDIA, {BUS: "0008:06:00.0"}, "", "0008:06:00.0", ("PCI address 0008:06:00.0",)),
        (NVIDIA, {BUS: "no address", "pciAddress": "0a:00.0"}, "", "0000:0a:00.0", ("PCI address 0000:0a:00.0",)),
        (NVIDIA, {BUS: "0000:07:00.8"}, "", "", ()),
    ],
)
def test_identity(driver: str, attributes: dict[str, Any], uuid: str, address: str, cards: tuple[str, ...]) -> None:
    found = identity(published(attributes, driver=driver))
    assert (found.uuid, found.address, found.cards) == (uuid, address, cards)


@pytest.mark.parametrize(
    ("attributes", "capacity", "expected"),
    [
        ({"type": "gpu"}, {"memory": "40Gi"}, False),
        ({"type": "vfio"}, {}, False),
        ({"type": "mig"}, {}, True),
        ({"type": "MIG"}, {}, True),
        ({"type": "amdgpu-partition"}, {}, True),
        ({"parentUUID": "GPU-1"}, {}, True),
        ({"parentPciAddr": "0000:05:00.0"}, {}, True),
        ({"parentDeviceID": "1"}, {}, True),
        ({"partitionProfile": "cpx_nps4"}, {}, True),
        ({"partition": 0}, {}, True),
        ({"other.example.com/partition": 0}, {}, False),
        ({}, {"memorySlice3": "1"}, True),
    ],
)
def test_partitions(attributes: dict[str, Any], capacity: dict[str, str], expected: bool) -> None:
    assert is_partition(published(attributes, capacity)) is expected


def test_across_drivers_by_uuid_before_the_address() -> None:
    mine = device_slice("n", device("gpu-0", {"uuid": "GPU-1", BUS: "0000:07:00.0"}))
    hami = device_slice("n", device("hami-0", {"uuid": "GPU-1", "pcieBusID": "0000:07:00.0"}), driver=HAMI)
    assert across(mine, hami) == [
        f"{NVIDIA}/gpu-0 {HAMI}/hami-0 uuid GPU-1",
        f"{HAMI}/hami-0 {NVIDIA}/gpu-0 uuid GPU-1",
    ]


def test_across_drivers_a_partition_is_its_card_too() -> None:
    mig = device_slice("n", device("mig-0", {"uuid": "MIG-1", "parentUUID": "GPU-1"}), device("mig-1", {"parentUUID": "GPU-1"}))
    hami = device_slice("n", device("hami-0", {"uuid": "GPU-1"}), driver=HAMI)
    assert across(mig, hami) == [
        f"{NVIDIA}/mig-0 {HAMI}/hami-0 uuid GPU-1",
        f"{HAMI}/hami-0 {NVIDIA}/mig-0 uuid GPU-1",
        f"{HAMI}/hami-0 {NVIDIA}/mig-1 uuid GPU-1",
        f"{NVIDIA}/mig-1 {HAMI}/hami-0 uuid GPU-1",
    ]


@pytest.mark.parametrize(
    "other",
    [
        device_slice("m", device("hami-0", {"uuid": "GPU-1"}), driver=HAMI),
        device_slice("n", device("hami-0", {"uuid": "GPU-2"}), driver=HAMI),
        device_slice("n", device("gpu-9", {"uuid": "GPU-1"}), pool="second"),
        device_slice({"allNodes": True}, device("hami-0", {"uuid": "GPU-1"}), driver=HAMI, pool="fabric"),
    ],
    ids=["other node", "other card", "same driver", "no node"],
)
def test_across_drivers_only_one_card_on_one_node(other: dict) -> None:
    assert across(device_slice("n", device("gpu-0", {"uuid": "GPU-1"})), other) == []


def test_across_drivers_in_a_pool_of_several_nodes() -> None:
    here, there = {**device("h-0", {"uuid": "GPU-1"}), "nodeName": "n"}, {**device("h-1", {"uuid": "GPU-1"}), "nodeName": "m"}
    pool = device_slice({"perDeviceNodeSelection": True}, here, there, driver=HAMI, pool="both")
    assert across(device_slice("n", device("gpu-0", {"uuid": "GPU-1"})), pool) == [
        f"{NVIDIA}/gpu-0 {HAMI}/h-0 uuid GPU-1",
        f"{HAMI}/h-0 {NVIDIA}/gpu-0 uuid GPU-1",
    ]


def twice(one: dict[str, Any], other: dict[str, Any], **fields: Any) -> list[str]:
    return within(device_slice("n", device("a", one, **fields), device("b", other, **fields)))


GPU, VFIO = {"type": "gpu"}, {"type": "vfio"}
UUID, ADDRESS = {"uuid": "GPU-1"}, {BUS: "0000:07:00.0"}
BY_UUID = ["n/a n/b uuid GPU-1", "n/b n/a uuid GPU-1"]
BY_ADDRESS = ["n/a n/b PCI address 0000:07:00.0", "n/b n/a PCI address 0000:07:00.0"]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ({**GPU, **UUID, **ADDRESS}, {**VFIO, **UUID, **ADDRESS}, BY_UUID),
        ({**GPU, **UUID}, {**VFIO, **UUID}, BY_UUID),
        ({**GPU, **UUID}, {**UUID}, BY_UUID),
        ({**GPU, **ADDRESS}, {**VFIO, **ADDRESS}, BY_ADDRESS),
        ({**GPU, **UUID, **ADDRESS}, {**GPU, **UUID, **ADDRESS}, BY_UUID),
        # One address and one type: functions of a card, or partitions that do not say so.
        ({**GPU, **ADDRESS}, {**GPU, **ADDRESS}, []),
        ({**GPU, **ADDRESS, "uuid": "GPU-1"}, {**GPU, **ADDRESS, "uuid": "GPU-2"}, []),
        # All chips of a TPU host have one uuid.
        ({**UUID}, {**UUID}, []),
        ({**GPU, **UUID, **ADDRESS}, {**GPU, **UUID}, []),
        ({**GPU, **UUID}, {**GPU, **UUID, **ADDRESS}, []),
        ({**GPU, **UUID, **ADDRESS}, {**VFIO, **UUID}, BY_UUID),
        ({**GPU, **UUID}, {**VFIO, **UUID, **ADDRESS}, BY_UUID),
        # Two addresses are two cards, whatever the uuid says.
        ({**GPU, **UUID, **ADDRESS}, {**VFIO, **UUID, BUS: "0000:08:00.0"}, []),
        ({**GPU, "uuid": "GPU-1"}, {**VFIO, "uuid": "GPU-2"}, []),
        # Partitions share their card's address.
        ({**GPU, **ADDRESS}, {"type": "mig", **ADDRESS}, []),
        ({"type": "mig", **ADDRESS}, {**GPU, **ADDRESS}, []),
        ({}, {}, []),
    ],
)
def test_within_a_driver(one: dict[str, Any], other: dict[str, Any], expected: list[str]) -> None:
    assert twice(one, other) == expected


def test_within_a_driver_counters_keep_apart() -> None:
    def drawing(name: str, kind: dict[str, str], counters: str) -> dict:
        return {
            **device(name, {**kind, **UUID}),
            "consumesCounters": [{"counterSet": counters, "counters": {"x": {"value": "1"}}}],
        }

    assert within(device_slice("n", drawing("a", GPU, "card-0"), drawing("b", VFIO, "card-0"))) == []
    assert within(device_slice("n", drawing("a", GPU, "card-0"), drawing("b", VFIO, "card-1"))) == BY_UUID
    one, other = (
        device_slice("n", drawing("a", GPU, "card-0"), pool="p"),
        device_slice("n", drawing("b", VFIO, "card-0"), pool="q"),
    )
    assert within(one, other) == ["p/a q/b uuid GPU-1", "q/b p/a uuid GPU-1"]


def test_within_a_driver_two_pools_of_one_node() -> None:
    one, other = device_slice("n", device("a", UUID), pool="p"), device_slice("n", device("a", UUID), pool="q")
    assert within(one, other) == ["p/a q/a uuid GPU-1", "q/a p/a uuid GPU-1"]
    elsewhere = device_slice("m", device("a", UUID), pool="q")
    assert within(one, elsewhere) == []


def test_within_a_driver_in_a_pool_of_several_nodes() -> None:
    def at(node: str, name: str, kind: dict[str, str]) -> dict:
        return {**device(name, {**kind, **UUID}), "nodeName": node}

    pool = device_slice({"perDeviceNodeSelection": True}, at("n", "a", GPU), at("n", "b", VFIO), at("m", "c", VFIO), pool="p")
    assert within(pool) == ["p/a p/b uuid GPU-1", "p/b p/a uuid GPU-1"]


def test_three_of_one_card_are_two_twins_each() -> None:
    fleet: Fleet = fleet_of(
        device_slice("n", device("a", {**GPU, **UUID}), device("b", {**VFIO, **UUID}), device("c", {"type": "x", **UUID}))
    )
    twins = twins_within_driver(fleet.inventory)
    assert {key[2]: [twin.other.name for twin in each] for key, each in twins.items()} == {
        "a": ["b", "c"],
        "b": ["a", "c"],
        "c": ["a", "b"],
    }


def test_what_one_pool_says_alone_is_kept_with_it_and_drivers_that_are_alone_are_not_looked_at() -> None:
    inventory = fleet_of(device_slice("n", device("a", {**GPU, **UUID}))).inventory
    (pool,) = inventory.pools
    twins_across_drivers(inventory)
    assert pool.memo == {}
    twins_within_driver(inventory)
    assert pool.memo[("one card twice",)] == ()


def test_twins_are_worked_out_once() -> None:
    inventory = fleet_of(device_slice("n", device("a", {**GPU, **UUID}), device("b", {**VFIO, **UUID}))).inventory
    assert twins_within_driver(inventory) is twins_within_driver(inventory)
    assert twins_across_drivers(inventory) is twins_across_drivers(inventory)
    assert twins_across_drivers(inventory) == {}
