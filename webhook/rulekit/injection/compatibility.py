"""Whether an alternative that would be injected is declared compatible, where some policy asks for that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from webhook.model.claim import Alternative, ClaimSpec, Request
from webhook.rulekit.compatibility.declared import SHAPES_ANNOTATION, Declared, declared_for
from webhook.rulekit.compatibility.undeclared import uncovered
from webhook.rulekit.injection.candidates import same_ask
from webhook.rulekit.injection.occasion import Occasion
from webhook.rulekit.matching import applies
from webhook.rulekit.modes import wished_mode
from webhook.rulekit.policies import FallbackCompatibility
from webhook.rulekit.shapes.possible import alternative_shapes
from webhook.rulekit.view import View

_RULE: Final = "fallback-compatibility"


def declaration_needed(view: View, possible: Sequence[Alternative] = ()) -> bool:
    """Whether a FallbackCompatibility is for the object under review, in any mode but off.

    Every kind of it judges lists, and a list is what injecting makes of a request. `possible` is all that may be injected:
    an alternative of another class can be what brings a policy upon the whole claim.
    """
    return any(
        wished_mode(policy.header, _RULE, view) != "off" and applies(policy.header.match, view, possible)
        for policy in view.policies.fallback_compatibility
    )


def undeclared(occasion: Occasion, request: Request, alternative: Alternative) -> tuple[str, str]:
    """Why the workload may not be given `alternative` of `request`, and what its owner can do; both "" when it may."""
    view, nodes = occasion.view, occasion.nodes
    asked = (view.fleet, view.policies, occasion.spec, request, alternative, nodes)
    possible = alternative_shapes(*asked)
    if possible.uncertain:
        return f"whether the workload can run on it is not known: {possible.uncertain}", ""
    declared = _declared(occasion, request)
    if occasion.any_pod and not declared.present:
        return "", ""
    missing = [str(shape) for shape in uncovered(*asked, declared).shapes]
    if not missing:
        return "", ""
    said = f"declared: {declared.text or 'nothing that can be read'}" if declared.present else "nothing is declared"
    wish = ", ".join([*([declared.text] if declared.statement.entries else []), *missing])
    return (
        f"the workload has not declared that it can run on {_listed(missing)} ({said})",
        f'if it can, declare it on the pod template: {SHAPES_ANNOTATION}: "{wish}"',
    )


def left_to_pods(occasion: Occasion, request: Request, possible: Sequence[Alternative]) -> bool:
    """Whether it depends on what pods to come declare which of `possible`, the list of an announcement, they get."""
    return declaration_needed(occasion.view, possible) and not _declared(occasion, request).present


def _declared(occasion: Occasion, request: Request) -> Declared:
    return declared_for(
        occasion.view, pod=occasion.pod, pod_claim=occasion.pod_claim, source=occasion.source, request=request.name
    )


def brought_upon_others(occasion: Occasion, spec: ClaimSpec, alternative: Alternative) -> tuple[str, str]:
    """The same for everything else in the claim, of policies whose `match` is for it only because of `alternative`."""
    view = occasion.view
    for policy in view.policies.fallback_compatibility:
        match = policy.header.match
        if wished_mode(policy.header, _RULE, view) == "off" or applies(match, view) or not applies(match, view, (alternative,)):
            continue
        for request in spec.requests:
            for other in _judged(policy, occasion, request):
                why, remedy = undeclared(occasion, request, other)
                if why:
                    brings = f"it would bring FallbackCompatibility {policy.header.name} upon request"
                    return f'{brings} "{request.name}" too, where {why}', remedy
    return "", ""


def _judged(policy: FallbackCompatibility, occasion: Occasion, request: Request) -> Iterator[Alternative]:
    """What the policy would judge of a request: plain asks (also one inside an injected list) only where it judges all."""
    authored = next(item for item in occasion.authored.requests if item.name == request.name)
    own = authored.alternatives[0] if authored.form in ("exactly", "flat") else None
    for alternative in request.alternatives:
        plain = own is not None and same_ask(alternative, own)
        if not plain or policy.requests == "all":
            yield alternative


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
