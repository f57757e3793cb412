"""Keys of maps are found as Go finds them: by what they are, or by being the very same value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import pytest

from webhook.model.device import Device

Verdicts: TypeAlias = Callable[[str, Device], str]

A = 'device.attributes["gpu.example.com"]'
C = 'device.capacity["gpu.example.com"]'

FOUND = [
    "optional.none() in {optional.none(): 1}",
    '(optional.of({"a": 1}).b) in {optional.of({"a": 1}).b: 1}',
    "{optional.none(): 1} == {optional.none(): 1}",
    'ip("::1") in {ip("::1"): 1}',
    'cidr("10.0.0.1/24") in {cidr("10.0.0.1/24"): 1}',
    '{ip("::1"): 1, ip("::1"): 2}.size() == 1',
    "cel.bind(x, [1], x in {x: 1})",
    "cel.bind(x, {1: 1}, x in {x: 1})",
    'cel.bind(x, quantity("1"), x in {x: 1})',
    'cel.bind(x, url("https://a"), x in {x: 1})',
    f"{C}.memory in {{{C}.memory: 1}}",
    "cel.bind(m, {[1]: 1}, m == m && m.all(key, key in m))",
    "cel.bind(m, {optional.of(1): 1}, m == m)",
    '[{quantity("1"): 1}].all(m, m == m)',
    'timestamp("2024-01-01T01:00:00+01:00") in {timestamp("2024-01-01T01:00:00+01:00"): 1}',
    'cel.bind(t, timestamp("2024-01-01T01:00:00+01:01"), t in {t: 1})',
    "timestamp(0) in {timestamp('1970-01-01T00:00:00Z'): 1}",
    "device.attributes in {device.attributes: 1}",
    f"cel.bind(published, {A}, published in {{published: 1}})",
    f"cel.bind(modes, {A}.modes, modes in {{modes: 1}})",
    f'dyn(optional.of("memory")) in {C}',
]
NOT_FOUND = [
    "optional.of(1) in {optional.of(1): 1}",
    "cel.bind(m, {optional.of(1): 1}, m.all(key, key in m))",  # a variable wraps it anew
    "[1] in {[1]: 1}",
    'quantity("1") in {quantity("1"): 1}',
    f'{C}.memory in {{quantity("80Gi"): 1}}',
    # Bytes, versions and formats end an evaluation where they are hashed: a device's own maps look for names only.
    f'dyn(b"a") in {A}',
    f'dyn(b"a") in {C}',
    'dyn(b"a") in dyn(device)',
    f"dyn({A}.cudaComputeCapability) in {A}",
    f"format.uuid() in dyn({A})",
    f'dyn(optional.of("index")) in {A}',
    f"{A} in {{{A}: 1}}",  # what is read of a device is another value each time
    f"{A}.modes in {{{A}.modes: 1}}",
    "dyn(device) in {dyn(device): 1}",
    'url("https://a") in {url("https://a"): 1}',
    'cidr("10.0.0.1/24") in {cidr("10.0.0.2/24"): 1}',
    'cel.bind(x, double("NaN"), x in {x: 1})',
    'timestamp("2024-01-01T00:00:00Z") in {timestamp("2024-01-01T01:00:00+01:00"): 1}',
    'timestamp("2024-01-01T01:00:00+01:01") in {timestamp("2024-01-01T01:00:00+01:01"): 1}',
]
HASHED = [
    ('dyn(b"a") in {"a": 1}', "types.Bytes"),
    ('semver("1.0.0") in dyn({"a": 1})', "cel.Semver"),
]
TWICE = [
    ("[1, 2].transformMapEntry(i, v, {optional.none(): v}).size() == 1", "optional.none()"),
    ('[1, 2].transformMapEntry(i, v, {ip("::1"): v}).size() == 1', "::1"),
]


@pytest.mark.parametrize("text", FOUND)
def test_found(text: str, gpu: Device, verdict: Verdicts) -> None:
    assert verdict(text, gpu) == "match"


@pytest.mark.parametrize("text", NOT_FOUND)
def test_not_found(text: str, gpu: Device, verdict: Verdicts) -> None:
    assert verdict(text, gpu) == "no match"


@pytest.mark.parametrize(("text", "go_type"), HASHED)
def test_what_go_cannot_hash_ends_the_evaluation(text: str, go_type: str, gpu: Device, verdict: Verdicts) -> None:
    assert verdict(text, gpu) == f"error: internal error: runtime error: hash of unhashable type {go_type}"


@pytest.mark.parametrize(("text", "key"), TWICE)
def test_no_key_is_inserted_twice(text: str, key: str, gpu: Device, verdict: Verdicts) -> None:
    assert verdict(text, gpu) == f"error: insert failed: key {key} already exists"


def test_equal_capacities_of_a_device_are_two_keys(gpu: Device, verdict: Verdicts) -> None:
    twice = {"gpu.example.com/a": "16384Mi", "gpu.example.com/b": "16384Mi"}
    device = replace(gpu, capacity=twice)
    assert verdict(f"{C}.transformMapEntry(name, amount, {{amount: name}}).size() == 2", device) == "match"
    assert verdict(f"{C}.a in {{{C}.b: 1}}", device) == "no match"
    assert verdict(f"{C}.a in {{{C}.a: 1}}", device) == "match"
    assert verdict(f"{C}.a == {C}.b", device) == "match"
