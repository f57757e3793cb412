"""What a claim, template or pod may be given: alternative by alternative, device by device. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias

from webhook.cel import Selector, Verdict
from webhook.cli.asking import Asked
from webhook.cli.hinting import MOST_STEPS, Hints
from webhook.fleet.fleet import Fleet
from webhook.fleet.inventory import Matches
from webhook.fleet.matching import DeviceError, compile_for
from webhook.fleet.nodes import NodeSet
from webhook.model.claim import ALL, Alternative, Claim, ClaimSpec, ClaimTemplate, Request
from webhook.model.device import Device
from webhook.model.pointer import field_path
from webhook.model.server_version import Server
from webhook.rulekit.compatibility.declared import Declared, declared_for
from webhook.rulekit.compatibility.undeclared import allocated_uncovered, uncovered
from webhook.rulekit.policies import PolicySet
from webhook.rulekit.selectors.missed import why_nothing_matches
from webhook.rulekit.selectors.own_domain import with_domain
from webhook.rulekit.selectors.steps import Steps
from webhook.rulekit.shapes.catalog import Catalog, catalog_for
from webhook.rulekit.shapes.certainty import error_is_certain
from webhook.rulekit.shapes.possible import AlternativeShapes, Shape, allocated_shape, alternative_shapes
from webhook.rulekit.subject import Subject, read_subject
from webhook.rulekit.view import POD_CLAIM_ANNOTATION, View

Outcome = Literal["match", "no match", "error"]
DeviceKey: TypeAlias = tuple[str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedDevice:
    """A known device and what the selectors say of it. `node` is "" when several nodes reach it.

    `selector` is the CEL text that said no or raised `error`, "" for a match; `hint` is what would help against the error.
    """

    device: Device
    model: str
    outcome: Outcome
    error: str = ""
    selector: str = ""
    hint: str = ""

    @property
    def node(self) -> str:
        """The one node it can be used from, or ""."""
        return self.device.reach.node_name


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedAlternative:
    """An alternative, what it may be given, and the devices of its drivers on the nodes that matter.

    `uncovered` are the possible shapes that are not declared; `untried` says what `compatible-when` was not asked. `certain`:
    it raises a CEL error, and no node gets past an error of the claim. `problem_hints` has what to write instead for each of
    the problems of `shapes`, "" where there is nothing to say; `hint` says what the devices of the class have where the
    selectors ask for something else, when no known one matches.
    """

    alternative: Alternative
    shapes: AlternativeShapes
    uncovered: tuple[Shape, ...]
    devices: tuple[AskedDevice, ...]
    untried: str = ""
    certain: bool = False
    problem_hints: tuple[str, ...] = ()
    hint: str = ""

    @property
    def uncertain(self) -> str:
        """Why nothing certain can be said, "" when something is: what may be given, or that nothing ever is."""
        return "" if self.certain or self.shapes.problems else self.shapes.uncertain

    @property
    def ask(self) -> str:
        """`2x gpu.nvidia.com`, `all gpu.nvidia.com`: what is asked for, without selectors."""
        count = "all" if self.alternative.allocation_mode == ALL else f"{self.alternative.count}x"
        return f"{count} {self.alternative.device_class}"

    @property
    def declared(self) -> bool | None:
        """Whether all possible shapes are declared; None when it is not known what they are."""
        return not self.uncovered if self.shapes.shapes else None

    @property
    def matched(self) -> int:
        """How many of the devices match."""
        return sum(device.outcome == "match" for device in self.devices)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedRequest:
    """A request of a claim or template. `via` says how a pod leads there; `allocated` is what it was given already, then
    `allocated_declared` says whether that is declared."""

    request: Request
    pod_claim: str
    via: str
    declared: Declared
    alternatives: tuple[ExplainedAlternative, ...]
    allocated: Shape | None = None
    allocated_declared: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """An object's requests. `unresolved`: the pod's claims that could not be followed; `nodes`: how many nodes matter."""

    asked: Asked
    subject: Subject
    requests: tuple[ExplainedRequest, ...]
    unresolved: tuple[str, ...]
    nodes: int
    all_nodes: int
    catalog: Catalog


def explain(asked: Asked, fleet: Fleet, policies: PolicySet, now: datetime) -> Explanation | None:
    """What there is to say about a claim, template, pod or workload; None for every other kind."""
    review = asked.review
    subject = read_subject(review.group, review.kind, review.object, policies.workload_kinds)
    if subject is None:
        return None
    view = View(review=review, subject=subject, fleet=fleet, policies=policies, now=now)
    if view.pod is None and view.claim_spec is None:
        return None
    requests = tuple(_requests(view))
    return Explanation(
        asked=asked,
        subject=subject,
        requests=requests,
        unresolved=tuple(_unresolved(view)),
        nodes=view.feasible.bit_count(),
        all_nodes=fleet.nodes.all.bit_count(),
        catalog=catalog_for(policies),
    )


def _requests(view: View) -> Iterator[ExplainedRequest]:
    subject = view.subject
    if isinstance(subject, Claim | ClaimTemplate):
        pod_claim = subject.meta.annotations.get(POD_CLAIM_ANNOTATION, "") if view.owner_pod is not None else ""
        yield from _requests_of(view, subject, pod_claim, "")
    for found in view.pod_claims:
        source = found.template or found.claim
        if source is not None:
            yield from _requests_of(view, source, found.entry.name, found.via)


def _requests_of(view: View, source: Claim | ClaimTemplate, pod_claim: str, via: str) -> Iterator[ExplainedRequest]:
    fleet, policies, pod = view.fleet, view.policies, view.pod or view.owner_pod
    for request in source.spec.requests:
        declared = declared_for(view, pod=pod, pod_claim=pod_claim, source=source, request=request.name)
        given = allocated_shape(fleet, policies, source, request.name) if isinstance(source, Claim) else None
        refused = (
            isinstance(source, Claim)
            and given is not None
            and allocated_uncovered(fleet, policies, source, request.name, given, declared)
        )
        yield ExplainedRequest(
            request=request,
            pod_claim=pod_claim,
            via=via,
            declared=declared,
            alternatives=tuple(
                _alternative(view, source.spec, request, alternative, declared) for alternative in request.alternatives
            ),
            allocated=given,
            allocated_declared=not refused,
        )


def _alternative(
    view: View, spec: ClaimSpec, request: Request, alternative: Alternative, declared: Declared
) -> ExplainedAlternative:
    fleet, policies, nodes = view.fleet, view.policies, view.feasible
    devices = tuple(_devices(fleet, policies, alternative, nodes))
    shapes = alternative_shapes(fleet, policies, spec, request, alternative, nodes)
    drivers = fleet.inventory.drivers_of_class(alternative.device_class)
    missing = uncovered(fleet, policies, spec, request, alternative, nodes, declared)
    return ExplainedAlternative(
        alternative=alternative,
        shapes=shapes,
        uncovered=missing.shapes,
        untried=missing.untried,
        devices=devices,
        certain=any(item.outcome == "error" for item in devices) and error_is_certain(fleet, spec, nodes),
        hint=_instead(fleet, alternative),
        problem_hints=tuple(with_domain(problem.hint, fleet.inventory, drivers) for problem in shapes.problems),
    )


def _instead(fleet: Fleet, alternative: Alternative) -> str:
    selectors = tuple(item.expression for item in alternative.selectors)
    matches = fleet.inventory.match(alternative.device_class, selectors)
    unclear = matches.class_missing or matches.problems or matches.too_costly
    if matches.count or matches.error or unclear or not selectors:
        return ""
    devices = fleet.inventory.match(alternative.device_class).match
    return why_nothing_matches(fleet.inventory, devices, selectors, Steps(MOST_STEPS))


def _devices(fleet: Fleet, policies: PolicySet, alternative: Alternative, nodes: NodeSet) -> Iterator[AskedDevice]:
    """Every known device of the class's drivers on `nodes`, in the allocator's order."""
    selectors = tuple(item.expression for item in alternative.selectors)
    matches = fleet.inventory.match(alternative.device_class, selectors)
    if matches.class_missing or matches.problems:
        return
    matched, errors = _outcomes(matches)
    texts = (*fleet.inventory.classes[alternative.device_class].selectors, *selectors)
    hints = Hints(fleet.inventory)
    drivers = fleet.inventory.drivers_of_class(alternative.device_class)
    erring = {(driver, pool) for driver, pool, _ in errors}
    catalog = catalog_for(policies)
    for pool in fleet.inventory.pools:
        if pool.driver not in drivers and pool.key not in erring:
            continue
        models = catalog.models_in(pool, fleet.inventory)
        for device in pool.devices:
            if not fleet.nodes.reached(device.reach) & nodes:
                continue
            model = models[device.name]
            if device.key in matched:
                yield AskedDevice(device=device, model=model, outcome="match")
            elif device.key in errors:
                error = errors[device.key]
                yield AskedDevice(
                    device=device,
                    model=model,
                    outcome="error",
                    error=error.message,
                    selector=error.expression,
                    hint=hints(error),
                )
            else:
                refusing = _refusing(device, texts, fleet.server)
                yield AskedDevice(device=device, model=model, outcome="no match", selector=refusing)


def _outcomes(matches: Matches) -> tuple[frozenset[DeviceKey], dict[DeviceKey, DeviceError]]:
    matched = frozenset(device.key for found in matches.pools for device in found.matched)
    return matched, {error.device.key: error for found in matches.pools for error in found.errors}


def _refusing(device: Device, selectors: Sequence[str], server: Server) -> str:
    """The first selector that does not match the device."""
    for text in selectors:
        compiled = compile_for(server, text)
        if isinstance(compiled, Selector) and compiled.against(device) is Verdict.NO_MATCH:
            return text
    return ""


def _unresolved(view: View) -> Iterator[str]:
    for found in view.pod_claims:
        if found.state == "missing":
            yield f"{found.via}: it is neither in the input nor in the fleet"
        elif found.state == "unknown":
            yield f"{found.via}: it names neither a claim nor a template that this release knows"


def explanation_document(explanation: Explanation) -> dict[str, Any]:
    """What `explain -o json` prints of one object. Machines depend on its keys: docs/cli.md."""
    asked = explanation.asked
    return {
        "source": asked.document.place,
        "apiVersion": asked.api_version,
        "kind": asked.review.kind,
        "namespace": asked.namespace,
        "name": asked.name,
        "requests": [_request_document(request) for request in explanation.requests],
        "unresolved": list(explanation.unresolved),
    }


def _request_document(explained: ExplainedRequest) -> dict[str, Any]:
    return {
        "name": explained.request.name,
        "podClaim": explained.pod_claim,
        "via": explained.via,
        "alternatives": [_alternative_document(alternative) for alternative in explained.alternatives],
        "declaration": {"text": explained.declared.text, "origin": explained.declared.origin},
        "allocated": str(explained.allocated) if explained.allocated is not None else "",
    }


def _alternative_document(explained: ExplainedAlternative) -> dict[str, Any]:
    shapes = explained.shapes
    return {
        "name": explained.alternative.name,
        "path": field_path(explained.alternative.pointer),
        "shapes": [str(shape) for shape in shapes.shapes],
        "matches": explained.matched,
        "devices": [_device_document(device) for device in explained.devices],
        "errors": error_texts(explained),
        "uncertain": explained.uncertain,
        "declared": explained.declared,
        "unreachable": [{"shape": str(shape), "why": why} for shape, why in shapes.unreachable],
        "certain": explained.certain,
        "hints": hint_texts(explained),
        "hint": explained.hint,
        "untried": explained.untried,
    }


def error_texts(explained: ExplainedAlternative) -> list[str]:
    """Selectors that do not compile, and CEL errors with the device that raises them."""
    compiling = [f"a selector does not compile: {problem.message}" for problem in explained.shapes.problems]
    raised = [f"{'/'.join(device.device.key)}: {device.error}" for device in explained.devices if device.outcome == "error"]
    return compiling + raised


def hint_texts(explained: ExplainedAlternative) -> list[str]:
    """For each of the `error_texts` what would help, "" where there is nothing to say."""
    return [*explained.problem_hints, *(device.hint for device in explained.devices if device.outcome == "error")]


def _device_document(asked: AskedDevice) -> dict[str, str]:
    return {
        "driver": asked.device.driver,
        "pool": asked.device.pool,
        "name": asked.device.name,
        "node": asked.node,
        "model": asked.model,
        "outcome": asked.outcome,
        "error": asked.error,
        "hint": asked.hint,
    }
