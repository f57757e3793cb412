"""All rules, one file each. `ALL` is written by hand and sorted by id; adding a rule adds one line (docs/adding-a-rule.md)."""

from __future__ import annotations

from webhook.rulekit.rule import Rule
from webhook.rules import (
    admin_access_label,
    api_version_removed,
    cel_runtime_error,
    claim_rule,
    device_ownership,
    double_booking_same_driver,
    double_booking_two_drivers,
    extended_name_conflict,
    feature_not_available,
    forged_extended_claim,
    queue_manager_unsupported,
    tier_fallback,
)

ALL: tuple[Rule, ...] = (
    admin_access_label.RULE,
    api_version_removed.RULE,
    cel_runtime_error.RULE,
    claim_rule.RULE,
    device_ownership.RULE,
    double_booking_same_driver.RULE,
    double_booking_two_drivers.RULE,
    extended_name_conflict.RULE,
    feature_not_available.RULE,
    forged_extended_claim.RULE,
    queue_manager_unsupported.RULE,
    tier_fallback.RULE,
)
