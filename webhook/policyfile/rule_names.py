"""The names by which policies switch rules: ids and reasons of all rules, and those the catalogue keeps for later ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from webhook.rulekit.rule import Rule

#: Ids and reasons of the check catalogue that no rule of this release reports. Naming one is no mistake, but has no effect.
#: A name may stay here when its rule arrives.
RESERVED: frozenset[str] = frozenset(
    {
        "admin-access-label-guard",
        "admin-access-not-allowed",
        "all-matches-tainted",
        "allocation-config-limit",
        "allocation-result-limit",
        "alternative-shadowed",
        "api-shape-mismatch",
        "api-version-removed",
        "attribute-is-capacity",
        "autoscaler-unsupported",
        "bridge-class-heterogeneous",
        "capacity-rounded",
        "capacity-zero-sentinel",
        "cel-accessor-suffix",
        "cel-compile-error",
        "cel-runtime-error",
        "cel-runtime-error-partial",
        "cel-version-as-string",
        "claim-not-bound-to-container",
        "claim-reference-missing",
        "class-missing",
        "config-driver-mismatch",
        "config-kind-mismatch",
        "config-unknown-field",
        "constraint-attribute-missing",
        "constraint-skips-alternative",
        "constraint-vacuous",
        "container-request-unknown",
        "count-vs-args",
        "device-feature-immature",
        "double-booking-native-resource",
        "driver-feature-gated",
        "driver-needs-whole-host",
        "driver-no-sharing",
        "extended-name-conflict",
        "extended-resource-unserved",
        "field-misplaced",
        "near-miss-capacity",
        "no-preemption-for-claims",
        "no-slices-for-driver",
        "nodename-with-claim",
        "note-per-pod-claim",
        "optional-device-unsupported",
        "reference-unknown",
        "replicas-exceed-matches",
        "replicas-share-claim",
        "reservedfor-limit",
        "selector-pins-device",
        "taint-rule-matches-all",
        "template-in-use",
        "toleration-needs-exists",
        "version-bug",
        "zero-match",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleNames:
    """Rule ids and reasons that exist, and names that are reserved."""

    ids: frozenset[str]
    reasons: frozenset[str]
    reserved: frozenset[str] = RESERVED

    @property
    def reported(self) -> frozenset[str]:
        """Every name of something that this release can find."""
        return self.ids | self.reasons

    @property
    def all(self) -> frozenset[str]:
        """Every name that may be written."""
        return self.ids | self.reasons | self.reserved


def rule_names(rules: Iterable[Rule]) -> RuleNames:
    """The names of `rules`."""
    known = tuple(rules)
    return RuleNames(
        ids=frozenset(rule.id for rule in known),
        reasons=frozenset(reason.id for rule in known for reason in rule.reasons),
    )
