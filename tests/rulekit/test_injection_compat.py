"""Alternatives that the workload has not declared, where a policy asks for declarations."""

from __future__ import annotations

from typing import Any

import pytest

from tests.build import (
    NVIDIA,
    Raw,
    claim,
    device_class,
    device_slice,
    exactly,
    fleet_of,
    gpu,
    namespace,
    owned_by,
    pod,
    template,
)
from tests.injecting import document, in_tier, occasion_of, policies, tier, view_of
from webhook.fleet.fleet import Fleet
from webhook.rulekit.injection_compat import declaration_needed
from webhook.rulekit.injection_plan import plan, wanted_lists
from webhook.rulekit.policies import PolicySet

SHAPES = "fallgate.dev/compatible-shapes"
PAIR = {"name": "pair", "model": "a100-40gb", "count": 2}
A100S = [gpu(f"gpu-{i}", "NVIDIA A100-SXM4-40GB", "40Gi") for i in range(2)]


def compatibility(**spec: Any) -> Raw:
    return document("FallbackCompatibility", "declared", **spec)


def cluster(*objects: Raw) -> Fleet:
    base = [device_class(NVIDIA), device_slice("node-1", gpu("gpu-0")), device_slice("node-2", *A100S)]
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
