"""A plan as operations, and what is recorded."""

from __future__ import annotations

import json
from typing import Any

from tests.build import NVIDIA, Raw, claim, device_class, device_slice, exactly, fleet_of, gpu, template
from tests.injecting import in_tier, occasion_of, policies, tier
from webhook.model.json_patch import apply_patch
from webhook.rulekit.injection.plan import plan, wanted_lists
from webhook.rulekit.injection.provenance import INJECTED
from webhook.rulekit.injection.restore import undo
from webhook.rulekit.injection.writing import plan_ops

AMD = "gpu.amd.com"
FLEET = in_tier(fleet_of(device_class(NVIDIA, f'device.driver == "{NVIDIA}"'), device_class(AMD)))
CARDS = in_tier(fleet_of(device_class(NVIDIA), device_slice("node-1", *(gpu(f"gpu-{i}") for i in range(4)))))
PAIR = {"name": "pair", "deviceClassName": NVIDIA, "count": 2}
ENTRY = {"name": "pair", "deviceClassName": NVIDIA, "allocationMode": "ExactCount", "count": 2}
OWN = {"name": "requested", "deviceClassName": NVIDIA, "allocationMode": "ExactCount", "count": 1}


def ops(body: Raw, label: str = "default@1", **spec: Any) -> tuple[Any, ...]:
    policy_set = policies(tier(PAIR, match={"deviceClasses": [NVIDIA]}, targets=["claims", "templates"], **spec))
    occasion = occasion_of(body, FLEET, policy_set)
    return plan_ops(body, occasion.spec, plan(occasion, wanted_lists(occasion)), label)


def recorded(op: Any) -> Any:
    value = op["value"]
    return json.loads(value[INJECTED] if isinstance(value, dict) else value)


def test_a_claim() -> None:
    body = claim("c", exactly("nic", AMD), exactly(), annotations={"a": "b"})
    first, second, annotation = ops(body)
    assert first == {"op": "remove", "path": "/spec/devices/requests/1/exactly"}
    assert second == {"op": "add", "path": "/spec/devices/requests/1/firstAvailable", "value": [OWN, ENTRY]}
    assert (annotation["op"], annotation["path"]) == ("add", "/metadata/annotations/fallgate.dev~1injected")
    assert recorded(annotation) == {
        "requests": [
            {
                "name": "gpu",
                "policy": "default@1",
                "exactly": {"deviceClassName": NVIDIA},
                "author": "requested",
                "added": ["pair"],
            }
        ]
    }


def test_a_flat_template() -> None:
    body = template("t", exactly(count=1), version="v1beta1")
    found = ops(body)
    assert [op["path"] for op in found] == [
        "/spec/spec/devices/requests/0/deviceClassName",
        "/spec/spec/devices/requests/0/count",
        "/spec/spec/devices/requests/0/firstAvailable",
        "/metadata/annotations",
    ]
    assert recorded(found[-1])["requests"][0]["exactly"] == {"deviceClassName": NVIDIA, "count": 1}


def test_nothing_to_do() -> None:
    assert ops(claim("c", exactly("gpu", AMD))) == ()


def test_config() -> None:
    configs = [
        {"requests": ["gpu"], "opaque": {"driver": NVIDIA}},
        {"requests": ["nic"], "opaque": {"driver": NVIDIA}},
        {"requests": ["nic", "gpu"], "opaque": {"driver": NVIDIA}},
    ]
    body = claim("c", exactly(), exactly("nic", AMD), devices={"config": configs})
    found = ops(body)
    assert found[2:4] == (
        {"op": "replace", "path": "/spec/devices/config/0/requests", "value": ["gpu/requested", "gpu/pair"]},
        {"op": "replace", "path": "/spec/devices/config/2/requests", "value": ["nic", "gpu/requested", "gpu/pair"]},
    )
    assert recorded(found[-1])["config"] == [{"index": 0, "requests": ["gpu"]}, {"index": 2, "requests": ["nic", "gpu"]}]


def spelt_out(scope: Raw) -> tuple[Raw, Any]:
    body = claim("c", exactly(), devices={"config": [{**scope, "opaque": {"driver": NVIDIA}}]})
    amd = {"name": "amd", "deviceClassName": AMD, "count": 1}
    policy_set = policies(tier(amd))
    occasion = occasion_of(body, FLEET, policy_set)
    found = plan_ops(body, occasion.spec, plan(occasion, wanted_lists(occasion)), "default@1")
    assert undo(apply_patch(body, found)) == body
    return found[2], recorded(found[-1])["config"]


def test_a_config_for_all_requests() -> None:
    path = "/spec/devices/config/0/requests"
    assert spelt_out({}) == ({"op": "add", "path": path, "value": ["gpu/requested"]}, [{"index": 0}])
    assert spelt_out({"requests": []}) == (
        {"op": "replace", "path": path, "value": ["gpu/requested"]},
        [{"index": 0, "requests": []}],
    )
    assert spelt_out({"requests": None}) == (
        {"op": "replace", "path": path, "value": ["gpu/requested"]},
        [{"index": 0, "requests": None}],
    )


def test_empty_annotations_are_remembered() -> None:
    body = claim("c")
    for empty in ({}, None):
        body["metadata"]["annotations"] = empty
        op = ops(body)[-1]
        assert (op["op"], op["path"]) == ("add", "/metadata/annotations")
        assert recorded(op)["annotations"] == empty
    del body["metadata"]["annotations"]
    assert "annotations" not in recorded(ops(body)[-1])
    body["metadata"]["annotations"] = {"a": "b"}
    assert "annotations" not in recorded(ops(body)[-1])


def test_an_empty_list_is_remembered() -> None:
    body = claim("c", {**exactly(), "firstAvailable": []})
    found = ops(body)
    assert recorded(found[-1])["requests"][0]["firstAvailable"] == []
    assert undo(apply_patch(body, found)) == body


def test_a_second_policy_adds_to_the_record() -> None:
    body = claim(
        "c", exactly(), exactly("nic", AMD), devices={"config": [{"requests": ["gpu", "nic"], "opaque": {"driver": AMD}}]}
    )
    body["spec"]["devices"]["config"].append({"requests": ["gpu", "nic"], "opaque": {"driver": NVIDIA}})
    body["metadata"]["annotations"] = {}
    once = apply_patch(body, ops(body, "first@1"))
    assert [item["requests"] for item in once["spec"]["devices"]["config"]] == [
        ["gpu", "nic"],
        ["gpu/requested", "gpu/pair", "nic"],
    ]
    second = policies(tier({**PAIR, "deviceClassName": AMD}, match={"deviceClasses": [AMD]}))
    occasion = occasion_of(once, FLEET, second)
    found = plan_ops(once, occasion.spec, plan(occasion, wanted_lists(occasion)), "second@2")
    twice = apply_patch(once, found)
    record = json.loads(twice["metadata"]["annotations"][INJECTED])
    assert [(item["name"], item["policy"]) for item in record["requests"]] == [("gpu", "first@1"), ("nic", "second@2")]
    assert record["config"] == [{"index": 1, "requests": ["gpu", "nic"]}, {"index": 0, "requests": ["gpu", "nic"]}]
    assert record["annotations"] == {}
    assert [item["requests"] for item in twice["spec"]["devices"]["config"]] == [
        ["gpu", "nic/requested", "nic/pair"],
        ["gpu/requested", "gpu/pair", "nic"],
    ]
    assert undo(twice) == body


def test_a_config_that_two_policies_change_is_recorded_once() -> None:
    body = claim(
        "c", exactly(), exactly("b", count=3), devices={"config": [{"requests": ["gpu", "b"], "opaque": {"driver": NVIDIA}}]}
    )
    first, second = {**PAIR, "name": "x"}, {**PAIR, "name": "y", "count": 4}
    for policy in (tier(first, match={"shapes": ["1x *"]}), tier(second)):
        policy_set = policies(policy)
        occasion = occasion_of(body, CARDS, policy_set)
        before = body
        body = apply_patch(body, plan_ops(body, occasion.spec, plan(occasion, wanted_lists(occasion)), "p@1"))
        assert body != before
    record = json.loads(body["metadata"]["annotations"][INJECTED])
    assert [item["name"] for item in record["requests"]] == ["gpu", "b"]
    assert record["config"] == [{"index": 0, "requests": ["gpu", "b"]}]
    assert body["spec"]["devices"]["config"][0]["requests"] == ["gpu/requested", "gpu/x", "b/requested", "b/y"]


def test_the_author_need_not_come_first() -> None:
    (request,) = recorded(ops(claim("c", exactly()), author="last")[-1])["requests"]
    assert (request["author"], request["added"]) == ("requested", ["pair"])
