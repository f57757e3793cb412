"""A selector that does not compile.

Reads:    the text of every selector of a claim, template or DeviceClass, and what it would cost at most
Allows:   what kube-apiserver would accept
Because:  the API server refuses the object too, in words that name neither the place nor what would help, and an author who
          corrects one mistake at a time meets the next one
"""

from __future__ import annotations

from collections.abc import Iterator

from webhook.cel import CompileProblem, excerpt
from webhook.fleet.matching import compile_for
from webhook.model.device import DeviceClass
from webhook.model.finding import Finding
from webhook.model.pointer import field_path
from webhook.rulekit.policies import Checks
from webhook.rulekit.rule import Reason, Rule
from webhook.rulekit.selectors.own_domain import with_domain
from webhook.rulekit.view import View

REASON = "cel-compile-error"

#: Mistakes of one selector that are shown; the others are counted.
_SHOWN = 4


def check(view: View, _policy: Checks) -> Iterator[Finding]:
    """One finding per selector that does not compile."""
    for text, pointer, class_name in _selectors(view):
        problems = _problems(view, text)
        if problems:
            yield Finding(
                rule=RULE.id,
                reason=REASON,
                severity="deny",
                headline=f'{view.kind} "{view.meta.display_name}" has a selector that does not compile',
                path=field_path(pointer),
                detail=_detail(problems),
                remedy="\n".join(filter(None, (_shown(view, problem, text, class_name) for problem in problems[:_SHOWN]))),
            )


def _selectors(view: View) -> Iterator[tuple[str, str, str]]:
    """Every selector: its text, where it is, and the class whose devices it is asked about."""
    if isinstance(view.subject, DeviceClass):
        for i, text in enumerate(view.subject.selectors):
            yield text, f"/spec/selectors/{i}/cel/expression", ""
    for request in view.claim_spec.requests if view.claim_spec is not None else ():
        for alternative in request.alternatives:
            for selector in alternative.selectors:
                yield selector.expression, selector.pointer, alternative.device_class


def _problems(view: View, text: str) -> tuple[CompileProblem, ...]:
    compiled = compile_for(view.fleet.server, text)
    if isinstance(compiled, tuple):
        return compiled
    return (compiled.refusal,) if compiled.refusal is not None else ()


def _detail(problems: tuple[CompileProblem, ...]) -> str:
    """`line 1, column 36: found no matching overload ...`, and so on."""
    placed = [f"line {problem.line}, column {problem.column}: {problem.message}" for problem in problems[:_SHOWN]]
    more = len(problems) - _SHOWN
    return "; ".join([*placed, f"and {more} more mistake{'' if more == 1 else 's'}"] if more > 0 else placed)


def _shown(view: View, problem: CompileProblem, text: str, class_name: str) -> str:
    """The line with a caret, and what to write instead, for a driver of the class that is asked."""
    inventory = view.fleet.inventory
    return excerpt(problem, text, with_domain(problem.hint, inventory, inventory.drivers_of_class(class_name)))


RULE = Rule(
    id=REASON,
    policy_kind="Checks",
    subjects=frozenset({"ResourceClaim", "ResourceClaimTemplate", "DeviceClass"}),
    # The API server validates after the mutating webhooks and before the validating ones.
    phases=frozenset({"mutate", "validate"}),
    reads_fleet=False,
    reasons=(Reason(id=REASON, severity="deny", summary="a selector that does not compile"),),
    check=check,
)
