"""Who is let off: exemptions that fit a finding or a change, and those that have ended or are about to."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from webhook.engine.modes import capped
from webhook.model.finding import Finding, Judged, Mode
from webhook.model.labels import LabelSelector, matches_any
from webhook.rulekit.policies import Exemption, RulePolicy
from webhook.rulekit.rule import Rule
from webhook.rulekit.view import View

#: From here on an exemption's end is announced.
ANNOUNCED_BEFORE = timedelta(days=14)
#: The reason of what says that somebody was let off.
EXEMPTED = "exempted"


def fitting(view: View, finding: Finding) -> tuple[Exemption, ...]:
    """The exemptions that fit a finding of this review, whether they still hold or not."""
    names, policy = {finding.rule, finding.reason}, finding.policy.partition("@")[0]
    return tuple(item for item in view.policies.exemptions if _fits(item, view, names, policy))


def holding_back(view: View, rule: Rule, policy: RulePolicy) -> Exemption | None:
    """The exemption that holds back what a rule would change: one from the rule, or from that for which it changes objects."""
    names, policy_name = {rule.id, rule.changes_for}, policy.header.name
    return _chosen([item for item in view.policies.exemptions if _fits(item, view, names, policy_name)], view.now)


def held_back_note(
    rule: Rule, policy: RulePolicy, mode: Mode, item: Exemption, view: View, findings: Sequence[Finding]
) -> Judged:
    """That a change was held back by an exemption, with what it would have been."""
    what = "; ".join(dict.fromkeys(finding.detail for finding in findings))
    finding = Finding(
        rule=rule.id,
        reason=EXEMPTED,
        severity="warn" if _ends_soon(item, view.now) else "note",
        path=findings[0].path if findings else "",
        detail=f"not done because of {_described(item, view.now)}: {what}",
        policy=policy.header.label,
    )
    return Judged(finding=finding, mode=mode, effect=capped(finding.severity, mode) or "note")


def apply_exemptions(view: View, judged: Judged) -> tuple[Judged, ...]:
    """The judged finding as exemptions leave it, with a note of who was let off, or a warning that an exemption ended."""
    found = fitting(view, judged.finding)
    if not found:
        return (judged,)
    chosen = _chosen(found, view.now)
    if chosen is None:
        ended = max(found, key=lambda item: _end(item))
        return judged, _said(judged, "exemption-ended", _ended_text(ended), warn=judged.effect != "note")
    effect = "note" if chosen.effect == "allow" else capped(judged.effect, "warn") or "note"
    let_off = replace(judged, effect=effect)
    text = f"{judged.finding.reason} is let pass by {_described(chosen, view.now)}"
    return let_off, _said(judged, EXEMPTED, text, warn=_ends_soon(chosen, view.now))


def _chosen(found: Sequence[Exemption], now: datetime) -> Exemption | None:
    """Of several exemptions that hold, one that allows."""
    holding = [item for item in found if _holds(item, now)]
    return next((item for item in holding if item.effect == "allow"), next(iter(holding), None))


def _ends_soon(item: Exemption, now: datetime) -> bool:
    return item.expires is not None and item.expires - now <= ANNOUNCED_BEFORE


def _fits(item: Exemption, view: View, names: Collection[str], policy: str) -> bool:
    """`names` are the rule's id and the reason in question."""
    return (
        (not item.namespaces or matches_any(view.namespace_name, item.namespaces))
        and (not item.users or matches_any(view.review.user.name, item.users))
        and (not item.groups or any(matches_any(group, item.groups) for group in view.review.user.groups))
        and (item.pods is None or _pod_fits(item.pods, view))
        and (not item.rules or any(name in item.rules for name in names))
        and (not item.policies or policy in item.policies)
    )


def _pod_fits(selector: LabelSelector, view: View) -> bool:
    pod = view.pod or view.owner_pod
    return pod is not None and selector.matches(pod.meta.labels)


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


def _described(item: Exemption, now: datetime) -> str:
    owner = f", asked for by {item.owner}" if item.owner else ""
    end = ""
    if item.expires is not None:
        days = max(0, (item.expires - now).days)
        end = f"; it ends on {item.expires:%Y-%m-%d}, in {days} day{'' if days == 1 else 's'}"
    return f"exemption {item.policy} ({item.reason}{owner}){end}"


def _ended_text(item: Exemption) -> str:
    whom = f" Ask {item.owner} whether it should go on." if item.owner else ""
    return f"exemption {item.policy} ({item.reason}) ended on {_end(item):%Y-%m-%d} and does not count any more.{whom}"
