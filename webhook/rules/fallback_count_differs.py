"""A list whose alternatives give different numbers of devices.

Reads:    count and allocationMode of the alternatives; the declared shapes
Allows:   lists with one count, and lists all of whose possible shapes are declared
Because:  a program started with a fixed number of processes or a fixed tensor-parallel size fails on another count (P02, P03)
"""

from __future__ import annotations

from collections.abc import Iterator

from webhook.model.claim import ALL
from webhook.model.finding import Finding
from webhook.model.pointer import field_path
from webhook.rulekit.compatibility.declared import SHAPES_ANNOTATION
from webhook.rulekit.compatibility.judged_claims import all_declared, written_lists
from webhook.rulekit.compatibility.text import in_words
from webhook.rulekit.policies import Checks
from webhook.rulekit.rule import Reason, Rule
from webhook.rulekit.view import View

REASON = "fallback-count-differs"


def check(view: View, _policy: Checks) -> Iterator[Finding]:
    """One finding per list with several counts."""
    for judged, request in written_lists(view):
        counts = {item.name: "all" if item.allocation_mode == ALL else str(item.count) for item in request.alternatives}
        if len(set(counts.values())) > 1 and not all_declared(view, judged, request):
            sides = [f'"{name}" takes {count}' for name, count in counts.items()]
            yield Finding(
                rule=RULE.id,
                reason=REASON,
                severity="warn",
                headline=f'{view.kind} "{view.meta.display_name}" may hand out different numbers of devices',
                path=field_path(request.pointer),
                detail=f"the alternatives differ in the number of devices, {in_words(sides)}, and not all shapes are declared",
                remedy=f"declare every shape if the program adapts to the number of devices it finds ({SHAPES_ANNOTATION}), "
                "or give every alternative the same count",
            )


RULE = Rule(
    id="fallback-count-differs",
    policy_kind="Checks",
    subjects=frozenset({"ResourceClaim", "ResourceClaimTemplate"}),
    reasons=(Reason(id=REASON, severity="warn", summary="the alternatives of a list give different numbers of devices"),),
    check=check,
)
