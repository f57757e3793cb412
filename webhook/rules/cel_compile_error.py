"""A selector that does not compile.

Reads:    the text of every selector of a claim, template or DeviceClass, and what it would cost at most
Allows:   what kube-apiserver would accept
Because:  the API server refuses the object too, in words that name neither the place nor what would help, and an author who
          corrects one mistake at a time meets the next one
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from webhook.cel import CompileProblem
from webhook.fleet.matching import compile_for
from webhook.model.device import DeviceClass
from webhook.model.finding import Finding
from webhook.model.pointer import field_path
from webhook.rulekit.policies import Checks
from webhook.rulekit.rule import Reason, Rule
from webhook.rulekit.view import View

REASON = "cel-compile-error"

#: Characters shown around the mistake.
_SHOWN = 60
_BY_NAME = re.compile(r"""\bdevice\.(capacity|attributes)\[\s*["']([^"'./]+)["']\s*\]""")


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
                detail="; ".join(_placed(problem, text) for problem in problems),
                remedy=_remedy(view, text, class_name),
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


def _placed(problem: CompileProblem, text: str) -> str:
    """`line 1, column 36: found no matching overload ..., at ".compareTo(quantity(..."`."""
    lines = text.splitlines() or [""]
    rest = lines[problem.line - 1][problem.column - 1 :] if 0 < problem.line <= len(lines) else ""
    shown = rest if len(rest) <= _SHOWN else f"{rest[: _SHOWN - 3]}..."
    return f"line {problem.line}, column {problem.column}: {problem.message}" + (f", at `{shown}`" if shown else "")


def _remedy(view: View, text: str, class_name: str) -> str:
    """What to write where a domain is wanted and a name stands."""
    named = _BY_NAME.search(text)
    if named is None:
        return ""
    kind, name = named.groups()
    drivers = sorted(view.fleet.inventory.drivers_of_class(class_name))
    domain = drivers[0] if drivers else "<driver>"
    return f'the first index is the domain, not the name: write device.{kind}["{domain}"].{name}'


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
