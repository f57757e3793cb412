"""Conversions between types: `int(x)`, `string(x)` and their like, `dyn(x)` and `type(x)`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from webhook.cel.library.numbers import format_float, parse_float, parse_int
from webhook.cel.library.operators import int_result, timestamp_result, uint_result
from webhook.cel.library.table import Function, Overload
from webhook.cel.library.time import duration_text, parse_duration, parse_timestamp, timestamp_text
from webhook.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    Type,
    param,
    type_of,
)
from webhook.cel.values import INT_MAX, INT_MIN, UINT_MAX, Duration, EvaluationError, Timestamp, TypeValue, UInt, type_name

_A = param("A")
_TRUE, _FALSE = {"1", "t", "T", "true", "TRUE", "True"}, {"0", "f", "F", "false", "FALSE", "False"}


def _cannot(source: str, target: str) -> EvaluationError:
    return EvaluationError(f"type conversion error from '{source}' to '{target}'")


def _same(value: Any) -> Any:
    return value


def _bool_of_string(text: str) -> bool:
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    raise _cannot("string", "bool")


def _int_of_string(text: str) -> int:
    value = parse_int(text)
    if value is None or not INT_MIN <= value <= INT_MAX:
        raise _cannot("string", "int")
    return value


def _uint_of_string(text: str) -> UInt:
    value = None if text[:1] in ("+", "-") else parse_int(text)
    if value is None or value > UINT_MAX:
        raise _cannot("string", "uint")
    return UInt(value)


def _double_of_string(text: str) -> float:
    value = parse_float(text)
    if value is None:
        raise _cannot("string", "double")
    return value


def _int_of_double(value: float) -> int:
    if math.isnan(value) or not -(2.0**63) < value < 2.0**63:
        raise EvaluationError("integer overflow")
    return int(value)


def _uint_of_double(value: float) -> UInt:
    if math.isnan(value) or not 0 <= value < 2.0**64:
        raise EvaluationError("unsigned integer overflow")
    return UInt(int(value))


def _string_of_bytes(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None


def _bytes_of_string(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _duration_of_string(text: str) -> Duration:
    nanos = parse_duration(text)
    if nanos is None:
        raise _cannot("string", "google.protobuf.Duration")
    return Duration(nanos)


def _no_duration(_: int) -> Duration:
    raise _cannot("int", "google.protobuf.Duration")


def _timestamp_of_string(text: str) -> Timestamp:
    parsed = parse_timestamp(text)
    if parsed is None:
        raise _cannot("string", "google.protobuf.Timestamp")
    return timestamp_result(*parsed)


def _conversion(name: str, result: Type, *cases: tuple[Type, Callable[[Any], Any]]) -> Function:
    overloads = (
        Overload(f"{_ID_NAMES.get(t.name, t.name)}_to_{_ID_NAMES.get(name, name)}", (t,), result, call) for t, call in cases
    )
    return Function(name, tuple(overloads))


_ID_NAMES = {"int": "int64", "uint": "uint64", TIMESTAMP.name: "timestamp", DURATION.name: "duration"}


FUNCTIONS: tuple[Function, ...] = (
    Function("type", (Overload("type", (_A,), type_of(_A)),), shared=lambda value: TypeValue(type_name(value))),
    Function("dyn", (Overload("to_dyn", (_A,), DYN),), shared=_same),
    _conversion("bool", BOOL, (BOOL, _same), (STRING, _bool_of_string)),
    _conversion("bytes", BYTES, (BYTES, _same), (STRING, _bytes_of_string)),
    _conversion("double", DOUBLE, (DOUBLE, _same), (INT, float), (STRING, _double_of_string), (UINT, float)),
    _conversion("duration", DURATION, (DURATION, _same), (STRING, _duration_of_string)),
    _conversion(
        "int",
        INT,
        (INT, _same),
        (DOUBLE, _int_of_double),
        (DURATION, lambda value: value.nanos),
        (STRING, _int_of_string),
        (TIMESTAMP, lambda value: value.nanos // 10**9),
        (UINT, lambda value: int_result(int(value))),
    ),
    _conversion(
        "string",
        STRING,
        (STRING, _same),
        (BOOL, lambda value: "true" if value else "false"),
        (BYTES, _string_of_bytes),
        (DOUBLE, format_float),
        (DURATION, duration_text),
        (INT, str),
        (TIMESTAMP, timestamp_text),
        (UINT, lambda value: str(int(value))),
    ),
    _conversion(
        "timestamp",
        TIMESTAMP,
        (TIMESTAMP, _same),
        (INT, lambda value: timestamp_result(value * 10**9)),
        (STRING, _timestamp_of_string),
    ),
    _conversion("uint", UINT, (UINT, _same), (DOUBLE, _uint_of_double), (INT, uint_result), (STRING, _uint_of_string)),
)

#: Functions as they were before Kubernetes 1.37.
OLDER: tuple[Function, ...] = (
    _conversion("duration", DURATION, (DURATION, _same), (INT, _no_duration), (STRING, _duration_of_string)),
)

# Applied to a constant, these are worked out when the expression is compiled, and their errors are compile errors.
AT_COMPILE_TIME = frozenset(function.name for function in FUNCTIONS)
