"""Which steps are known to have nothing to say about pods like the one under review, on the same fleet.

Rules are pure functions: one that found nothing in a pod finds nothing in its like. That is remembered on the fleet's snapshot
and gone with it; what a rule did find is never remembered, because messages name the pod.
"""

from __future__ import annotations

from typing import TypeAlias

from webhook.engine.plan import Plan, Step
from webhook.fleet.memo import remembered
from webhook.model.pod import Pod
from webhook.rulekit.likeness import pod_likeness
from webhook.rulekit.view import View

#: Steps of a plan, by identity.
Quiet: TypeAlias = "set[int]"


def quiet_steps(view: View, plan: Plan, steps: tuple[Step, ...]) -> Quiet | None:
    """The steps that need not be asked; add to it what turns out to be quiet. None when nothing can be known so."""
    if not steps or not isinstance(view.subject, Pod):
        return None
    # The plan is part of what is kept: its identity cannot come to mean another plan.
    kept: tuple[Plan, Quiet] = remembered(view.fleet.memo, (id(plan), pod_likeness(view.subject)), lambda: (plan, set()))
    return kept[1]


def is_quiet(step: Step, view: View) -> bool:
    """Whether a step that has just found nothing will find nothing in the pod's likes: it must not have missed anything."""
    return step.rule.alike_for_pods and not view.wanted
