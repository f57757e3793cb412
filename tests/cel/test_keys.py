"""Keys of maps are found as Go finds them: by what they are, or by being the very same value."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest

from webhook.model.device import Device

Verdicts: TypeAlias = Callable[[str, Device], str]

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
]
NOT_FOUND = [
    "optional.of(1) in {optional.of(1): 1}",
    "cel.bind(m, {optional.of(1): 1}, m.all(key, key in m))",  # a variable wraps it anew
    "[1] in {[1]: 1}",
    'quantity("1") in {quantity("1"): 1}',
    f'{C}.memory in {{quantity("80Gi"): 1}}',
    'url("https://a") in {url("https://a"): 1}',
    'cidr("10.0.0.1/24") in {cidr("10.0.0.2/24"): 1}',
    'cel.bind(x, double("NaN"), x in {x: 1})',
    'timestamp("2024-01-01T00:00:00Z") in {timestamp("2024-01-01T01:00:00+01:00"): 1}',
    'timestamp("2024-01-01T01:00:00+01:01") in {timestamp("2024-01-01T01:00:00+01:01"): 1}',
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


@pytest.mark.parametrize(("text", "key"), TWICE)
def test_no_key_is_inserted_twice(text: str, key: str, gpu: Device, verdict: Verdicts) -> None:
    assert verdict(text, gpu) == f"error: insert failed: key {key} already exists"
