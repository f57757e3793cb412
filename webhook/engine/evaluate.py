"""Runs the checks of rules, with modes and exemptions applied to what they say; gathers what comes of a call."""

from __future__ import annotations

from dataclasses import dataclass, field

from webhook.engine.effects import weighed
from webhook.engine.exemptions import apply_exemptions
from webhook.engine.faults import fault_text
from webhook.engine.plan import Plan, Step
from webhook.engine.quiet import is_quiet, quiet_steps
from webhook.engine.settings import EngineSettings
from webhook.model.finding import Finding, Judged, PatchOp
from webhook.model.meta import ObjectRef
from webhook.rulekit.matching import asks_fit
from webhook.rulekit.view import View


@dataclass(slots=True)
class Outcome:
    """What has been gathered so far in one call. `crashes` names rules that failed, with the exception's text."""

    judged: list[Judged] = field(default_factory=list)
    patch: list[PatchOp] = field(default_factory=list)
    would_patch: list[PatchOp] = field(default_factory=list)
    crashes: list[str] = field(default_factory=list)
    wanted: dict[ObjectRef, None] = field(default_factory=dict)
    #: Whether `patch` takes off a record of an injection that did not happen, which no rule or mode is asked about.
    forged: bool = False

    @property
    def empty(self) -> bool:
        """Whether there is nothing at all to say."""
        return not (self.judged or self.patch or self.would_patch or self.crashes or self.wanted)

    def crashed(self, step: Step, crash: Exception) -> None:
        """Note that a rule failed: its fault must never become the request's."""
        self.crashes.append(f"rule {step.rule.id} (policy {step.policy.header.label}) failed: {fault_text(crash)}")

    def say(self, step: Step, finding: Finding, view: View, settings: EngineSettings) -> None:
        """Note a finding as mode and exemptions leave it."""
        judged = weighed(step, finding, view, settings)
        if judged is not None:
            self.judged.extend(apply_exemptions(view, judged))


def run_checks(view: View, plan: Plan, settings: EngineSettings, outcome: Outcome) -> None:
    """Ask every rule that is switched on for this object in this phase."""
    if not plan.checks:
        return
    quiet = quiet_steps(view, plan).checks
    for step in plan.checks:
        if id(step) in quiet or not asks_fit(step.policy.header.match, view):
            continue
        findings = _findings(step, view, outcome)
        for finding in findings:
            outcome.say(step, finding, view, settings)
        if not findings and not outcome.crashes and is_quiet(step, view):
            quiet.add(id(step))


def _findings(step: Step, view: View, outcome: Outcome) -> list[Finding]:
    """The findings of a rule; a crash ends the rule, not the review, and what it had said before stays."""
    found: list[Finding] = []
    try:
        found.extend(step.rule.check(view, step.policy))
    except Exception as crash:  # noqa: BLE001 - a rule's fault must never become the request's
        outcome.crashed(step, crash)
    return found
