"""The shape of the function table: what a function is called, what it takes, what computes it.

One table serves the checker (types), the compiler (implementations) and the documentation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from webhook.cel.types import Kind, Type
from webhook.cel.values import (
    Absent,
    DerivedQuantity,
    DeviceMap,
    DomainMap,
    Duration,
    Optional,
    Timestamp,
    TypeValue,
    UInt,
    type_name,
)
from webhook.model.quantity import Quantity
from webhook.model.semver import Semver


@dataclass(frozen=True, slots=True)
class Overload:
    """One signature. In members the receiver is the first parameter. `call` may be None for a shared implementation."""

    id: str
    params: tuple[Type, ...]
    result: Type
    call: Callable[..., Any] | None = None
    member: bool = False


@dataclass(frozen=True, slots=True)
class Function:
    """All signatures under one name.

    `shared` computes every overload and tells types apart itself. `plain_errors`: its run-time type errors do not list
    the types. `grows`: its result can be much larger than its operands, so the size counts against the limits.
    `takes_frame`: its implementations get the frame as well, first, to take steps off it.
    """

    name: str
    overloads: tuple[Overload, ...]
    shared: Callable[..., Any] | None = None
    plain_errors: bool = False
    grows: bool = False
    takes_frame: bool = False


def merge(*tables: tuple[Function, ...]) -> dict[str, Function]:
    """One table by name; functions that several libraries extend get all overloads, in order."""
    merged: dict[str, Function] = {}
    for function in (function for table in tables for function in table):
        known = merged.get(function.name)
        if known is not None:
            function = Function(
                function.name,
                known.overloads + function.overloads,
                known.shared or function.shared,
                known.plain_errors or function.plain_errors,
                known.grows or function.grows,
                known.takes_frame or function.takes_frame,
            )
        merged[function.name] = function
    return merged


# The Python types that hold the values of a CEL type; the first one is tested for first.
_HELD_BY: dict[str, tuple[type, ...]] = {
    "bool": (bool,),
    "int": (int,),
    "uint": (UInt,),
    "double": (float,),
    "string": (str,),
    "bytes": (bytes,),
    "null_type": (type(None),),
    "list": (list,),
    "map": (dict, DomainMap, DeviceMap),
    "optional_type": (Optional, Absent),
    "type": (TypeValue,),
    "google.protobuf.Timestamp": (Timestamp,),
    "google.protobuf.Duration": (Duration,),
    "kubernetes.Quantity": (Quantity, DerivedQuantity),
    "kubernetes.Semver": (Semver,),
}


def held_by(type_: Type, *python_types: type) -> None:
    """Say which Python class holds the values of a library's type (called while modules load)."""
    _HELD_BY[type_.name] = python_types


def python_type(type_: Type) -> type | None:
    """The one Python type to test for first, or None when any value will do."""
    if type_.kind in (Kind.DYN, Kind.PARAM):
        return None
    return _HELD_BY[type_.name][0]


def accepts(type_: Type, value: Any) -> bool:
    """`value` may be given for a parameter of this type. Of containers only the first element is looked at."""
    if type_.kind in (Kind.DYN, Kind.PARAM):
        return True
    if type(value) not in _HELD_BY.get(type_.name, ()):
        return False
    if type_.kind is Kind.LIST:
        return not value or accepts(type_.params[0], value[0])
    if type_.kind is Kind.MAP:
        return not value or accepts(type_.params[1], next(iter(value.values())))
    if type_.kind is Kind.OPAQUE and type_.params:
        return not isinstance(value, Optional) or accepts(type_.params[0], value.value)
    return True


def signature(name: str, *values: object) -> str:
    """name(type, type), for messages."""
    return f"{name}({', '.join(map(type_name, values))})"
