"""Modes: the policy's own, what a namespace may do to it, and what caps it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.harness import review_of
from webhook.engine.modes import capped, caps, effective_mode
from webhook.engine.settings import EngineSettings
from webhook.fleet.build import build_fleet
from webhook.model.finding import Mode, Severity
from webhook.rulekit.modes import overridden
from webhook.rulekit.policies import Header, ModeCap, Overridable, PolicySet
from webhook.rulekit.subject import read_subject
from webhook.rulekit.view import View

NOW = datetime(2027, 1, 1, 12, tzinfo=UTC)


def view(labels: dict[str, str], policies: PolicySet | None = None) -> View:
    claim = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "c", "namespace": "a"}}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a", "labels": labels}}
    subject = read_subject("resource.k8s.io", "ResourceClaim", claim)
    assert subject is not None
    return View(
        review=review_of(claim), subject=subject, fleet=build_fleet([namespace]), policies=policies or PolicySet(), now=NOW
    )


def header(mode: Mode, overridable: Overridable) -> Header:
    return Header(kind="Checks", name="p", digest="0" * 7, mode=mode, overridable=overridable)


@pytest.mark.parametrize(
    ("severity", "mode", "effect"),
    [
        ("deny", "enforce", "deny"),
        ("warn", "enforce", "warn"),
        ("note", "enforce", "note"),
        ("deny", "warn", "warn"),
        ("warn", "warn", "warn"),
        ("note", "warn", "note"),
        ("deny", "audit", "note"),
        ("note", "audit", "note"),
        ("deny", "off", None),
    ],
)
def test_the_mode_caps_the_severity(severity: Severity, mode: Mode, effect: Severity | None) -> None:
    assert capped(severity, mode) == effect


@pytest.mark.parametrize(
    ("own", "overridable", "wish", "mode"),
    [
        ("enforce", "both", None, "enforce"),
        ("enforce", "both", "audit", "audit"),
        ("enforce", "lower", "warn", "warn"),
        ("enforce", "raise", "warn", "enforce"),
        ("enforce", "none", "off", "enforce"),
        ("audit", "raise", "enforce", "enforce"),
        ("audit", "lower", "enforce", "audit"),
        ("audit", "none", "enforce", "audit"),
        ("warn", "both", "off", "off"),
        ("warn", "raise", "warn", "warn"),
    ],
)
def test_a_namespace_changes_the_mode_as_far_as_the_policy_lets_it(
    own: Mode, overridable: Overridable, wish: Mode | None, mode: Mode
) -> None:
    assert overridden(own, overridable, wish) == mode


@pytest.mark.parametrize(
    ("labels", "mode"),
    [
        ({}, "enforce"),
        ({"fallgate.dev/mode": "warn"}, "warn"),
        ({"fallgate.dev/mode": "warn", "fallgate.dev/mode.some-rule": "audit"}, "audit"),
        ({"fallgate.dev/mode.other-rule": "audit"}, "enforce"),
        ({"fallgate.dev/mode": "of course"}, "enforce"),
        ({"fallgate.dev/mode": "audit", "fallgate.dev/mode.some-rule": "typo"}, "audit"),
    ],
)
def test_the_label_of_the_rule_wins_over_the_label_for_all(labels: dict[str, str], mode: Mode) -> None:
    assert effective_mode(header("enforce", "both"), "some-rule", view(labels), EngineSettings()) == mode


def test_caps_hold_for_their_rule_until_their_end() -> None:
    policies = PolicySet(
        mode_caps=(
            ModeCap(name="all", mode="warn", until=datetime(2027, 1, 1, 12, tzinfo=UTC)),
            ModeCap(name="ended", mode="audit", until=datetime(2027, 1, 1, 11, tzinfo=UTC)),
            ModeCap(name="one", mode="audit", rule="other-rule"),
        )
    )
    assert caps(policies, "some-rule", NOW, EngineSettings()) == ("warn",)
    assert caps(policies, "other-rule", NOW, EngineSettings()) == ("warn", "audit")
    assert caps(policies, "some-rule", NOW, EngineSettings(cap="audit")) == ("audit", "warn")


def test_a_cap_never_raises_and_wins_over_the_namespace() -> None:
    capped_at_warn = PolicySet(mode_caps=(ModeCap(name="all", mode="warn"),))
    labels = {"fallgate.dev/mode": "enforce"}
    assert effective_mode(header("audit", "both"), "r", view(labels, capped_at_warn), EngineSettings()) == "warn"
    assert effective_mode(header("audit", "none"), "r", view(labels, capped_at_warn), EngineSettings()) == "audit"
    assert effective_mode(header("enforce", "both"), "r", view({}), EngineSettings(cap="audit")) == "audit"
