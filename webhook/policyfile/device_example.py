"""A device in a catalog, written as in a ResourceSlice."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from webhook.policyfile.field_types import FieldType, Flag, Json, ListOf, MapOf, Text, WholeNumber
from webhook.policyfile.formats import ATTRIBUTE_NAME, QUANTITY_TEXT
from webhook.policyfile.record import Key, Record, Values, maybe, needed, optional
from webhook.policyfile.spot import Spot
from webhook.policyfile.yaml_nodes import Mapping, Scalar

_INT64 = 2**63
#: Semantic Versioning 2.0.0, which is what the API server accepts.
_VERSION = (
    r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?"
)
_TEXT = Text(max_length=64)
_WHOLE = WholeNumber(minimum=-_INT64, maximum=_INT64 - 1)
_VERSION_TEXT = Text(phrase="semantic version", pattern=_VERSION, max_length=64, explain='three numbers, for example "12.2.0"')

_KEYS: tuple[Key[Any], ...] = (
    maybe("string", _TEXT, "Text."),
    maybe("int", _WHOLE, "A whole number."),
    maybe("bool", Flag(), "true or false."),
    maybe("version", _VERSION_TEXT, "A semantic version."),
    maybe("strings", ListOf(_TEXT), "Several texts."),
    maybe("ints", ListOf(_WHOLE), "Several whole numbers."),
    maybe("bools", ListOf(Flag()), "Several booleans."),
    maybe("versions", ListOf(_VERSION_TEXT), "Several semantic versions."),
)


def _check_one(values: Values) -> None:
    given = list(values.at.node.names()) if isinstance(values.at.node, Mapping) else []
    if len(given) != 1:
        values.at.error(
            f"{values.at.shown} must have exactly one type, it has {', '.join(given) or 'none'}",
            "write for example {string: gpu}, {int: 4}, {bool: true} or {version: 12.2.0}",
        )


def _attribute(values: Values) -> Json:
    return {key.name: list(value) if isinstance(value, tuple) else value for key in _KEYS if (value := values[key]) is not None}


_ATTRIBUTE = Record(
    name="attribute value",
    doc="A typed value: exactly one of the keys.",
    keys=_KEYS,
    build=_attribute,
    checks=_check_one,
    schema_extra={"minProperties": 1, "maxProperties": 1},
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A quantity, quoted or not."""

    parts: tuple[FieldType[Any], ...] = ()

    @property
    def phrase(self) -> str:
        """`quantity`"""
        return "quantity"

    def read(self, spot: Spot) -> str:
        """The quantity's text."""
        node = spot.node
        number = isinstance(node, Scalar) and isinstance(node.value, int | float) and not isinstance(node.value, bool)
        if isinstance(node, Scalar) and number and re.fullmatch(r"[0-9.]+", node.text):
            return node.text
        return QUANTITY_TEXT.read(spot)

    def schema(self) -> Json:
        """Text or a number."""
        return {"type": ["string", "number"]}


@dataclass(frozen=True, slots=True)
class _CapacityValue:
    """`{value: 80Gi}`, or as in v1alpha3 `80Gi` alone."""

    phrase = "capacity"

    @property
    def parts(self) -> tuple[FieldType[Any], ...]:
        """The two ways to write it."""
        return (_CAPACITY, Quantity())

    def read(self, spot: Spot) -> str:
        """The quantity's text."""
        return _CAPACITY.read(spot) if isinstance(spot.node, Mapping) else Quantity().read(spot)

    def schema(self) -> Json:
        """Either."""
        return {"anyOf": [_CAPACITY.schema(), Quantity().schema()]}


_VALUE = needed("value", Quantity(), "The quantity, for example `80Gi`.")
_CAPACITY = Record(name="capacity", doc="A capacity.", keys=(_VALUE,), build=lambda values: values[_VALUE])

_ATTRIBUTES = optional(
    "attributes", MapOf(ATTRIBUTE_NAME, _ATTRIBUTE), "Attributes by name; without a domain, the driver's own.", {}
)
_CAPACITIES = optional(
    "capacity", MapOf(ATTRIBUTE_NAME, _CapacityValue()), "Capacities by name; without a domain, the driver's own.", {}
)
_SHARABLE = optional("allowMultipleAllocations", Flag(), "Whether several claims may share the device.", False)


def _example(values: Values) -> Json:
    """The device as JSON, for the reader of ResourceSlices."""
    return {
        "attributes": values[_ATTRIBUTES],
        "capacity": {name: {"value": value} for name, value in values[_CAPACITIES].items()},
        "allowMultipleAllocations": values[_SHARABLE],
    }


EXAMPLE = Record(
    name="example device",
    doc="A device, as a ResourceSlice publishes it.",
    keys=(_ATTRIBUTES, _CAPACITIES, _SHARABLE),
    build=_example,
)
