"""Labels of a namespace that mean nothing to Fallgate.

Reads:    the labels of a namespace that begin with fallgate.dev/; the rules there are; the tiers that policies name
Allows:   fallgate.dev/tier, fallgate.dev/mode and fallgate.dev/mode.<rule-id> with values that mean something, and labels that
          a policy's namespaceSelector asks for
Because:  a label is never refused: a misspelt one leaves a namespace in the policies' own modes, or without its tier, and
          nobody is told; `off` without quotes is no text, and the API server refuses the whole namespace
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Final

from webhook.model.cluster import Namespace
from webhook.model.finding import Finding
from webhook.model.pointer import field_path, join
from webhook.model.tolerant import at, mapping
from webhook.rulekit.namespace_labels import PREFIX, LabelProblem, label_problems
from webhook.rulekit.policies import Checks
from webhook.rulekit.rule import Reason, Rule
from webhook.rulekit.view import View

ID: Final = "namespace-label-invalid"
UNKNOWN_TIER: Final = "namespace-tier-unknown"
#: What YAML makes of a word without quotes, and what the word was.
_QUOTED: Final = {"False": "off", "True": "on"}


def rule_beside(others: Iterable[Rule]) -> Rule:
    """The rule, which has to know all others by name."""
    reasons = (
        Reason(id=ID, severity="warn", summary="a label of a namespace means nothing to Fallgate"),
        Reason(id=UNKNOWN_TIER, severity="warn", summary="no policy names a namespace's tier"),
    )
    known = {rule.id: {reason.id for reason in rule.reasons} for rule in others} | {ID: {UNKNOWN_TIER}}

    def check(view: View, _policy: Checks) -> Iterator[Finding]:
        """One finding per label that counts for nothing."""
        if not isinstance(view.subject, Namespace):
            return
        for key, value in mapping(at(view.review.object, "/metadata/labels")).items():
            if key.startswith(PREFIX) and not isinstance(value, str):
                why = f"the value is {_as_json(value)}, and a label's value is a text: the API server refuses the namespace"
                yield _finding(view, LabelProblem(key, why, f'write {key}: "{_QUOTED.get(str(value), value)}"'))
        for problem in label_problems(view.subject.labels, view.policies, known):
            yield _finding(view, problem)

    return Rule(
        id=ID,
        policy_kind="Checks",
        subjects=frozenset({"Namespace"}),
        reads_fleet=False,
        reasons=reasons,
        check=check,
    )


def _as_json(value: object) -> str:
    return json.dumps(value, default=str)


def _finding(view: View, problem: LabelProblem) -> Finding:
    """A tier that resembles none may be one that no policy is for yet: that is worth a note."""
    return Finding(
        rule=ID,
        reason=UNKNOWN_TIER if problem.of_tier else ID,
        severity="note" if problem.of_tier and not problem.near else "warn",
        headline=f'namespace "{view.meta.display_name}" has a label that means nothing',
        path=field_path(join("/metadata/labels", problem.key)),
        detail=problem.why,
        remedy=problem.remedy,
    )
