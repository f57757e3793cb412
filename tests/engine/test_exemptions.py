"""Exemptions: whom they fit, what they do, and how their end is announced."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.harness import review_of
from webhook.engine import decide
from webhook.fleet.build import build_fleet
from webhook.model.finding import Decision, Finding
from webhook.model.labels import LabelSelector
from webhook.rulekit.policies import Checks, Exemption, Header, PolicySet
from webhook.rulekit.rule import Rule

NOW = datetime(2027, 6, 1, tzinfo=UTC)
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "gpu-operator", "labels": {"app": "validator"}},
    "spec": {},
}
FINDING = Finding(rule="some-rule", reason="some-reason", severity="deny", detail="d", path="spec", headline="h")


@pytest.fixture
def answer(use_rules: Callable[..., None], a_rule: Callable[..., Rule]) -> Callable[..., Decision]:
    use_rules(a_rule("some-rule", FINDING))

    def ask(body: Any = None, user: str = "jane", its_groups: tuple[str, ...] = ("devs",), **fields: Any) -> Decision:
        exemption = Exemption(**{"policy": "platform", "reason": "asks both ways", **fields})
        checks = Checks(header=Header(kind="Checks", name="p", digest="1234567"))
        policies = PolicySet(checks=(checks,), exemptions=(exemption,))
        return decide(review_of(body or POD, user=user, groups=its_groups), build_fleet([]), policies, NOW)

    return ask


@pytest.mark.parametrize(
    ("fields", "fits"),
    [
        ({}, True),
        ({"namespaces": ("gpu-*",)}, True),
        ({"namespaces": ("team-*",)}, False),
        ({"users": ("jane",)}, True),
        ({"users": ("joe",)}, False),
        ({"groups": ("ops", "devs")}, True),
        ({"groups": ("ops",)}, False),
        ({"rules": ("some-rule",)}, True),
        ({"rules": ("some-reason",)}, True),
        ({"rules": ("other-rule",)}, False),
        ({"policies": ("p",)}, True),
        ({"policies": ("q",)}, False),
        ({"pods": LabelSelector(match_labels={"app": "validator"})}, True),
        ({"pods": LabelSelector(match_labels={"app": "trainer"})}, False),
        ({"namespaces": ("gpu-*",), "users": ("joe",)}, False),
    ],
)
def test_all_given_selectors_must_hold(answer: Callable[..., Decision], fields: dict[str, Any], fits: bool) -> None:
    assert answer(**fields).allowed is fits


def test_a_pod_selector_does_not_fit_what_has_no_pod(answer: Callable[..., Decision]) -> None:
    claim = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "c", "namespace": "a"}}
    assert not answer(claim, pods=LabelSelector()).allowed


def test_who_was_let_off_is_noted_with_what_would_have_been(answer: Callable[..., Decision]) -> None:
    decision = answer(owner="platform-team@example.com")
    assert [(item.finding.reason, item.effect) for item in decision.findings] == [("exempted", "note"), ("some-reason", "note")]
    assert decision.findings[0].finding.detail == (
        "some-reason is let pass by exemption platform (asks both ways, asked for by platform-team@example.com)"
    )
    assert decision.warnings == ()


def test_an_exemption_may_leave_a_warning(answer: Callable[..., Decision]) -> None:
    decision = answer(effect="warn")
    assert decision.allowed
    assert [item.effect for item in decision.findings] == ["note", "warn"]


def test_the_end_is_announced_for_fourteen_days(answer: Callable[..., Decision]) -> None:
    assert answer(expires=datetime(2027, 6, 15, 0, 0, 1, tzinfo=UTC)).warnings == ()
    assert answer(expires=datetime(2027, 6, 15, tzinfo=UTC)).warnings == (
        "[some-rule] spec: some-reason is let pass by exemption platform (asks both ways); it ends on 2027-06-15, in 14 days",
    )
    assert answer(expires=datetime(2027, 6, 2, tzinfo=UTC)).warnings[0].endswith("it ends on 2027-06-02, in 1 day")
    assert answer(expires=datetime(2027, 6, 1, 23, tzinfo=UTC)).warnings[0].endswith("it ends on 2027-06-01, in 0 days")


def test_an_ended_exemption_does_not_count_and_says_so(answer: Callable[..., Decision]) -> None:
    decision = answer(expires=datetime(2027, 5, 31, 23, 59, 59, tzinfo=UTC), owner="ops@example.com")
    assert not decision.allowed
    assert decision.warnings == (
        "[some-rule] spec: exemption platform (asks both ways) ended on 2027-05-31 and does not count any more. "
        "Ask ops@example.com whether it should go on.",
    )
    at_the_instant = answer(expires=NOW)
    assert at_the_instant.allowed
