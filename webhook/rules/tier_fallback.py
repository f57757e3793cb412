"""A plain request becomes the default list of its namespace's tier.

Reads:    spec.devices.requests[*].exactly of generated claims, claims and (if the policy says so) templates; the pod it is for;
          the classes, devices and quotas of the cluster
Allows:   everything; it says which lists were injected, and which of their alternatives had to be left out
Because:  what a workload may fall back to is often the same for a whole tier, and only the organisation knows what exists,
          what the quota pays for and what a model may be replaced by
Changes:  plain requests become firstAvailable lists, and what was asked is recorded (docs/tier-fallback.md)
"""

from __future__ import annotations

from collections.abc import Iterator

from webhook.model.claim import Claim, ClaimTemplate, Request
from webhook.model.claim_reading import read_claim_spec
from webhook.model.finding import Finding
from webhook.model.pointer import field_path
from webhook.model.tolerant import at
from webhook.rulekit.injection.candidates import Candidate
from webhook.rulekit.injection.compatibility import left_to_pods
from webhook.rulekit.injection.limits import LeftOut
from webhook.rulekit.injection.occasion import (
    FALLBACK_ANNOTATION,
    OPT_OUT,
    Occasion,
    meant,
    occasion_to_come,
    occasion_under_review,
    unknown_choice,
    why_not,
)
from webhook.rulekit.injection.plan import Injection, plan, wanted_lists
from webhook.rulekit.injection.restore import undo
from webhook.rulekit.injection.writing import plan_ops
from webhook.rulekit.policies import TierFallback
from webhook.rulekit.rule import Mutation, Reason, Rule
from webhook.rulekit.view import View


def mutate(view: View, policy: TierFallback) -> Mutation:
    """The lists of `policy` for the plain requests of the claim or template under review."""
    subject = view.subject
    if not isinstance(subject, Claim | ClaimTemplate):
        return Mutation()
    place = subject.spec.pointer
    authored = read_claim_spec(at(undo(view.review.object), place), place, subject.api_version)
    occasion = occasion_under_review(view, policy, subject, authored)
    if not meant(occasion):
        return Mutation()
    wanted = wanted_lists(occasion)
    if not wanted:
        return Mutation()
    chosen, skipped = unknown_choice(occasion), why_not(occasion)
    if chosen:
        return Mutation(findings=(_choice_unknown(view, policy, chosen),))
    if skipped:
        return Mutation(findings=(_skipped(policy, skipped),))
    made = plan(occasion, wanted)
    findings = (
        *(_injected(policy, item) for item in made.injections),
        *(_left_out(policy, item) for item in made.left_out),
        *(_nothing_left(policy, item) for item in made.unchanged),
    )
    return Mutation(ops=plan_ops(view.review.object, occasion.spec, made, policy.header.label), findings=findings)


def check(view: View, policy: TierFallback) -> Iterator[Finding]:
    """Says which lists the claims to come will get: of the template under review, or of the pods of the workload."""
    if isinstance(view.subject, ClaimTemplate):
        listed = [] if "templates" in policy.targets else _lists_to_come(occasion_to_come(view, policy))
        whose, path = "claims generated from this template", view.subject.spec.pointer + "/devices/requests"
    elif view.pod is not None and view.meta.controller is None:
        listed = [
            f'claim "{source.entry.name}", {text}'
            for source in view.pod_claims
            for text in _lists_to_come(occasion_to_come(view, policy, source))
        ]
        whose, path = "the claims of its pods", f"{view.pod.pointer}/spec/resourceClaims"
    else:
        return
    if listed:
        yield Finding(
            rule=RULE.id,
            reason="inject-announced",
            severity="warn",
            path=field_path(path),
            detail=f"{whose} get the list of TierFallback {policy.header.name}: {'; '.join(listed)}",
            remedy=_KEEP_PLAIN,
        )


def _lists_to_come(occasion: Occasion | None) -> list[str]:
    if occasion is None or not meant(occasion) or unknown_choice(occasion) or why_not(occasion):
        return []
    return [_list_to_come(occasion, item) for item in plan(occasion, wanted_lists(occasion)).injections]


def _list_to_come(occasion: Occasion, item: Injection) -> str:
    possible = [entry.alternative for entry in item.entries]
    caveat = ", as far as their pods declare it" if left_to_pods(occasion, item.request, possible) else ""
    return _list_in_words(item) + caveat


_KEEP_PLAIN = f"to keep the plain request, annotate the pod, claim or template with {FALLBACK_ANNOTATION}: {OPT_OUT}"


def _injected(policy: TierFallback, injection: Injection) -> Finding:
    return Finding(
        rule=RULE.id,
        reason="inject-default-list",
        severity="note",
        path=field_path(injection.request.pointer),
        detail=f"by TierFallback {policy.header.name}, {_list_in_words(injection)}",
        remedy=_KEEP_PLAIN,
    )


def _left_out(policy: TierFallback, item: LeftOut) -> Finding:
    return Finding(
        rule=RULE.id,
        reason="inject-left-out",
        severity="warn",
        path=field_path(item.request.pointer),
        detail=f"TierFallback {policy.header.name} leaves out {_entry_in_words(item.candidate)}: {item.why}",
        remedy=item.remedy,
    )


def _nothing_left(policy: TierFallback, request: Request) -> Finding:
    return Finding(
        rule=RULE.id,
        reason="inject-nothing-left",
        severity="warn",
        path=field_path(request.pointer),
        detail=f'request "{request.name}" stays as it is: of the list of TierFallback {policy.header.name} nothing is left',
    )


def _skipped(policy: TierFallback, why: str) -> Finding:
    return Finding(
        rule=RULE.id,
        reason="inject-skipped",
        severity="note",
        detail=f"TierFallback {policy.header.name} is not applied: {why}",
    )


def _choice_unknown(view: View, policy: TierFallback, chosen: str) -> Finding:
    known = ", ".join(sorted(item.header.name for item in view.policies.tier_fallback))
    return Finding(
        rule=RULE.id,
        reason="inject-choice-unknown",
        severity="warn",
        detail=f'{FALLBACK_ANNOTATION} names TierFallback "{chosen}", which does not exist: nothing is injected',
        remedy=f"write {OPT_OUT}, or one of {known}",
    )


def _list_in_words(injection: Injection) -> str:
    listed = ", ".join(_entry_in_words(item) for item in injection.entries)
    return f'request "{injection.request.name}" becomes the list {listed}'


def _entry_in_words(item: Candidate) -> str:
    return f"{item.name} ({item.label}{', as asked' if item.author else ''})"


RULE = Rule(
    id="tier-fallback",
    policy_kind="TierFallback",
    subjects=frozenset({"ResourceClaim", "ResourceClaimTemplate", "Workload"}),
    reasons=(
        Reason(id="inject-default-list", severity="note", summary="a plain request became the default list of its tier"),
        Reason(id="inject-left-out", severity="warn", summary="an alternative of the tier's list could not be added"),
        Reason(id="inject-nothing-left", severity="warn", summary="no alternative of the tier's list could be added"),
        Reason(id="inject-skipped", severity="note", summary="the tier's list is not for this claim, and why"),
        Reason(id="inject-choice-unknown", severity="warn", summary="the author chose a TierFallback that does not exist"),
        Reason(id="inject-announced", severity="warn", summary="which list the claims of a template or workload will get"),
    ),
    check=check,
    mutate=mutate,
    changes_for="inject-default-list",
)
