"""What the two webhook calls together come to: mutate, apply the patch, validate. For the commands that work offline."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from webhook.engine.decide import decide
from webhook.engine.settings import DEFAULTS, EngineSettings
from webhook.fleet.fleet import Fleet
from webhook.model.finding import Decision
from webhook.model.json_patch import apply_patch
from webhook.model.review import Review
from webhook.rulekit.policies import PolicySet


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """`object` is what would be stored (before the API's own defaults); `decision` is both calls' in one."""

    object: Any
    decision: Decision


def admit(
    review: Review, fleet: Fleet, policies: PolicySet, now: datetime, *, settings: EngineSettings = DEFAULTS
) -> Admission:
    """Both calls, as the API server makes them: a refusal in the first ends the request."""
    first = decide(review, fleet, policies, now, phase="mutate", settings=settings)
    if not first.allowed:
        return Admission(object=review.object, decision=first)
    body = apply_patch(review.object, first.patch) if first.patch else review.object
    second = decide(replace(review, object=body), fleet, policies, now, phase="validate", settings=settings)
    return Admission(object=body, decision=_together(first, second))


def _together(first: Decision, second: Decision) -> Decision:
    return replace(
        second,
        findings=(*first.findings, *(item for item in second.findings if item not in first.findings)),
        warnings=tuple(dict.fromkeys((*first.warnings, *second.warnings))),
        patch=first.patch if second.allowed else (),
        would_patch=first.would_patch,
        audit_annotations={**first.audit_annotations, **second.audit_annotations, **_findings_of_both(first, second)},
        wanted=tuple(dict.fromkeys((*first.wanted, *second.wanted))),
        internal_error="; ".join(part for part in (first.internal_error, second.internal_error) if part),
    )


def _findings_of_both(first: Decision, second: Decision) -> dict[str, str]:
    texts = [item.audit_annotations.get("findings", "") for item in (first, second)]
    lines = dict.fromkeys(line for text in texts for line in text.splitlines())
    return {"findings": "\n".join(lines)} if lines else {}
