"""Closures that look at their operands only as far as they need: logic, selection, membership and literals. Hot paths."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from webhook.cel import access
from webhook.cel.code import Closure, Code, Frame
from webhook.cel.values import (
    INT_MAX,
    INT_MIN,
    MISSING,
    NONE,
    UINT_MAX,
    EvaluationError,
    Optional,
    UInt,
    map_key,
    no_such_overload,
)


def selection(operand: Closure, name: str) -> Closure:
    def run(frame: Frame) -> Any:
        container = operand(frame)
        if type(container) is dict:
            found = container.get(name, MISSING)
            if found is not MISSING:
                return found
        return access.get(container, name)

    return run


def logic(terms: list[Closure], *, decisive: bool) -> Closure:
    """&& and ||: left to right until one term decides; an error counts only if none does. Hot path."""
    if len(terms) > 2:
        return _long_logic(tuple(terms), decisive)
    left, right = terms

    def run(frame: Frame) -> bool:
        try:
            value: object = left(frame)
        except EvaluationError as error:
            return _absorb(error, right, frame, decisive)
        if value is decisive:
            return decisive
        if type(value) is not bool:
            return _absorb(no_such_overload(), right, frame, decisive)
        value = right(frame)
        if type(value) is bool:
            return value
        raise no_such_overload()

    return run


def _absorb(error: EvaluationError, term: Closure, frame: Frame, decisive: bool) -> bool:
    try:
        value: object = term(frame)
    except EvaluationError:
        raise error from None
    if value is decisive:
        return decisive
    raise error


def _long_logic(terms: tuple[Closure, ...], decisive: bool) -> Closure:
    def run(frame: Frame) -> bool:
        failure: EvaluationError | None = None
        for term in terms:
            try:
                value: object = term(frame)
            except EvaluationError as error:
                failure = failure or error
                continue
            if value is decisive:
                return decisive
            if type(value) is not bool:
                failure = failure or no_such_overload()
        if failure is not None:
            raise failure
        return not decisive

    return run


def all_literal(codes: list[Code]) -> bool:
    return all(code.literal for code in codes)


def membership(value: Closure, elements: list[Any]) -> Closure:
    """x in [constants]. The scheduler's library looks x up by its hash, which versions and bytes do not have."""
    texts = frozenset(element for element in elements if type(element) is str)
    others = frozenset(twin for element in elements if type(element) is not str for twin in _twins(element))

    def run(frame: Frame) -> bool:
        wanted = value(frame)
        kind = type(wanted)
        if kind is str:
            return wanted in texts
        if kind in _HASHED:
            return (kind, wanted) in others
        map_key(wanted)  # says what Go cannot hash
        return False

    return run


_HASHED = {bool, int, UInt, float}


def _twins(element: Any) -> list[tuple[type, Any]]:
    """A constant and the numbers of other types that it is taken to equal."""
    kind = type(element)
    twins = [(kind, element)] if element == element else []
    if kind is int or kind is UInt:
        twins.append((float, float(element)))
    if kind is float and math.isfinite(element) and element == int(element):
        twins += _whole_twins(int(element))
    return twins + _whole_twins(int(element)) if kind in (int, UInt) else twins


def _whole_twins(number: int) -> list[tuple[type, Any]]:
    as_int = [(int, number)] if INT_MIN <= number <= INT_MAX else []
    return [*as_int, (UInt, UInt(number))] if 0 <= number <= UINT_MAX else [*as_int]


def optional_list(runs: tuple[Closure, ...], optional: frozenset[int]) -> Closure:
    def run(frame: Frame) -> list[Any]:
        elements: list[Any] = []
        for index, element in enumerate(runs):
            add(elements, element(frame), optional=index in optional)
        return elements

    return run


def add(elements: list[Any], value: Any, *, optional: bool) -> None:
    """Put a value behind the elements of a new list; an optional one only if it is there."""
    if optional:
        if value is NONE:
            return
        if type(value) is not Optional:
            text = access.go_text(value)
            raise EvaluationError(f"cannot initialize optional list element from non-optional value {text}")
        value = value.value
    elements.append(value)


def map_builder(entries: list[tuple[Closure, Closure, bool]]) -> Closure:
    def run(frame: Frame) -> dict[Any, Any]:
        result: dict[Any, Any] = {}
        for key_run, value_run, optional in entries:
            key = key_run(frame)
            put(result, key, value_run(frame), optional=optional)
        return result

    return run


def message_builder(make: Callable[[dict[str, Any]], Any], fields: list[tuple[str, Closure, bool]]) -> Closure:
    def run(frame: Frame) -> Any:
        values: dict[str, Any] = {}
        for name, value, optional in fields:
            put_field(values, name, value(frame), optional=optional)
        return make(values)

    return run


def put_field(values: dict[str, Any], name: str, value: Any, *, optional: bool) -> None:
    """Put a field into a new message. The last one under a name counts."""
    values.pop(name, None)
    put(values, name, value, optional=optional)


def put(entries: dict[Any, Any], key: Any, value: Any, *, optional: bool) -> None:
    """Put an entry into a new map; an optional one that is not there takes away what was under its key."""
    if optional:
        if value is NONE:
            entries.pop(map_key(key), None)
            return
        if type(value) is not Optional:
            raise EvaluationError(
                f"cannot initialize optional entry '{access.go_text(key)}' from non-optional value {access.go_text(value)}"
            )
        value = value.value
    entries[map_key(key)] = value
