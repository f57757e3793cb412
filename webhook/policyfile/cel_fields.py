"""CEL in policy files: compiled when it is read, with problems shown at their place inside the YAML text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from webhook.cel import CompileProblem, Expression, Selector, VariableType, compile_expression, compile_selector
from webhook.cel.cost.sizes import Declared
from webhook.policyfile.field_types import FieldType, Json
from webhook.policyfile.scalar_places import place_in
from webhook.policyfile.spot import Reported, Spot, describe
from webhook.policyfile.yaml_nodes import Scalar

#: k8s.io/api resource/v1 CELSelectorExpressionMaxLength.
MAX_LENGTH = 10 * 1024
#: Part of a compiler's message -> what helps; the first that fits counts, "" where nothing else helps.
Hints: TypeAlias = tuple[tuple[str, str], ...]
_SCHEMA: Json = {"type": ["string", "boolean"]}


@dataclass(frozen=True, slots=True)
class CelSelector:
    """A CEL expression over `device`, as in a DeviceClass.

    One that costs more than the API server allows still tells devices apart here; only `stored` ones have to be within it.
    """

    parts: tuple[FieldType[Any], ...] = ()
    stored: bool = False

    @property
    def phrase(self) -> str:
        """`CEL selector`"""
        return "CEL selector"

    def read(self, spot: Spot) -> Selector:
        """The compiled selector."""
        compiled = compile_selector(cel_text(spot))
        if not isinstance(compiled, Selector):
            raise reported(spot, compiled)
        if compiled.refusal is not None and self.stored:
            raise reported(spot, (compiled.refusal,))
        if compiled.refusal is not None:
            spot.warn(f"{spot.shown}: {compiled.refusal.message}: no claim can have it", compiled.refusal.hint)
        return compiled

    def schema(self) -> Json:
        """Text."""
        return dict(_SCHEMA)


@dataclass(frozen=True, slots=True)
class CelSelectorText:
    """A CEL expression over `device` that is kept as text: it goes into claims."""

    parts: tuple[FieldType[Any], ...] = ()

    @property
    def phrase(self) -> str:
        """`CEL selector`"""
        return "CEL selector"

    def read(self, spot: Spot) -> str:
        """The text, known to compile."""
        return CelSelector(stored=True).read(spot).text

    def schema(self) -> Json:
        """Text."""
        return dict(_SCHEMA)


@dataclass(frozen=True, slots=True)
class CelText:
    """A CEL expression whose variables depend on other keys: see `compiled`."""

    parts: tuple[FieldType[Any], ...] = ()

    @property
    def phrase(self) -> str:
        """`CEL expression`"""
        return "CEL expression"

    def read(self, spot: Spot) -> str:
        """The text, not yet compiled."""
        return cel_text(spot)

    def schema(self) -> Json:
        """Text."""
        return dict(_SCHEMA)


def cel_text(spot: Spot) -> str:
    """The expression's text. `true` needs no quotes: it is CEL too."""
    node = spot.node
    if not isinstance(node, Scalar) or not isinstance(node.value, str | bool):
        raise spot.fault(f"{spot.shown} must be a CEL expression, it is {describe(node)}")
    if len(node.text.encode()) > MAX_LENGTH:
        raise spot.fault(
            f"{spot.shown} has {len(node.text.encode()):,} bytes; {MAX_LENGTH:,} are the limit of the Kubernetes API"
        )
    return node.text


def compiled(
    spot: Spot,
    text: str,
    known: tuple[Mapping[str, VariableType], Mapping[str, Declared]],
    result: Literal["bool", "string"],
    hints: Hints = (),
) -> Expression:
    """`text`, found at `spot`, compiled; `known` are its variables and their sizes.

    Raises Reported after noting every problem.
    """
    variables, sizes = known
    if result == "string":  # a message is made once, when there is something to say
        sizes = {}
    expression = compile_expression(text, variables=variables, result=result, sizes=sizes)
    if isinstance(expression, Expression):
        return expression
    raise reported(spot, expression, hints)


def reported(spot: Spot, problems: tuple[CompileProblem, ...], hints: Hints = ()) -> Reported:
    """Note the problems of an expression, each at its place. What is returned is to be raised."""
    for problem in problems:
        place = place_in(spot.node, problem.line, problem.column) if isinstance(spot.node, Scalar) else spot.place
        hint = next((hint for part, hint in hints if part and part in problem.message), problem.hint)
        hint = hint or next((hint for part, hint in hints if not part), "")
        spot.error(f"{spot.shown}: {problem.message}", hint, place=place)
    return Reported()
