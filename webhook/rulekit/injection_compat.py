"""Whether an alternative that would be injected is declared compatible, where some policy asks for that."""

from __future__ import annotations

from typing import Final

from webhook.model.claim import Alternative, Request
from webhook.rulekit.compatibility import uncovered
from webhook.rulekit.declared import SHAPES_ANNOTATION, declared_for
from webhook.rulekit.injection_occasion import Occasion
from webhook.rulekit.matching import applies
from webhook.rulekit.modes import wished_mode
from webhook.rulekit.shapes import alternative_shapes
from webhook.rulekit.view import View

_RULE: Final = "fallback-compatibility"


def declaration_needed(view: View) -> bool:
    """Whether a FallbackCompatibility is for the object under review, in any mode but off.

    Every kind of it judges lists, and a list is what injecting makes of a request.
    """
    return any(
        wished_mode(policy.header, _RULE, view) != "off" and applies(policy.header.match, view)
        for policy in view.policies.fallback_compatibility
    )


def undeclared(occasion: Occasion, request: Request, alternative: Alternative) -> tuple[str, str]:
    """Why the workload may not be given `alternative` of `request`, and what its owner can do; both "" when it may."""
    view, nodes = occasion.view, occasion.nodes
    asked = (view.fleet, view.policies, occasion.spec, request, alternative, nodes)
    possible = alternative_shapes(*asked)
    if possible.uncertain or not possible.shapes:
        why = possible.uncertain or "it matches no known device"
        return f"whether the workload can run on it is not known: {why}", ""
    declared = declared_for(view, pod=occasion.pod, pod_claim=occasion.pod_claim, source=occasion.source, request=request.name)
    missing = [str(shape) for shape in uncovered(*asked, declared)]
    if not missing:
        return "", ""
    said = f"declared: {declared.text or 'nothing that can be read'}" if declared.present else "nothing is declared"
    wish = ", ".join([*([declared.text] if declared.statement.entries else []), *missing])
    return (
        f"the workload has not declared that it can run on {_listed(missing)} ({said})",
        f'if it can, declare it on the pod template: {SHAPES_ANNOTATION}: "{wish}"',
    )


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
