"""Which rules are asked about an object, by which policies, in which mode: worked out once per namespace, not per review.

A plan depends on the policy set, the namespace's labels, the settings, and the caps that hold at the moment. It is remembered
on the policy set; thousands of reviews from one namespace share it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from webhook.engine.modes import caps_holding, effective_mode
from webhook.engine.settings import EngineSettings
from webhook.model.cluster import Namespace
from webhook.model.finding import Mode
from webhook.rulekit.matching import namespace_fits
from webhook.rulekit.policies import Checks, ModeCap, PolicySet, RulePolicy
from webhook.rulekit.rule import Rule
from webhook.rulekit.view import View
from webhook.rules import ALL

#: Plans kept per policy set before all are dropped (three kinds of object in each of a thousand namespaces).
_KEPT = 4096


@dataclass(frozen=True, slots=True)
class Step:
    """One rule, switched on by one policy, in the mode that applies in this namespace."""

    rule: Rule
    policy: RulePolicy
    mode: Mode


@dataclass(frozen=True, slots=True)
class Plan:
    """What to ask, by rule id: `checks` in this phase; mutations `in_force`, and those `held_back` by their mode.

    `reads_fleet`: some of it reads the cluster.
    """

    checks: tuple[Step, ...]
    in_force: tuple[Step, ...]
    held_back: tuple[Step, ...]
    reads_fleet: bool

    @property
    def mutations(self) -> tuple[Step, ...]:
        """All mutations, in the order in which they are asked."""
        return self.in_force + self.held_back


@dataclass(frozen=True, slots=True)
class _Kept:
    namespace: Namespace
    settings: EngineSettings
    caps: tuple[ModeCap, ...]
    plan: Plan

    def holds(self, view: View, settings: EngineSettings, caps: tuple[ModeCap, ...]) -> bool:
        now = view.namespace
        same = self.namespace is now or not (self.namespace.known or now.known)
        return same and self.settings is settings and self.caps == caps


def plan_for(view: View, settings: EngineSettings) -> Plan:
    """The plan for the object and phase of `view`."""
    memo: dict[object, _Kept] = view.policies.memo
    caps = caps_holding(view.policies, view.now) if view.policies.mode_caps else ()
    key = (view.phase, view.kind, view.namespace_name)
    kept = memo.get(key)
    if kept is None or not kept.holds(view, settings, caps):
        if len(memo) >= _KEPT:
            memo.clear()
        kept = memo[key] = _Kept(view.namespace, settings, caps, _plan(view, settings))
    return kept.plan


def _plan(view: View, settings: EngineSettings) -> Plan:
    active = tuple(
        step
        for rule in ALL
        if view.kind in rule.subjects
        for policy in policies_of(view.policies, rule)
        if not _switched_off(rule, policy)
        for step in (Step(rule, policy, effective_mode(policy.header, rule.id, view, settings)),)
        if step.mode != "off" and namespace_fits(policy.header.match, view)
    )
    mutations = tuple(step for step in active if step.rule.mutate is not None)
    checks = tuple(step for step in active if view.phase in step.rule.phases)
    return Plan(
        checks=checks,
        in_force=tuple(step for step in mutations if step.mode == "enforce"),
        held_back=tuple(step for step in mutations if step.mode != "enforce"),
        reads_fleet=any(step.rule.reads_fleet for step in (*checks, *mutations)),
    )


_POLICIES: dict[str, Callable[[PolicySet], Sequence[RulePolicy]]] = {
    "FallbackCompatibility": lambda policies: policies.fallback_compatibility,
    "TierFallback": lambda policies: policies.tier_fallback,
    "DeviceOwnership": lambda policies: policies.device_ownership,
    "ClaimRule": lambda policies: policies.claim_rules,
    "Checks": lambda policies: policies.checks,
}


def policies_of(policies: PolicySet, rule: Rule) -> Sequence[RulePolicy]:
    """The policies of a rule's kind, in file order."""
    return _POLICIES[rule.policy_kind](policies)


def _switched_off(rule: Rule, policy: RulePolicy) -> bool:
    return isinstance(policy, Checks) and policy.rules.get(rule.id) == "off"
