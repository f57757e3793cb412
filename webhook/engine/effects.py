"""What a finding comes to. Modes, pins and staleness act here, in one function, as docs/modes.md says; exemptions follow.

Rules say what is true, with their own severity. Which mode a policy has in a namespace is worked out before (`plan`).
"""

from __future__ import annotations

from dataclasses import replace

from webhook.engine.modes import capped
from webhook.engine.plan import Step
from webhook.engine.settings import EngineSettings
from webhook.model.finding import Finding, Judged, Mode
from webhook.model.visible import visible
from webhook.rulekit.policies import Checks
from webhook.rulekit.view import View


def weighed(step: Step, finding: Finding, view: View, settings: EngineSettings) -> Judged | None:
    """The finding with its policy's label and its effect; None when nothing is said of it at all.

    1. A Checks policy gives the reason, or the rule, another severity, or switches it off.
    2. The mode caps the severity; what is newer than the pinned revision is capped at audit.
    3. A denial that rests on stale facts becomes a warning.
    """
    chosen = _chosen(step, replace(finding, policy=step.policy.header.label))
    if chosen is None:
        return None
    effect = capped(chosen.severity, _pinned(step, chosen, view))
    if effect is None:
        return None
    if effect == "deny" and step.rule.reads_fleet and _stale(view, settings):
        effect = "warn"
    return Judged(finding=_shown(chosen), mode=step.mode, effect=effect)


def not_done(finding: Finding, why: str) -> Finding:
    """A change that is not made (`why`: "in warn mode"): what it would have been is a warning, whatever its own weight."""
    severity = "warn" if finding.severity == "note" else finding.severity
    return replace(finding, severity=severity, detail=f"not done {why}: {finding.detail}")


def _shown(finding: Finding) -> Finding:
    """The finding with what users wrote made safe to print: names and annotations are theirs."""
    return replace(
        finding,
        detail=visible(finding.detail),
        headline=visible(finding.headline),
        path=visible(finding.path),
        place=visible(finding.place),
        via=tuple(visible(step) for step in finding.via),
        remedy=visible(finding.remedy),
    )


def _chosen(step: Step, finding: Finding) -> Finding | None:
    if not isinstance(step.policy, Checks):
        return finding
    wish = step.policy.rules.get(finding.reason, step.policy.rules.get(finding.rule))
    if wish is None:
        return finding
    return None if wish == "off" else replace(finding, severity=wish)


def _pinned(step: Step, finding: Finding, view: View) -> Mode:
    """Audit at most for what is newer than the revision the policies pin, so that an upgrade breaks nobody."""
    pins = [checks.revision for checks in view.policies.checks if checks.revision is not None]
    if not pins:
        return step.mode
    since = next(reason.since for reason in step.rule.reasons if reason.id == finding.reason)
    return "audit" if since > min(pins) else step.mode


def _stale(view: View, settings: EngineSettings) -> bool:
    as_of = view.fleet.as_of
    return as_of is not None and view.now - as_of > settings.stale_after
