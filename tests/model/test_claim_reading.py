"""Claims and templates read the same in every API version, each with the pointers of its own."""

from __future__ import annotations

from typing import Any

import pytest

from tests.build import alternative, ask, claim, exactly, first_available, result, template
from webhook.model.claim import Alternative, Toleration
from webhook.model.claim_reading import read_claim, read_claim_template

VERSIONS = ("v1", "v1beta2", "v1beta1", "v1alpha3")
FLAT = ("v1beta1", "v1alpha3")


def only_request(raw: dict[str, Any]) -> Any:
    """The single request of a claim."""
    (request,) = read_claim(raw).spec.requests
    return request


@pytest.mark.parametrize("version", VERSIONS)
def test_a_plain_request_is_one_alternative_without_a_name(version: str) -> None:
    raw = claim("c", exactly("gpu", "gpu.nvidia.com", 'device.driver == "x"', count=2), version=version)
    request = only_request(raw)
    pointer = "/spec/devices/requests/0" + ("" if version in FLAT else "/exactly")
    assert (request.name, request.form) == ("gpu", "flat" if version in FLAT else "exactly")
    assert not request.prioritized
    (found,) = request.alternatives
    assert (found.name, found.device_class, found.allocation_mode, found.count) == ("", "gpu.nvidia.com", "ExactCount", 2)
    assert found.pointer == pointer
    assert found.selectors[0].expression == 'device.driver == "x"'
    assert found.selectors[0].pointer == pointer + "/selectors/0/cel/expression"
    assert found.understood


@pytest.mark.parametrize("version", VERSIONS)
def test_a_list_keeps_its_order_and_its_pointers(version: str) -> None:
    raw = claim("c", first_available("gpu", alternative("one", count=1), alternative("two", count=2)), version=version)
    if version in FLAT:
        assert raw["spec"]["devices"]["requests"][0]["deviceClassName"] == ""  # as the server sends it
    request = only_request(raw)
    assert request.form == "list"
    assert request.prioritized
    assert [(item.name, item.count, item.pointer) for item in request.alternatives] == [
        ("one", 1, "/spec/devices/requests/0/firstAvailable/0"),
        ("two", 2, "/spec/devices/requests/0/firstAvailable/1"),
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_both_forms_at_once_are_seen_as_both(version: str) -> None:
    both = {**exactly("gpu", "big"), **first_available("gpu", alternative("small"))}
    request = only_request(claim("c", both, version=version))
    assert request.form == "both"
    assert [item.device_class for item in request.alternatives] == ["big", "gpu.nvidia.com"]


@pytest.mark.parametrize("field", ["selectors", "allocationMode", "count", "adminAccess", "tolerations", "capacity"])
def test_a_flat_request_asks_as_soon_as_one_field_has_a_value(field: str) -> None:
    values = {
        "selectors": [{"cel": {"expression": "true"}}],
        "allocationMode": "All",
        "count": 1,
        "adminAccess": True,
        "tolerations": [{"operator": "Exists"}],
        "capacity": {"requests": {"memory": "1Gi"}},
    }
    raw = claim("c", {"name": "gpu", "exactly": {field: values[field]}}, version="v1beta1")
    assert only_request(raw).form == "flat"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_request_of_neither_form_has_no_alternatives(version: str) -> None:
    request = only_request(claim("c", {"name": "gpu", "exactly": {}} if version in FLAT else {"name": "gpu"}, version=version))
    assert request.form == "none"
    assert request.alternatives == ()


def test_exactly_in_a_flat_version_is_an_unknown_field_that_the_server_drops() -> None:
    raw = claim("c", version="v1beta1")
    raw["spec"]["devices"]["requests"] = [{"name": "gpu", "deviceClassName": "a", "exactly": {"deviceClassName": "b"}}]
    (found,) = only_request(raw).alternatives
    assert found.device_class == "a"
    assert found.unknown == ("exactly",)


def test_flat_fields_of_a_v1_request_mean_nothing() -> None:
    raw = claim("c", {"name": "gpu", "deviceClassName": "a", "count": 3})
    assert only_request(raw).form == "none"


def test_an_empty_exactly_is_a_plain_ask_of_no_class() -> None:
    (found,) = only_request(claim("c", {"name": "gpu", "exactly": {}})).alternatives
    assert found == Alternative(name="", device_class="", pointer="/spec/devices/requests/0/exactly")


@pytest.mark.parametrize(
    ("fields", "mode", "count", "understood"),
    [
        ({}, "ExactCount", 1, True),
        ({"count": 0}, "ExactCount", 1, True),
        ({"count": 5}, "ExactCount", 5, True),
        ({"mode": "All"}, "All", 0, True),
        ({"mode": "All", "count": 3}, "All", 0, True),
        ({"mode": "AtLeast", "count": 3}, "AtLeast", 3, False),
        ({"derivedAttributes": [{"name": "x"}]}, "ExactCount", 1, False),
    ],
)
def test_defaults_are_those_of_the_api(fields: dict[str, Any], mode: str, count: int, understood: bool) -> None:
    (found,) = only_request(claim("c", exactly("gpu", **fields))).alternatives
    assert (found.allocation_mode, found.count, found.understood) == (mode, count, understood)


@pytest.mark.parametrize("version", VERSIONS)
def test_an_unknown_field_makes_an_alternative_not_understood(version: str) -> None:
    listed = first_available("gpu", alternative("a"), alternative("b", future="x"))
    request = only_request(claim("c", listed, version=version))
    assert [item.unknown for item in request.alternatives] == [(), ("future",)]


@pytest.mark.parametrize("version", VERSIONS)
def test_an_unknown_field_of_the_request_holds_for_all_its_alternatives(version: str) -> None:
    listed = {**first_available("gpu", alternative("a"), alternative("b", future="x")), "partitioning": "strict"}
    request = only_request(claim("c", listed, version=version))
    assert [item.unknown for item in request.alternatives] == [("partitioning",), ("future", "partitioning")]
    plain = only_request(claim("c", {**exactly("gpu"), "partitioning": "strict"}, version=version))
    assert plain.alternatives[0].unknown == ("partitioning",)


def test_admin_access_belongs_to_exactly_only() -> None:
    request = only_request(claim("c", exactly("gpu", adminAccess=True)))
    assert request.alternatives[0].admin_access
    assert request.alternatives[0].understood
    listed = only_request(claim("c", first_available("gpu", alternative("a", adminAccess=True))))
    assert listed.alternatives[0].unknown == ("adminAccess",)


def test_tolerations_and_capacity_are_read_with_their_defaults() -> None:
    tolerations = [{}, {"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}]
    capacity = {"requests": {"memory": "10Gi", "cores": 4, "odd": ["x"], "flag": True}}
    (found,) = only_request(claim("c", exactly("gpu", tolerations=tolerations, capacity=capacity))).alternatives
    assert found.tolerations == (Toleration(), Toleration(key="k", operator="Exists", effect="NoExecute", seconds=0))
    assert found.tolerations[0].operator == "Equal"
    assert found.capacity == {"memory": "10Gi", "cores": "4"}


@pytest.mark.parametrize("version", VERSIONS)
def test_constraints_and_config_have_pointers(version: str) -> None:
    devices = {
        "constraints": [
            {"requests": ["gpu"], "matchAttribute": "gpu.nvidia.com/numaNode"},
            {"distinctAttribute": "gpu.nvidia.com/uuid", "future": 1},
        ],
        "config": [{"requests": ["gpu/one"], "opaque": {"driver": "gpu.nvidia.com", "parameters": {"kind": "GpuConfig"}}}],
    }
    spec = read_claim(claim("c", version=version, devices=devices)).spec
    first, second = spec.constraints
    assert (first.requests, first.match_attribute, first.pointer) == (
        ("gpu",),
        "gpu.nvidia.com/numaNode",
        "/spec/devices/constraints/0",
    )
    assert (second.requests, second.distinct_attribute, second.unknown) == ((), "gpu.nvidia.com/uuid", ("future",))
    (config,) = spec.configs
    assert config.requests == ("gpu/one",)
    assert (config.driver, config.parameters) == ("gpu.nvidia.com", {"kind": "GpuConfig"})
    assert config.pointer == "/spec/devices/config/0"


@pytest.mark.parametrize(
    ("requests", "request_name", "alternative_name", "covered"),
    [
        ((), "gpu", "", True),
        (("gpu",), "gpu", "", True),
        (("gpu",), "gpu", "one", True),
        (("gpu/one",), "gpu", "one", True),
        (("gpu/one",), "gpu", "two", False),
        (("nic",), "gpu", "", False),
    ],
)
def test_what_a_constraint_covers(requests: tuple[str, ...], request_name: str, alternative_name: str, covered: bool) -> None:
    raw = claim("c", devices={"constraints": [{"requests": list(requests), "matchAttribute": "a/b"}]})
    (constraint,) = read_claim(raw).spec.constraints
    assert constraint.covers(request_name, alternative_name) is covered


def test_an_allocation_is_read_with_admin_access_apart() -> None:
    raw = claim("c", allocated=[result("gpu-0"), result("gpu-1", adminAccess=True)])
    read = read_claim(raw)
    assert read.allocation is not None
    assert [(item.pool, item.device, item.admin_access) for item in read.allocation] == [
        ("node-1", "gpu-0", False),
        ("node-1", "gpu-1", True),
    ]


@pytest.mark.parametrize("status", [None, {}, {"allocation": None}, {"reservedFor": []}])
def test_a_claim_without_allocation_has_none(status: Any) -> None:
    assert read_claim({**claim("c"), "status": status}).allocation is None


def test_an_allocation_without_results_is_an_allocation() -> None:
    assert read_claim({**claim("c"), "status": {"allocation": {}}}).allocation == ()


def test_null_requests_are_none() -> None:
    raw = claim("c")
    raw["spec"]["devices"]["requests"] = None
    assert read_claim(raw).spec.requests == ()


@pytest.mark.parametrize("version", VERSIONS)
def test_a_template_has_its_claims_spec_one_level_down(version: str) -> None:
    raw = template("t", version=version, claim_metadata={"labels": {"a": "b"}, "annotations": {"c": "d"}}, uid="u")
    read = read_claim_template(raw)
    assert (read.meta.name, read.meta.namespace, read.meta.uid) == ("t", "team-a", "u")
    assert read.claim_annotations == {"c": "d"}
    assert read.spec.pointer == "/spec/spec"
    expected = "/spec/spec/devices/requests/0" + ("" if version in FLAT else "/exactly")
    assert read.spec.requests[0].alternatives[0].pointer == expected


def test_ask_without_count_is_left_to_the_api() -> None:
    assert ask("a") == {"deviceClassName": "a"}
