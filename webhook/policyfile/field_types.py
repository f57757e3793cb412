"""Field types: how one value of a policy file is read, and how it looks in the JSON Schema and in the reference.

A type reads a Spot and returns the value, or notes what is wrong and raises Reported. Lists and mappings read all of their
members before they give up, so that one mistake does not hide the next.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, Protocol, TypeVar

from webhook.policyfile.spot import Reported, Spot, describe, meant_hint, shortened
from webhook.policyfile.yaml_nodes import Mapping, Scalar, Sequence, plain

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
S = TypeVar("S", bound=str)
Json = dict[str, Any]
_INT64_MAX = 2**63 - 1


class FieldType(Protocol[T_co]):
    """How a value is read. `phrase` names the type in a sentence; `parts` are the types it is made of."""

    @property
    def phrase(self) -> str: ...

    @property
    def parts(self) -> tuple[FieldType[Any], ...]: ...

    def read(self, spot: Spot) -> T_co:
        """The value. Raises Reported after noting what is wrong."""
        ...

    def schema(self) -> Json:
        """The type as JSON Schema (draft 7)."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """Text of a certain form: all of it must match `pattern` (a regular expression valid in Python and JSON Schema).

    A type with a pattern has a `max_length` too: the expressions are not made for texts without end.
    """

    phrase: str = "text"
    pattern: str = ""
    max_length: int = 0
    explain: str = ""
    note: Callable[[Spot, str], None] | None = None
    parts: tuple[FieldType[Any], ...] = ()

    def read(self, spot: Spot) -> str:
        """The text, checked."""
        value = text_at(spot, self.phrase)
        if self.max_length and len(value) > self.max_length:
            raise spot.fault(f"{spot.shown} has {len(value):,} characters; {self.max_length:,} are the limit", self.explain)
        if self.pattern and not re.fullmatch(self.pattern, value):
            wrong = f': "{shortened(value)}" is no {self.phrase}' if value.strip() else " is empty"
            raise spot.fault(f"{spot.shown}{wrong}", self.explain)
        if self.note is not None:
            self.note(spot, value)
        return value

    def schema(self) -> Json:
        """A string with its pattern and length."""
        found: Json = {"type": "string"}
        if self.pattern:
            found["pattern"] = f"^(?:{self.pattern})$"
        if self.max_length:
            found["maxLength"] = self.max_length
        return found


def text_at(spot: Spot, phrase: str) -> str:
    """The text of a scalar that YAML reads as text. Raises Reported for everything else."""
    node = spot.node
    if isinstance(node, Scalar) and isinstance(node.value, str):
        return node.value
    quotable = isinstance(node, Scalar) and node.value is not None
    raise spot.fault(
        f"{spot.shown} must be {with_article(phrase)}, it is {describe(node)}",
        f'put it in quotes: "{node.text}"' if isinstance(node, Scalar) and quotable else "",
    )


def with_article(phrase: str) -> str:
    """`a glob`, `text`, `an extended resource glob`."""
    if phrase.startswith(("text", "one of", "true", '"')):
        return phrase
    return f"an {phrase}" if phrase[0] in "aeio" else f"a {phrase}"


# No slots: Python 3.11 cannot make `OneOf[Literal[...]](...)` of a frozen class that has them.
@dataclass(frozen=True)
class OneOf(Generic[S]):
    """One of a few words."""

    words: tuple[S, ...]
    hints: tuple[tuple[str, str], ...] = ()
    parts: tuple[FieldType[Any], ...] = ()

    @property
    def phrase(self) -> str:
        """`one of a, b, c`"""
        return f"one of {', '.join(self.words)}" if len(self.words) > 1 else f'"{self.words[0]}"'

    def read(self, spot: Spot) -> S:
        """The word."""
        node = spot.node
        written = node.text if isinstance(node, Scalar) and isinstance(node.value, str) else None
        for word in self.words:
            if word == written:
                return word
        if written is None:
            raise spot.fault(f"{spot.shown} must be {self.phrase}, it is {describe(node)}")
        hint = dict(self.hints).get(written) or meant_hint(written, self.words)
        raise spot.fault(f'{spot.shown}: "{shortened(written)}" is none of {", ".join(self.words)}', hint)

    def schema(self) -> Json:
        """An enum."""
        return {"enum": list(self.words)}


@dataclass(frozen=True, slots=True)
class Flag:
    """true or false."""

    parts: tuple[FieldType[Any], ...] = ()

    @property
    def phrase(self) -> str:
        """`true or false`"""
        return "true or false"

    def read(self, spot: Spot) -> bool:
        """The boolean."""
        node = spot.node
        if isinstance(node, Scalar) and isinstance(node.value, bool):
            return node.value
        hint = ""
        if isinstance(node, Scalar) and node.text.lower() in ("yes", "no", "on", "off", "true", "false"):
            hint = f"write {'true' if node.text.lower() in ('yes', 'on', 'true') else 'false'}, without quotes"
        raise spot.fault(f"{spot.shown} must be true or false, it is {describe(node)}", hint)

    def schema(self) -> Json:
        """A boolean."""
        return {"type": "boolean"}


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeNumber:
    """A whole number within limits."""

    minimum: int
    maximum: int
    parts: tuple[FieldType[Any], ...] = ()

    @property
    def phrase(self) -> str:
        """`whole number from 1 to 32`"""
        if self.maximum >= _INT64_MAX:
            return "whole number"
        return f"whole number from {self.minimum} to {self.maximum}"

    def read(self, spot: Spot) -> int:
        """The number."""
        node = spot.node
        if not isinstance(node, Scalar) or not isinstance(node.value, int) or isinstance(node.value, bool):
            quoted = isinstance(node, Scalar) and isinstance(node.value, str) and node.text.isdigit()
            raise spot.fault(
                f"{spot.shown} must be a {self.phrase}, it is {describe(node)}", "remove the quotes" if quoted else ""
            )
        if not self.minimum <= node.value <= self.maximum:
            raise spot.fault(f"{spot.shown} must be a {self.phrase}, it is {node.value}")
        return node.value

    def schema(self) -> Json:
        """An integer."""
        return {"type": "integer", "minimum": self.minimum, "maximum": self.maximum}


@dataclass(frozen=True, slots=True)
class Factor:
    """A number above 0: `2`, `0.5`, or a fraction as text, `1/3`."""

    parts: tuple[FieldType[Any], ...] = ()
    pattern = r"[1-9][0-9]{0,3}(/[1-9][0-9]{0,3})?|[0-9]{1,4}\.[0-9]{1,4}"

    @property
    def phrase(self) -> str:
        """`factor above 0`"""
        return "factor above 0"

    def read(self, spot: Spot) -> Fraction:
        """The factor, exactly as written (0.1 is one tenth)."""
        node = spot.node
        if isinstance(node, Scalar) and re.fullmatch(self.pattern, node.text) and Fraction(node.text) > 0:
            return Fraction(node.text)
        raise spot.fault(f"{spot.shown} must be a {self.phrase}, it is {describe(node)}", 'write it as 2, 0.5 or "1/3"')

    def schema(self) -> Json:
        """A number, or a fraction as text."""
        return {"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"type": "string", "pattern": f"^(?:{self.pattern})$"}]}


@dataclass(frozen=True, slots=True)
class ListOf(Generic[T]):
    """A list. Scalars in it may not repeat when `unique` is set."""

    item: FieldType[T]
    minimum: int = 0
    maximum: int = 0
    unique: bool = False
    too_many: str = ""

    @property
    def phrase(self) -> str:
        """`list of globs`"""
        return f"list of {plural(self.item.phrase)}"

    @property
    def parts(self) -> tuple[FieldType[Any], ...]:
        """The item."""
        return (self.item,)

    def read(self, spot: Spot) -> tuple[T, ...]:
        """All items. Raises Reported when one of them could not be read."""
        node = spot.node
        if not isinstance(node, Sequence):
            lone = isinstance(node, Scalar) and node.value is not None and isinstance(self.item, Text | OneOf)
            hint = f"write [{node.text}]" if isinstance(node, Scalar) and lone and "\n" not in node.text else ""
            raise spot.fault(f"{spot.shown} must be a {self.phrase}, it is {describe(node)}", hint)
        self._check_length(spot, len(node.items))
        if self.unique:
            _check_unique(spot, node)
        read: list[T] = []
        for index, item in enumerate(node.items):
            try:
                read.append(self.item.read(spot.below(item, f"[{index}]")))
            except Reported:
                continue
        if len(read) < len(node.items):
            raise Reported
        return tuple(read)

    def _check_length(self, spot: Spot, length: int) -> None:
        if length < self.minimum:
            spot.error(f"{spot.shown} needs at least {counted(self.minimum, 'entry')}, it has {length or 'none'}")
        if self.maximum and length > self.maximum:
            spot.error(f"{spot.shown} has {length} entries; {self.maximum} are the limit", self.too_many)

    def schema(self) -> Json:
        """An array."""
        found: Json = {"type": "array", "items": self.item.schema()}
        if self.minimum:
            found["minItems"] = self.minimum
        if self.maximum:
            found["maxItems"] = self.maximum
        if self.unique:
            found["uniqueItems"] = True
        return found


def _check_unique(spot: Spot, node: Sequence) -> None:
    seen: dict[str, Scalar] = {}
    for item in node.items:
        if not isinstance(item, Scalar):
            continue
        if item.text in seen:
            spot.error(f'{spot.shown} holds "{shortened(item.text)}" twice', "keep one of them", place=item.place)
        seen.setdefault(item.text, item)


@dataclass(frozen=True, slots=True)
class OneOrMore(Generic[T]):
    """A single value, or a list of them."""

    item: FieldType[T]

    @property
    def phrase(self) -> str:
        """`label value, or list of label values`"""
        return f"{self.item.phrase}, or list of {plural(self.item.phrase)}"

    @property
    def parts(self) -> tuple[FieldType[Any], ...]:
        """The item."""
        return (self.item,)

    def read(self, spot: Spot) -> tuple[T, ...]:
        """The values."""
        if isinstance(spot.node, Sequence):
            return ListOf(self.item, minimum=1, unique=True).read(spot)
        return (self.item.read(spot),)

    def schema(self) -> Json:
        """Either."""
        return {"anyOf": [self.item.schema(), ListOf(self.item, minimum=1, unique=True).schema()]}


@dataclass(frozen=True, slots=True)
class MapOf(Generic[T]):
    """A mapping from keys of one form to values of one type."""

    key: FieldType[str]
    value: FieldType[T]

    @property
    def phrase(self) -> str:
        """`mapping from label keys to label values`"""
        return f"mapping from {plural(self.key.phrase)} to {plural(self.value.phrase)}"

    @property
    def parts(self) -> tuple[FieldType[Any], ...]:
        """Key and value."""
        return (self.key, self.value)

    def read(self, spot: Spot) -> dict[str, T]:
        """All entries. Raises Reported when one of them could not be read."""
        node = spot.node
        if not isinstance(node, Mapping):
            raise spot.fault(f"{spot.shown} must be a {self.phrase}, it is {describe(node)}")
        read: dict[str, T] = {}
        for key, value in node.entries:
            try:
                name = self.key.read(spot.below(key, ""))
                read[name] = self.value.read(spot.below(value, f"[{key.text}]"))
            except Reported:
                continue
        if len(read) < len(node.entries):
            raise Reported
        return read

    def schema(self) -> Json:
        """An object with any properties."""
        found: Json = {"type": "object", "additionalProperties": self.value.schema()}
        names = self.key.schema()
        if names != {"type": "string"}:
            found["propertyNames"] = names
        return found


@dataclass(frozen=True, slots=True)
class AnyMapping:
    """A mapping that is handed on as it is."""

    parts: tuple[FieldType[Any], ...] = ()

    @property
    def phrase(self) -> str:
        """`mapping`"""
        return "mapping"

    def read(self, spot: Spot) -> Json:
        """JSON-like data."""
        if not isinstance(spot.node, Mapping):
            raise spot.fault(f"{spot.shown} must be a mapping, it is {describe(spot.node)}")
        data: Json = plain(spot.node)
        return data

    def schema(self) -> Json:
        """An object."""
        return {"type": "object"}


def plural(phrase: str) -> str:
    """`globs`, `entries`, `ids or reasons`; sentences stay as they are."""
    if phrase.startswith(("one of", "true", "text", '"')) or phrase.endswith(("text", "s")):
        return phrase
    if phrase.startswith("whole number"):
        return phrase.replace("number", "numbers", 1)
    if " or " in phrase:
        return " or ".join(map(plural, phrase.split(" or ")))
    return phrase[:-1] + "ies" if phrase.endswith("y") and phrase[-2] not in "aeou" else phrase + "s"


def counted(number: int, noun: str) -> str:
    """`1 entry`, `2 entries`."""
    return f"{number} {noun if number == 1 else plural(noun)}"
