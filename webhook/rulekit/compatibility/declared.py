"""Which declaration is in force for one request: the nearest of pod, claim or template, and namespace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, TypeAlias

from webhook.cel import CompileProblem, Expression, compile_expression, excerpt
from webhook.model.claim import Claim, ClaimTemplate
from webhook.model.pod import Pod
from webhook.rulekit.compatibility.declarations import Declaration, DeclarationProblem, Entry, parse_declaration
from webhook.rulekit.shapes.catalog import Catalog
from webhook.rulekit.shapes.shape import Shape
from webhook.rulekit.shapes.shape_cel import SIZES, VARIABLES
from webhook.rulekit.view import View

SHAPES_ANNOTATION: Final = "fallgate.dev/compatible-shapes"
WHEN_ANNOTATION: Final = "fallgate.dev/compatible-when"
UNIFORM_ANNOTATION: Final = "fallgate.dev/uniform"

#: Where a declaration was found.
Level: TypeAlias = Literal["", "pod", "claim", "namespace"]


@dataclass(frozen=True, slots=True)
class Fault:
    """Why an annotation cannot be read. `pointed` is the line with a caret under the mistake."""

    annotation: str
    message: str
    pointed: str


@dataclass(frozen=True, slots=True, eq=False)
class Statement:
    """What one object's annotations say about one request: entries, and CEL over `shape`; either suffices.

    Compared by identity: the same annotations give the same statement, so that it can be part of a memo's key.
    """

    entries: tuple[Entry, ...] = ()
    when: Expression | None = None
    faults: tuple[Fault, ...] = ()

    @property
    def text(self) -> str:
        """What it says, for messages: `h100-80gb, 2x a100-40gb`, `when shape.count <= 2`."""
        listed = [", ".join(entry.text for entry in self.entries)] if self.entries else []
        return " or ".join([*listed, f"when {self.when.text}"] if self.when is not None else listed)

    def lists(self, shape: Shape, catalog: Catalog) -> bool:
        """Whether an entry covers the shape. What `when` says needs devices: see `compatibility.uncovered`."""
        return any(entry.covers(shape, catalog) for entry in self.entries)


NOTHING: Final = Statement()


@dataclass(frozen=True, slots=True)
class Declared:
    """The declaration in force for a request. `level` and `origin` ("Namespace team-a") say where it was found."""

    statement: Statement = NOTHING
    level: Level = ""
    origin: str = ""

    @property
    def present(self) -> bool:
        """Whether anybody has declared anything about this request."""
        return self.level != ""

    @property
    def text(self) -> str:
        """What is declared, for messages."""
        return self.statement.text


UNDECLARED: Final = Declared()


def declared_for(view: View, *, pod: Pod | None, pod_claim: str, source: Claim | ClaimTemplate, request: str) -> Declared:
    """The nearest declaration that says anything about `request` of what the pod calls `pod_claim`.

    `pod` is None, and `pod_claim` "", where no pod is known: then entries that are meant for one pod claim do not count.
    A declaration whose entries all speak of others is not the nearest. One that cannot be read is: nobody knows of whom it
    speaks; its statement has `faults` and covers nothing.
    """
    if pod is not None:
        statement = statement_of(pod.meta.annotations, pod_claim, request)
        if statement is not None:
            return Declared(statement, "pod", f"Pod {pod.meta.display_name}")
    statement = statement_of(_own_annotations(view, pod, pod_claim, source), pod_claim, request)
    if statement is not None:
        kind = "ResourceClaimTemplate" if isinstance(source, ClaimTemplate) else "ResourceClaim"
        return Declared(statement, "claim", f"{kind} {source.meta.display_name}")
    statement = statement_of(view.namespace.meta.annotations, pod_claim, request)
    if statement is not None:
        return Declared(statement, "namespace", f"Namespace {view.namespace_name}")
    return UNDECLARED


def statement_of(annotations: Mapping[str, str], pod_claim: str, request: str) -> Statement | None:
    """What annotations say about a request; None when they say nothing about it."""
    return _statement(annotations.get(SHAPES_ANNOTATION), annotations.get(WHEN_ANNOTATION), pod_claim, request)


def faults_of(annotations: Mapping[str, str]) -> tuple[Fault, ...]:
    """What is wrong with the declarations in annotations, whatever they speak of."""
    return tuple(_faults(annotations.get(SHAPES_ANNOTATION), annotations.get(WHEN_ANNOTATION)))


def unknown_models(annotations: Mapping[str, str], catalog: Catalog) -> tuple[str, ...]:
    """The names and globs in a declaration that can mean no model of the catalog."""
    parsed = _parsed(annotations.get(SHAPES_ANNOTATION))
    return tuple(p for p in parsed.patterns if not catalog.knows(p)) if isinstance(parsed, Declaration) else ()


@lru_cache(maxsize=1024)
def _statement(shapes: str | None, when: str | None, pod_claim: str, request: str) -> Statement | None:
    faults = tuple(_faults(shapes, when))
    if faults:
        return Statement(faults=faults)
    parsed, compiled = _parsed(shapes), _compiled(when)
    assert not isinstance(parsed, DeclarationProblem)
    assert not isinstance(compiled, tuple)
    entries = parsed.about(pod_claim, request) if parsed is not None else ()
    return Statement(entries, compiled) if entries or compiled is not None else None


def _faults(shapes: str | None, when: str | None) -> Iterator[Fault]:
    parsed, compiled = _parsed(shapes), _compiled(when)
    if isinstance(parsed, DeclarationProblem):
        yield Fault(SHAPES_ANNOTATION, parsed.message, parsed.pointed)
    if isinstance(compiled, tuple):
        first = compiled[0]
        yield Fault(WHEN_ANNOTATION, first.message, excerpt(first, str(when), first.hint or first.message) or first.hint)


def _parsed(text: str | None) -> Declaration | DeclarationProblem | None:
    return None if text is None else parse_declaration(text)


def _compiled(text: str | None) -> Expression | tuple[CompileProblem, ...] | None:
    return None if text is None else compile_expression(text, variables=VARIABLES, result="bool", sizes=SIZES)


def _own_annotations(view: View, pod: Pod | None, pod_claim: str, source: Claim | ClaimTemplate) -> Mapping[str, str]:
    """The claim's or template's annotations; spec.metadata of a template wins over its own metadata.

    A generated claim carries spec.metadata only: what its template says itself is looked up through the pod.
    """
    if isinstance(source, ClaimTemplate):
        return {**source.meta.annotations, **source.claim_annotations}
    entry = next((entry for entry in pod.claims if entry.name == pod_claim), None) if pod is not None else None
    template = view.follow(pod, entry).template if pod is not None and entry is not None else None
    return {**template.meta.annotations, **source.meta.annotations} if template is not None else source.meta.annotations
