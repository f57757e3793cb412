"""Audit annotations: what the audit log of the API server keeps of a decision.

Keys are stored as `<webhook name>/<key>`: no slash, at most 63 characters of letters, digits, `-`, `_`, `.`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from webhook.model.finding import Judged, PatchOp
from webhook.rulekit.policies import PolicySet

#: Characters of one value; longer ones are cut (an audit event is held in memory and sent over the network).
LONGEST = 4096


def audit_annotations(judged: Sequence[Judged], would_patch: Sequence[PatchOp], policies: PolicySet) -> Mapping[str, str]:
    """`findings`: one line each, `effect rule/reason path: detail`; `would-patch`: the change that a mode held back."""
    found: dict[str, str] = {}
    if judged:
        found["findings"] = _cut("\n".join(_line(item) for item in judged))
    if would_patch:
        found["would-patch"] = _cut(json.dumps(list(would_patch), separators=(",", ":"), default=dict))
    if found and policies.digest:
        found["policies"] = policies.digest
    return found


def _line(item: Judged) -> str:
    finding = item.finding
    return f"{item.effect} {finding.rule}/{finding.reason} {finding.path or '-'} ({item.mode}): {finding.detail}"


def _cut(value: str) -> str:
    return value if len(value) <= LONGEST else value[: LONGEST - 3] + "..."
