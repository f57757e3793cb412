"""Pods of controllers that are older than a policy."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.build import Raw, claim, controller, fleet_of, owned_by, pod, pod_spec, template
from tests.harness import review_of
from webhook.model.finding import Mode, Severity
from webhook.rulekit.compatibility.existing import softened
from webhook.rulekit.policies import EMPTY, Existing
from webhook.rulekit.subject import read_subject
from webhook.rulekit.view import View

DAY = datetime(2027, 1, 15, tzinfo=UTC)
OLD, NEW = "2027-01-14T23:59:59Z", "2027-01-15T00:00:00Z"
OWNED = {"ownerReferences": owned_by("ReplicaSet", "web", "u1", "apps/v1")}
POD = pod("p", templates={"gpu": "t"}, meta=OWNED | {"uid": "u2"})


def view_of(body: Raw, created: str | None, now: datetime = DAY, *objects: Raw) -> View:
    group = body["apiVersion"].rpartition("/")[0]
    subject = read_subject(group, body["kind"], body)
    assert subject is not None
    meta: dict[str, Any] = {} if created is None else {"uid": "u1", "creationTimestamp": created}
    owner = controller("ReplicaSet", "web", pod_spec(), **meta)
    return View(review=review_of(body), subject=subject, fleet=fleet_of(owner, *objects), policies=EMPTY, now=now)


@pytest.mark.parametrize(
    ("created", "expected"),
    [
        (OLD, "warn"),
        (NEW, "deny"),
        (None, "deny"),
        ("yesterday", "deny"),
        ("", "deny"),
        ("2027-01-14T23:59:59", "warn"),
        ("2027-01-15T00:30:00+01:00", "warn"),
    ],
)
def test_pods_of_older_controllers_are_judged_in_the_given_mode(created: str | None, expected: Severity) -> None:
    assert softened(view_of(POD, created), Existing(created_before=DAY), "deny") == expected


@pytest.mark.parametrize(
    ("mode", "severity", "expected"),
    [
        ("enforce", "deny", "deny"),
        ("warn", "deny", "warn"),
        ("warn", "note", "note"),
        ("audit", "deny", "note"),
        ("off", "warn", "note"),
    ],
)
def test_a_mode_caps_the_severity(mode: Mode, severity: Severity, expected: Severity) -> None:
    assert softened(view_of(POD, OLD), Existing(created_before=DAY, mode=mode), severity) == expected


@pytest.mark.parametrize(("later", "expected"), [(0, "warn"), (1, "deny"), (-1, "warn")])
def test_it_ends(later: int, expected: Severity) -> None:
    until = DAY + timedelta(days=7)
    view = view_of(POD, OLD, until + timedelta(seconds=later))
    assert softened(view, Existing(created_before=DAY, until=until), "deny") == expected


def test_without_the_setting_nothing_is_softened() -> None:
    assert softened(view_of(POD, OLD), None, "deny") == "deny"


def test_a_generated_claim_follows_its_owner_pod() -> None:
    annotations = {"resource.kubernetes.io/pod-claim-name": "gpu"}
    generated = claim("c", annotations=annotations, ownerReferences=owned_by("Pod", "p", "u2"))
    assert softened(view_of(generated, OLD, DAY, POD), Existing(created_before=DAY), "deny") == "warn"
    assert softened(view_of(claim("c"), OLD, DAY, POD), Existing(created_before=DAY), "deny") == "deny"


def test_templates_and_workloads_are_judged_as_ever() -> None:
    owned = controller("ReplicaSet", "web", pod_spec(), ownerReferences=owned_by("Deployment", "web", "u1", "apps/v1"))
    owned["spec"]["template"]["metadata"] = OWNED
    assert softened(view_of(owned, OLD), Existing(created_before=DAY), "deny") == "deny"
    assert softened(view_of(template("t"), OLD), Existing(created_before=DAY), "deny") == "deny"
