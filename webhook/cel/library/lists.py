"""Functions of lists and sets."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from webhook.cel.equality import compare, equal_or_false, is_ordered
from webhook.cel.library.go_sort import go_sorted
from webhook.cel.library.operators import MAX_ELEMENTS, contains, duration_result, int_result, uint_result
from webhook.cel.library.table import Function, Overload
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
    list_of,
    param,
)
from webhook.cel.values import Duration, EvaluationError, UInt, limit_exceeded, no_such_overload, take

_T = param("T")
_MAX_ATTRIBUTE_VALUES = 48
_MAX_RANGE = 1_000_000
_MOST_SORTED = 1_000  # of more, sorting costs more than any selector may
_LIST, _DYNS = list_of(_T), list_of(DYN)
_COMPARABLE = (INT, UINT, DOUBLE, BOOL, DURATION, TIMESTAMP, STRING, BYTES)


def _greater(one: Any, two: Any) -> bool:
    """one > two, where what has no order counts as not greater."""
    try:
        return compare(one, two, "_<_") > 0
    except EvaluationError:
        return False


def _each_ordered(values: list[Any]) -> Iterator[Any]:
    for value in values:
        if not is_ordered(value):
            raise no_such_overload()
        yield value


def _is_sorted(values: list[Any]) -> bool:
    return not any(_greater(one, two) for one, two in itertools.pairwise(_each_ordered(values)))


def _min(values: list[Any]) -> Any:
    ordered = _each_ordered(values)
    best = _first(ordered, "min")
    for value in ordered:
        if _greater(best, value):
            best = value
    return best


def _max(values: list[Any]) -> Any:
    ordered = _each_ordered(values)
    best = _first(ordered, "max")
    for value in ordered:
        if _greater(value, best):
            best = value
    return best


def _first(values: Iterator[Any], name: str) -> Any:
    for value in values:
        return value
    raise EvaluationError(f"{name} called on empty list")


def _sum_ints(values: list[Any]) -> int:
    total = 0
    for value in values:
        if type(value) is not int:
            raise no_such_overload()
        total = int_result(total + value)
    return total


def _sum_uints(values: list[Any]) -> UInt:
    total = UInt(0)
    for value in values:
        if type(value) is not UInt:
            raise no_such_overload()
        total = uint_result(int(total) + int(value))
    return total


def _sum_doubles(values: list[Any]) -> float:
    total = 0.0
    for value in values:
        if type(value) is not float:
            raise no_such_overload()
        total += value
    return total


def _sum_durations(values: list[Any]) -> Duration:
    total = Duration(0)
    for value in values:
        if type(value) is not Duration:
            raise no_such_overload()
        total = duration_result(total.nanos + value.nanos)
    return total


def _index_of(frame: list[Any], values: list[Any], wanted: Any) -> int:
    take(frame, 1 + len(values) // 4)
    return next((index for index, value in enumerate(values) if equal_or_false(frame, value, wanted)), -1)


def _last_index_of(frame: list[Any], values: list[Any], wanted: Any) -> int:
    take(frame, 1 + len(values) // 4)
    return next((index for index in reversed(range(len(values))) if equal_or_false(frame, values[index], wanted)), -1)


def _includes(frame: list[Any], target: Any, wanted: Any) -> bool:
    if type(target) is list:
        take(frame, 1 + len(target) // 4)
        return any(equal_or_false(frame, value, wanted) for value in target)
    return equal_or_false(frame, target, wanted)


def _includes_few(frame: list[Any], target: Any, wanted: Any) -> bool:
    if type(target) is list:
        take(frame, 1 + len(target) // 4)
        if any(equal_or_false(frame, value, wanted) for value in target[:_MAX_ATTRIBUTE_VALUES]):
            return True
        if len(target) > _MAX_ATTRIBUTE_VALUES:
            limit = _MAX_ATTRIBUTE_VALUES
            raise EvaluationError(f"'includes' function cannot be applied to lists longer than {limit} values")
        return False
    return equal_or_false(frame, target, wanted)


def _slice(values: list[Any], start: int, end: int) -> list[Any]:
    if start < 0 or end < 0:
        raise EvaluationError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise EvaluationError(f"cannot slice({start}, {end}), start index must be less than or equal to end index")
    if len(values) < end:
        raise EvaluationError(f"cannot slice({start}, {end}), list is length {len(values)}")
    return values[start:end]


def _flatten(values: Any, depth: Any = 1) -> list[Any]:
    if type(values) is not list or type(depth) is not int:
        raise no_such_overload()
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    flat: list[Any] = []
    _flatten_into(flat, values, depth)
    return flat


def _flatten_into(flat: list[Any], values: list[Any], depth: int) -> None:
    for value in values:
        if type(value) is list and depth > 0:
            _flatten_into(flat, value, depth - 1)
        else:
            flat.append(value)
        if len(flat) > MAX_ELEMENTS:
            raise limit_exceeded()


def _sort(values: Any) -> list[Any]:
    return _sort_by(values, values)


def _sort_by(values: Any, keys: Any) -> list[Any]:
    if type(values) is not list or type(keys) is not list:
        raise no_such_overload("sort")
    if len(values) != len(keys):
        raise EvaluationError(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, "
            f"but got {len(values)} and {len(keys)} elements respectively"
        )
    if values and not is_ordered(keys[0]):
        raise EvaluationError("list elements must be comparable")
    if any(type(key) is not type(keys[0]) for key in keys):
        raise EvaluationError("list elements must have the same type")

    order = list(range(len(keys)))
    if len(keys) > _MOST_SORTED or (len(set(keys)) == len(keys) and all(key == key for key in keys)):
        order.sort(key=keys.__getitem__)
    else:
        order = go_sorted(order, lambda one, two: keys[one] < keys[two])
    return [values[index] for index in order]


def _range(count: int) -> list[int]:
    if count < 0:
        raise EvaluationError(f"lists.range: size must be non-negative, got {count}")
    if count > _MAX_RANGE:
        raise EvaluationError(f"lists.range: size {count} exceeds maximum allowed ({_MAX_RANGE})")
    return _any_range(count)


def _any_range(count: int) -> list[int]:
    if count > MAX_ELEMENTS:
        raise limit_exceeded()
    return list(range(count))


def _distinct(frame: list[Any], values: list[Any]) -> list[Any]:
    unique: list[Any] = []
    for value in values:
        take(frame, 1 + len(unique) // 4)
        if not any(equal_or_false(frame, value, seen) for seen in unique):
            unique.append(value)
    return unique


def _contains_all(frame: list[Any], values: list[Any], wanted: list[Any]) -> bool:
    return all(contains(frame, value, values) for value in wanted)


def _equivalent(frame: list[Any], values: list[Any], others: list[Any]) -> bool:
    return _contains_all(frame, values, others) and _contains_all(frame, others, values)


def _intersects(frame: list[Any], values: list[Any], others: list[Any]) -> bool:
    return any(contains(frame, value, others) for value in values)


def _of_comparables(name: str, call: Callable[..., Any], *, returns_element: bool) -> Function:
    overloads = tuple(
        Overload(f"list_{type_.name}_{name}", (list_of(type_),), type_ if returns_element else BOOL, call, member=True)
        for type_ in _COMPARABLE
    )
    return Function(name, overloads)


def _member(
    name: str, id_: str, params: tuple[Any, ...], result: Any, call: Callable[..., Any], *, takes_frame: bool = False
) -> Function:
    return Function(name, (Overload(id_, params, result, call, member=True),), takes_frame=takes_frame)


def _sets(name: str, call: Callable[..., bool]) -> Function:
    return Function(f"sets.{name}", (Overload(f"list_sets_{name}_list", (_LIST, _LIST), BOOL, call),), takes_frame=True)


_SUMS = ((INT, _sum_ints), (UINT, _sum_uints), (DOUBLE, _sum_doubles), (DURATION, _sum_durations))

FUNCTIONS: tuple[Function, ...] = (
    _of_comparables("isSorted", _is_sorted, returns_element=False),
    _of_comparables("min", _min, returns_element=True),
    _of_comparables("max", _max, returns_element=True),
    Function(
        "sum",
        tuple(Overload(f"list_{t.name}_sum", (list_of(t),), t, call, member=True) for t, call in _SUMS),
    ),
    _member("indexOf", "list_a_index_of_int", (_LIST, _T), INT, _index_of, takes_frame=True),
    _member("lastIndexOf", "list_a_last_index_of_int", (_LIST, _T), INT, _last_index_of, takes_frame=True),
    _member("includes", "list_includes_dyn_dyn", (DYN, DYN), BOOL, _includes, takes_frame=True),
    _member("slice", "list_slice", (_LIST, INT, INT), _LIST, _slice),
    Function(
        "flatten",
        (
            Overload("list_flatten", (list_of(_LIST),), _LIST, _flatten, member=True),
            Overload("list_flatten_int", (_DYNS, INT), _DYNS, _flatten, member=True),
        ),
        plain_errors=True,
        grows=True,
    ),
    Function(
        "sort",
        tuple(Overload(f"list_{t.name}_sort", (list_of(t),), list_of(t), member=True) for t in _COMPARABLE),
        shared=_sort,
    ),
    Function(
        "@sortByAssociatedKeys",
        tuple(Overload(f"list_{t.name}_sortByAssociatedKeys", (_LIST, list_of(t)), _LIST, member=True) for t in _COMPARABLE),
        shared=_sort_by,
    ),
    Function("lists.range", (Overload("lists_range", (INT,), list_of(INT), _range),), grows=True),
    _member("reverse", "list_reverse", (_LIST,), _LIST, lambda values: values[::-1]),
    Function("distinct", (Overload("list_distinct", (_LIST,), _LIST, _distinct, member=True),), takes_frame=True),
    _sets("contains", _contains_all),
    _sets("equivalent", _equivalent),
    _sets("intersects", _intersects),
)

#: Functions as they were before Kubernetes 1.37.
OLDER: tuple[Function, ...] = (
    _member("includes", "dra_includes_dyn_dyn", (DYN, DYN), BOOL, _includes_few, takes_frame=True),
    Function("lists.range", (Overload("lists_range", (INT,), list_of(INT), _any_range),), grows=True),
)
