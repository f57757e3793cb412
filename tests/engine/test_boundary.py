"""What no rule is asked about."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.harness import review_of
from webhook.engine.boundary import is_schedulers_claim, not_judged, passes_by
from webhook.engine.settings import EngineSettings
from webhook.model.claim import Claim
from webhook.rulekit.subject import read_subject

SETTINGS = EngineSettings()
POD: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "a"}, "spec": {}}
OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "1", "controller": True}
SCHEDULER = "system:kube-scheduler"


def special(**changes: Any) -> dict[str, Any]:
    meta: dict[str, Any] = {
        "generateName": "p-extended-resources-",
        "namespace": "a",
        "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
        "ownerReferences": [OWNER],
    }
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {**meta, **changes}, "spec": {}}


def test_what_is_not_even_read() -> None:
    review = review_of(POD)
    assert passes_by(review, SETTINGS) == ""
    assert passes_by(replace(review, subresource="status"), SETTINGS) == "subresource status"
    assert passes_by(replace(review, operation="DELETE"), SETTINGS) == "operation DELETE"
    assert passes_by(replace(review, operation="CONNECT"), SETTINGS) == "operation CONNECT"
    assert passes_by(replace(review, operation="UPDATE"), SETTINGS) == ""
    assert passes_by(replace(review, object=None), SETTINGS) == "no object"
    assert passes_by(replace(review, object={"metadata": []}), SETTINGS) == "no metadata"
    assert passes_by(replace(review, namespace="kube-system"), SETTINGS) == "namespace kube-system is excluded"
    own = EngineSettings(excluded_namespaces=frozenset({"fallgate"}))
    assert passes_by(replace(review, namespace="fallgate"), own) == "namespace fallgate is excluded"


@pytest.mark.parametrize(
    ("user", "body", "the_schedulers"),
    [
        (SCHEDULER, special(), True),
        ("jane", special(), False),
        (SCHEDULER, special(annotations={}), False),
        (SCHEDULER, special(annotations={"resource.kubernetes.io/extended-resource-claim": "yes"}), False),
        (SCHEDULER, special(ownerReferences=[]), False),
        (SCHEDULER, special(ownerReferences=[{**OWNER, "controller": False}]), False),
        (SCHEDULER, special(ownerReferences=[{**OWNER, "kind": "Job"}]), False),
        (SCHEDULER, special(ownerReferences=[{**OWNER, "apiVersion": "example.com/v1"}]), False),
    ],
)
def test_only_the_schedulers_own_claims_pass_as_such(user: str, body: dict[str, Any], the_schedulers: bool) -> None:
    review = review_of(body, user=user)
    claim = read_subject("resource.k8s.io", "ResourceClaim", body)
    assert isinstance(claim, Claim)
    assert is_schedulers_claim(review, claim, SETTINGS) is the_schedulers
    said = "made by the scheduler for extended resources" if the_schedulers else ""
    assert not_judged(review, claim, SETTINGS) == said


def test_another_schedulers_user_can_be_named() -> None:
    review = review_of(special(), user="system:serviceaccount:volcano:scheduler")
    claim = read_subject("resource.k8s.io", "ResourceClaim", special())
    assert isinstance(claim, Claim)
    named = EngineSettings(scheduler_users=frozenset({"system:serviceaccount:volcano:scheduler"}))
    assert is_schedulers_claim(review, claim, named)


def changed(kind: str, api: str, new: Any, old: Any) -> bool:
    body = {"apiVersion": api, "kind": kind, "metadata": {"name": "x", "namespace": "a"}, **new}
    before = {"apiVersion": api, "kind": kind, "metadata": {"name": "x", "namespace": "a"}, **old}
    review = review_of(body, operation="UPDATE", old=before)
    subject = read_subject(review.group, kind, body)
    assert subject is not None
    return not not_judged(review, subject, SETTINGS)


def test_updates_are_judged_only_where_something_readable_changes() -> None:
    one, two = {"spec": {"resourceClaims": [{"name": "g"}]}}, {"spec": {"resourceClaims": []}}
    assert changed("Deployment", "apps/v1", {"spec": {"template": one}}, {"spec": {"template": two}})
    same = {"template": one}
    assert not changed("Deployment", "apps/v1", {"spec": {"replicas": 2, **same}}, {"spec": {"replicas": 1, **same}})
    assert not changed("Pod", "v1", {"spec": {"nodeName": "n"}}, {"spec": {}})
    assert not changed("ResourceClaim", "resource.k8s.io/v1", one, two)
    assert not changed("ResourceClaimTemplate", "resource.k8s.io/v1", one, two)
    assert changed("DeviceClass", "resource.k8s.io/v1", {"spec": {"selectors": []}}, {"spec": {}})
    assert not changed("DeviceClass", "resource.k8s.io/v1", {"spec": {}}, {"spec": {}})


@pytest.mark.parametrize(
    ("label", "judged"),
    [("fallgate.dev/tier", True), ("resource.kubernetes.io/admin-access", True), ("example.com/team", False)],
)
def test_a_namespace_is_judged_when_a_label_that_matters_changes(label: str, judged: bool) -> None:
    new = {"metadata": {"name": "a", "labels": {label: "x"}}}
    assert changed("Namespace", "v1", new, {"metadata": {"name": "a"}}) is judged
