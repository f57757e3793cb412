"""CEL's types: what the checker reasons about and what a policy declares its variables as.

Types are values; two spellings of one type are equal. Nothing here looks at an expression or at a run-time value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

_MAX_WEIGHT = 2_000


class TypeTooLargeError(Exception):
    """Raised instead of making a type of more than some thousand parts."""


class Kind(Enum):
    """The sorts of types that the checker tells apart."""

    DYN = "dyn"
    ANY = "any"  # dyn, but nothing to loop over
    ERROR = "!error!"
    NULL = "null"
    PRIMITIVE = "primitive"
    LIST = "list"
    MAP = "map"
    TYPE = "type"
    OPAQUE = "opaque"  # optional_type and other named types with parameters
    STRUCT = "struct"  # an object with named fields, or a named type of the Kubernetes libraries
    WELL_KNOWN = "well-known"  # timestamp and duration
    PARAM = "param"


@dataclass(frozen=True, slots=True)
class Type:
    """A type. `fields` belongs to structs and takes no part in comparison: a struct is known by its name.

    Neither does `nullable`: a wrapped int is an int that may be null as well.
    """

    kind: Kind
    name: str
    params: tuple[Type, ...] = ()
    fields: Mapping[str, Type] | None = field(default=None, compare=False, repr=False)
    nullable: bool = field(default=False, compare=False, repr=False)
    weight: int = field(default=1, init=False, compare=False, repr=False)
    #: There is a type parameter in it.
    open: bool = field(default=False, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "open", self.kind is Kind.PARAM or any(nested.open for nested in self.params))
        # A map nested in both key and value doubles at each level: a hostile expression may not do that for long.
        if self.params:
            weight = 1 + sum(nested.weight for nested in self.params)
            if weight > _MAX_WEIGHT:
                raise TypeTooLargeError
            object.__setattr__(self, "weight", weight)

    def __str__(self) -> str:
        return format_type(self)


VariableType = Type

DYN = Type(Kind.DYN, "dyn")
ANY = Type(Kind.ANY, "any")
ERROR = Type(Kind.ERROR, "!error!")
NULL = Type(Kind.NULL, "null_type")
BOOL = Type(Kind.PRIMITIVE, "bool")
INT = Type(Kind.PRIMITIVE, "int")
UINT = Type(Kind.PRIMITIVE, "uint")
DOUBLE = Type(Kind.PRIMITIVE, "double")
STRING = Type(Kind.PRIMITIVE, "string")
BYTES = Type(Kind.PRIMITIVE, "bytes")
TIMESTAMP = Type(Kind.WELL_KNOWN, "google.protobuf.Timestamp")
DURATION = Type(Kind.WELL_KNOWN, "google.protobuf.Duration")
TYPE = Type(Kind.TYPE, "type")
QUANTITY = Type(Kind.STRUCT, "kubernetes.Quantity")
SEMVER = Type(Kind.STRUCT, "kubernetes.Semver")
URL = Type(Kind.STRUCT, "kubernetes.URL")
IP = Type(Kind.STRUCT, "net.IP")
CIDR = Type(Kind.STRUCT, "net.CIDR")
FORMAT = Type(Kind.STRUCT, "kubernetes.NamedFormat")
EMPTY = Type(Kind.STRUCT, "google.protobuf.Empty", fields={})


def list_of(element: Type) -> Type:
    """list(element)"""
    return Type(Kind.LIST, "list", (element,))


def map_of(value: Type, key: Type = STRING) -> Type:
    """map(key, value)"""
    return Type(Kind.MAP, "map", (key, value))


def optional_of(element: Type) -> Type:
    """optional_type(element)"""
    return Type(Kind.OPAQUE, "optional_type", (element,))


def nullable(element: Type) -> Type:
    """The type that a message wraps around another."""
    return Type(element.kind, element.name, element.params, nullable=True)


def type_of(element: Type) -> Type:
    """type(element): the type of a type's name."""
    return Type(Kind.TYPE, "type", (element,))


def param(name: str) -> Type:
    """A type parameter."""
    return Type(Kind.PARAM, name)


def object_of(name: str, fields: Mapping[str, Type]) -> Type:
    """An object type with named fields."""
    return Type(Kind.STRUCT, name, fields=fields)


# What a device publishes, as policies see it: domain -> id -> value. A value of such a variable is given as the model's
# own mapping (`Device.attributes`, `Device.capacity`: qualified name -> Attribute, quantity text).
DEVICE_ATTRIBUTES = Type(Kind.MAP, "map", (STRING, Type(Kind.MAP, "map", (STRING, DYN))), {})
DEVICE_CAPACITY = Type(Kind.MAP, "map", (STRING, Type(Kind.MAP, "map", (STRING, QUANTITY))), {})

_DECLARED_NAMES = {NULL: "null", TIMESTAMP: "timestamp", DURATION: "duration"}


def format_type(type_: Type) -> str:
    """The type as cel-go writes it in messages."""
    if type_.nullable:
        return f"wrapper({type_.name})"
    if type_.kind is Kind.PARAM:
        return type_.name
    if type_.kind is Kind.TYPE and not type_.params:
        return "type"
    if type_.params:
        return f"{type_.name}({', '.join(map(format_type, type_.params))})"
    return _DECLARED_NAMES.get(type_, type_.name)


def is_dyn(type_: Type) -> bool:
    """Known only at run time."""
    return type_.kind is Kind.DYN or type_.kind is Kind.ANY


def is_optional(type_: Type) -> bool:
    """optional_type(...)"""
    return type_.kind is Kind.OPAQUE and type_.name == "optional_type"
