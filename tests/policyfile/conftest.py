"""Folders of policy files, and the rules that these tests pretend to have."""

from __future__ import annotations

from pathlib import Path

import pytest

from webhook.rulekit.rule import Reason, Rule

HERE = Path(__file__).parent


def _rule(rule_id: str, *reasons: str) -> Rule:
    return Rule(
        id=rule_id,
        policy_kind="Checks",
        subjects=frozenset(),
        reasons=tuple(Reason(id=reason, severity="deny", summary="") for reason in reasons),
        check=lambda view, policy: (),
    )


@pytest.fixture(scope="session")
def rules() -> tuple[Rule, ...]:
    """A few rules: what policies may name does not change with what this release checks."""
    return (
        _rule("alternative-unbounded", "alternative-unbounded"),
        _rule("device-ownership", "double-booking"),
        _rule("fallback-count-differs", "count-differs"),
        _rule("replicas-may-differ", "replicas-may-differ"),
    )


@pytest.fixture(scope="session")
def here() -> Path:
    """This folder."""
    return HERE
