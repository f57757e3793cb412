"""Who is let off: exemptions that fit a finding, and those that have ended or are about to."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from webhook.engine.modes import capped
from webhook.model.finding import Finding, Judged
from webhook.model.labels import matches_any
from webhook.rulekit.policies import Exemption
from webhook.rulekit.view import View

#: From here on an exemption's end is announced.
ANNOUNCED_BEFORE = timedelta(days=14)


def fitting(view: View, finding: Finding) -> tuple[Exemption, ...]:
    """The exemptions that fit a finding of this review, whether they still hold or not."""
    return tuple(item for item in view.policies.exemptions if _fits(item, view, finding))


def apply_exemptions(view: View, judged: Judged) -> tuple[Judged, ...]:
    """The judged finding as exemptions leave it, with a note of who was let off, or a warning that an exemption ended."""
    found = fitting(view, judged.finding)
    if not found:
        return (judged,)
    holding = [item for item in found if _holds(item, view.now)]
    if not holding:
        ended = max(found, key=lambda item: _end(item))
        return judged, _said(judged, "exemption-ended", _ended_text(ended), warn=judged.effect != "note")
    chosen = next((item for item in holding if item.effect == "allow"), holding[0])
    effect = "note" if chosen.effect == "allow" else capped(judged.effect, "warn") or "note"
    let_off = replace(judged, effect=effect)
    soon = chosen.expires is not None and chosen.expires - view.now <= ANNOUNCED_BEFORE
    return let_off, _said(judged, "exempted", _exempted_text(chosen, judged.finding, view.now), warn=soon)


def _fits(item: Exemption, view: View, finding: Finding) -> bool:
    policy = finding.policy.partition("@")[0]
    return (
        (not item.namespaces or matches_any(view.namespace_name, item.namespaces))
        and (not item.users or matches_any(view.review.user.name, item.users))
        and (not item.groups or any(matches_any(group, item.groups) for group in view.review.user.groups))
        and (item.pods is None or _pod_fits(item, view))
        and (not item.rules or finding.rule in item.rules or finding.reason in item.rules)
        and (not item.policies or policy in item.policies)
    )


def _pod_fits(item: Exemption, view: View) -> bool:
    pod = view.pod or view.owner_pod
    return pod is not None and item.pods is not None and item.pods.matches(pod.meta.labels)


def _holds(item: Exemption, now: datetime) -> bool:
    return item.expires is None or now <= item.expires


def _end(item: Exemption) -> datetime:
    return item.expires or datetime.max.replace(tzinfo=UTC)


def _said(judged: Judged, reason: str, detail: str, *, warn: bool) -> Judged:
    finding = replace(
        judged.finding,
        reason=reason,
        severity="warn" if warn else "note",
        detail=detail,
        headline="",
        remedy="",
        via=(),
        place="",
    )
    return Judged(finding=finding, mode=judged.mode, effect=capped(finding.severity, judged.mode) or "note")


def _exempted_text(item: Exemption, finding: Finding, now: datetime) -> str:
    owner = f", asked for by {item.owner}" if item.owner else ""
    end = ""
    if item.expires is not None:
        days = max(0, (item.expires - now).days)
        end = f"; it ends on {item.expires:%Y-%m-%d}, in {days} day{'' if days == 1 else 's'}"
    return f"{finding.reason} is let pass by exemption {item.policy} ({item.reason}{owner}){end}"


def _ended_text(item: Exemption) -> str:
    whom = f" Ask {item.owner} whether it should go on." if item.owner else ""
    return f"exemption {item.policy} ({item.reason}) ended on {_end(item):%Y-%m-%d} and does not count any more.{whom}"
