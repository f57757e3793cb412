"""Alternatives that the workload has not declared, where a policy asks for declarations."""

from __future__ import annotations

from typing import Any

import pytest

from tests.build import (
    NVIDIA,
    Raw,
    alternative,
    claim,
    device,
    device_class,
    device_slice,
    exactly,
    first_available,
    fleet_of,
    gpu,
    namespace,
    owned_by,
    pod,
    template,
)
from tests.injecting import document, in_tier, occasion_of, policies, tier, view_of
from webhook.fleet.fleet import Fleet
from webhook.model.claim import Claim
from webhook.model.json_patch import apply_patch
from webhook.rulekit.injection.compatibility import declaration_needed
from webhook.rulekit.injection.occasion import occasion_under_review
from webhook.rulekit.injection.plan import plan, wanted_lists
from webhook.rulekit.injection.writing import plan_ops
from webhook.rulekit.policies import PolicySet

SHAPES = "fallgate.dev/compatible-shapes"
PAIR = {"name": "pair", "model": "a100-40gb", "count": 2}
A100S = [gpu(f"gpu-{i}", "NVIDIA A100-SXM4-40GB", "40Gi") for i in range(2)]


def compatibility(**spec: Any) -> Raw:
    return document("FallbackCompatibility", "declared", **spec)


def cluster(*objects: Raw) -> Fleet:
    base = [
        device_class(NVIDIA, 'device.attributes["gpu.nvidia.com"].type == "gpu"'),
        device_slice("node-1", gpu("gpu-0")),
        device_slice("node-2", *A100S),
    ]
    return in_tier(fleet_of(*base), *objects)


def why(body: Raw, policy_set: PolicySet, *objects: Raw) -> list[tuple[str, str]]:
    occasion = occasion_of(body, cluster(*objects), policy_set)
    return [(item.why, item.remedy) for item in plan(occasion, wanted_lists(occasion)).left_out]


BOTH = policies(tier(PAIR), compatibility())
NOTHING = "the workload has not declared that it can run on 2x a100-40gb (nothing is declared)"
REMEDY = 'if it can, declare it on the pod template: fallgate.dev/compatible-shapes: "{}"'


def test_declared() -> None:
    assert why(claim("c", annotations={SHAPES: "2x a100-*"}), BOTH) == []
    assert why(claim("c"), BOTH, namespace(labels={"fallgate.dev/tier": "dev"}, annotations={SHAPES: "2x a100"})) == []
    assert why(claim("c", annotations={"fallgate.dev/compatible-when": "shape.count == 2"}), BOTH) == []


def test_nothing_declared() -> None:
    assert why(claim("c"), BOTH) == [(NOTHING, REMEDY.format("2x a100-40gb"))]


def test_something_else_declared() -> None:
    body = claim("c", annotations={SHAPES: "h100-80gb"})
    text = "the workload has not declared that it can run on 2x a100-40gb (declared: h100-80gb)"
    assert why(body, BOTH) == [(text, REMEDY.format("h100-80gb, 2x a100-40gb"))]
    body = claim("c", annotations={"fallgate.dev/compatible-when": "shape.count == 1"})
    text = "the workload has not declared that it can run on 2x a100-40gb (declared: when shape.count == 1)"
    assert why(body, BOTH) == [(text, REMEDY.format("2x a100-40gb"))]
    body = claim("c", annotations={SHAPES: "2 a100"})
    text = "the workload has not declared that it can run on 2x a100-40gb (declared: nothing that can be read)"
    assert why(body, BOTH) == [(text, REMEDY.format("2x a100-40gb"))]


def test_several_shapes() -> None:
    any_two = {"name": "two", "deviceClassName": NVIDIA, "count": 1, "selectors": [{"cel": {"expression": "true"}}]}
    text = "the workload has not declared that it can run on 1x a100-40gb and 1x h100-80gb (nothing is declared)"
    assert why(claim("c"), policies(tier(any_two), compatibility())) == [(text, REMEDY.format("1x a100-40gb, 1x h100-80gb"))]


def test_what_matches_no_known_device() -> None:
    never = {"name": "never", "deviceClassName": NVIDIA, "count": 1, "selectors": [{"cel": {"expression": "false"}}]}
    body = claim("c", annotations={SHAPES: "*x *"})
    found = why(body, policies(tier(never), compatibility()))
    assert [(text.partition(":")[0], remedy) for text, remedy in found] == [
        ("whether the workload can run on it is not known", "")
    ]
    assert why(body, policies(tier(never))) == []
    too_many = {"name": "many", "model": "a100-40gb", "count": 3}
    assert len(why(body, policies(tier(too_many), compatibility()))) == 1


def test_the_pod_declares() -> None:
    owned = {"ownerReferences": owned_by("Pod", "p", "u")}
    body = claim("c", annotations={"resource.kubernetes.io/pod-claim-name": "gpu"}, **owned)
    declares = pod("p", templates={"gpu": "t"}, meta={"uid": "u", "annotations": {SHAPES: "gpu/gpu: 2x a100-40gb"}})
    assert why(body, BOTH, declares) == []
    other = pod("p", templates={"gpu": "t"}, meta={"uid": "u", "annotations": {SHAPES: "other/gpu: 2x a100-40gb"}})
    assert why(body, BOTH, other) == [(NOTHING, REMEDY.format("2x a100-40gb"))]
    # only the nodes that the pod can be placed on count
    bound = pod("p", templates={"gpu": "t"}, meta={"uid": "u", "annotations": {SHAPES: "*x *"}}, nodeName="node-1")
    assert len(why(body, BOTH, bound)) == 1


def test_a_template_declares() -> None:
    targets = policies(tier(PAIR, targets=["templates"]), compatibility())
    assert why(template("t", annotations={SHAPES: "2x a100"}), targets) == []
    assert why(template("t"), targets) == [(NOTHING, REMEDY.format("2x a100-40gb"))]


@pytest.mark.parametrize(
    ("documents", "labels", "expected"),
    [
        ([], {}, False),
        ([compatibility()], {}, True),
        ([compatibility(requests="all", mode="audit")], {}, True),
        ([compatibility(mode="warn")], {}, True),
        ([compatibility(match={"namespaces": ["other"]})], {}, False),
        ([compatibility(match={"deviceClasses": [NVIDIA]})], {}, True),
        ([compatibility(match={"deviceClasses": ["other"]})], {}, False),
        ([compatibility()], {"fallgate.dev/mode.fallback-compatibility": "off"}, False),
        ([compatibility()], {"fallgate.dev/mode": "off"}, False),
        ([compatibility(overridable="raise")], {"fallgate.dev/mode": "off"}, True),
        ([compatibility()], {"fallgate.dev/mode.tier-fallback": "off"}, True),
        (
            [compatibility(match={"namespaces": ["other"]}), document("FallbackCompatibility", "second", mode="audit")],
            {},
            True,
        ),
    ],
)
def test_where_declarations_are_needed(documents: list[Raw], labels: dict[str, str], expected: bool) -> None:
    view = view_of(claim("c", exactly()), in_tier(fleet_of(device_class(NVIDIA)), labels=labels), policies(*documents))
    assert declaration_needed(view) is expected


MIG = "mig.nvidia.com"
CARD = {"name": "card", "deviceClassName": MIG, "count": 1}
MIGS = [
    device_class(MIG, 'device.attributes["gpu.nvidia.com"].type == "mig"'),
    device_slice("node-3", device("mig-0", {"type": "mig"})),
]
OF_MIG = compatibility(match={"deviceClasses": [MIG]})
DECLARED = {"annotations": {SHAPES: "gpu: *x *"}}


def test_a_policy_that_only_an_alternative_brings() -> None:
    both = policies(tier(PAIR, CARD, match={"deviceClasses": [NVIDIA]}), OF_MIG)
    # whatever may be injected is judged: also what is injected before
    assert [text for text, _ in why(claim("c"), both, *MIGS)] == [
        "the workload has not declared that it can run on 2x a100-40gb (nothing is declared)",
        "the workload has not declared that it can run on 1x classless (nothing is declared)",
    ]
    only_pair = policies(tier(PAIR), OF_MIG)
    assert why(claim("c"), only_pair, *MIGS) == []


def other(*requests: Raw) -> Raw:
    return claim("c", exactly(), *requests, **DECLARED)


LISTED = first_available("nic", alternative("a"), alternative("b", count=2))
BRINGS = (
    'it would bring FallbackCompatibility declared upon request "nic" too, where the workload has not declared that it can '
)


@pytest.mark.parametrize(
    ("body", "spec", "expected"),
    [
        (other(), {}, []),
        # a plain ask is judged where all asks are
        (other(exactly("nic")), {}, []),
        (other(exactly("nic")), {"requests": "all"}, ["run on 1x a100-40gb and 1x h100-80gb (nothing is declared)"]),
        (other(exactly("nic", mode="All", adminAccess=True)), {"requests": "all"}, []),
        # a list is judged anyway
        (other(LISTED), {}, ["run on 1x a100-40gb and 1x h100-80gb (nothing is declared)"]),
        (other({**LISTED, **exactly()}), {"mode": "audit"}, ["run on 1x a100-40gb and 1x h100-80gb (nothing is declared)"]),
        (other({"name": "nic"}), {}, []),
        # the policy is for the claim already
        (other(first_available("nic", alternative("a", MIG))), {}, []),
        (other(LISTED), {"match": {"deviceClasses": [MIG, NVIDIA]}}, []),
    ],
)
def test_what_an_alternative_brings_upon_others(body: Raw, spec: Raw, expected: list[str]) -> None:
    document_ = compatibility(**{"match": {"deviceClasses": [MIG]}, **spec})
    body["spec"]["devices"]["requests"][1:] = [{**item, "name": "nic"} for item in body["spec"]["devices"]["requests"][1:]]
    found = why(body, policies(tier(CARD, asks=[{"match": {"shapes": ["1x *"]}, "alternatives": [CARD]}]), document_), *MIGS)
    texts = [text for text, _ in found if text.startswith("it would bring")]
    assert texts == [BRINGS + text for text in expected]


def test_it_brings_nothing_where_the_policy_is_off() -> None:
    labelled = namespace(labels={"fallgate.dev/tier": "dev", "fallgate.dev/mode.fallback-compatibility": "off"})
    assert why(other(LISTED), policies(tier(CARD), OF_MIG), *MIGS, labelled) == []


def test_it_brings_nothing_where_only_that_policy_is_off() -> None:
    labelled = namespace(labels={"fallgate.dev/tier": "dev", "fallgate.dev/mode.fallback-compatibility": "off"})
    strict = document("FallbackCompatibility", "strict", overridable="none", match={"deviceClasses": ["other.example.com"]})
    third = {"name": "x", "deviceClassName": "other.example.com", "count": 1}
    asks = {"match": {"shapes": ["1x *"]}, "alternatives": [CARD, third]}
    objects = (*MIGS, device_class("other.example.com", "true"), labelled)
    found = why(other(LISTED), policies(tier(CARD, asks=[asks]), OF_MIG, strict), *objects)
    assert [text.partition(" upon ")[0] for text, _ in found] == ["it would bring FallbackCompatibility strict"]


def test_only_what_brings_it_is_left_out() -> None:
    asks = {"match": {"shapes": ["1x *"]}, "alternatives": [PAIR, CARD]}
    occasion = occasion_of(other(LISTED), cluster(*MIGS), policies(tier(PAIR, asks=[asks]), OF_MIG))
    assert [item.candidate.name for item in plan(occasion, wanted_lists(occasion)).left_out] == ["card"]


@pytest.mark.parametrize(("declared", "names"), [("gpu: *x *, nic: 2x a100-40gb", []), ("gpu: *x *", ["card"])])
def test_what_it_brings_upon_an_ask_that_was_injected_into(declared: str, names: list[str]) -> None:
    second = policies(tier(CARD, name="second", match={"deviceClasses": [NVIDIA]}), OF_MIG)
    body = claim("c", exactly("nic", "any.nvidia.com"), exactly(), annotations={SHAPES: declared})
    fleet = cluster(*MIGS, device_class("any.nvidia.com", "true"))
    first = policies(tier({**PAIR}, match={"deviceClasses": ["any.nvidia.com"]}))
    occasion = occasion_of(body, fleet, first)
    once = apply_patch(body, plan_ops(body, occasion.spec, plan(occasion, wanted_lists(occasion)), "first@1"))
    view = view_of(once, fleet, second)
    assert isinstance(view.subject, Claim)
    again = occasion_under_review(view, second.tier_fallback[0], view.subject, occasion.spec)
    assert [item.candidate.name for item in plan(again, wanted_lists(again)).left_out] == names
