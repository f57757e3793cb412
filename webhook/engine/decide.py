"""decide(review, fleet, policies, now) -> Decision: pure and total. No input, however odd, raises."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final, Literal

from webhook.engine.annotations import audit_annotations
from webhook.engine.boundary import not_judged, passes_by
from webhook.engine.evaluate import Outcome, run_checks
from webhook.engine.faults import fault_text, with_faults
from webhook.engine.modes import stricter
from webhook.engine.mutations import as_if_mutated, patched_view, run_mutations
from webhook.engine.plan import Plan, plan_for
from webhook.engine.render import denial, warning_lines
from webhook.engine.settings import DEFAULTS, EngineSettings
from webhook.fleet.fleet import Fleet
from webhook.model.finding import Decision, Judged
from webhook.model.meta import ObjectRef
from webhook.model.review import Review
from webhook.rulekit.injection.restore import restore, strip_forged
from webhook.rulekit.policies import PolicySet
from webhook.rulekit.subject import read_subjects
from webhook.rulekit.view import View

ALLOW = Decision(allowed=True)

#: The HTTP code of a denial.
FORBIDDEN = 403

#: The two changes that no policy asks for and no mode holds back, as audit annotations.
RESTORED: Final = {"restored": "the stored spec of an injected object"}
TAKEN_OFF: Final = {"taken-off": "the annotation fallgate.dev/injected: nothing was injected into this object"}


def decide(
    review: Review,
    fleet: Fleet,
    policies: PolicySet,
    now: datetime,
    *,
    phase: Literal["mutate", "validate"] = "validate",
    settings: EngineSettings = DEFAULTS,
    absent: frozenset[ObjectRef] = frozenset(),
) -> Decision:
    """What to answer to `review` in the mutating or the validating call.

    `now` decides about expiries and staleness. `absent` are objects of an earlier `Decision.wanted` that were looked up live,
    and do not exist. Never raises: a fault of ours is in `internal_error`, answered by the stance.
    """
    try:
        return _decide(review, fleet, policies, now, phase, settings, absent)
    except Exception as crash:  # noqa: BLE001 - total by contract
        return with_faults(ALLOW, [fault_text(crash)], settings)


def _decide(
    review: Review,
    fleet: Fleet,
    policies: PolicySet,
    now: datetime,
    phase: str,
    settings: EngineSettings,
    absent: frozenset[ObjectRef],
) -> Decision:
    """In order: what passes unread; the restore of what was injected; per subject, what is not judged, then the mutating
    call's changes (`_mutated`: forged records taken off, then mutating rules) or the changes that modes hold back, then the
    checks of this phase; last, everything put together.
    """
    if passes_by(review, settings):
        return ALLOW
    subjects = read_subjects(review.group, review.kind, review.object, policies.workload_kinds)
    if phase == "mutate":
        stored = restore(review)
        if stored:
            return Decision(allowed=True, patch=stored, audit_annotations=RESTORED)
    outcome = Outcome()
    for subject in subjects:
        if not not_judged(review, subject, settings):
            view = View(review=review, subject=subject, fleet=fleet, policies=policies, now=now, phase=phase, absent=absent)
            _judge(view, settings, outcome)
    return _decision(outcome, policies, settings)


def _judge(view: View, settings: EngineSettings, outcome: Outcome) -> None:
    plan = plan_for(view, settings)
    view = _mutated(view, plan, settings, outcome) if view.phase == "mutate" else as_if_mutated(view, plan)
    run_checks(view, plan, settings, outcome)
    if plan.reads_fleet:
        view.want_classes(view.claim_spec)
    if view.wanted:
        outcome.wanted.update(dict.fromkeys(view.wanted))


def _mutated(view: View, plan: Plan, settings: EngineSettings, outcome: Outcome) -> View:
    if view.review.operation != "CREATE":
        return view
    forged = strip_forged(view.review, view.policies)
    if forged:
        outcome.patch.extend(forged)
        outcome.forged = True
        view = patched_view(view, forged)
    return run_mutations(view, plan, settings, outcome)


def _decision(outcome: Outcome, policies: PolicySet, settings: EngineSettings) -> Decision:
    if outcome.empty:
        return ALLOW
    judged = _distinct(outcome.judged)
    denied = any(item.effect == "deny" for item in judged)
    decision = Decision(
        allowed=not denied,
        code=FORBIDDEN if denied else 200,
        message=denial(judged, help_line=settings.help) if denied else "",
        findings=judged,
        warnings=warning_lines(judged),
        patch=() if denied else tuple(outcome.patch),
        would_patch=tuple(outcome.would_patch),
        audit_annotations={
            **audit_annotations(judged, tuple(outcome.would_patch), policies),
            **(TAKEN_OFF if outcome.forged and not denied else {}),
        },
        wanted=tuple(outcome.wanted),
        help=settings.help,
    )
    return with_faults(decision, outcome.crashes, settings) if outcome.crashes else decision


def _distinct(found: Iterable[Judged]) -> tuple[Judged, ...]:
    """Each thing once, by the strictest policy that says it, ordered by rule and path so that messages never jump about."""
    best: dict[tuple[str, str, str, str, str], Judged] = {}
    for item in found:
        finding = item.finding
        key = (finding.rule, finding.path, finding.place, finding.reason, finding.detail)
        if key not in best or stricter(item.effect, best[key].effect):
            best[key] = item
    return tuple(best[key] for key in sorted(best))
