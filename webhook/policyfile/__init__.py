"""Policy files: bytes -> PolicySet, strict, all mistakes at once, each with its place. No I/O."""

from __future__ import annotations

from webhook.policyfile.json_schemas import json_schema
from webhook.policyfile.loading import parse_policies, parse_policies_with_warnings
from webhook.policyfile.reference import policy_reference
from webhook.policyfile.rendering import render_problem

__all__ = ["json_schema", "parse_policies", "parse_policies_with_warnings", "policy_reference", "render_problem"]
