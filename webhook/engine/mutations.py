"""Runs mutating rules: what is changed, what a mode or an exemption holds back, and the object that the other rules judge.

1. Changes that are in force are made first, each on the object as those before have left it.
2. Changes that a mode holds back come after them, composed in the same way: what would be there if they were in force too. That
   object is judged by the other rules.
3. What an exemption holds back is not made and not imagined either: nobody means to switch it on.
"""

from __future__ import annotations

from dataclasses import replace

from webhook.engine.effects import not_done
from webhook.engine.evaluate import Outcome
from webhook.engine.exemptions import held_back_note, holding_back
from webhook.engine.plan import Plan, Step
from webhook.engine.quiet import is_quiet, quiet_steps
from webhook.engine.settings import EngineSettings
from webhook.model.finding import PatchOp
from webhook.model.json_patch import apply_patch
from webhook.rulekit.matching import asks_fit
from webhook.rulekit.policies import Exemption
from webhook.rulekit.rule import Mutation
from webhook.rulekit.subject import read_subject
from webhook.rulekit.view import View

NOTHING = Mutation()


def run_mutations(view: View, plan: Plan, settings: EngineSettings, outcome: Outcome) -> View:
    """Ask every mutating rule; returns the view of the object as all of them together would leave it.

    Under enforce the operations go into the patch; otherwise into what would have been patched, made for the patched object.
    """
    if not plan.mutations:
        return view
    quiet = quiet_steps(view, plan).mutations
    for step in plan.mutations:
        if id(step) in quiet or not asks_fit(step.policy.header.match, view):
            continue
        mutation = _mutate(step, view, outcome)
        if mutation != NOTHING:
            view = _done(step, mutation, view, settings, outcome)
        elif not outcome.crashes and is_quiet(step, view):
            quiet.add(id(step))
    return view


def as_if_mutated(view: View, plan: Plan) -> View:
    """The view of the object as the changes that modes hold back would have made it: what the other rules judge."""
    for step in plan.held_back:
        if asks_fit(step.policy.header.match, view) and holding_back(view, step.rule, step.policy) is None:
            view = patched_view(view, _mutate(step, view, Outcome()).ops)
    return view


def patched_view(view: View, ops: tuple[PatchOp, ...]) -> View:
    """The same review with the operations applied to its object."""
    if not ops:
        return view
    review = replace(view.review, object=apply_patch(view.review.object, ops))
    subject = read_subject(review.group, review.kind, review.object, view.policies.workload_kinds)
    return view.with_object(review, subject or view.subject)


def _done(step: Step, mutation: Mutation, view: View, settings: EngineSettings, outcome: Outcome) -> View:
    """Note what a rule would change, where mode and exemptions let it; returns the view that the next rule gets."""
    exemption = holding_back(view, step.rule, step.policy)
    if exemption is not None and exemption.effect == "allow":
        outcome.judged.append(held_back_note(step.rule, step.policy, step.mode, exemption, view, mutation.findings))
        return view
    why_not = _why_not_done(step, exemption) if mutation.ops else ""
    for finding in mutation.findings:
        outcome.say(step, not_done(finding, why_not) if why_not else finding, view, settings)
    if exemption is not None:
        return view
    (outcome.patch if step.mode == "enforce" else outcome.would_patch).extend(mutation.ops)
    return patched_view(view, mutation.ops)


def _why_not_done(step: Step, exemption: Exemption | None) -> str:
    if exemption is not None:
        return f"because of exemption {exemption.policy}"
    return "in warn mode" if step.mode == "warn" else ""


def _mutate(step: Step, view: View, outcome: Outcome) -> Mutation:
    if step.rule.mutate is None:
        return NOTHING
    try:
        return step.rule.mutate(view, step.policy)
    except Exception as crash:  # noqa: BLE001 - a rule's fault must never become the request's
        outcome.crashed(step, crash)
        return NOTHING
