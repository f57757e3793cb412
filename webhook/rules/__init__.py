"""All rules, one file each. `ALL` is written by hand and sorted by id; adding a rule adds one line (docs/adding-a-rule.md)."""

from __future__ import annotations

from webhook.rulekit.rule import Rule
from webhook.rules import (
    admin_access_label,
    alternative_unbounded,
    api_version_removed,
    cel_compile_error,
    cel_runtime_error,
    claim_rule,
    class_missing,
    constraint_attribute_missing,
    constraint_vacuous,
    device_ownership,
    double_booking_same_driver,
    double_booking_two_drivers,
    extended_name_conflict,
    fallback_compatibility,
    fallback_count_differs,
    fallback_crosses_driver,
    feature_not_available,
    forged_extended_claim,
    namespace_label_invalid,
    queue_manager_unsupported,
    replicas_may_differ,
    selector_pins_device,
    tier_fallback,
    unguarded_selector,
    zero_match,
)

_BESIDE: tuple[Rule, ...] = (
    admin_access_label.RULE,
    alternative_unbounded.RULE,
    api_version_removed.RULE,
    cel_compile_error.RULE,
    cel_runtime_error.RULE,
    claim_rule.RULE,
    class_missing.RULE,
    constraint_attribute_missing.RULE,
    constraint_vacuous.RULE,
    device_ownership.RULE,
    double_booking_same_driver.RULE,
    double_booking_two_drivers.RULE,
    extended_name_conflict.RULE,
    fallback_compatibility.RULE,
    fallback_count_differs.RULE,
    fallback_crosses_driver.RULE,
    feature_not_available.RULE,
    forged_extended_claim.RULE,
    queue_manager_unsupported.RULE,
    replicas_may_differ.RULE,
    selector_pins_device.RULE,
    tier_fallback.RULE,
    unguarded_selector.RULE,
    zero_match.RULE,
)

#: One rule has to know the others by name.
ALL: tuple[Rule, ...] = tuple(
    sorted((*_BESIDE, namespace_label_invalid.rule_beside(_BESIDE)), key=lambda rule: rule.id),
)
