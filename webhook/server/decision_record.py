"""What the decision log says about one decision."""

from __future__ import annotations

from datetime import datetime

from webhook.model.finding import MODES, Decision, Judged
from webhook.model.review import Review
from webhook.telemetry import DecisionRecord, Phase

#: Audit annotations of changes that no rule makes and no mode holds back.
_ALWAYS = ("restored", "taken-off")


def decision_record(
    phase: Phase, review: Review, decision: Decision, policies: str, now: datetime, seconds: float
) -> DecisionRecord:
    """The log line of a decision that took `seconds`, made under the policy set with the digest `policies`.

    `review` is named, the objects in it may be gone.
    """
    return DecisionRecord(
        time=now,
        uid=review.uid,
        phase=phase,
        operation=review.operation,
        kind=review.kind,
        namespace=review.namespace,
        name=review.name,
        user=review.user.name,
        allowed=decision.allowed,
        policies=policies,
        duration_us=round(seconds * 1_000_000),
        dry_run=review.dry_run,
        reasons=tuple(f"{judged.finding.rule}/{judged.finding.reason}" for judged in decision.findings),
        mode=max((judged.mode for judged in decision.findings), key=MODES.index, default=""),
        findings=tuple(_finding(judged) for judged in decision.findings),
        patch=decision.patch,
        because=tuple(f"{key}: {decision.audit_annotations[key]}" for key in _ALWAYS if key in decision.audit_annotations),
        would_patch=decision.would_patch,
        wanted=tuple(str(ref) for ref in decision.wanted),
        internal_error=decision.internal_error,
    )


def _finding(judged: Judged) -> dict[str, str]:
    finding = judged.finding
    return {
        "rule": finding.rule,
        "reason": finding.reason,
        "severity": finding.severity,
        "mode": judged.mode,
        "effect": judged.effect,
        "path": finding.path,
        "detail": finding.detail,
        "policy": finding.policy,
    }
