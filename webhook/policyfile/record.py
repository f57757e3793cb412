"""A mapping with known keys: one definition from which it is read, described in the JSON Schema and documented."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast

from webhook.policyfile.field_types import FieldType, Json
from webhook.policyfile.source import Place
from webhook.policyfile.spot import Origin, Reported, Spot, describe, nearest, shortened
from webhook.policyfile.yaml_nodes import Mapping as MappingNode
from webhook.policyfile.yaml_nodes import Scalar

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Key(Generic[T_co]):
    """One key of a record.

    `default` is the value when the key is absent, `shown` how the file would write it (None: nothing worth showing).
    """

    name: str
    type: FieldType[T_co]
    doc: str
    required: bool = False
    default: T_co
    shown: Any = None


def needed(name: str, value: FieldType[T], doc: str) -> Key[T]:
    """A key that must be there."""
    # A record is built only when all of its required keys were read: nobody sees this default.
    return Key(name=name, type=value, doc=doc, required=True, default=cast(T, None))


def optional(name: str, value: FieldType[T], doc: str, default: T, shown: Any = None) -> Key[T]:
    """A key that may be absent."""
    return Key(name=name, type=value, doc=doc, default=default, shown=shown)


def maybe(name: str, value: FieldType[T], doc: str) -> Key[T | None]:
    """A key that may be absent, and whose absence is told from every value."""
    return Key(name=name, type=value, doc=doc, default=None)


@dataclass(frozen=True, slots=True)
class Values:
    """What was read of a record. Keys that could not be read are `given`, but not `good`."""

    at: Spot
    read: Mapping[str, object]
    spots: Mapping[str, Spot]

    def __getitem__(self, key: Key[T]) -> T:
        return cast(T, self.read.get(key.name, key.default))

    def given(self, key: Key[Any]) -> bool:
        """Whether the file has the key."""
        return key.name in self.spots

    def good(self, *keys: Key[Any]) -> bool:
        """Whether all keys are given and could be read."""
        return all(key.name in self.read for key in keys)

    def spot(self, key: Key[Any]) -> Spot:
        """Where the key's value is; the record itself when the key is absent."""
        return self.spots.get(key.name, self.at)

    @property
    def origin(self) -> Origin:
        """The document."""
        return self.at.origin


def no_checks(values: Values) -> None:
    """The keys say it all."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Record(Generic[R]):
    """A mapping with known keys.

    `checks` looks at several keys together and is asked even when some could not be read (see Values.good); `build` makes
    the value and is asked only when nothing is wrong. `elsewhere` says what to write instead of keys that people try.
    `example` is one way to write it, for the reference.
    """

    name: str
    doc: str
    keys: tuple[Key[Any], ...]
    build: Callable[[Values], R]
    checks: Callable[[Values], None] = no_checks
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    schema_extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def phrase(self) -> str:
        """The record's name, for `list of models`."""
        return self.name

    @property
    def parts(self) -> tuple[FieldType[Any], ...]:
        """The types of its keys."""
        return tuple(key.type for key in self.keys)

    def read(self, spot: Spot) -> R:
        """The value. Raises Reported after noting everything that is wrong in the mapping."""
        node = spot.node
        if not isinstance(node, MappingNode):
            raise spot.fault(f"{spot.shown} must be a mapping ({self._key_list()}), it is {describe(node)}")
        before = _errors(spot)
        values = self._read_keys(node, spot)
        self.checks(values)
        if _errors(spot) > before:
            raise Reported
        return self.build(values)

    def _read_keys(self, node: MappingNode, spot: Spot) -> Values:
        by_name = {key.name: key for key in self.keys}
        read: dict[str, object] = {}
        spots: dict[str, Spot] = {}
        meant: set[str] = set()
        for written, below in node.entries:
            key = by_name.get(written.text)
            if key is None:
                meant.add(self._unknown(written, spot))
                continue
            spots[key.name] = spot.below(below, f".{key.name}")
            try:
                read[key.name] = key.type.read(spots[key.name])
            except Reported:
                continue
        for key in self.keys:
            if key.required and key.name not in spots and key.name not in meant:
                spot.error(f'{spot.shown} lacks "{key.name}"', _first_sentence(key.doc), place=_head(node))
        return Values(spot, read, spots)

    def _unknown(self, written: Scalar, spot: Spot) -> str:
        """Note an unknown key. Returns the key that was probably meant, or ""."""
        names = [key.name for key in self.keys]
        elsewhere = self.elsewhere.get(written.text, "")
        meant = elsewhere.removeprefix("write ").partition(":")[0] if elsewhere else nearest(written.text, names)
        hint = elsewhere or (f'did you mean "{meant}"?' if meant else f"known keys: {', '.join(names)}")
        spot.error(f'unknown key "{shortened(written.text)}" in {spot.shown}', hint, place=written.place)
        return meant

    def _key_list(self) -> str:
        return ", ".join(key.name for key in self.keys[:4]) + (", ..." if len(self.keys) > 4 else "")

    @property
    def schema_name(self) -> str:
        """`DeviceSelector`: the record's name in the JSON Schema."""
        return "".join(word[:1].upper() + word[1:] for word in self.name.split())

    def schema(self) -> Json:
        """A reference to the record's definition."""
        return {"$ref": f"#/definitions/{self.schema_name}"}

    def definition(self) -> Json:
        """The record as JSON Schema."""
        found: Json = {
            "type": "object",
            "description": self.doc,
            "additionalProperties": False,
            "properties": {key.name: _key_schema(key) for key in self.keys},
        }
        required = [key.name for key in self.keys if key.required]
        if required:
            found["required"] = required
        return {**found, **self.schema_extra}


def _key_schema(key: Key[Any]) -> Json:
    schema = key.type.schema()
    # Draft 7 ignores what stands beside a $ref.
    described: Json = {"allOf": [schema]} if "$ref" in schema else dict(schema)
    described["description"] = key.doc
    if key.shown is not None:
        described["default"] = key.shown
    return described


def _first_sentence(text: str) -> str:
    return text.split(". ", maxsplit=1)[0].removesuffix(".")


def _errors(spot: Spot) -> int:
    return sum(not problem.warning for problem in spot.reading.problems)


def _head(node: MappingNode) -> Place:
    return node.entries[0][0].place if node.entries else node.place
