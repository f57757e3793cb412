"""The organisation's own rules in CEL.

Reads:    claims, templates and what pods lead to, through the variables of webhook/rulekit/claim_rules/variables.py
Allows:   whatever `require` gives true for, and whatever `when` gives false for
Because:  the ClaimRule says so; what cannot be evaluated has not been shown to keep it, as with failurePolicy Fail of a
          ValidatingAdmissionPolicy
"""

from __future__ import annotations

from collections.abc import Iterator

from webhook.cel import CelError
from webhook.model.claim import Claim, ClaimTemplate
from webhook.model.finding import Finding, Severity
from webhook.model.meta import Meta
from webhook.model.pod import Workload
from webhook.model.pointer import field_path
from webhook.rulekit.claim_rules.cases import Case, Values, cases, keeps, words
from webhook.rulekit.policies import ClaimRule
from webhook.rulekit.rule import Reason, Rule
from webhook.rulekit.view import PodClaimSource, View

NOT_MET, ERROR = "claim-rule-not-met", "claim-rule-error"


def check(view: View, policy: ClaimRule) -> Iterator[Finding]:
    """One finding per claim, request or alternative (`forEach`) for which `require` is not true."""
    for claim in _claims(view):
        for case in cases(claim, policy):
            yield from _judge(view, policy, case)


def _claims(view: View) -> Iterator[Case]:
    """The claim under review, or every claim that the pod under review leads to."""
    subject = view.subject
    if isinstance(subject, Claim):
        yield Case(meta=subject.meta, spec=subject.spec, claim=subject, pod=view.owner_pod)
    elif isinstance(subject, ClaimTemplate):
        yield Case(meta=subject.meta, spec=subject.spec, claim=None, pod=None)
    for source in view.pod_claims:
        if source.spec is not None:
            yield Case(
                meta=_meta(source),
                spec=source.spec,
                claim=source.claim,
                pod=view.pod,
                via=(source.via,),
                path=field_path(source.entry.pointer),
            )


def _meta(source: PodClaimSource) -> Meta:
    holder = source.claim or source.template
    return holder.meta if holder is not None else Meta()


def _judge(view: View, policy: ClaimRule, case: Case) -> Iterator[Finding]:
    values = Values(view, case)
    kept = keeps(policy, values)
    if isinstance(kept, tuple):
        where, error = kept
        yield _error(view, policy, case, where, error)
    elif not kept:
        yield _finding(view, policy, case, NOT_MET, words(policy, values))


def _error(view: View, policy: ClaimRule, case: Case, where: str, error: CelError) -> Finding:
    detail = f"whether it is kept cannot be told, `{where}` fails: {error.message}"
    remedy = f"tell whoever looks after the policy {policy.header.name}: its expression does not expect such an object"
    return _finding(view, policy, case, ERROR, detail, remedy)


def _finding(view: View, policy: ClaimRule, case: Case, reason: str, detail: str, remedy: str = "") -> Finding:
    return Finding(
        rule=RULE.id,
        reason=reason,
        severity=_severity(view, policy),
        headline=f'{view.kind} "{view.meta.display_name}" does not keep the rule {policy.header.name}',
        detail=detail,
        path=case.path or case.place,
        place=case.place if case.path else "",
        via=case.via,
        remedy=remedy,
    )


def _severity(view: View, policy: ClaimRule) -> Severity:
    """A controller is not refused for the pods it will make: they are, and its author is told now."""
    return "warn" if policy.severity == "deny" and isinstance(view.subject, Workload) else policy.severity


RULE = Rule(
    id="claim-rule",
    policy_kind="ClaimRule",
    subjects=frozenset({"ResourceClaim", "ResourceClaimTemplate", "Pod", "Workload"}),
    reasons=(
        Reason(id=NOT_MET, severity="deny", summary="a rule of the organisation is not kept"),
        Reason(id=ERROR, severity="deny", summary="an expression of a ClaimRule fails on this object"),
    ),
    check=check,
)
