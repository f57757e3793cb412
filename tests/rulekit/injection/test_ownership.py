"""Alternatives that would be double booked."""

from __future__ import annotations

from typing import Any

import pytest

from tests.build import (
    NVIDIA,
    Raw,
    claim,
    device,
    device_class,
    device_slice,
    exactly,
    fleet_of,
    gpu,
    namespace,
    node,
    owned_by,
    pod,
)
from tests.injecting import document, in_tier, occasion_of, policies, tier
from webhook.rulekit.injection.plan import plan, wanted_lists
from webhook.rulekit.policies import PolicySet

AMD = "gpu.amd.com"
H100 = 'device.attributes["gpu.nvidia.com"].productName == "NVIDIA H100 80GB HBM3"'
ONE = {"name": "a100", "model": "a100-40gb", "count": 1}
CARD = {"name": "card", "deviceClassName": AMD, "count": 1}
A100S = [gpu(f"gpu-{i}", "NVIDIA A100-SXM4-40GB", "40Gi") for i in range(2)]
FLEET = in_tier(
    fleet_of(
        device_class(NVIDIA),
        device_class(AMD),
        node("free"),
        node("shared", allocatable={"nvidia.com/gpu": "2"}),
        node("amd", {"side": "dra"}, allocatable={"amd.com/gpu": "1"}),
        device_slice("free", gpu("gpu-0")),
        device_slice("shared", *A100S),
        device_slice("amd", device("card-0"), driver=AMD),
    )
)


def ownership(driver: str = NVIDIA, **spec: Any) -> Raw:
    resource = "nvidia.com/gpu" if driver == NVIDIA else "amd.com/gpu"
    return document("DeviceOwnership", f"of-{driver}", driver=driver, extendedResources=[resource], **spec)


def why(body: Raw, policy_set: PolicySet, *objects: Raw) -> list[tuple[str, str]]:
    occasion = occasion_of(body, in_tier(FLEET, *objects), policy_set)
    return [(item.candidate.name, item.why) for item in plan(occasion, wanted_lists(occasion)).left_out]


PLAIN = claim("c", exactly("gpu", NVIDIA, H100))
SHARED = (
    "it may be given devices of gpu.nvidia.com that somebody else hands out too, on shared (nvidia.com/gpu allocatable 2, "
    "2 devices of gpu.nvidia.com, what plugin pods hold is unknown)"
)


def test_an_alternative_on_nodes_that_somebody_else_serves() -> None:
    assert why(PLAIN, policies(tier(ONE), ownership())) == [("a100", SHARED)]
    assert why(PLAIN, policies(tier(ONE), ownership(action="warn", mode="audit"))) == [("a100", SHARED)]
    assert why(PLAIN, policies(tier(ONE))) == []


def test_not_the_alternatives_doing() -> None:
    # the author's own ask may be given those devices already
    assert why(claim("c"), policies(tier(ONE), ownership())) == []
    # three are not there: nothing conflicts
    assert why(PLAIN, policies(tier({**ONE, "count": 3}), ownership())) == []
    everything = {"name": "all", "model": "a100-40gb", "allocationMode": "All"}
    assert why(PLAIN, policies(tier(everything), ownership())) == [("all", SHARED)]
    # where the ask is replaced it excuses nothing
    assert why(claim("c"), policies(tier(ONE, author="replace"), ownership())) == [("a100", SHARED)]


def test_nodes_that_the_pod_cannot_be_placed_on() -> None:
    meta: Raw = {"annotations": {"resource.kubernetes.io/pod-claim-name": "gpu"}, "ownerReferences": owned_by("Pod", "p", "u")}
    body = claim("c", exactly("gpu", NVIDIA, H100), **meta)
    kept_off = pod("p", templates={"gpu": "t"}, meta={"uid": "u"}, nodeName="free")
    assert why(body, policies(tier(ONE), ownership()), kept_off) == []
    anywhere = pod("p", templates={"gpu": "t"}, meta={"uid": "u"})
    assert [name for name, _ in why(body, policies(tier(ONE), ownership()), anywhere)] == ["a100"]
    # what the pod asks besides counts too: the node is DRA's, but this pod asks the plugin there as well
    owners = [{"nodeSelector": {"matchLabels": {"side": "dra"}}, "owner": "dra"}]
    cards = policies(tier(CARD), ownership(AMD, owners=owners))
    assert why(body, cards, anywhere) == []
    asks_both = pod("p", templates={"gpu": "t"}, meta={"uid": "u"}, extended={"amd.com/gpu": "1"})
    assert [name for name, _ in why(body, cards, asks_both)] == ["card"]


@pytest.mark.parametrize(
    ("spec", "labels", "expected"),
    [
        ({"match": {"namespaces": ["other"]}}, {}, []),
        ({"match": {"namespaces": ["team-a"]}}, {}, ["a100"]),
        ({}, {"fallgate.dev/mode.device-ownership": "off"}, ["a100"]),
        ({"overridable": "both"}, {"fallgate.dev/mode.device-ownership": "off"}, []),
    ],
)
def test_where_the_policy_is_not_for_the_claim(spec: Raw, labels: dict[str, str], expected: list[str]) -> None:
    labelled = namespace(labels={"fallgate.dev/tier": "dev", **labels})
    assert [name for name, _ in why(PLAIN, policies(tier(ONE), ownership(**spec)), labelled)] == expected


def test_every_policy_counts() -> None:
    assert [name for name, _ in why(PLAIN, policies(tier(CARD, ONE), ownership(), ownership(AMD)))] == ["card", "a100"]


def test_a_policy_that_only_an_alternative_brings() -> None:
    # for claims that ask for cards of AMD; then the claim's other asks are judged too
    of_amd = ownership(match={"deviceClasses": [AMD]})
    assert why(PLAIN, policies(tier(CARD), of_amd)) == []
    assert why(claim("c"), policies(tier(CARD), of_amd)) == [("card", SHARED)]
    beside = claim("c", exactly("gpu", NVIDIA, H100), exactly("other", adminAccess=True))
    spec: Raw = {"match": {"shapes": ["h100-80gb"]}}
    assert why(beside, policies(tier(CARD, **spec), of_amd)) == []
    beside = claim("c", exactly("gpu", NVIDIA, H100), exactly("other"))
    assert why(beside, policies(tier(CARD, **spec), of_amd)) == [("card", SHARED)]
    # and what is injected before it
    assert why(PLAIN, policies(tier(ONE, CARD), of_amd)) == [("a100", SHARED)]
    # where only the author's own ask conflicts, what brings the policy is left out, not what is like the author's
    assert why(claim("c"), policies(tier(ONE, CARD), of_amd)) == [("card", SHARED)]
    # it is for the claim already: only what is new counts
    already = claim("c", exactly(), exactly("amd", AMD))
    assert why(already, policies(tier(CARD, match={"deviceClasses": [NVIDIA]}), of_amd)) == []
