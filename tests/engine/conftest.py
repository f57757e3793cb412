"""Rules made for one test, in place of the real ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from webhook.engine import plan
from webhook.model.finding import Finding
from webhook.rulekit.rule import Mutation, Reason, Rule
from webhook.rulekit.view import View

KINDS = frozenset({"ResourceClaim", "ResourceClaimTemplate", "Pod", "Workload", "Namespace", "DeviceClass"})


@pytest.fixture
def use_rules(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Call it with rules: they are all there are."""
    return lambda *rules: monkeypatch.setattr(plan, "ALL", tuple(rules))


@pytest.fixture
def a_rule() -> Callable[..., Rule]:
    """Makes a rule of kind Checks that yields the given findings."""

    def make(
        rule_id: str = "some-rule",
        *findings: Finding,
        check: Callable[[View, Any], Iterable[Finding]] | None = None,
        mutate: Callable[[View, Any], Mutation] | None = None,
        since: tuple[int, int] = (0, 1),
        **fields: Any,
    ) -> Rule:
        reasons = tuple(
            Reason(id=reason, severity="deny", summary="s", since=since) for reason in {item.reason for item in findings}
        )
        return Rule(
            id=rule_id,
            policy_kind="Checks",
            subjects=KINDS,
            reasons=reasons,
            check=check or (lambda _view, _policy: findings),
            mutate=mutate,
            **fields,
        )

    return make
