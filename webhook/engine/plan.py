"""Which rules a policy set switches on, by phase and kind of object: worked out once per policy set, not per review."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from webhook.rulekit.policies import Header, PolicySet, RulePolicy
from webhook.rulekit.rule import Rule
from webhook.rules import ALL


@dataclass(frozen=True, slots=True)
class Step:
    """One rule switched on by one policy."""

    rule: Rule
    policy: RulePolicy

    @property
    def header(self) -> Header:
        """The policy's header."""
        return self.policy.header


@lru_cache(maxsize=256)
def steps(policies: PolicySet, phase: str, kind: str) -> tuple[Step, ...]:
    """The steps whose check runs in `phase` for objects of `kind`, by rule id."""
    return tuple(step for step in _all_steps(policies, kind) if phase in step.rule.phases)


@lru_cache(maxsize=256)
def mutations(policies: PolicySet, kind: str) -> tuple[Step, ...]:
    """The steps that may change objects of `kind`, by rule id."""
    return tuple(step for step in _all_steps(policies, kind) if step.rule.mutate is not None)


def _all_steps(policies: PolicySet, kind: str) -> tuple[Step, ...]:
    return tuple(
        Step(rule, policy)
        for rule in ALL
        if kind in rule.subjects
        for policy in policies_of(policies, rule)
        if not _switched_off(rule, policy)
    )


def policies_of(policies: PolicySet, rule: Rule) -> Sequence[RulePolicy]:
    """The policies of a rule's kind, in file order."""
    match rule.policy_kind:
        case "FallbackCompatibility":
            return policies.fallback_compatibility
        case "TierFallback":
            return policies.tier_fallback
        case "DeviceOwnership":
            return policies.device_ownership
        case "ClaimRule":
            return policies.claim_rules
        case _:
            return policies.checks


def _switched_off(rule: Rule, policy: RulePolicy) -> bool:
    return rule.policy_kind == "Checks" and getattr(policy, "rules", {}).get(rule.id) == "off"
