"""Requests in v1's form and in the object's own."""

from __future__ import annotations

from typing import Any

import pytest

from webhook.model.json_patch import apply_patch
from webhook.rulekit.injection.requests_writing import (
    as_plain,
    in_v1,
    in_version_of,
    is_flat,
    list_ops,
    plain_ask,
    spec_pointer,
)

Raw = dict[str, Any]


@pytest.mark.parametrize(
    ("version", "flat"),
    [
        ("resource.k8s.io/v1", False),
        ("resource.k8s.io/v1beta2", False),
        ("resource.k8s.io/v1beta1", True),
        ("resource.k8s.io/v1alpha3", True),
        (None, False),
    ],
)
def test_flat_versions(version: object, flat: bool) -> None:
    assert is_flat({"apiVersion": version}) is flat


def test_where_the_spec_is() -> None:
    assert spec_pointer({"kind": "ResourceClaim"}) == "/spec"
    assert spec_pointer({"kind": "ResourceClaimTemplate"}) == "/spec/spec"


@pytest.mark.parametrize(
    ("request_", "flat", "ask"),
    [
        ({"name": "a", "exactly": {"deviceClassName": "c", "x": 1}}, False, {"deviceClassName": "c", "x": 1}),
        ({"name": "a", "exactly": None}, False, {}),
        ({"name": "a", "deviceClassName": "c", "count": 0, "x": 1}, True, {"deviceClassName": "c", "count": 0}),
        ({"name": "a", "deviceClassName": "c"}, False, {}),
    ],
)
def test_plain_ask(request_: Raw, flat: bool, ask: Raw) -> None:
    assert plain_ask(request_, flat) == ask


@pytest.mark.parametrize(
    ("request_", "flat", "expected"),
    [
        ({"name": "a", "exactly": {"count": 1}, "x": 1}, False, {"name": "a", "exactly": {"count": 1}, "x": 1}),
        ({"name": "a", "deviceClassName": "c", "x": 1}, True, {"name": "a", "exactly": {"deviceClassName": "c", "x": 1}}),
        ({"name": "a", "deviceClassName": "", "firstAvailable": [{}]}, True, {"name": "a", "firstAvailable": [{}]}),
        ({"name": "a"}, True, {"name": "a"}),
    ],
)
def test_in_v1(request_: Raw, flat: bool, expected: Raw) -> None:
    assert in_v1(request_, flat) == expected


@pytest.mark.parametrize(
    ("request_", "flat", "expected"),
    [
        ({"name": "a", "exactly": {"count": 1}}, False, {"name": "a", "exactly": {"count": 1}}),
        ({"name": "a", "exactly": {"count": 1}}, True, {"name": "a", "count": 1}),
        ({"name": "a", "firstAvailable": [{}]}, True, {"name": "a", "firstAvailable": [{}]}),
    ],
)
def test_in_version_of(request_: Raw, flat: bool, expected: Raw) -> None:
    assert in_version_of(request_, flat) == expected


def test_as_plain() -> None:
    listed = {"name": "a", "firstAvailable": [{}], "x": 1}
    assert as_plain(listed, False, {"count": 2}) == {"name": "a", "x": 1, "exactly": {"count": 2}}
    flat = {"name": "a", "deviceClassName": "", "firstAvailable": [{}], "x": 1}
    assert as_plain(flat, True, {"deviceClassName": "c"}) == {"name": "a", "x": 1, "deviceClassName": "c"}
    # the empty class name goes, also when the ask does not replace it
    assert as_plain(flat, True, {"count": 2}) == {"name": "a", "x": 1, "count": 2}


def test_list_ops_of_a_nested_request() -> None:
    request = {"name": "a", "exactly": {"deviceClassName": "c"}, "x": 1}
    ops = list_ops("/requests/0", request, False, [{"name": "one"}])
    assert ops == (
        {"op": "remove", "path": "/requests/0/exactly"},
        {"op": "add", "path": "/requests/0/firstAvailable", "value": [{"name": "one"}]},
    )
    assert apply_patch({"requests": [request]}, ops)["requests"] == [{"name": "a", "x": 1, "firstAvailable": [{"name": "one"}]}]


def test_list_ops_of_a_flat_request() -> None:
    request = {"name": "a", "deviceClassName": "c", "allocationMode": "ExactCount", "adminAccess": False, "x": 1}
    ops = list_ops("/requests/1", request, True, [{"name": "one"}])
    assert ops == (
        {"op": "remove", "path": "/requests/1/deviceClassName"},
        {"op": "remove", "path": "/requests/1/allocationMode"},
        {"op": "remove", "path": "/requests/1/adminAccess"},
        {"op": "add", "path": "/requests/1/firstAvailable", "value": [{"name": "one"}]},
    )
