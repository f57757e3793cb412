"""Which steps are known to have nothing to say about pods like the one under review, on the same fleet.

Rules are pure functions: one that found nothing in a pod finds nothing in its like. That is remembered on the fleet's snapshot
and gone with it; what a rule did find is never remembered, because messages name the pod.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from webhook.engine.plan import Plan, Step
from webhook.fleet.memo import remembered
from webhook.model.pod import Pod
from webhook.rulekit.likeness import pod_likeness
from webhook.rulekit.view import View


@dataclass(frozen=True, slots=True)
class Quiet:
    """What is known of the likes of one pod under one plan: the steps whose check, and whose mutation, has nothing to say.

    Steps are known by their identity, which holds as long as the plan does: it is kept here.
    """

    plan: Plan | None = None
    checks: set[int] = field(default_factory=set)
    mutations: set[int] = field(default_factory=set)


def quiet_steps(view: View, plan: Plan) -> Quiet:
    """What is known of pods like the one under review; add to it what turns out. For other objects nothing is ever known."""
    if not isinstance(view.subject, Pod):
        return Quiet()
    known: Quiet = remembered(view.fleet.memo, (id(plan), pod_likeness(view.subject)), lambda: Quiet(plan))
    return known


def is_quiet(step: Step, view: View) -> bool:
    """Whether a step that has just found nothing will find nothing in the pod's likes: it must not have missed anything."""
    return step.rule.alike_for_pods and not view.missed
