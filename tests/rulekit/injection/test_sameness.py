"""What is one spec to the API server, and what is not."""

from __future__ import annotations

from typing import Any

import pytest

from webhook.rulekit.injection.sameness import same_alternative, same_spec

Raw = dict[str, Any]


def claim(*requests: Any, version: str = "v1", kind: str = "ResourceClaim", outer: Raw | None = None, **devices: Any) -> Raw:
    spec: Raw = {"devices": {"requests": list(requests), **devices}}
    if kind == "ResourceClaimTemplate":
        spec = {"spec": spec, **(outer or {})}
    return {"apiVersion": f"resource.k8s.io/{version}", "kind": kind, "metadata": {"name": "any"}, "spec": spec}


def gpu(**ask: Any) -> Raw:
    return {"name": "gpu", "exactly": {"deviceClassName": "c", **ask}}


def flat(**ask: Any) -> Raw:
    return {"name": "gpu", "deviceClassName": "c", **ask}


def tolerates(**fields: Any) -> Raw:
    return gpu(tolerations=[{"key": "k", **fields}])


def capacity(value: Any) -> Raw:
    return gpu(capacity={"requests": {"memory": value}})


PLAIN = claim(gpu())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (PLAIN, claim(gpu(allocationMode="ExactCount", count=1))),
        (PLAIN, claim(gpu(allocationMode="", count=0, selectors=[], tolerations=None, capacity={}))),
        (PLAIN, claim(gpu(), version="v1beta2")),
        (PLAIN, claim(flat(), version="v1beta1")),
        (PLAIN, claim(flat(count=1, firstAvailable=[]), version="v1alpha3")),
        (PLAIN, claim(gpu(), constraints=[], config=None)),
        (claim(gpu(allocationMode="All")), claim(gpu(allocationMode="All", count=0))),
        (claim(tolerates(value="v")), claim(tolerates(value="v", operator="Equal", effect=""))),
        (claim(capacity("1Gi")), claim(capacity("1024Mi"))),
        (claim(capacity("1e3")), claim(capacity("1k"))),
        (claim(capacity("1000")), claim(capacity("1k"))),
        (claim(capacity("0")), claim(capacity("0m"))),
        (claim(gpu(selectors=None)), claim(gpu(selectors=[]))),
        (claim(capacity(0)), claim(capacity("0"))),
        (claim(capacity(2)), claim(capacity("2"))),
        (claim(capacity("no quantity")), claim(capacity("no quantity"))),
        (
            claim({"name": "gpu", "firstAvailable": [{"name": "a", "deviceClassName": "c"}]}),
            claim(
                {"name": "gpu", "deviceClassName": "", "firstAvailable": [{"name": "a", "deviceClassName": "c", "count": 1}]},
                version="v1beta1",
            ),
        ),
        (
            claim(gpu(), config=[{"requests": [], "opaque": {"driver": "d", "parameters": {"a": 1, "b": [True]}}}]),
            claim(gpu(), config=[{"opaque": {"parameters": {"b": [True], "a": 1}, "driver": "d"}}]),
        ),
        (
            claim(gpu(), constraints=[{"requests": [], "matchAttribute": "a/b"}]),
            claim(gpu(), constraints=[{"matchAttribute": "a/b"}]),
        ),
        (
            claim(gpu(), kind="ResourceClaimTemplate", outer={"metadata": {"labels": {}, "annotations": {"a": "b"}}}),
            claim(gpu(count=1), kind="ResourceClaimTemplate", outer={"metadata": {"annotations": {"a": "b"}}}),
        ),
        (
            claim(gpu(), kind="ResourceClaimTemplate", outer={"metadata": {}}),
            claim(flat(), kind="ResourceClaimTemplate", version="v1beta1"),
        ),
    ],
)
def test_the_same(one: Raw, other: Raw) -> None:
    assert same_spec(one, other)
    assert same_spec(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (PLAIN, claim()),
        (PLAIN, claim(gpu(), gpu())),
        (PLAIN, claim({**gpu(), "name": "nic"})),
        (PLAIN, claim(gpu(count=2))),
        (PLAIN, claim(gpu(allocationMode="All"))),
        (PLAIN, claim(gpu(allocationMode="Someday"))),
        (claim(gpu(allocationMode="All")), claim(gpu(allocationMode="All", count=1))),
        (PLAIN, claim(gpu(adminAccess=False))),
        (PLAIN, claim(gpu(someday=1))),
        (PLAIN, claim({**gpu(), "someday": 1})),
        (PLAIN, claim(flat())),
        (PLAIN, claim(gpu(), someday=1)),
        (PLAIN, claim(gpu(), constraints=[{"matchAttribute": "a/b"}])),
        (PLAIN, claim(gpu(), config=[{"opaque": {}}, "text"])),
        (claim(gpu(someday=True)), claim(gpu(someday=1))),
        (claim(tolerates(operator="Exists")), claim(tolerates())),
        (claim(tolerates(tolerationSeconds=0)), claim(tolerates())),
        (claim(capacity("1Gi")), claim(capacity("1G"))),
        (claim(capacity("10")), claim(capacity("100"))),
        (claim(capacity("1Gi")), claim(gpu(capacity={"requests": {"memory": "1Gi"}, "someday": 1}))),
        (
            claim(gpu(), config=[{"opaque": {"parameters": {"a": True}}}]),
            claim(gpu(), config=[{"opaque": {"parameters": {"a": 1}}}]),
        ),
        (
            claim(gpu(), config=[{"opaque": {"parameters": {"a": []}}}]),
            claim(gpu(), config=[{"opaque": {"parameters": {}}}]),
        ),
        (
            claim(gpu(), config=[{"requests": ["gpu"], "opaque": {"driver": "d"}}]),
            claim(gpu(), config=[{"opaque": {"driver": "d"}}]),
        ),
        (
            claim(gpu(), kind="ResourceClaimTemplate", outer={"metadata": {"annotations": {"a": "b"}}}),
            claim(gpu(), kind="ResourceClaimTemplate"),
        ),
        (PLAIN, {**PLAIN, "spec": None}),
    ],
)
def test_not_the_same(one: Raw, other: Raw) -> None:
    assert not same_spec(one, other)
    assert not same_spec(other, one)


def test_alternatives() -> None:
    one = {"name": "a", "deviceClassName": "c", "selectors": [], "capacity": {"requests": {"m": "1Gi"}}}
    other = {
        "name": "a",
        "deviceClassName": "c",
        "count": 1,
        "allocationMode": "ExactCount",
        "capacity": {"requests": {"m": "1024Mi"}},
    }
    assert same_alternative(one, other)
    assert not same_alternative(one, {**other, "name": "b"})
    assert not same_alternative(one, {})
