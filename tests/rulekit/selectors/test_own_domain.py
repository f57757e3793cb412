"""Hints of the compiler with the domain under which the fleet's own driver publishes the name."""

from __future__ import annotations

import pytest

from tests.build import device, device_slice, fleet_of
from webhook.cel import MATCH, Selector
from webhook.fleet.matching import compile_for
from webhook.rulekit.selectors.own_domain import with_domain

FIRST = "what comes first is the domain, not the name"
CAPACITY, ATTRIBUTES = 'device.capacity["gpu.example.com"]', 'device.attributes["gpu.example.com"]'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            'device.capacity.memory == quantity("40Gi")',
            f'{FIRST}: write {CAPACITY}.memory.compareTo(quantity("40Gi")) == 0',
        ),
        ('device.capacity["memory"] > quantity("10Gi")', f'{CAPACITY}.memory.compareTo(quantity("10Gi")) > 0'),
        # One is taken for the other.
        ("device.attributes.memory > 40", f'{FIRST}: write {CAPACITY}.memory.compareTo(quantity("40")) > 0'),
        ("40 < device.attributes.memory", f'{FIRST}: write {CAPACITY}.memory.compareTo(quantity("40")) > 0'),
        ('device.capacity.index == quantity("3")', f"{FIRST}: write {ATTRIBUTES}.index == 3"),
        ('device.attributes.version >= semver("1.2.0")', f'{ATTRIBUTES}.version.compareTo(semver("1.2.0")) >= 0'),
    ],
)
def test_whole_comparisons(text: str, expected: str) -> None:
    one = device("gpu-0", {"index": 3, "version": {"version": "1.2.3"}}, {"memory": "40Gi"})
    at = fleet_of(device_slice("node-a", one, driver="gpu.example.com"))
    problems = compile_for(at.server, text)
    assert not isinstance(problems, Selector)
    (hint,) = (with_domain(problem.hint, at.inventory) for problem in problems)
    assert hint.endswith(expected)
    offered = compile_for(at.server, hint.partition("write ")[2])
    assert isinstance(offered, Selector)
    (published,) = (item for pool in at.inventory.pools for item in pool.devices)
    assert offered.against(published) is MATCH


def test_what_can_be_no_attribute_stays_a_capacity() -> None:
    at = fleet_of(device_slice("node-a", device("gpu-0", {"memory": "big"}), driver="gpu.example.com"))
    problems = compile_for(at.server, 'device.capacity.memory == quantity("40Gi")')
    assert not isinstance(problems, Selector)
    assert [with_domain(problem.hint, at.inventory) for problem in problems] == [
        f'{FIRST}: write {CAPACITY}.memory.compareTo(quantity("40Gi")) == 0'
    ]


def test_what_is_asked_for_a_pattern_stays_an_attribute() -> None:
    at = fleet_of(device_slice("node-a", device("gpu-0", {}, {"memory": "1"}), driver="gpu.example.com"))
    problems = compile_for(at.server, 'device.attributes.memory =~ "40"')
    assert not isinstance(problems, Selector)
    assert [with_domain(problem.hint, at.inventory) for problem in problems] == [
        f'=~ is no operator of CEL: write {ATTRIBUTES}.memory.matches("40")'
    ]
