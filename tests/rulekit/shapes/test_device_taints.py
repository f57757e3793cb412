"""Taints on devices: which requests they keep off."""

from __future__ import annotations

from typing import Any

import pytest

from tests.build import NVIDIA, Raw, device_slice, exactly, fleet_of, gpu, taint_rule
from webhook.model.claim_reading import read_claim
from webhook.rulekit.shapes.device_taints import kept_off, taints_of

TAINT = {"key": "k", "value": "v", "effect": "NoSchedule"}


def is_kept_off(taints: list[Raw], tolerations: list[Raw], *rules: Raw, **server: Any) -> bool:
    fleet = fleet_of(device_slice("n1", gpu("a") | {"taints": taints}), *rules, **{"server": "1.37", **server})
    asked = {"spec": {"devices": {"requests": [exactly(tolerations=tolerations)]}}}
    return kept_off(fleet, fleet.inventory.pools[0].devices[0], read_claim(asked).spec.requests[0].alternatives[0])


@pytest.mark.parametrize(
    ("effect", "hard"), [("NoSchedule", True), ("NoExecute", True), ("None", False), ("PreferNoSchedule", False), ("", False)]
)
def test_effects(effect: str, hard: bool) -> None:
    assert is_kept_off([{"key": "k", "effect": effect}], []) is hard


@pytest.mark.parametrize(
    ("toleration", "tolerates"),
    [
        ({"key": "k", "operator": "Exists"}, True),
        ({"operator": "Exists"}, True),
        ({"key": "other", "operator": "Exists"}, False),
        ({"key": "k", "value": "v"}, True),
        ({"key": "k", "operator": "Equal", "value": "v", "effect": "NoSchedule"}, True),
        ({"key": "k", "operator": "Equal", "value": "v", "effect": "NoExecute"}, False),
        ({"key": "k", "operator": "Equal", "value": "other"}, False),
        ({"key": "k", "operator": "Equal"}, False),
        ({}, False),
        ({"key": "k", "operator": "NewThing", "value": "v"}, False),
    ],
)
def test_tolerations(toleration: Raw, tolerates: bool) -> None:
    assert is_kept_off([TAINT], [toleration]) is not tolerates


def test_every_taint_must_be_tolerated_by_some_toleration() -> None:
    both = [TAINT, {"key": "k2", "effect": "NoExecute"}]
    first, second = {"key": "k", "operator": "Exists"}, {"key": "k2", "operator": "Exists"}
    assert is_kept_off(both, [first])
    assert is_kept_off(both, [second])
    assert not is_kept_off(both, [second, first])
    assert not is_kept_off([], [])


@pytest.mark.parametrize(
    ("selector", "selected"),
    [
        ({}, True),
        (None, False),
        ({"driver": NVIDIA}, True),
        ({"driver": "other.example.com"}, False),
        ({"pool": "n1", "device": "a"}, True),
        ({"pool": "n2", "device": "a"}, False),
        ({"device": "b"}, False),
    ],
)
def test_rules_taint_what_they_select(selector: Raw | None, selected: bool) -> None:
    rule = taint_rule("rule", TAINT, selector)
    assert is_kept_off([], [], rule) is selected
    assert not is_kept_off([], [{"operator": "Exists"}], rule)


def test_gates() -> None:
    rule = taint_rule("rule", TAINT, {})
    assert not is_kept_off([], [], rule, server="1.36")
    assert is_kept_off([TAINT], [], server="1.36")
    assert not is_kept_off([TAINT], [], rule, server="1.35")


def test_taints_of_slice_and_rules_together() -> None:
    fleet = fleet_of(
        device_slice("n1", gpu("a") | {"taints": [TAINT]}),
        taint_rule("rule", {"key": "r", "effect": "None"}, {}),
        server="1.37",
    )
    assert [taint.key for taint in taints_of(fleet, fleet.inventory.pools[0].devices[0])] == ["k", "r"]
