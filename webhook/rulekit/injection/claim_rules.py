"""Whether an alternative that would be injected breaks a ClaimRule that the claim keeps without it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from webhook.model.claim import Claim, ClaimSpec
from webhook.rulekit.claim_rules.cases import Case, Values, cases, keeps, words
from webhook.rulekit.injection.occasion import Occasion
from webhook.rulekit.matching import applies
from webhook.rulekit.modes import wished_mode
from webhook.rulekit.policies import ClaimRule

_RULE: Final = "claim-rule"


def broken_rule(occasion: Occasion, before: ClaimSpec, after: ClaimSpec) -> str:
    """Why `after` does not keep a ClaimRule that `before` keeps (or that is not for `before`); "" when it keeps them all."""
    view = occasion.view
    added = tuple(alternative for request in after.requests for alternative in request.alternatives)
    for policy in view.policies.claim_rules:
        if wished_mode(policy.header, _RULE, view) == "off" or not applies(policy.header.match, view, added):
            continue
        known = {name for name, _ in _broken(occasion, policy, before)} if applies(policy.header.match, view) else set()
        said = next((text for name, text in _broken(occasion, policy, after) if name not in known), None)
        if said is not None:
            return f"ClaimRule {policy.header.name} would not be kept: {said}"
    return ""


def _broken(occasion: Occasion, policy: ClaimRule, spec: ClaimSpec) -> Iterable[tuple[str, str]]:
    """The requests ("" for the claim itself) that do not keep the rule, and in which words."""
    subject = occasion.view.subject
    claim = subject if isinstance(subject, Claim) else None
    whole = Case(meta=occasion.source.meta, spec=spec, claim=claim, pod=occasion.pod)
    for case in cases(whole, policy):
        values = Values(occasion.view, case)
        kept = keeps(policy, values)
        name = case.request.name if case.request is not None else ""
        if isinstance(kept, tuple):
            yield name, f"its `{kept[0]}` fails: {kept[1].message}"
        elif not kept:
            yield name, words(policy, values)
