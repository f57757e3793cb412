"""The organisation's own rules in CEL.

Reads:    claims, templates and what pods lead to, through the variables of webhook/rulekit/claim_rule_variables.py
Allows:   whatever `require` gives true for, and whatever `when` gives false for
Because:  the ClaimRule says so; what cannot be evaluated has not been shown to keep it, as with failurePolicy Fail of a
          ValidatingAdmissionPolicy
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from webhook.cel import CelError
from webhook.model.claim import Alternative, Claim, ClaimSpec, ClaimTemplate, Request
from webhook.model.finding import Finding, Severity
from webhook.model.meta import Meta
from webhook.model.pod import Pod, Workload
from webhook.model.pointer import field_path, join
from webhook.rulekit.claim_rule_variables import (
    alternative_value,
    claim_value,
    namespace_value,
    pod_value,
    request_value,
    shapes_value,
)
from webhook.rulekit.policies import ClaimRule
from webhook.rulekit.rule import Reason, Rule
from webhook.rulekit.shape import Shape
from webhook.rulekit.shapes import allocated_shape, alternative_shapes
from webhook.rulekit.view import PodClaimSource, View

NOT_MET, ERROR = "claim-rule-not-met", "claim-rule-error"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """One thing that is judged: a claim, or with it one of its requests, or with that one of its alternatives.

    `via` and `path` lead from a pod to the claim; both are empty when the claim itself is under review.
    """

    meta: Meta
    spec: ClaimSpec
    claim: Claim | None
    pod: Pod | None
    via: tuple[str, ...] = ()
    path: str = ""
    request: Request | None = None
    alternative: Alternative | None = None

    @property
    def kind(self) -> str:
        return "ResourceClaim" if self.claim is not None else "ResourceClaimTemplate"

    @property
    def place(self) -> str:
        """The field path of what is judged, in the claim or template."""
        judged = self.alternative or self.request
        return field_path(judged.pointer if judged is not None else join(self.spec.pointer, "devices"))


class _Values(Mapping[str, Any]):
    """The variables of a case, each worked out when an expression reads it: shapes cost more than the rest."""

    def __init__(self, view: View, case: _Case) -> None:
        self._made: dict[str, Callable[[], Any]] = {
            "claim": lambda: claim_value(case.kind, case.meta, case.spec),
            "shapes": lambda: shapes_value(_shapes(view, case)),
            "namespaceObject": lambda: namespace_value(view.namespace.meta),
            "tier": lambda: view.tier,
            "pod": lambda: pod_value(case.pod),
        }
        if case.request is not None:
            request = case.request
            self._made["request"] = lambda: request_value(request)
        if case.alternative is not None:
            alternative = case.alternative
            self._made["alternative"] = lambda: alternative_value(alternative)

    def __getitem__(self, name: str) -> Any:
        return self._made[name]()

    def __contains__(self, name: object) -> bool:
        return name in self._made

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)


def check(view: View, policy: ClaimRule) -> Iterator[Finding]:
    """One finding per claim, request or alternative (`forEach`) for which `require` is not true."""
    for claim in _claims(view):
        for case in _cases(claim, policy):
            yield from _judge(view, policy, case)


def _claims(view: View) -> Iterator[_Case]:
    """The claim under review, or every claim that the pod under review leads to."""
    subject = view.subject
    if isinstance(subject, Claim):
        yield _Case(meta=subject.meta, spec=subject.spec, claim=subject, pod=view.owner_pod)
    elif isinstance(subject, ClaimTemplate):
        yield _Case(meta=subject.meta, spec=subject.spec, claim=None, pod=None)
    for source in view.pod_claims:
        if source.spec is not None:
            yield _Case(
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


def _cases(claim: _Case, policy: ClaimRule) -> Iterator[_Case]:
    if policy.for_each == "claim":
        yield claim
        return
    for request in claim.spec.requests:
        if policy.for_each == "request":
            yield replace(claim, request=request)
            continue
        for alternative in request.alternatives:
            yield replace(claim, request=request, alternative=alternative)


def _judge(view: View, policy: ClaimRule, case: _Case) -> Iterator[Finding]:
    values = _Values(view, case)
    applies = policy.when.evaluate(values) if policy.when is not None else True
    if applies is False:
        return
    if isinstance(applies, CelError):
        yield _error(view, policy, case, "when", applies)
        return
    kept = policy.require.evaluate(values)
    if isinstance(kept, CelError):
        yield _error(view, policy, case, "require", kept)
    elif kept is not True:
        yield _finding(view, policy, case, NOT_MET, _message(policy, values))


def _message(policy: ClaimRule, values: _Values) -> str:
    """The policy's own words; what it requires where they cannot be had."""
    said = policy.message.evaluate(values)
    words = " ".join(said.split()) if isinstance(said, str) else ""
    return words or f"required: {' '.join(policy.require.text.split())}"


def _error(view: View, policy: ClaimRule, case: _Case, where: str, error: CelError) -> Finding:
    detail = f"whether it is kept cannot be told, `{where}` fails: {error.message}"
    remedy = f"tell whoever looks after the policy {policy.header.name}: its expression does not expect such an object"
    return _finding(view, policy, case, ERROR, detail, remedy)


def _finding(view: View, policy: ClaimRule, case: _Case, reason: str, detail: str, remedy: str = "") -> Finding:
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


def _shapes(view: View, case: _Case) -> Iterator[Shape]:
    requests = (case.request,) if case.request is not None else case.spec.requests
    for request in requests:
        given = allocated_shape(view.fleet, view.policies, case.claim, request.name) if case.claim is not None else None
        if given is not None:
            yield given
            continue
        for alternative in (case.alternative,) if case.alternative is not None else request.alternatives:
            yield from alternative_shapes(view.fleet, view.policies, case.spec, request, alternative, view.feasible).shapes


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
