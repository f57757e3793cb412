"""CEL's equality and order of values: numbers across their types, everything else only within its own type.

These are hot paths. Comparing containers takes steps off the frame, because shared parts can make a small value endlessly deep.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from webhook.cel.values import (
    MAPS,
    MISSING,
    NONE,
    Absent,
    DerivedQuantity,
    Duration,
    EvaluationError,
    Optional,
    Timestamp,
    TypeValue,
    UInt,
    find_stored,
    no_such_overload,
    take,
)
from webhook.model.quantity import Quantity
from webhook.model.semver import Semver

_PLAIN = {bool, int, str, float, bytes, UInt, type(None), Timestamp, Duration, TypeValue}
_NUMBERS = {int, UInt, float}
_STRICT: set[type] = {Quantity, DerivedQuantity, Semver}


def register_strict(python_type: type) -> None:
    """Values of a library's own class: comparing one with another type is an error, not false."""
    _STRICT.add(python_type)


def equal(frame: list[Any], left: Any, right: Any) -> bool:
    """left == right. Hot path: one type test and Python's own comparison for plain values of one type."""
    kind = type(left)
    if kind is type(right) and kind in _PLAIN:
        return left == right  # type: ignore[no-any-return]
    return _equal(left, right, frame)


def equal_or_false(frame: list[Any], left: Any, right: Any) -> bool:
    """left == right, where an error counts as false (as in list membership)."""
    try:
        return equal(frame, left, right)
    except EvaluationError:
        return False


def _equal(left: Any, right: Any, frame: list[Any]) -> bool:
    """Any two values. How deeply they nest does not matter: nothing here calls itself."""
    waiting: list[Iterator[tuple[Any, Any]]] = []  # what is left of the containers around
    held = False  # by an optional value
    pair: tuple[Any, Any] | None = (left, right)
    while pair is not None:
        one, two = pair
        if type(one) is Optional and type(two) is Optional:
            pair, held = (one.value, two.value), True
            continue
        if _are_containers(one, two):
            if len(one) != len(two):
                return False
            take(frame, 3 + len(one) // 4)
            waiting.append(zip(one, two, strict=True) if type(one) is list else _values(one, two))
        elif two is MISSING or not _equal_parts(one, two, held=held, inside=bool(waiting)):
            return False
        pair, held = _next(waiting), False
    return True


def _are_containers(left: Any, right: Any) -> bool:
    kind, other = type(left), type(right)
    return (kind is list and other is list) or (kind in MAPS and other in MAPS)


def _values(left: dict[Any, Any], right: dict[Any, Any]) -> Iterator[tuple[Any, Any]]:
    """The values of the same keys, MISSING where the right has none."""
    return ((value, find_stored(right, key)) for key, value in left.items())


def _next(waiting: list[Iterator[tuple[Any, Any]]]) -> tuple[Any, Any] | None:
    while waiting:
        pair = next(waiting[-1], None)
        if pair is not None:
            return pair
        waiting.pop()
    return None


def _equal_parts(left: Any, right: Any, *, held: bool, inside: bool) -> bool:
    """Two values that hold no others. Inside containers an error does not count as a difference."""
    try:
        # What optional values hold asks its own type at once: null is no exception there.
        return _equal_strict(left, right) if held and type(left) in _STRICT else _equal_plain(left, right)
    except EvaluationError:
        if inside:
            return True
        raise


def _equal_plain(left: Any, right: Any) -> bool:
    kind, other = type(left), type(right)
    if kind in _NUMBERS and other in _NUMBERS:
        return _equal_numbers(left, right)
    if left is None or right is None:
        return left is right
    if kind in _STRICT:
        return _equal_strict(left, right)
    if kind is Absent:
        return right is NONE
    return kind is other and bool(left == right)


def _equal_strict(left: Any, right: Any) -> bool:
    if type(right) is not type(left) and not (type(left) is DerivedQuantity and type(right) is Quantity):
        raise no_such_overload()
    if type(right) is DerivedQuantity:
        raise no_such_overload()
    return bool(left == right)


def _equal_numbers(left: Any, right: Any) -> bool:
    if type(left) is float or type(right) is float:
        return not (math.isnan(left) or math.isnan(right)) and _compare_with_float(left, right) == 0
    return int(left) == int(right)


def compare(left: Any, right: Any, operator: str) -> int:
    """-1, 0 or 1; an error when the two have no order. Hot path for numbers and strings."""
    kind, other = type(left), type(right)
    if kind is other and kind in _ORDERED:
        return (left > right) - (left < right)  # type: ignore[no-any-return]
    if kind in _NUMBERS and other in _NUMBERS:
        return _compare_numbers(left, right)
    if kind in _ORDERED or kind is float:
        raise no_such_overload()
    raise no_such_overload(operator)


_ORDERED = {bool, int, UInt, str, bytes, Timestamp, Duration}


def is_ordered(value: object) -> bool:
    """Values of this type can be compared."""
    return type(value) in _ORDERED or type(value) is float


def _compare_numbers(left: Any, right: Any) -> int:
    if type(left) is not float and type(right) is not float:
        return (left > right) - (left < right)  # type: ignore[no-any-return]
    if math.isnan(left) or math.isnan(right):
        raise EvaluationError("NaN values cannot be ordered")
    return _compare_with_float(left, right)


def _compare_with_float(left: Any, right: Any) -> int:
    """One of the two is a float: both are compared as floats, losing what digits a float does not hold."""
    a, b = _bounded(left, right), _bounded(right, left)
    return int(a > b) - int(a < b)


def _bounded(number: Any, other: Any) -> Any:
    # Beyond the range of the integer on the other side no rounding may make them equal.
    if type(number) is not float:
        return float(number)
    low, high = (0.0, 2.0**64) if type(other) is UInt else (-(2.0**63), 2.0**63)
    if type(other) is float or low <= number <= high:
        return number
    return math.inf if number > high else -math.inf
