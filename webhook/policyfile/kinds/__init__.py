"""The nine kinds of policy documents, one file each."""

from __future__ import annotations

from typing import Any

from webhook.policyfile.kind import Kind
from webhook.policyfile.kinds import (
    checks,
    claim_rule,
    device_ownership,
    exemptions,
    fallback_compatibility,
    mode_cap,
    shape_catalog,
    tier_fallback,
    workload_kinds,
)

KINDS: tuple[Kind[Any], ...] = (
    shape_catalog.KIND,
    fallback_compatibility.KIND,
    tier_fallback.KIND,
    device_ownership.KIND,
    checks.KIND,
    claim_rule.KIND,
    exemptions.KIND,
    mode_cap.KIND,
    workload_kinds.KIND,
)
