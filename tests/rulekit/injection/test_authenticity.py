"""Which records are believed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.build import NVIDIA, Raw, claim, template
from tests.injecting import policies, tier
from webhook.rulekit.injection.authenticity import injection_is_authentic, stored_injection_is_believed
from webhook.rulekit.injection.provenance import INJECTED
from webhook.rulekit.policies import PolicySet

PAIR = {"name": "pair", "deviceClassName": NVIDIA, "count": 2}
TOLERANT = {"name": "odd", "deviceClassName": NVIDIA, "count": 3, "capacity": {"requests": {"m": "1Gi"}}}
ASKS = [
    {"match": {"deviceClasses": ["never.example.com"]}, "alternatives": [{**PAIR, "name": "never"}]},
    {"match": {"deviceClasses": [NVIDIA]}, "alternatives": [PAIR, TOLERANT, {"name": "x", "model": "a100"}]},
]
POLICIES = policies(
    tier(asks=ASKS), tier(PAIR, name="last", tiers="b", author="last"), tier(PAIR, name="replace", tiers="c", author="replace")
)
LABELS = {item.header.name: item.header.label for item in POLICIES.tier_fallback}

ASK = {"deviceClassName": NVIDIA, "tolerations": [{"key": "k", "operator": "Exists"}]}
OWN = {"name": "requested", **ASK}
TWO = {**PAIR, "tolerations": ASK["tolerations"]}
ODD = {**TOLERANT, "tolerations": ASK["tolerations"]}


def injected(
    *listed: Raw, policy: str = "default", author: str | None = "requested", exactly: Any = ASK, **changes: Any
) -> Raw:
    added = [item["name"] for item in listed if item["name"] != author]
    request = {
        "name": "gpu",
        "policy": LABELS.get(policy, policy),
        "exactly": exactly,
        "author": author,
        "added": added,
        **changes,
    }
    return claim("c", {"name": "gpu", "firstAvailable": [*listed]}, annotations={INJECTED: json.dumps({"requests": [request]})})


@pytest.mark.parametrize(
    "body",
    [
        injected(OWN, TWO),
        injected(OWN, TWO, ODD),
        # some may have been left out
        injected(OWN, ODD),
        # defaults, quantities
        injected({**OWN, "count": 1, "allocationMode": "ExactCount"}, {**ODD, "capacity": {"requests": {"m": "1024Mi"}}}),
        # dropped by a server whose gates are off
        injected({"name": "requested", "deviceClassName": NVIDIA}, PAIR),
        injected(OWN, {key: value for key, value in ODD.items() if key != "capacity"}),
        injected(TWO, OWN, policy="last"),
        injected(TWO, policy="replace", author=None),
    ],
)
def test_believed(body: Raw) -> None:
    assert injection_is_authentic(body, POLICIES)
    flat = {**body, "apiVersion": "resource.k8s.io/v1beta1"}
    assert injection_is_authentic(flat, POLICIES)
    made = {**template("t"), "metadata": body["metadata"], "spec": {"spec": body["spec"]}}
    assert injection_is_authentic(made, POLICIES)


@pytest.mark.parametrize(
    "body",
    [
        # another order, other entries, other fields
        injected(TWO, OWN),
        injected(OWN, ODD, TWO),
        injected(OWN, {**TWO, "count": 4}),
        injected(OWN, {**TWO, "name": "other"}),
        injected({**OWN, "deviceClassName": "other.example.com"}, TWO),
        injected(OWN, {**TWO, "tolerations": []}, exactly={"deviceClassName": NVIDIA, "count": 2}),
        injected(OWN, {"name": "never", "deviceClassName": NVIDIA, "count": 2, "selectors": [{"cel": {"expression": "true"}}]}),
        injected(OWN, {**ODD, "capacity": {"requests": {"m": "2Gi"}}}),
        # who is the author's
        injected(OWN, TWO, author="pair"),
        injected(OWN, TWO, author=None),
        injected(TWO, policy="default", author=None),
        injected(OWN, TWO, policy="replace"),
        injected(OWN, TWO, policy="last"),
        # which policy, what it was asked
        injected(OWN, TWO, policy="nobody@1234567"),
        injected(OWN, TWO, policy="default@0000000"),
        injected(OWN, TWO, exactly={}),
        injected(OWN, TWO, exactly={"deviceClassName": "other.example.com"}),
        # not what is there
        injected(OWN, TWO, added=["odd"]),
        claim("c"),
        claim("c", annotations={INJECTED: "{}"}),
    ],
)
def test_not_believed(body: Raw) -> None:
    assert not injection_is_authentic(body, POLICIES)
    assert not injection_is_authentic({**body, "apiVersion": "resource.k8s.io/v1beta1"}, POLICIES)


def test_every_request_must_be_explained() -> None:
    body = injected(OWN, TWO)
    record = json.loads(body["metadata"]["annotations"][INJECTED])
    record["requests"].append({**record["requests"][0], "name": "nic"})
    body["metadata"]["annotations"] = {INJECTED: json.dumps(record)}
    body["spec"]["devices"]["requests"].append({"name": "nic", "firstAvailable": [OWN, {**TWO, "count": 5}]})
    assert not injection_is_authentic(body, POLICIES)
    body["spec"]["devices"]["requests"][1] = {"name": "nic", "firstAvailable": [OWN, TWO]}
    assert injection_is_authentic(body, POLICIES)


def test_an_entry_that_cannot_be_made_is_nobodys() -> None:
    gone = PolicySet(tier_fallback=POLICIES.tier_fallback)
    selectors = [{"cel": {"expression": 'device.attributes["gpu.nvidia.com"].productName == "NVIDIA A100-SXM4-40GB"'}}]
    listed = {"name": "x", "deviceClassName": NVIDIA, "selectors": selectors, "tolerations": ASK["tolerations"]}
    assert injection_is_authentic(injected(OWN, listed), POLICIES)
    assert not injection_is_authentic(injected(OWN, listed), gone)
    empty = {"name": "x", "deviceClassName": "", "tolerations": ASK["tolerations"]}
    assert not injection_is_authentic(injected(OWN, empty), gone)


SINCE = policies(tier(PAIR, name="another"))


@pytest.mark.parametrize(
    "body",
    [
        injected(OWN, TWO),
        injected(TWO, OWN),
        injected(TWO, policy="replace", author=None),
        injected(OWN, TWO, exactly={**ASK, "adminAccess": False, "count": 1}),
    ],
)
def test_a_stored_injection_of_a_policy_that_has_changed_is_believed(body: Raw) -> None:
    assert stored_injection_is_believed(body, SINCE)
    assert not injection_is_authentic(body, SINCE)


@pytest.mark.parametrize(
    "body",
    [
        injected({**OWN, "count": 2}, TWO),
        injected(OWN, TWO, exactly={"deviceClassName": NVIDIA, "count": 2}),
        injected(OWN, TWO, added=["odd"]),
        claim("c"),
    ],
)
def test_a_stored_injection_must_have_what_was_asked(body: Raw) -> None:
    assert not stored_injection_is_believed(body, SINCE)


def test_a_stored_injection_of_a_policy_that_is_there_must_be_explained() -> None:
    assert stored_injection_is_believed(injected(OWN, TWO), POLICIES)
    assert not stored_injection_is_believed(injected(OWN, {**TWO, "count": 4}), POLICIES)
