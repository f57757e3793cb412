"""A review decoded without managedFields is the review, without managedFields."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.server.serving import review_body
from webhook.model.review import read_review
from webhook.server.envelope import decode_review

MANAGED = [{"manager": "kubectl", "fieldsV1": {"f:spec": {'k:{"uid":"x"}': {}}}}]


def decoded(document: Any) -> Any:
    return decode_review(json.dumps(document).encode())


def test_managed_fields_are_left_out() -> None:
    pod = {"kind": "Pod", "metadata": {"name": "a", "managedFields": MANAGED, "labels": {"x": "y"}}, "spec": {"a": [1, None]}}
    found = decoded(review_body(object=pod, oldObject=None))
    assert found["request"]["object"] == {
        "kind": "Pod",
        "metadata": {"name": "a", "labels": {"x": "y"}},
        "spec": {"a": [1, None]},
    }
    assert found["request"]["oldObject"] is None
    assert read_review(found) == read_review(
        review_body(object={**pod, "metadata": {"name": "a", "labels": {"x": "y"}}}, oldObject=None)
    )


def test_old_object_too() -> None:
    found = decoded(review_body(oldObject={"metadata": {"managedFields": MANAGED}, "spec": 1}))
    assert found["request"]["oldObject"] == {"metadata": {}, "spec": 1}


@pytest.mark.parametrize(
    "body",
    [
        {"kind": "Pod", "metadata": {"managedFields": MANAGED}, "data": {"own": "field"}},
        {"kind": "Pod", "spec": {}},
        {"metadata": None},
        {"metadata": []},
        {},
    ],
)
def test_objects_of_another_shape_are_decoded_as_they_are(body: Any) -> None:
    assert decoded(review_body(object=body)) == review_body(object=body)


@pytest.mark.parametrize("document", [[], None, 1, "x", {}, {"request": None}, {"request": []}, {"request": {"object": 1}}])
def test_what_is_no_review_is_decoded_as_it_is(document: Any) -> None:
    assert decoded(document) == document


@pytest.mark.parametrize("body", [b"", b"{", b'{"request": {"object": {"metadata": {"managedFields": [nope]}}}}', b"{}x"])
def test_no_json(body: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode_review(body)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
ODD = st.none() | st.integers(0, 9) | st.text(max_size=5) | st.lists(VALUES, max_size=2)
METADATA = ODD | st.dictionaries(st.sampled_from(["name", "labels", "managedFields", "ownerReferences"]), VALUES)
OBJECTS = ODD | st.fixed_dictionaries({}, optional=dict.fromkeys(("spec", "status", "own"), VALUES) | {"metadata": METADATA})
REQUESTS = ODD | st.fixed_dictionaries({}, optional={"uid": VALUES, "object": OBJECTS, "oldObject": OBJECTS, "dryRun": VALUES})
DOCUMENTS = st.fixed_dictionaries({}, optional={"apiVersion": VALUES, "kind": VALUES, "request": REQUESTS})


def pruned(document: Any) -> Any:
    """A document without managedFields, in the places where they mean something."""
    document = json.loads(json.dumps(document))
    request = document.get("request")
    for key in ("object", "oldObject"):
        body = request.get(key) if isinstance(request, dict) else None
        metadata = body.get("metadata") if isinstance(body, dict) else None
        if isinstance(metadata, dict):
            metadata.pop("managedFields", None)
    return document


@settings(max_examples=300, deadline=None)
@given(DOCUMENTS)
def test_nothing_else_is_lost(document: Any) -> None:
    assert pruned(decoded(document)) == pruned(document)
