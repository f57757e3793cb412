"""Message literals, such as `google.protobuf.Int64Value{value: 5}`: which there are, their fields, and what they become.

Nobody needs them in a selector, but the scheduler's library knows the well-known ones, and what it accepts is accepted here.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from webhook.cel.library.table import held_by
from webhook.cel.library.time import duration_text, timestamp_text
from webhook.cel.types import (
    ANY,
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    EMPTY,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    UINT,
    Type,
    list_of,
    map_of,
    nullable,
)
from webhook.cel.values import (
    MAPS,
    Duration,
    EvaluationError,
    Optional,
    Timestamp,
    UInt,
    go_type,
    key_value,
    register_type,
    type_name,
)

Fields = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Message:
    """A kind of message: the type of a literal, the types of its fields, and its value."""

    type: Type
    fields: Mapping[str, Type]
    make: Callable[[Fields], Any]


class EmptyMessage:
    """google.protobuf.Empty{}: all of them are equal."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return type(other) is EmptyMessage

    def __hash__(self) -> int:
        return 0


register_type(EmptyMessage, EMPTY.name)
held_by(EMPTY, EmptyMessage)

_PREFIX = "google.protobuf."
_LARGEST_EXACT = 2**53 - 1


def _wrong(message: str, field: str, reason: str) -> EvaluationError:
    return EvaluationError(f"field type conversion error for {_PREFIX}{message}.{field} value type: {reason}")


def _checked(message: str, field: str, value: Any, holder: type) -> Any:
    while type(value) is Optional:
        value = value.value
    if type(value) is not holder:
        raise _wrong(message, field, f"unsupported native conversion from {type_name(value)} to '{_NATIVE[holder]}'")
    return value


_NATIVE = {bool: "bool", int: "int64", UInt: "uint64", float: "double", str: "string", bytes: "[]byte"}


def _integer(message: str, field: str, value: Any, bits: int) -> int:
    number: int = _checked(message, field, value, int)
    if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
        raise _wrong(message, field, "integer overflow")
    return number


def _wrapper(name: str, inner: Type, holder: type, convert: Callable[[Any], Any] | None = None) -> Message:
    default = holder()

    def make(fields: Fields) -> Any:
        value = _checked(name, "value", fields.get("value", default), holder)
        return convert(value) if convert is not None else value

    return Message(nullable(inner), {"value": inner}, make)


def _int32(value: int) -> int:
    return _integer("Int32Value", "value", value, 32)


def _uint32(value: UInt) -> UInt:
    if value >= 2**32:
        raise _wrong("UInt32Value", "value", "unsigned integer overflow")
    return value


def _float32(value: float) -> float:
    try:
        rounded: float = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
    return rounded


def _nanos(message: str) -> Callable[[Fields], int]:
    def nanos(fields: Fields) -> int:
        seconds = _integer(message, "seconds", fields.get("seconds", 0), 64)
        return seconds * 10**9 + _integer(message, "nanos", fields.get("nanos", 0), 32)

    return nanos


def _duration(fields: Fields) -> Duration:
    return Duration(min(max(_nanos("Duration")(fields), -(2**63)), 2**63 - 1))


def _timestamp(fields: Fields) -> Timestamp:
    return Timestamp(_nanos("Timestamp")(fields))


def as_json(value: Any) -> Any:
    """A value as it is in JSON: all numbers are doubles, and what has no place there is a text."""
    kind = type(value)
    if kind in (bool, str, float) or value is None:
        return value
    if kind is int or kind is UInt:
        return float(value) if abs(value) <= _LARGEST_EXACT else str(int(value))
    if kind is bytes:
        return base64.b64encode(value).decode()
    if kind is Duration:
        return duration_text(value)
    if kind is Timestamp:
        return timestamp_text(value)
    if kind is list:
        return [as_json(item) for item in value]
    if kind is dict or kind in MAPS:
        return {str(key_value(key)): as_json(item) for key, item in value.items()}
    raise EvaluationError(f"unsupported type conversion from {go_type(value)} to google.protobuf.Value")


def _value(fields: Fields) -> Any:
    field, value = list(fields.items())[-1] if fields else ("null_value", 0)
    if field == "null_value":
        _integer("Value", field, value, 32)
        return None
    if field in _HOLDERS:
        return _checked("Value", field, value, _HOLDERS[field])
    return _json_list("Value", field, value) if field == "list_value" else _json_map("Value", field, value)


_HOLDERS: Mapping[str, type] = {"number_value": float, "string_value": str, "bool_value": bool}


def _json_list(message: str, field: str, value: Any) -> Any:
    if type(value) is not list:
        raise _wrong(message, field, f"unsupported type conversion from '{type_name(value)}' to list")
    return as_json(value)


def _json_map(message: str, field: str, value: Any) -> Any:
    if type(value) not in MAPS or any(type(key_value(key)) is not str for key in value):
        raise _wrong(message, field, f"unsupported type conversion from '{type_name(value)}' to a map of strings")
    return as_json(value)


def _struct(fields: Fields) -> Any:
    return _json_map("Struct", "fields", fields.get("fields", {}))


def _list_value(fields: Fields) -> Any:
    return _json_list("ListValue", "values", fields.get("values", []))


def _any(fields: Fields) -> Any:
    raise EvaluationError("unsupported conversion to ref.Val: (*dynamicpb.Message)")


_MAP, _LIST = map_of(DYN), list_of(DYN)
_KINDS_OF_VALUES = {
    "null_value": INT,
    "number_value": DOUBLE,
    "string_value": STRING,
    "bool_value": BOOL,
    "struct_value": _MAP,
    "list_value": _LIST,
}

MESSAGES: Mapping[str, Message] = {
    _PREFIX + name: message
    for name, message in {
        "BoolValue": _wrapper("BoolValue", BOOL, bool),
        "BytesValue": _wrapper("BytesValue", BYTES, bytes),
        "DoubleValue": _wrapper("DoubleValue", DOUBLE, float),
        "FloatValue": _wrapper("FloatValue", DOUBLE, float, _float32),
        "Int32Value": _wrapper("Int32Value", INT, int, _int32),
        "Int64Value": _wrapper("Int64Value", INT, int),
        "StringValue": _wrapper("StringValue", STRING, str),
        "UInt32Value": _wrapper("UInt32Value", UINT, UInt, _uint32),
        "UInt64Value": _wrapper("UInt64Value", UINT, UInt),
        "Duration": Message(DURATION, {"seconds": INT, "nanos": INT}, _duration),
        "Timestamp": Message(TIMESTAMP, {"seconds": INT, "nanos": INT}, _timestamp),
        "Value": Message(DYN, _KINDS_OF_VALUES, _value),
        "Struct": Message(_MAP, {"fields": _MAP}, _struct),
        "ListValue": Message(_LIST, {"values": _LIST}, _list_value),
        "Any": Message(ANY, {"type_url": STRING, "value": BYTES}, _any),
        "Empty": Message(EMPTY, {}, lambda _: EmptyMessage()),
    }.items()
}
#: Names of constants.
CONSTANTS: Mapping[str, int] = {f"{_PREFIX}NullValue.NULL_VALUE": 0}


def unknown(name: str, fields: Mapping[str, Type], type_: Type) -> Message:
    """A message that can be written but not made: the type of a variable."""

    def make(_: Fields) -> Any:
        raise EvaluationError(f"unknown type '{name}'")

    return Message(type_, fields, make)


#: Names of types that can be written as messages: nobody can make one.
NEVER_MADE: Mapping[str, Message] = {
    name: unknown(name, {}, type_)
    for name, type_ in {"list": _LIST, "null_type": NULL, "timestamp": TIMESTAMP, "duration": DURATION}.items()
}
