"""Restore, forged records, and which alternative is the author's."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.harness import review_of
from tests.injecting import policies, tier
from webhook.model.json_patch import apply_patch
from webhook.rulekit.injection.restore import INJECTED, restore, strip_forged
from webhook.rulekit.policies import PolicySet

Raw = dict[str, Any]

ASK = {"deviceClassName": "gpu.nvidia.com", "allocationMode": "ExactCount", "count": 1}
PAIR = {"name": "pair", "deviceClassName": "gpu.nvidia.com", "allocationMode": "ExactCount", "count": 2}
LISTED = {"name": "gpu", "firstAvailable": [{"name": "requested", **ASK}, PAIR]}
FLAT_LISTED = {"deviceClassName": "", **LISTED}
POLICIES = policies(tier({"name": "pair", "deviceClassName": "gpu.nvidia.com", "count": 2}))
LABEL = POLICIES.tier_fallback[0].header.label
PATH = "/metadata/annotations/fallgate.dev~1injected"


def record(**changes: Any) -> str:
    request = {"name": "gpu", "policy": LABEL, "exactly": ASK, "author": "requested", "added": ["pair"], **changes}
    return json.dumps({"requests": [request]})


def claim(request: Raw, *, version: str = "v1", kind: str = "ResourceClaim", annotations: Any = None, **meta: Any) -> Raw:
    spec: Raw = {"devices": {"requests": [request]}}
    metadata = {"name": "c", "namespace": "a", **meta, **({} if annotations is None else {"annotations": annotations})}
    return {
        "apiVersion": f"resource.k8s.io/{version}",
        "kind": kind,
        "metadata": metadata,
        "spec": {"spec": spec} if kind == "ResourceClaimTemplate" else spec,
    }


OLD = claim(LISTED, annotations={INJECTED: record(), "kept": "1"})
PLAIN = {"name": "gpu", "exactly": ASK}
FLAT = {"name": "gpu", **ASK}


def restored(new: Raw, old: Raw = OLD) -> Any:
    return restore(review_of(new, operation="UPDATE", old=old))


def test_the_annotation_was_not_sent() -> None:
    ops = restored(claim(PLAIN, annotations={"kept": "1"}, labels={"new": "1"}))
    assert ops == (
        {"op": "replace", "path": "/spec", "value": OLD["spec"]},
        {"op": "add", "path": PATH, "value": record()},
    )


def test_no_annotation_was_sent() -> None:
    assert restored(claim(PLAIN))[1] == {"op": "add", "path": "/metadata/annotations", "value": {INJECTED: record()}}


def test_the_annotation_was_sent_or_changed() -> None:
    assert len(restored(claim(PLAIN, annotations={INJECTED: record()}))) == 1
    assert restored(claim(PLAIN, annotations={INJECTED: "x"}))[1] == {"op": "replace", "path": PATH, "value": record()}


def test_before_the_defaults() -> None:
    assert restored(claim({"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com"}})) is not None


def test_a_template() -> None:
    old = claim(LISTED, kind="ResourceClaimTemplate", annotations={INJECTED: record()})
    new = claim(PLAIN, kind="ResourceClaimTemplate")
    assert apply_patch(new, restored(new, old)) == old
    labelled = {**new, "spec": {**new["spec"], "metadata": {"labels": {"a": "b"}}}}
    assert restored(labelled, old) is None


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        (claim(FLAT, version="v1beta1"), claim(FLAT_LISTED, version="v1beta1", annotations={INJECTED: record()}), FLAT_LISTED),
        (claim(PLAIN), claim(FLAT_LISTED, version="v1beta1", annotations={INJECTED: record()}), LISTED),
        (claim(FLAT, version="v1alpha3"), claim(LISTED, version="v1beta2", annotations={INJECTED: record()}), LISTED),
        (
            claim(FLAT, version="v1beta1", kind="ResourceClaimTemplate"),
            claim(LISTED, kind="ResourceClaimTemplate", annotations={INJECTED: record()}),
            LISTED,
        ),
    ],
)
def test_versions(new: Raw, old: Raw, expected: Raw) -> None:
    after = apply_patch(new, restored(new, old))
    spec = after["spec"]["spec"] if after["kind"] == "ResourceClaimTemplate" else after["spec"]
    assert spec == {"devices": {"requests": [expected]}}
    assert after["apiVersion"] == new["apiVersion"]


def test_what_else_a_spec_holds_is_restored_in_another_version() -> None:
    old = claim(FLAT_LISTED, version="v1beta1", annotations={INJECTED: record()})
    for body in (old, new := claim(PLAIN)):
        body["spec"]["devices"]["constraints"] = [{"matchAttribute": "a/b"}]
        body["spec"]["devices"]["requests"] = [*body["spec"]["devices"]["requests"], {"name": "n", "firstAvailable": [PAIR]}]
        body["spec"]["someday"] = 1
    assert apply_patch(new, restored(new, old))["spec"] == {
        "devices": {
            "requests": [LISTED, {"name": "n", "firstAvailable": [PAIR]}],
            "constraints": [{"matchAttribute": "a/b"}],
        },
        "someday": 1,
    }


@pytest.mark.parametrize(
    ("new", "old"),
    [
        (claim(LISTED, annotations={INJECTED: record()}, labels={"new": "1"}), OLD),
        (claim(LISTED), OLD),
        (claim({"name": "gpu", "exactly": {**ASK, "count": 2}}), OLD),
        (claim(PLAIN), claim(PLAIN)),
        (claim(PLAIN), claim(LISTED)),
        (claim(PLAIN), claim(LISTED, annotations={INJECTED: "{"})),
        (claim(PLAIN), claim(LISTED, annotations={INJECTED: record(added=["other"])})),
        ({**claim(PLAIN), "metadata": None}, OLD),
    ],
)
def test_nothing_to_restore(new: Raw, old: Raw) -> None:
    assert restored(new, old) is None


def test_only_updates_of_claims_and_templates() -> None:
    review = review_of(claim(PLAIN), operation="UPDATE", old=OLD)
    assert restore(review) is not None
    assert restore(replace(review, operation="CREATE")) is None
    assert restore(replace(review, kind="Pod")) is None
    assert restore(replace(review, object=None)) is None
    assert restore(replace(review, old_object=None)) is None


def stripped(body: Raw, policy_set: PolicySet = POLICIES, **review: Any) -> tuple[Any, ...]:
    return strip_forged(review_of(body, **review), policy_set)


def test_our_own_record_stays() -> None:
    assert stripped(OLD) == ()
    assert stripped(claim(FLAT_LISTED, version="v1beta1", annotations={INJECTED: record()})) == ()


@pytest.mark.parametrize(
    ("body", "policy_set"),
    [
        (claim(PLAIN, annotations={INJECTED: record()}), POLICIES),
        (claim(PLAIN, annotations={INJECTED: ""}), POLICIES),
        (claim(LISTED, annotations={INJECTED: record(policy="default@0000000")}), POLICIES),
        (OLD, PolicySet()),
        (claim(LISTED, kind="ResourceClaimTemplate", annotations={INJECTED: "x"}), POLICIES),
    ],
)
def test_forged_records_go(body: Raw, policy_set: PolicySet) -> None:
    assert stripped(body, policy_set) == ({"op": "remove", "path": PATH},)


def test_nothing_is_stripped_that_is_not_there() -> None:
    assert stripped(claim(PLAIN)) == ()
    assert stripped(claim(PLAIN, kind="ResourceClaimTemplate", annotations={"a": "b"})) == ()


def test_the_annotations_for_claims_of_a_template() -> None:
    body = claim(PLAIN, kind="ResourceClaimTemplate")
    body["spec"]["metadata"] = {"annotations": {INJECTED: record()}}
    inner = {"op": "remove", "path": "/spec" + PATH}
    assert stripped(body) == (inner,)
    body["metadata"]["annotations"] = {INJECTED: "x"}
    assert stripped(body) == ({"op": "remove", "path": PATH}, inner)


def test_a_claim_has_no_such_annotations() -> None:
    body = claim(PLAIN)
    body["spec"]["metadata"] = {"annotations": {INJECTED: record()}}
    assert stripped(body) == ()


def test_only_what_is_created_is_stripped() -> None:
    forged = claim(PLAIN, annotations={INJECTED: "x"})
    assert stripped(forged, operation="UPDATE", old=forged) == ()
    assert stripped({**forged, "kind": "Pod"}) == ()
    assert strip_forged(replace(review_of(forged), object=None), POLICIES) == ()
