"""Which requests become lists, and what that does to config."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.build import (
    NVIDIA,
    Raw,
    alternative,
    ask,
    claim,
    device,
    device_class,
    device_slice,
    exactly,
    first_available,
    fleet_of,
    gpu,
)
from tests.injecting import in_tier, occasion_of, policies, tier
from webhook.fleet.fleet import Fleet
from webhook.rulekit.injection.plan import Plan, plan, wanted_lists
from webhook.rulekit.policies import PolicySet

MIG, AMD = "mig.nvidia.com", "gpu.amd.com"
KIND = 'device.driver == "gpu.nvidia.com" && device.attributes["gpu.nvidia.com"].type == '
H100 = 'device.attributes["gpu.nvidia.com"].productName == "NVIDIA H100 80GB HBM3"'
OBJECTS = [
    device_class(NVIDIA, KIND + '"gpu"'),
    device_class(MIG, KIND + '"mig"'),
    device_class(AMD),
    device_slice("node-1", gpu("gpu-0"), gpu("gpu-1")),
    device_slice("node-2", gpu("gpu-0", "NVIDIA A100-SXM4-40GB", "40Gi")),
    device_slice(
        "node-3",
        device("mig-0", {"type": "mig", "profile": "1g.5gb"}),
        device("mig-1", {"type": "mig", "profile": "2g.10gb"}),
        device("mig-2", {"type": "mig"}),
    ),
    device_slice("node-4", device("card-0"), driver=AMD),
]
SLICE = {"name": "slice", "deviceClassName": MIG, "count": 1}
ONE = {"name": "amd", "deviceClassName": AMD, "count": 1}
EVERY: Raw = {"deviceClasses": ["*"], "allocationModeAll": True}


def cluster(**server: Any) -> Fleet:
    return in_tier(fleet_of(*OBJECTS, **server))


def wanted(body: Raw, policy_set: PolicySet, fleet: Fleet | None = None) -> list[str]:
    return [request.name for request, _ in wanted_lists(occasion_of(body, fleet or cluster(), policy_set))]


def planned(body: Raw, policy_set: PolicySet, fleet: Fleet | None = None) -> Plan:
    occasion = occasion_of(body, fleet or cluster(), policy_set)
    return plan(occasion, wanted_lists(occasion))


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (exactly(), True),
        (exactly(count=3), True),
        (exactly(mode="All"), True),
        (exactly(adminAccess=False), True),
        (exactly(adminAccess=True), False),
        (exactly(count=-1), False),
        (exactly(mode="Someday", count=1), False),
        (exactly(derivedAttributes=[1]), False),
        ({**exactly(), "someday": 1}, False),
        ({"name": "gpu"}, False),
        ({"name": "gpu", "exactly": {"count": 1}}, False),
        (first_available("gpu", alternative("a")), False),
        ({**first_available("gpu", alternative("a")), **exactly()}, False),
        ({**exactly(), "firstAvailable": []}, True),
    ],
)
def test_what_may_become_a_list(request_: Raw, expected: bool) -> None:
    assert wanted(claim("c", request_), policies(tier(SLICE, match=EVERY))) == (["gpu"] if expected else [])


def test_flat_requests() -> None:
    body = claim("c", exactly(), exactly("all", mode="All", adminAccess=True), version="v1beta1")
    assert wanted(body, policies(tier(SLICE, match=EVERY))) == ["gpu"]


def test_all_only_where_the_ask_says_so() -> None:
    body = claim("c", exactly(mode="All"))
    assert wanted(body, policies(tier(SLICE))) == []
    assert wanted(body, policies(tier(SLICE, match=EVERY))) == ["gpu"]
    assert wanted(body, policies(tier(SLICE, match=EVERY)), cluster(server="1.35")) == []
    assert wanted(claim("c", exactly()), policies(tier(SLICE, match=EVERY)), cluster(server="1.35")) == ["gpu"]


@pytest.mark.parametrize(
    "names", [["gpu", "gpu"], ["gpu", ""], ["gpu", "Upper"], ["gpu", "a/b"], ["gpu", "-a"], ["gpu", "a-"], ["gpu", "x" * 64]]
)
def test_claims_that_will_be_refused_anyway(names: list[str]) -> None:
    assert wanted(claim("c", *map(exactly, names)), policies(tier(SLICE))) == []


def test_names_up_to_63_characters() -> None:
    assert wanted(claim("c", exactly("x" * 63), exactly("a")), policies(tier(SLICE))) == ["x" * 63, "a"]


@pytest.mark.parametrize(
    ("devices", "expected"),
    [
        ({"constraints": [{"requests": ["gpu"], "matchAttribute": "a/b"}]}, ["gpu", "nic"]),
        ({"constraints": [{"requests": ["gpu"], "matchAttribute": "a/b", "someday": 1}]}, ["nic"]),
        ({"constraints": [{"matchAttribute": "a/b", "someday": 1}]}, []),
        ({"config": [{"requests": ["nic"], "opaque": {"driver": "d"}}]}, ["gpu", "nic"]),
        ({"config": [{"requests": ["nic"], "opaque": {"driver": "d"}, "someday": 1}]}, ["gpu"]),
        ({"config": [{"requests": ["nic"], "someday": {}}]}, ["gpu"]),
        ({"config": [{"opaque": {}}]}, []),
    ],
)
def test_what_is_not_understood_about_a_request(devices: Raw, expected: list[str]) -> None:
    assert wanted(claim("c", exactly(), exactly("nic"), devices=devices), policies(tier(SLICE))) == expected


@pytest.mark.parametrize(
    ("match", "request_", "expected"),
    [
        ({"deviceClasses": [NVIDIA]}, exactly(), True),
        ({"deviceClasses": ["*.nvidia.com"]}, exactly(), True),
        ({"deviceClasses": [MIG]}, exactly(), False),
        ({"shapes": ["h100-80gb"]}, exactly("gpu", NVIDIA, H100), True),
        ({"shapes": ["2x h100-80gb"]}, exactly("gpu", NVIDIA, H100), False),
        ({"shapes": ["*x h100-*"]}, exactly("gpu", NVIDIA, H100, count=2), True),
        # three do not exist: no shape is known
        ({"shapes": ["*x h100-*"]}, exactly("gpu", NVIDIA, H100, count=3), False),
        # an A100 is possible too
        ({"shapes": ["*x h100-*"]}, exactly(), False),
        ({"shapes": ["*x h100-*", "*x a100-*"]}, exactly(), True),
        ({"shapes": ["*x h100-*"], "deviceClasses": [MIG]}, exactly("gpu", NVIDIA, H100), False),
        ({"shapes": ["*x h100-*"], "deviceClasses": [NVIDIA]}, exactly("gpu", NVIDIA, H100), True),
        ({"shapes": ["*x *"]}, exactly("gpu", "gone.example.com"), False),
        ({"shapes": ["*x *"]}, exactly("gpu", NVIDIA, "false"), False),
    ],
)
def test_match(match: Raw, request_: Raw, expected: bool) -> None:
    assert wanted(claim("c", request_), policies(tier(SLICE, match=match))) == (["gpu"] if expected else [])


def test_shapes_that_are_too_many_to_know() -> None:
    many = [gpu(f"gpu-{i}", f"product {i}") for i in range(24)]
    fleet = in_tier(fleet_of(device_class(NVIDIA), device_slice("node-1", *many)))
    every = policies(tier(SLICE, match={"shapes": ["*x ?gpu.nvidia.com/*"]}), catalog=False)
    assert wanted(claim("c", exactly(count=1)), every, fleet) == ["gpu"]
    assert wanted(claim("c", exactly(count=8)), every, fleet) == []


def test_a_pattern_that_cannot_be_read_fits_nothing() -> None:
    unreadable = replace(policies(tier(SLICE)).tier_fallback[0].asks[0], shapes=("2 h100",))
    policy_set = policies(tier(SLICE))
    object.__setattr__(policy_set.tier_fallback[0], "asks", (unreadable,))
    assert wanted(claim("c", exactly()), policy_set) == []


def test_the_first_ask_that_fits() -> None:
    asks = [
        {"match": {"deviceClasses": [MIG]}, "alternatives": [ONE]},
        {"match": {"deviceClasses": ["*"]}, "alternatives": [SLICE]},
        {"match": {"deviceClasses": ["gpu.*"]}, "alternatives": [{**ONE, "name": "never"}]},
    ]
    found = planned(claim("c", exactly(), exactly("mig", MIG)), policies(tier(asks=asks)))
    assert [[entry.name for entry in item.entries] for item in found.injections] == [
        ["requested", "slice"],
        ["requested", "amd"],
    ]


def test_what_is_left_unchanged() -> None:
    own = {"name": "own", "deviceClassName": NVIDIA, "count": 1}
    found = planned(claim("c", exactly()), policies(tier(own)))
    # the whole list is what the author asked for: nothing to say
    assert (found.injections, found.left_out, found.unchanged) == ((), (), ())
    gone = {"name": "gone", "deviceClassName": "gone.example.com", "count": 1}
    found = planned(claim("c", exactly(), exactly("b")), policies(tier(own, gone)))
    assert [request.name for request in found.unchanged] == ["gpu", "b"]
    assert planned(claim("c", exactly()), policies(tier(gone, author="replace"))).injections == ()
    assert planned(claim("c", exactly()), policies(tier(gone, author="last"))).injections == ()


def test_one_request_is_left_unchanged_and_another_is_not() -> None:
    own = {"name": "own", "deviceClassName": NVIDIA, "count": 2}
    found = planned(claim("c", exactly("a", count=40), exactly("b")), policies(tier(own, {**SLICE, "count": 2})))
    assert [item.request.name for item in found.injections] == ["a"]
    assert [item.request.name for item in found.left_out] == ["b", "b"]
    assert [request.name for request in found.unchanged] == ["b"]


def test_the_only_one_that_is_left_replaces() -> None:
    gone = {"name": "gone", "deviceClassName": "gone.example.com", "count": 1}
    found = planned(claim("c", exactly()), policies(tier(gone, SLICE, author="replace")))
    assert [entry.name for entry in found.injections[0].entries] == ["slice"]
    assert found.injections[0].own.device_class == NVIDIA


@pytest.mark.parametrize(
    ("model", "count", "fits"),
    [("a100-mig-1g-5gb", 1, True), ("a100-mig-1g.5gb", 1, True), ("a100-mig-2g-10gb", 1, True), ("a100-mig-3g-20gb", 1, False)],
)
def test_one_member_of_a_family(model: str, count: int, fits: bool) -> None:
    fleet = cluster()
    found = planned(claim("c", exactly()), policies(tier({"name": "m", "model": model})), fleet)
    entry = found.injections[0].entries[1].alternative
    matches = fleet.inventory.match(entry.device_class, tuple(item.expression for item in entry.selectors))
    assert matches.problems == ()
    names = [found.name for pool in matches.pools for found in pool.matched]
    assert [pool.errors for pool in matches.pools if pool.errors] == []
    assert (len(names) == count) is fits


def config(*requests: str, driver: str = NVIDIA, **fields: Any) -> Raw:
    return {
        "opaque": {"driver": driver, "parameters": {"kind": "Settings"}},
        **({"requests": [*requests]} if requests else {}),
        **fields,
    }


def kind(name: str, *requests: str) -> Raw:
    return {"opaque": {"driver": NVIDIA, "parameters": {"kind": name}}, "requests": [*requests]}


CARDS = [{"name": "pair", "deviceClassName": NVIDIA, "count": 2}]


@pytest.mark.parametrize(
    ("configs", "alternatives", "author", "expected"),
    [
        ([], CARDS, "first", {}),
        ([config("nic")], CARDS, "first", {}),
        ([config("nic", "nic")], CARDS, "first", {}),
        ([config("gpu")], CARDS, "first", {0: ("gpu/requested", "gpu/pair")}),
        ([config("nic"), config("nic", "gpu")], CARDS, "first", {1: ("nic", "gpu/requested", "gpu/pair")}),
        ([config("gpu")], CARDS, "last", {0: ("gpu/pair", "gpu/requested")}),
        ([config("gpu")], CARDS, "replace", {0: ("gpu/pair",)}),
        ([config("gpu")], [ONE], "first", {0: ("gpu/requested",)}),
        ([config("gpu")], [ONE], "replace", {}),
        ([config()], CARDS, "first", {}),
        ([config()], [ONE], "first", {0: ("gpu/requested", "nic")}),
        ([config()], [*CARDS, ONE], "first", {0: ("gpu/requested", "gpu/pair", "nic")}),
        # about other drivers' devices
        ([config(driver="other.example.com")], [ONE], "first", {}),
        ([config("gpu", driver="other.example.com")], [ONE], "first", {}),
        # whether it suits the author's own ask is not asked
        ([kind("MigDeviceConfig", "gpu")], [ONE], "first", {0: ("gpu/requested",)}),
    ],
)
def test_scopes(configs: list[Raw], alternatives: list[Raw], author: str, expected: dict[int, tuple[str, ...]]) -> None:
    body = claim("c", exactly(), exactly("nic", MIG), devices={"config": configs})
    found = planned(body, policies(tier(*alternatives, author=author, match={"deviceClasses": [NVIDIA]})))
    assert len(found.injections) == 1
    assert found.scopes == expected


def test_scopes_of_two_requests() -> None:
    body = claim("c", exactly("a"), exactly("b"), devices={"config": [config(), config("a", "b")]})
    found = planned(body, policies(tier(ONE)))
    assert found.scopes == {0: ("a/requested", "b/requested"), 1: ("a/requested", "b/requested")}
    assert [item.request.pointer for item in found.injections] == ["/spec/devices/requests/0", "/spec/devices/requests/1"]


def test_the_ask_of_a_list_stays_what_it_was() -> None:
    body = claim("c", {"name": "gpu", "exactly": ask(count=2)})
    assert planned(body, policies(tier(SLICE))).injections[0].own.count == 2
