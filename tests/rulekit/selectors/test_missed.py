"""What is said of selectors that match nothing: only what is certain."""

from __future__ import annotations

import re

import pytest

from tests.build import device, device_class, device_slice, fleet_of
from webhook.cel import Selector
from webhook.fleet.fleet import Fleet
from webhook.fleet.matching import compile_for
from webhook.rulekit.selectors.missed import why_nothing_matches
from webhook.rulekit.selectors.steps import Steps

GPU = 'device.attributes["gpu.example.com"]'
MEMORY = 'device.capacity["gpu.example.com"].memory'
PRODUCTS = ("NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-40GB", "NVIDIA L4", "NVIDIA L40S")


def fleet() -> Fleet:
    cards = [
        device(
            f"gpu-{i}",
            {
                "type": "gpu",
                "productName": PRODUCTS[i % 4],
                "index": i,
                "ecc": False,
                "driverVersion": {"version": f"5{i}0.1.2"},
                "lanes": [1, 2],
                "uuid": f"GPU-{i}",
            }
            | ({"slot": i} if i < 2 else {}),
            {"memory": f"{40 + 20 * (i % 3)}Gi", "cores": "100"},
        )
        for i in range(6)
    ]
    return fleet_of(device_slice("node-a", *cards, driver="gpu.example.com"), server="1.37")


TABLE = [
    # Texts.
    (
        f'{GPU}.productName == "H100"',
        'productName of these devices is "NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-40GB", "NVIDIA L40S" and 1 more:'
        f' write {GPU}.productName.contains("H100")',
    ),
    (
        f'{GPU}.productName.contains("h100") && {GPU}.type == "gpu"',
        'productName of these devices is "NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-40GB", "NVIDIA L40S" and 1 more:'
        f' write {GPU}.productName.contains("H100")',
    ),
    (f'{GPU}.type == "Gpu"', f'type of these devices is "gpu": write {GPU}.type == "gpu"'),
    (f"{GPU}[\"type\"] == 'GPU'", f'type of these devices is "gpu": write {GPU}["type"] == "gpu"'),
    (f'"pgu" == {GPU}.type', 'type of these devices is "gpu"'),
    (
        f'{GPU}.productName == "NVIDIA L40"',
        'productName of these devices is "NVIDIA L40S", "NVIDIA L4", "NVIDIA A100-SXM4-40GB" and 1 more:'
        f' write {GPU}.productName.contains("NVIDIA L40")',
    ),
    (
        f'{GPU}.productName == "NVIDIA H10 80GB HBM3"',
        'productName of these devices is "NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-40GB", "NVIDIA L40S" and 1 more:'
        f' write {GPU}.productName == "NVIDIA H100 80GB HBM3"',
    ),
    (f'{GPU}.type in ["mig", "vfio"]', 'type of these devices is "gpu"'),
    (f'{GPU}.type != "gpu"', 'type of these devices is "gpu"'),
    (f'{GPU}.?type.orValue("") == "mig"', 'type of these devices is "gpu"'),
    # Amounts, numbers, versions, truths.
    (f'{MEMORY}.compareTo(quantity("81Gi")) >= 0', "memory of these devices is at most 80Gi"),
    (f'{MEMORY}.isLessThan(quantity("16Gi"))', "memory of these devices is at least 40Gi"),
    (f'{MEMORY}.compareTo(quantity("64Gi")) == 0', "memory of these devices is 40Gi, 60Gi and 80Gi"),
    ('device.capacity["gpu.example.com"].cores == quantity("50")', "cores of these devices is 100"),
    (f"{GPU}.index == 9", "index of these devices is between 0 and 5"),
    (f"has({GPU}.slot) && {GPU}.slot == 3", "slot of these devices is 1 and 0"),
    (f"{GPU}.ecc", "ecc of these devices is false"),
    (
        f'{GPU}.driverVersion.compareTo(semver("600.0.0")) >= 0',
        "driverVersion of these devices is at most 550.1.2",
    ),
    # What nobody has.
    (f"has({GPU}.memory)", f"memory is a capacity of these devices: write {MEMORY}"),
    (
        f'has({GPU}.producName) && {GPU}.producName == "x"',
        f'none of these devices has producName in the domain "gpu.example.com": write {GPU}.productName',
    ),
    (
        'has(device.attributes["gpu"].type)',
        f'none of these devices has type in the domain "gpu": write {GPU}.type',
    ),
    (f"has({GPU}.colour)", 'none of these devices has colour in the domain "gpu.example.com"'),
    ('has(device.capacity["gpu.example.com"].index)', f"index is an attribute of these devices: write {GPU}.index"),
    # A name where a domain is asked for.
    (
        '"gpu.example.com/productName" in device.attributes',
        f"the domain and the name are two keys: write has({GPU}.productName)",
    ),
    (
        '"gpu/productName" in device.attributes && true',
        f"the domain and the name are two keys: write has({GPU}.productName)",
    ),
    (
        '"gpu.example.com/memory" in device.attributes',
        f"the domain and the name are two keys: write has({MEMORY})",
    ),
    ('"memory" in device.capacity', f"memory is no domain but a name: write has({MEMORY})"),
    (
        '"gpu.example.com/colour" in device.attributes',
        'none of these devices has colour in the domain "gpu.example.com"',
    ),
    ('"gpu" in device.attributes', ""),
    # Drivers.
    ('device.driver == "gpu.nvidia.com"', "the devices are of driver gpu.example.com"),
    # Nothing is certain, or there is nothing to say.
    (f'{GPU}.index == 1 && {GPU}.productName == "NVIDIA L4"', ""),
    (f'{GPU}.type == "mig" || {GPU}.index == 9', ""),
    (f"{GPU}.index + {GPU}.index == 99", "index of these devices is between 0 and 5"),
    (f"{GPU}.lanes.exists(x, x == 4)", ""),
    ("1 == 2", ""),
    (f'{GPU}.type == "mig" ? true : false', 'type of these devices is "gpu"'),
]


@pytest.mark.parametrize(("text", "expected"), TABLE)
def test_why_nothing_matches(text: str, expected: str) -> None:
    at = fleet()
    assert at.inventory.sets.of(_compiled(at, text)).match == 0
    assert why_nothing_matches(at.inventory, at.inventory.sets.everything, (text,), Steps()) == expected


@pytest.mark.parametrize(
    ("text", "expected"), [row for row in TABLE if ": write " in row[1] and re.search("==|has", row[1].partition(" write ")[2])]
)
def test_what_is_offered_matches_something(text: str, expected: str) -> None:
    at = fleet()
    offered = at.inventory.sets.of(_compiled(at, expected.partition(" write ")[2]))
    assert offered is not None
    assert offered.match


def test_only_what_the_devices_of_the_class_have_is_offered() -> None:
    cards = (device("whole", {"type": "gpu"}), device("part", {"type": "part", "profile": "small"}))
    whole = device_class("whole.example.com", f'{GPU}.type == "gpu"')
    at = fleet_of(device_slice("node-a", *cards, driver="gpu.example.com"), whole)
    devices = at.inventory.match("whole.example.com").match
    text = f'{GPU}.?profile.orValue("") == "small"'
    expected = 'none of these devices has profile in the domain "gpu.example.com"'
    assert why_nothing_matches(at.inventory, devices, (text,), Steps()) == expected


def test_what_tells_devices_apart_is_not_listed() -> None:
    cards = [device(f"gpu-{i}", {"uuid": f"GPU-{i}"}) for i in range(300)]
    at = fleet_of(device_slice("node-a", *cards, driver="gpu.example.com"))
    everything = at.inventory.sets.everything
    assert why_nothing_matches(at.inventory, everything, (f'{GPU}.uuid == "x"',), Steps()) == ""


def test_nothing_is_tried_beyond_the_steps() -> None:
    at = fleet()
    steps = Steps(3)
    assert why_nothing_matches(at.inventory, at.inventory.sets.everything, (f'{GPU}.type == "Gpu"',), steps) == ""
    assert steps.left == 0


def _compiled(at: Fleet, text: str) -> Selector:
    compiled = compile_for(at.server, text)
    assert isinstance(compiled, Selector), compiled
    return compiled
