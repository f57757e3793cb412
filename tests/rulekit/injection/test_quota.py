"""What a claim is charged, key by key, and which quota cannot pay it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.build import Raw, alternative, claim, device_class, exactly, first_available, fleet_of, quota
from webhook.fleet.fleet import Fleet
from webhook.model.claim_reading import read_claim
from webhook.model.cluster import Quota
from webhook.model.meta import Meta
from webhook.rulekit.injection.quota import Shortage, charges, devices_charged, shortage

A, B = "a.example.com", "b.example.com"


def charged(*requests: Raw) -> dict[str, int]:
    return dict(devices_charged(read_claim(claim("c", *requests)).spec.requests))


@pytest.mark.parametrize(
    ("requests", "expected"),
    [
        ([exactly("r", A)], {A: 1}),
        ([exactly("r", A, count=3)], {A: 3}),
        ([exactly("r", A, mode="All")], {A: 32}),
        ([exactly("r", A, mode="All", adminAccess=True)], {A: 32}),
        ([exactly("r", A, count=2), exactly("s", A, count=3), exactly("t", B)], {A: 5, B: 1}),
        ([first_available("r", alternative("x", A), alternative("y", B, count=4))], {A: 1, B: 4}),
        ([first_available("r", alternative("x", A), alternative("y", A, count=4))], {A: 4}),
        ([first_available("r", alternative("x", A, count=4), alternative("y", A))], {A: 4}),
        ([first_available("r", alternative("x", A, mode="All"), alternative("y", A, count=4))], {A: 32}),
        (
            [
                first_available("r", alternative("x", A, count=2), alternative("y", B)),
                exactly("s", A, count=3),
                exactly("t", B),
            ],
            {A: 5, B: 2},
        ),
    ],
)
def test_devices_of_each_class(requests: list[Raw], expected: dict[str, int]) -> None:
    assert charged(*requests) == expected


def keys(fleet: Fleet, *requests: Raw) -> dict[str, int]:
    return dict(charges(read_claim(claim("c", *requests)).spec.requests, fleet))


CLASS_KEY = f"{A}.deviceclass.resource.k8s.io/devices"
IMPLICIT_KEY = f"requests.deviceclass.resource.kubernetes.io/{A}"


def test_all_keys_of_a_class() -> None:
    serving = device_class(A, extended_resource="example.com/gpu")
    assert keys(fleet_of(serving), exactly("r", A, count=2)) == {
        CLASS_KEY: 2,
        IMPLICIT_KEY: 2,
        "requests.example.com/gpu": 2,
    }
    assert keys(fleet_of(device_class(A)), exactly("r", A)) == {CLASS_KEY: 1, IMPLICIT_KEY: 1}
    assert keys(fleet_of(), exactly("r", A)) == {CLASS_KEY: 1, IMPLICIT_KEY: 1}


def test_two_classes_of_one_extended_resource_are_added_up() -> None:
    fleet = fleet_of(device_class(A, extended_resource="example.com/gpu"), device_class(B, extended_resource="example.com/gpu"))
    assert keys(fleet, exactly("r", A, count=2), exactly("s", B))["requests.example.com/gpu"] == 3


@pytest.mark.parametrize(
    ("server", "gates", "extended"),
    [
        ("1.34", {}, False),
        ("1.34", {"DRAExtendedResource": True}, False),
        ("1.35", {}, False),
        ("1.35", {"DRAExtendedResource": True}, True),
        ("1.36", {}, True),
        ("1.36", {"DRAExtendedResource": False}, False),
    ],
)
def test_which_servers_charge_extended_resources(server: str, gates: dict[str, bool], extended: bool) -> None:
    fleet = fleet_of(device_class(A, extended_resource="example.com/gpu"), server=server, gates=gates)
    assert ("requests.example.com/gpu" in keys(fleet, exactly("r", A))) is extended
    assert (IMPLICIT_KEY in keys(fleet, exactly("r", A))) is extended


def short(before: dict[str, int], after: dict[str, int], *quotas: Any) -> Shortage | None:
    fleet = fleet_of(*(quota(f"quota-{i}", *item) for i, item in enumerate(quotas)))
    return shortage(before, after, fleet.quotas["team-a"])


@pytest.mark.parametrize(
    ("before", "after", "hard", "used", "expected"),
    [
        ({}, {"k": 3}, {"k": "3"}, {}, None),
        ({}, {"k": 4}, {"k": "3"}, {}, Shortage(quota="quota-0", key="k", needed=4, hard="3", left="3")),
        ({}, {"k": 2}, {"k": "3"}, {"k": "1"}, None),
        ({}, {"k": 3}, {"k": "3"}, {"k": "1"}, Shortage(quota="quota-0", key="k", needed=3, hard="3", left="2")),
        ({}, {"k": 1}, {"k": "3"}, {"k": "5"}, Shortage(quota="quota-0", key="k", needed=1, hard="3", left="-2")),
        ({}, {"k": 1}, {"k": "0"}, {}, Shortage(quota="quota-0", key="k", needed=1, hard="0", left="0")),
        ({}, {"k": 2000}, {"k": "2k"}, {}, None),
        # what was charged before is not the new entry's doing
        ({"k": 4}, {"k": 4}, {"k": "3"}, {}, None),
        ({"k": 4}, {"k": 5}, {"k": "3"}, {}, Shortage(quota="quota-0", key="k", needed=5, hard="3", left="3")),
        # another key, no quantity, a used that is none
        ({}, {"k": 4}, {"other": "0", "count/resourceclaims.resource.k8s.io": "0"}, {}, None),
        ({}, {"k": 4}, {"k": "many"}, {}, None),
        ({}, {"k": 4}, {"k": "4"}, {"k": "some"}, None),
    ],
)
def test_shortage(
    before: dict[str, int], after: dict[str, int], hard: dict[str, str], used: dict[str, str], expected: Shortage | None
) -> None:
    assert short(before, after, (hard, used)) == expected


def test_every_quota_and_key_counts() -> None:
    found = short({}, {"a": 1, "b": 2}, ({"a": "1", "b": "2"}, {}), ({"b": "1"}, {}))
    assert found == Shortage(quota="quota-1", key="b", needed=2, hard="1", left="1")


def test_a_quota_with_scopes_never_counts_a_claim() -> None:
    scoped = replace(Quota(meta=Meta(name="low"), hard={"k": "0"}), scoped=True)
    assert shortage({}, {"k": 1}, [scoped]) is None
    assert shortage({}, {"k": 1}, [scoped, replace(scoped, meta=Meta(name="all"), scoped=False)]) == Shortage(
        quota="all", key="k", needed=1, hard="0", left="0"
    )
