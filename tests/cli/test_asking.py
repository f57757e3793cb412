"""From documents to admission requests."""

from __future__ import annotations

from typing import Any

import pytest

from tests.build import claim, exactly, namespace, pod
from webhook.cli.asking import Manner, ask_all, only_namespace, user_of
from webhook.folder.manifests import FileObject
from webhook.model.review import User


def asked(*bodies: Any, **manner: Any) -> Any:
    found, faults = ask_all([FileObject(body, "in.yaml", i) for i, body in enumerate(bodies, 1)], Manner(**manner))
    assert faults == []
    return found


def test_a_manifest_becomes_a_create_of_its_kind() -> None:
    body = claim("one", exactly())
    (item,) = asked(body, user=User(name="jane"))
    review = item.review
    assert (review.group, review.version, review.kind, review.resource) == (
        "resource.k8s.io",
        "v1",
        "ResourceClaim",
        "resourceclaims",
    )
    assert (review.namespace, review.name, review.operation, review.user.name) == ("team-a", "one", "CREATE", "jane")
    assert review.object is body
    assert review.old_object is None
    assert (item.namespace, item.label, item.api_version) == ("team-a", "ResourceClaim team-a/one", "resource.k8s.io/v1")


def test_the_core_group_has_no_slash_in_its_version() -> None:
    (item,) = asked(pod())
    assert (item.review.group, item.review.version, item.api_version) == ("", "v1", "v1")


@pytest.mark.parametrize(
    ("api_version", "kind", "expected"),
    [
        ("v1", "Pod", "team-x"),
        ("resource.k8s.io/v1beta1", "ResourceClaim", "team-x"),
        ("apps/v1", "Deployment", "team-x"),
        ("v1", "ResourceQuota", "team-x"),
        ("v1", "Namespace", ""),
        ("resource.k8s.io/v1", "DeviceClass", ""),
        ("example.com/v1", "Widget", ""),
    ],
)
def test_the_default_namespace_is_for_kinds_that_are_known_to_have_one(api_version: str, kind: str, expected: str) -> None:
    (item,) = asked({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}}, namespace="team-x")
    assert (item.namespace, item.review.namespace) == (expected, expected)


def test_an_existing_namespace_is_in_itself_as_in_the_url_of_the_request() -> None:
    (item,) = asked(namespace("team-a"), operation="UPDATE")
    assert (item.namespace, item.review.namespace) == ("", "team-a")


def test_old_objects_are_found_by_what_names_them() -> None:
    new = [claim("one", exactly()), claim("two", exactly()), claim("three", exactly())]
    old = [claim("two", labels={"was": "two"}), claim("one", labels={"was": "one"})]
    found = asked(*new, operation="UPDATE", old=old)
    assert [item.review.old_object for item in found] == [old[1], old[0], new[2]]


def test_one_old_and_one_new_object_belong_together() -> None:
    old = claim("was-called-this")
    (item,) = asked(claim("is-called-that"), operation="UPDATE", old=[old])
    assert item.review.old_object is old


def test_what_the_cluster_holds_is_the_old_object_unless_one_is_given() -> None:
    body, stored, given = claim("one"), claim("one", labels={"from": "fleet"}), claim("one", labels={"from": "file"})
    key = ("resource.k8s.io", "ResourceClaim", "team-a", "one")
    assert asked(body, operation="UPDATE", stored={key: stored})[0].review.old_object is stored
    assert asked(body, operation="UPDATE", stored={key: stored}, old=[given])[0].review.old_object is given


def test_a_delete_has_an_old_object_only() -> None:
    body = claim("one")
    (item,) = asked(body, operation="DELETE")
    assert (item.review.object, item.review.old_object, item.name) == (None, body, "one")


def test_a_name_is_the_generate_name_where_there_is_no_other() -> None:
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "web-"}}
    nameless = {"apiVersion": "v1", "kind": "Pod"}
    assert [item.name for item in asked(body, nameless)] == ["web-", ""]
    assert asked(nameless)[0].label == "Pod default/(no name)"


def test_what_is_no_object_is_a_fault_with_its_document() -> None:
    odd = FileObject({"metadata": {}}, "in.yaml", 7)
    asked_, faults = ask_all([odd], Manner())
    assert asked_ == []
    assert faults == [(odd, "this is no Kubernetes object: it needs apiVersion and kind")]


@pytest.mark.parametrize(
    ("namespaces", "expected"),
    [([], "default"), (["", "team-a", "team-a"], "team-a"), (["team-a", "team-b"], "default"), ([""], "default")],
)
def test_the_only_namespace_of_an_input(namespaces: list[str], expected: str) -> None:
    documents = [FileObject(claim("c", namespace=namespace), "in.yaml", 1) for namespace in namespaces]
    assert only_namespace(documents) == expected


def test_an_admission_review_names_its_namespace_in_the_request() -> None:
    review = {"kind": "AdmissionReview", "request": {"namespace": "team-r"}}
    assert only_namespace([FileObject(review, "in.yaml", 1)]) == "team-r"


@pytest.mark.parametrize(
    ("name", "groups", "expected"),
    [
        ("", (), ()),
        ("jane", (), ("system:authenticated",)),
        ("jane", ("admins",), ("admins", "system:authenticated")),
        ("system:anonymous", (), ()),
        (
            "system:serviceaccount:ci:runner",
            (),
            ("system:serviceaccounts", "system:serviceaccounts:ci", "system:authenticated"),
        ),
    ],
)
def test_users_have_the_groups_that_the_api_server_adds(name: str, groups: tuple[str, ...], expected: tuple[str, ...]) -> None:
    assert user_of(name, groups) == User(name=name, groups=expected)
