"""An alternative that takes any device of a class that holds several models.

Reads:    the selectors of the alternatives of a list, the models of the devices they match; the declared shapes
Allows:   alternatives with a selector, classes of one model or that are not there (`class-missing`), alternatives all of whose
          possible shapes are declared
Because:  "any device of the class" is right on the day of writing, when the pool is uniform; later it is a T4 for an A100
"""

from __future__ import annotations

from collections.abc import Iterator

from webhook.model.finding import Finding
from webhook.model.pointer import field_path
from webhook.rulekit.compatibility.declared import SHAPES_ANNOTATION
from webhook.rulekit.compatibility.judged_claims import written_lists
from webhook.rulekit.compatibility.text import in_words
from webhook.rulekit.policies import Checks
from webhook.rulekit.rule import Reason, Rule
from webhook.rulekit.view import View

REASON = "alternative-unbounded"


def check(view: View, _policy: Checks) -> Iterator[Finding]:
    """One finding per alternative of a list that has no selector and several models to take from."""
    for judged, request in written_lists(view):
        declared = judged.declared(view, request)
        for alternative in request.alternatives:
            models = judged.possible(view, request, alternative).models
            if alternative.selectors or len(models) < 2 or view.class_is_known_missing(alternative.device_class):
                continue
            if declared.present and not judged.uncovered(view, request, alternative, declared).shapes:
                continue
            yield Finding(
                rule=RULE.id,
                reason=REASON,
                severity="warn",
                headline=f'{view.kind} "{view.meta.display_name}" has an alternative that takes any device of a class',
                path=field_path(alternative.pointer),
                detail=f'"{alternative.name}" has no selector, and its class {alternative.device_class} holds several models: '
                f"{in_words(models)}",
                remedy=f"add a selector for the models that are meant, or declare all shapes ({SHAPES_ANNOTATION})",
            )


RULE = Rule(
    id="alternative-unbounded",
    policy_kind="Checks",
    subjects=frozenset({"ResourceClaim", "ResourceClaimTemplate"}),
    reasons=(Reason(id=REASON, severity="warn", summary="an alternative without selector, of a class with several models"),),
    check=check,
)
