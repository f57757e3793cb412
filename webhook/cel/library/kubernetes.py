"""Kubernetes' own value types: quantities and semantic versions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from webhook.cel.library.table import Function, Overload
from webhook.cel.types import BOOL, DOUBLE, INT, QUANTITY, SEMVER, STRING, Type
from webhook.cel.values import DerivedQuantity, EvaluationError
from webhook.model.quantity import Format, Quantity, cached_quantity
from webhook.model.semver import Semver, cached_semver, normalized_semver


def _quantity(text: str) -> Quantity:
    try:
        known = cached_quantity(text)
    except ValueError as error:
        raise EvaluationError(str(error)) from None
    # As the key of a map a quantity is found by itself only, not by another of the same text.
    return Quantity(known.unscaled, known.scale, known.format, known.is_big, known.text)


def _semver(text: str, normalize: bool = False) -> Semver:
    try:
        return normalized_semver(text) if normalize else cached_semver(text)
    except ValueError as error:
        raise EvaluationError(str(error)) from None


def _succeeds(parse: Callable[..., object]) -> Callable[..., bool]:
    def test(*args: Any) -> bool:
        try:
            parse(*args)
        except EvaluationError:
            return False
        return True

    return test


def _as_integer(quantity: Quantity) -> int:
    value = quantity.as_int64()
    if value is None:
        raise EvaluationError("cannot convert value to integer")
    return value


def _derived(quantity: Quantity) -> DerivedQuantity:
    return DerivedQuantity(quantity.unscaled, quantity.scale, quantity.format, quantity.is_big)


def _combine(operation: Callable[[Quantity, Quantity], Quantity]) -> Callable[[Quantity, Any], DerivedQuantity]:
    def combine(quantity: Quantity, other: Any) -> DerivedQuantity:
        if type(other) is int:
            other = Quantity(other, format=Format.DECIMAL_EXPONENT)
        try:
            return _derived(operation(quantity, other))
        except ValueError as error:
            raise EvaluationError(str(error)) from None

    return combine


def _order(left: Semver, right: Semver) -> int:
    return (left > right) - (left < right)


def _global(name: str, id_: str, params: tuple[Type, ...], result: Type, call: Callable[..., Any]) -> Function:
    return Function(name, (Overload(id_, params, result, call),))


def _member(name: str, *overloads: tuple[str, tuple[Type, ...], Type, Callable[..., Any]]) -> Function:
    return Function(name, tuple(Overload(*overload, member=True) for overload in overloads))


_ADD, _SUB = _combine(lambda a, b: a + b), _combine(lambda a, b: a - b)
_QQ, _SS = (QUANTITY, QUANTITY), (SEMVER, SEMVER)

FUNCTIONS: tuple[Function, ...] = (
    _global("quantity", "string_to_quantity", (STRING,), QUANTITY, _quantity),
    _global("isQuantity", "is_quantity_string", (STRING,), BOOL, _succeeds(_quantity)),
    _global("sign", "quantity_sign", (QUANTITY,), INT, lambda quantity: quantity.sign),
    _member("asApproximateFloat", ("quantity_get_float", (QUANTITY,), DOUBLE, Quantity.as_float)),
    _member("asInteger", ("quantity_get_int", (QUANTITY,), INT, _as_integer)),
    _member("isInteger", ("quantity_is_integer", (QUANTITY,), BOOL, lambda q: q.as_int64() is not None)),
    _member(
        "add",
        ("quantity_add", _QQ, QUANTITY, _ADD),
        ("quantity_add_int", (QUANTITY, INT), QUANTITY, _ADD),
    ),
    _member(
        "sub",
        ("quantity_sub", _QQ, QUANTITY, _SUB),
        ("quantity_sub_int", (QUANTITY, INT), QUANTITY, _SUB),
    ),
    Function(
        "semver",
        (
            Overload("string_to_semver", (STRING,), SEMVER, _semver),
            Overload("string_bool_to_semver", (STRING, BOOL), SEMVER, _semver),
        ),
    ),
    Function(
        "isSemver",
        (
            Overload("is_semver_string", (STRING,), BOOL, _succeeds(_semver)),
            Overload("is_semver_string_bool", (STRING, BOOL), BOOL, _succeeds(_semver)),
        ),
    ),
    _member("major", ("semver_major", (SEMVER,), INT, lambda version: _int64(version.major))),
    _member("minor", ("semver_minor", (SEMVER,), INT, lambda version: _int64(version.minor))),
    _member("patch", ("semver_patch", (SEMVER,), INT, lambda version: _int64(version.patch))),
    _member(
        "compareTo",
        ("quantity_compare_to", _QQ, INT, Quantity.compare),
        ("semver_compare_to", _SS, INT, _order),
    ),
    _member(
        "isGreaterThan",
        ("quantity_is_greater_than", _QQ, BOOL, lambda a, b: a.compare(b) > 0),
        ("semver_is_greater_than", _SS, BOOL, lambda a, b: b < a),
    ),
    _member(
        "isLessThan",
        ("quantity_is_less_than", _QQ, BOOL, lambda a, b: a.compare(b) < 0),
        ("semver_is_less_than", _SS, BOOL, lambda a, b: a < b),
    ),
)


def _int64(value: int) -> int:
    """A 64-bit unsigned number taken for a signed one, as Go's conversion does."""
    return value - 2**64 if value >= 2**63 else value
