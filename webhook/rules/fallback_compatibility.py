"""Claims whose fallbacks the workload has not declared it can run on.

Reads:    the possible shapes of every request, on the pod's feasible nodes; fallgate.dev/compatible-shapes, compatible-when
          and uniform on pod, claim, template and namespace, the nearest first
Allows:   requests all of whose possible shapes are declared; plain asks (with `requests: all`: those with one shape)
Because:  the scheduler may hand out any alternative, and no API field says which of them the program survives
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from webhook.model.claim import Alternative, Claim, ClaimTemplate, Request
from webhook.model.finding import SEVERITIES, Finding, Severity
from webhook.model.pod import Workload
from webhook.model.pointer import field_path, join
from webhook.rulekit.compatibility.advice import Verdict, headline, own_level, remedy, uniform_headline, who
from webhook.rulekit.compatibility.declared import (
    SHAPES_ANNOTATION,
    UNIFORM_ANNOTATION,
    WHEN_ANNOTATION,
    Declared,
    faults_of,
    unknown_models,
)
from webhook.rulekit.compatibility.existing import softened
from webhook.rulekit.compatibility.judged_claims import JudgedClaim, judged_claims
from webhook.rulekit.compatibility.text import listed, undeclared_words
from webhook.rulekit.compatibility.undeclared import allocated_uncovered
from webhook.rulekit.policies import FallbackCompatibility
from webhook.rulekit.rule import Reason, Rule
from webhook.rulekit.selectors.hints import advice as advice_on
from webhook.rulekit.selectors.selections import texts_of
from webhook.rulekit.selectors.steps import Steps
from webhook.rulekit.shapes.catalog import Catalog, catalog_for
from webhook.rulekit.shapes.possible import allocated_alternative, allocated_shape
from webhook.rulekit.shapes.shape import AlternativeShapes, Shape
from webhook.rulekit.view import View

UNDECLARED = "shape-undeclared"
UNCERTAIN = "shape-uncertain"
INVALID = "declaration-invalid"
UNKNOWN_MODEL = "declaration-unknown-model"
MISPLACED = "declaration-misplaced"
NOT_UNIFORM = "uniform-not-kept"
DEFERRED = "verdict-deferred"

_NOT_THERE = {
    "ResourceClaimTemplate": "template not found",
    "ResourceClaim": "claim not found",
    "": "this release does not know how the claim is referred to",
}


#: An alternative that is judged, with what it may be given, and whether its author asked for it plainly.
_Judged: TypeAlias = "tuple[Alternative, AlternativeShapes, bool]"


@dataclass(frozen=True, slots=True)
class Case:
    """One request of a claim. `alternatives` are those that have to be declared; `given` is what an allocated claim has."""

    judged: JudgedClaim
    request: Request
    declared: Declared
    alternatives: tuple[_Judged, ...] = ()
    given: tuple[Claim, Shape] | None = None


def check(view: View, policy: FallbackCompatibility) -> Iterator[Finding]:
    """What cannot be read, what is not declared, what cannot be known, and notes on what is judged later."""
    for finding in _findings(view, policy, list(_cases(view, policy))):
        yield replace(finding, severity=softened(view, policy.existing, finding.severity))


def _findings(view: View, policy: FallbackCompatibility, cases: list[Case]) -> Iterator[Finding]:
    yield from _written_here(view, policy)
    yield from _deferred(view)
    undeclared = _undeclared(view, policy, cases)
    yield from undeclared
    yield from _misplaced(view, undeclared)
    yield from _unreadable(view, policy, cases)
    steps = Steps()
    for case in cases:
        yield from _uncertain(view, policy, case, steps)
        yield from _not_uniform(view, policy, case)


def _cases(view: View, policy: FallbackCompatibility) -> Iterator[Case]:
    for judged in judged_claims(view):
        for request in judged.spec.requests:
            declared = judged.declared(view, request)
            if judged.allocated is None:
                yield Case(judged, request, declared, tuple(_judged(view, policy, judged, request)))
            else:
                yield Case(judged, request, declared, given=_given(view, judged, judged.allocated, request))


def _given(view: View, judged: JudgedClaim, claim: Claim, request: Request) -> tuple[Claim, Shape] | None:
    """What a list was given, unless it is what its author had asked for plainly."""
    if not request.prioritized or allocated_alternative(claim, request.name) == _authored(view, judged, request):
        return None
    shape = allocated_shape(view.fleet, view.policies, claim, request.name)
    return (claim, shape) if shape is not None else None


def _authored(view: View, judged: JudgedClaim, request: Request) -> str | None:
    injected = judged.injected(view, request)
    return injected.author if injected is not None else None


def _judged(view: View, policy: FallbackCompatibility, judged: JudgedClaim, request: Request) -> Iterator[_Judged]:
    """The alternatives of a list; of plain asks, with `requests: all`, those that several models satisfy."""
    authored = _authored(view, judged, request)
    for alternative in request.alternatives:
        possible = judged.possible(view, request, alternative)
        plain = request.form in ("exactly", "flat") or alternative.name == authored
        if not plain or (policy.requests == "all" and _several_models(possible)):
            yield alternative, possible, plain


def _several_models(possible: AlternativeShapes) -> bool:
    return len({model for shape in possible.shapes for model in shape.models}) > 1


def _undeclared(view: View, policy: FallbackCompatibility, cases: list[Case]) -> list[Finding]:
    """One finding per alternative with shapes that are not declared, all with the same remedy."""
    verdicts = [verdict for case in cases if not case.declared.statement.faults for verdict in _verdicts(view, case)]
    found = [verdict for verdict in verdicts if verdict.uncovered]
    if not found:
        return []
    first, advice, level = headline(view), remedy(view, verdicts), own_level(view)
    return [
        Finding(
            rule=RULE.id,
            reason=UNDECLARED,
            severity=_severity(view, policy, verdict.declared),
            headline=first,
            path=verdict.judged.path(verdict.pointer),
            via=verdict.judged.via,
            place=field_path(verdict.pointer),
            detail=undeclared_words(verdict.who, verdict.uncovered, verdict.declared, level, verdict.untried),
            remedy=advice,
        )
        for verdict in found
    ]


def _verdicts(view: View, case: Case) -> Iterator[Verdict]:
    judged, request, declared = case.judged, case.request, case.declared
    if case.given is not None:
        claim, shape = case.given
        wrong = allocated_uncovered(view.fleet, view.policies, claim, request.name, shape, declared)
        yield Verdict(judged, request, None, declared, (shape,), (shape,) if wrong else ())
    if _unknown_owner(view) and not declared.present:
        return
    for alternative, possible, plain in case.alternatives:
        missing = judged.uncovered(view, request, alternative, declared)
        yield Verdict(judged, request, alternative, declared, possible.shapes, missing.shapes, plain, missing.untried)


def _severity(view: View, policy: FallbackCompatibility, declared: Declared) -> Severity:
    """deny, unless the author still has a place to declare: a workload sees it early, a template or claim before its pod."""
    if isinstance(view.subject, Workload):
        return policy.workloads
    waits = isinstance(view.subject, Claim | ClaimTemplate) and not view.generated
    return "warn" if waits and not declared.present and policy.undeclared == "defer" else "deny"


def _uncertain(view: View, policy: FallbackCompatibility, case: Case, steps: Steps) -> Iterator[Finding]:
    """What cannot be known: an alternative's shapes, or what the unknown owner of a generated claim declares."""
    owner = _unknown_owner(view)
    if owner and not case.declared.present and case.alternatives:
        detail = f"pod {owner}, whose claim this is, is not known, and nobody else has declared anything"
        advice = f"declare the shapes on the template (spec.metadata.annotations[{SHAPES_ANNOTATION}]) or on the namespace"
        yield _doubt(view, policy, case, case.request.pointer, detail, advice)
    for alternative, possible, _ in case.alternatives:
        if possible.uncertain:
            name = f'"{alternative.name}": ' if alternative.name else ""
            yield _doubt(
                view, policy, case, alternative.pointer, f"{name}{possible.uncertain}", _way_out(view, alternative, steps)
            )


def _way_out(view: View, alternative: Alternative, steps: Steps) -> str:
    """What helps where no shape is known: what an error of the selectors comes from, if they raise one and match nothing."""
    inventory = view.fleet.inventory
    matches = inventory.match(alternative.device_class, texts_of(alternative))
    first = matches.first_error() if not matches.count else None
    if first is not None:
        return advice_on(first, inventory, steps)
    if matches.problems and matches.problems[0].hint:
        return matches.problems[0].hint
    return (
        "correct the class or the selectors if they are wrong; if such devices come later, give their model in the "
        "ShapeCatalog an example"
    )


def _doubt(view: View, policy: FallbackCompatibility, case: Case, pointer: str, detail: str, advice: str) -> Finding:
    severity = policy.on_uncertain
    if isinstance(view.subject, Workload):
        severity = min(severity, policy.workloads, key=SEVERITIES.index)
    return Finding(
        rule=RULE.id,
        reason=UNCERTAIN,
        severity=severity,
        headline=f"it is not known what {who(view)} may be given",
        path=case.judged.path(pointer),
        via=case.judged.via,
        place=field_path(pointer),
        detail=detail,
        remedy=advice,
    )


def _not_uniform(view: View, policy: FallbackCompatibility, case: Case) -> Iterator[Finding]:
    """A request with several possible shapes, although every pod is to get the same."""
    judged, request = case.judged, case.request
    if judged.pod is None or judged.pod.meta.annotations.get(UNIFORM_ANNOTATION) != "true" or judged.allocated is not None:
        return
    possible = [judged.possible(view, request, alternative) for alternative in request.alternatives]
    shapes = tuple(dict.fromkeys(shape for item in possible for shape in item.shapes))
    if len(shapes) > 1:
        yield Finding(
            rule=RULE.id,
            reason=NOT_UNIFORM,
            severity=policy.workloads if isinstance(view.subject, Workload) else "deny",
            headline=uniform_headline(view),
            path=judged.path(request.pointer),
            via=judged.via,
            place=field_path(request.pointer),
            detail=f'"{request.name}" has {len(shapes)} possible shapes: {listed(shapes)}',
            remedy=f'ask for one model in one count, or remove {UNIFORM_ANNOTATION}: "true" if the pods may differ',
        )


def _misplaced(view: View, undeclared: list[Finding]) -> Iterator[Finding]:
    """A declaration on a controller's own metadata, where it says nothing about its pods."""
    pod = view.pod
    severity: Severity = max((finding.severity for finding in undeclared), key=SEVERITIES.index, default="warn")
    if pod is None or not pod.claims or any(name in pod.meta.annotations for name in (SHAPES_ANNOTATION, WHEN_ANNOTATION)):
        return
    if isinstance(view.subject, Workload):
        kind, meta, where = view.subject.kind, view.meta, "/metadata/annotations"
    elif undeclared and pod.meta.controller is not None and view.controller_meta is not None:
        kind, meta, where = pod.meta.controller.kind, view.controller_meta, ""
    else:
        return
    for name in (SHAPES_ANNOTATION, WHEN_ANNOTATION):
        if name in meta.annotations:
            yield Finding(
                rule=RULE.id,
                reason=MISPLACED,
                severity=severity,
                headline=headline(view),
                path=field_path(join(where, name)) if where else "",
                detail=f"{name} on {kind} {meta.display_name} itself does not count: it is one level too high",
                remedy=f"move {name} to the pod template's annotations",
            )


def _deferred(view: View) -> Iterator[Finding]:
    """Notes on claims of the pod that are not there yet; the generated claim is judged when it comes."""
    for source in view.pod_claims:
        if source.spec is None:
            yield Finding(
                rule=RULE.id,
                reason=DEFERRED,
                severity="note",
                path=field_path(source.entry.pointer),
                via=(source.via,),
                detail=f"verdict deferred: {_NOT_THERE[source.ref.kind if source.ref else '']}",
            )


def _unreadable(view: View, policy: FallbackCompatibility, cases: list[Case]) -> Iterator[Finding]:
    """Declarations in force that cannot be read, where they are not the reviewed object's own; each once."""
    found: dict[tuple[str, str], Finding] = {}
    for case in cases:
        declared = case.declared
        if not case.alternatives or (declared.level == own_level(view) and not view.generated):
            continue
        for fault in declared.statement.faults:
            finding = Finding(
                rule=RULE.id,
                reason=INVALID,
                severity=_severity(view, policy, declared),
                headline=f"a declaration that is in force for {who(view)} cannot be read",
                path=case.judged.path(case.request.pointer),
                place=f"{fault.annotation} of {declared.origin}",
                detail=f"cannot be read: {fault.message}",
                remedy=fault.pointed,
            )
            found.setdefault((fault.annotation, declared.origin), finding)
    yield from found.values()


def _written_here(view: View, policy: FallbackCompatibility) -> Iterator[Finding]:
    """What is wrong with the declarations that the object under review itself carries."""
    severity = policy.workloads if isinstance(view.subject, Workload) else "deny"
    catalog = catalog_for(view.policies)
    for written, pointer in _annotations(view):
        for fault in faults_of(written):
            yield Finding(
                rule=RULE.id,
                reason=INVALID,
                severity=severity,
                headline=f"{who(view)} carries a declaration that cannot be read",
                path=field_path(join(pointer, fault.annotation)),
                detail=f"cannot be read: {fault.message}",
                remedy=fault.pointed,
            )
        for name in unknown_models(written, catalog):
            yield _unknown(view, name, catalog, field_path(join(pointer, SHAPES_ANNOTATION)))


def _unknown(view: View, name: str, catalog: Catalog, path: str) -> Finding:
    near = catalog.suggest(name)
    return Finding(
        rule=RULE.id,
        reason=UNKNOWN_MODEL,
        severity="warn",
        headline=f"{who(view)} declares a model that is not known",
        path=path,
        detail=f'no catalog knows a model "{name}"' + (f"; nearest: {', '.join(near)}" if near else ""),
        remedy="correct the name, or have the model added to a ShapeCatalog",
    )


def _annotations(view: View) -> Iterator[tuple[Mapping[str, str], str]]:
    """The annotations that declare something in the object under review. A generated claim has copies only."""
    if view.pod is not None:
        yield view.pod.meta.annotations, join(view.pod.pointer, "metadata", "annotations")
    elif not view.generated:
        yield view.meta.annotations, "/metadata/annotations"
    if isinstance(view.subject, ClaimTemplate):
        yield view.subject.claim_annotations, "/spec/metadata/annotations"


def _unknown_owner(view: View) -> str:
    """The pod that a claim was generated for, if it is not known: it may declare more than those that are; otherwise ""."""
    owner = view.meta.controller if view.generated else None
    return owner.name if owner is not None and owner.kind == "Pod" and view.owner_pod is None else ""


RULE = Rule(
    id="fallback-compatibility",
    policy_kind="FallbackCompatibility",
    subjects=frozenset({"ResourceClaim", "ResourceClaimTemplate", "Pod", "Workload", "Namespace"}),
    alike_for_pods=True,
    reasons=(
        Reason(id=UNDECLARED, severity="deny", summary="a shape that may be given is not declared"),
        Reason(id=UNCERTAIN, severity="warn", summary="what an alternative may be given is not known"),
        Reason(id=INVALID, severity="deny", summary="a declaration cannot be read"),
        Reason(id=UNKNOWN_MODEL, severity="warn", summary="a declaration names a model that no catalog knows"),
        Reason(id=MISPLACED, severity="warn", summary="a declaration on a controller instead of its pod template"),
        Reason(id=NOT_UNIFORM, severity="deny", summary="a uniform pod's request has several possible shapes"),
        Reason(id=DEFERRED, severity="note", summary="a claim or template is not there yet; it is judged when it is"),
    ),
    check=check,
)
