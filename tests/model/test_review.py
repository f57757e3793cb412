"""Admission requests: what is read, and what is said of one that is none."""

from __future__ import annotations

from typing import Any

import pytest

from webhook.errors import ReviewError
from webhook.model.review import User, read_review


def review(**request: Any) -> dict[str, Any]:
    """An AdmissionReview; `request` replaces fields of a good one, None takes them out."""
    good = {
        "uid": "u",
        "kind": {"group": "resource.k8s.io", "version": "v1", "kind": "ResourceClaim"},
        "resource": {"group": "resource.k8s.io", "version": "v1", "resource": "resourceclaims"},
        "namespace": "team-a",
        "operation": "CREATE",
        "userInfo": {"username": "ana", "groups": ["dev", 3]},
        "object": {"a": 1},
        **request,
    }
    fields = {key: value for key, value in good.items() if value is not None}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": fields}


def test_a_good_review() -> None:
    read = read_review(review(name="c", subResource="status", dryRun=True, oldObject={"b": 2}))
    assert (read.uid, read.group, read.version, read.kind) == ("u", "resource.k8s.io", "v1", "ResourceClaim")
    assert (read.resource, read.subresource, read.name, read.namespace) == ("resourceclaims", "status", "c", "team-a")
    assert (read.operation, read.user) == ("CREATE", User(name="ana", groups=("dev",)))
    assert (read.object, read.old_object, read.dry_run) == ({"a": 1}, {"b": 2}, True)


def test_objects_that_are_none_read_as_absent() -> None:
    read = read_review(review(object=[1], oldObject="x"))
    assert (read.object, read.old_object, read.dry_run) == (None, None, False)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (None, "the body must be a JSON object of kind AdmissionReview, not null"),
        ([], "the body must be a JSON object of kind AdmissionReview, not an array"),
        (True, "the body must be a JSON object of kind AdmissionReview, not a boolean"),
        (1.5, "the body must be a JSON object of kind AdmissionReview, not a number"),
        ({}, "the body must be admission.k8s.io/v1 AdmissionReview, it is None None"),
        (
            {"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview"},
            "the body must be admission.k8s.io/v1 AdmissionReview, it is 'admission.k8s.io/v1beta1' 'AdmissionReview'",
        ),
        ({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}, "the AdmissionReview has no request object"),
        (review(uid=None), "request.uid is missing: the answer could not be matched to the request"),
        (review(kind=None), "request.kind.kind is missing"),
        (review(operation="PATCH"), "request.operation must be one of CREATE, UPDATE, DELETE, CONNECT, it is 'PATCH'"),
    ],
)
def test_what_is_said_of_a_review_that_is_none(document: Any, message: str) -> None:
    with pytest.raises(ReviewError) as caught:
        read_review(document)
    assert str(caught.value) == message
    assert caught.value.status == 400
