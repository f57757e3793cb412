"""Runs rules: their checks and mutations, with modes and exemptions applied to what they say."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from webhook.engine.effects import not_done, weighed
from webhook.engine.exemptions import apply_exemptions
from webhook.engine.faults import fault_text
from webhook.engine.plan import Plan, Step
from webhook.engine.quiet import is_quiet, quiet_steps
from webhook.engine.settings import EngineSettings
from webhook.model.finding import Finding, Judged, PatchOp
from webhook.model.json_patch import apply_patch
from webhook.model.meta import ObjectRef
from webhook.rulekit.matching import asks_fit
from webhook.rulekit.rule import Mutation
from webhook.rulekit.subject import read_subject
from webhook.rulekit.view import View

NOTHING = Mutation()


@dataclass(slots=True)
class Outcome:
    """What has been gathered so far in one call. `crashes` names rules that failed, with the exception's text."""

    judged: list[Judged] = field(default_factory=list)
    patch: list[PatchOp] = field(default_factory=list)
    would_patch: list[PatchOp] = field(default_factory=list)
    crashes: list[str] = field(default_factory=list)
    wanted: dict[ObjectRef, None] = field(default_factory=dict)

    @property
    def empty(self) -> bool:
        """Whether there is nothing at all to say."""
        return not (self.judged or self.patch or self.would_patch or self.crashes or self.wanted)


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
            _judge(step, finding, view, settings, outcome)
        if not findings and not outcome.crashes and is_quiet(step, view):
            quiet.add(id(step))


def run_mutations(view: View, plan: Plan, settings: EngineSettings, outcome: Outcome) -> View:
    """Ask every mutating rule; returns the view of the object as patched so far.

    Under enforce the operations go into the patch; otherwise into what would have been patched.
    """
    if not plan.mutations:
        return view
    quiet = quiet_steps(view, plan).mutations
    for step in plan.mutations:
        if id(step) in quiet or not asks_fit(step.policy.header.match, view):
            continue
        mutation = _mutate(step, view, outcome)
        if mutation == NOTHING and not outcome.crashes and is_quiet(step, view):
            quiet.add(id(step))
        for finding in mutation.findings:
            said = not_done(finding) if step.mode == "warn" and mutation.ops else finding
            _judge(step, said, view, settings, outcome)
        if mutation.ops and step.mode == "enforce":
            outcome.patch.extend(mutation.ops)
            view = patched_view(view, mutation.ops)
        else:
            outcome.would_patch.extend(mutation.ops)
    return view


def as_if_mutated(view: View, plan: Plan) -> View:
    """The view of the object as the mutations that are not in force would have made it: what the other rules judge."""
    for step in plan.held_back:
        if not asks_fit(step.policy.header.match, view):
            continue
        ops = _mutate(step, view, Outcome()).ops
        if ops:
            view = patched_view(view, ops)
    return view


def patched_view(view: View, ops: tuple[PatchOp, ...]) -> View:
    """The same review with the operations applied to its object."""
    review = replace(view.review, object=apply_patch(view.review.object, ops))
    subject = read_subject(review.group, review.kind, review.object, view.policies.workload_kinds)
    return view.with_object(review, subject or view.subject)


def _findings(step: Step, view: View, outcome: Outcome) -> list[Finding]:
    """The findings of a rule; a crash ends the rule, not the review, and what it had said before stays."""
    found: list[Finding] = []
    try:
        found.extend(step.rule.check(view, step.policy))
    except Exception as crash:  # noqa: BLE001 - a rule's fault must never become the request's
        outcome.crashes.append(_crash_text(step, crash))
    return found


def _mutate(step: Step, view: View, outcome: Outcome) -> Mutation:
    if step.rule.mutate is None:
        return Mutation()
    try:
        return step.rule.mutate(view, step.policy)
    except Exception as crash:  # noqa: BLE001 - as above
        outcome.crashes.append(_crash_text(step, crash))
        return Mutation()


def _crash_text(step: Step, crash: Exception) -> str:
    return f"rule {step.rule.id} (policy {step.policy.header.label}) failed: {fault_text(crash)}"


def _judge(step: Step, finding: Finding, view: View, settings: EngineSettings, outcome: Outcome) -> None:
    judged = weighed(step, finding, view, settings)
    if judged is not None:
        outcome.judged.extend(apply_exemptions(view, judged))
