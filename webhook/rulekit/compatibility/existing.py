"""Pods of controllers that are older than a policy: they keep coming back after a drain, and may be judged more mildly."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from webhook.model.claim import Claim
from webhook.model.finding import SEVERITIES, Mode, Severity
from webhook.model.pod import Pod
from webhook.rulekit.policies import Existing
from webhook.rulekit.view import View

_MOST: Mapping[Mode, Severity] = {"enforce": "deny", "warn": "warn", "audit": "note", "off": "note"}


def softened(view: View, existing: Existing | None, severity: Severity) -> Severity:
    """`severity`, at most what `existing` allows when the pod (or the claim's owner pod) is of an older controller."""
    if existing is None or not _is_existing(view, existing):
        return severity
    return min(severity, _MOST[existing.mode], key=SEVERITIES.index)


def _is_existing(view: View, existing: Existing) -> bool:
    if not isinstance(view.subject, Pod | Claim) or view.controller_meta is None:
        return False
    if existing.until is not None and view.now > existing.until:
        return False
    created = _instant(view.controller_meta.creation_timestamp)
    return created is not None and created < existing.created_before


def _instant(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
