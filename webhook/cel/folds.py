"""Compiling macros: one loop made for each kind of fold.

Every turn of a loop is charged by the size of its body, which bounds the time that any expression can take.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import Any, TypeAlias

from webhook.cel.access import go_text
from webhook.cel.ast import Node, children
from webhook.cel.code import Closure, Frame
from webhook.cel.values import (
    MAPS,
    EvaluationError,
    go_type,
    key_value,
    map_key,
    no_such_overload,
    take,
)

_NODES_PER_STEP = 8

Turns: TypeAlias = Callable[[Frame], Iterator[None]]


def weight(node: Node) -> int:
    """The steps that one turn of a loop with this body is charged."""
    return 1 + _count(node) // _NODES_PER_STEP


def _count(node: Node) -> int:
    seen, pending = set(), [node]
    while pending:
        current = pending.pop()
        if current not in seen:  # macros may use one node twice
            seen.add(current)
            pending.extend(children(current))
    return len(seen)


def turns(range_: Closure, first: int, second: int | None, steps: int) -> Turns:
    """A generator that sets the loop variables for each turn."""
    elements = pairs if second is not None else singles

    def run(frame: Frame) -> Iterator[None]:
        for one, two in elements(range_(frame)):
            take(frame, steps)
            frame[first] = one
            if second is not None:
                frame[second] = two
            yield

    return run


def singles(values: Any) -> Iterator[tuple[Any, Any]]:
    """The elements of a list or keys of a map, for a macro with one variable."""
    kind = type(values)
    if kind is list:
        return ((value, None) for value in values)
    if kind is dict or kind in MAPS:
        return ((key_value(key), None) for key in values)
    raise EvaluationError(f"got '{go_type(values)}', expected iterable type")


def pairs(values: Any) -> Iterator[tuple[Any, Any]]:
    """Indexes and elements of a list or entries of a map, for a macro with two variables."""
    kind = type(values)
    if kind is list:
        return iter(enumerate(values))
    if kind is dict or kind in MAPS:
        return ((key_value(key), value) for key, value in values.items())
    raise EvaluationError(f"unsupported comprehension range type: {go_type(values)}")


def quantifier(loop: Turns, predicate: Closure, decisive: bool) -> Closure:
    """all (decisive: false) and exists (decisive: true): an error counts only when no turn decides."""

    def run(frame: Frame) -> bool:
        failure: EvaluationError | None = None
        for _ in loop(frame):
            try:
                value: object = predicate(frame)
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


def exactly_one(loop: Turns, predicate: Closure) -> Closure:
    """exists_one: every turn is looked at, and any error is the result."""

    def run(frame: Frame) -> bool:
        return sum(1 for _ in loop(frame) if _truth(predicate(frame))) == 1

    return run


def collect(loop: Turns, predicate: Closure | None, element: Closure) -> Closure:
    """map, filter and transformList."""
    if predicate is None:
        return lambda frame: [element(frame) for _ in loop(frame)]
    return lambda frame: [element(frame) for _ in loop(frame) if _truth(predicate(frame))]


def insert(loop: Turns, predicate: Closure | None, entry: Closure) -> Closure:
    """transformMap and transformMapEntry; `entry` gives the entries of one turn as a stored map."""

    def run(frame: Frame) -> dict[Any, Any]:
        result: dict[Any, Any] = {}
        for _ in loop(frame):
            if predicate is None or _truth(predicate(frame)):
                merge(result, entry(frame))
        return result

    return run


def merge(result: dict[Any, Any], entries: Any) -> None:
    """Put the entries of a map into a new one, where none of them may be yet."""
    if type(entries) not in MAPS:
        raise no_such_overload("cel.@mapInsert")
    for key, value in entries.items():
        if key in result:
            raise EvaluationError(f"insert failed: key {go_text(key_value(key))} already exists")
        result[key] = value


def single_entry(key: Closure, value: Closure) -> Closure:
    """{key: value}, for transformMap."""
    return lambda frame: {map_key(key(frame)): value(frame)}


def _truth(value: Any) -> bool:
    if type(value) is bool:
        return value
    raise no_such_overload()


_UNSET = object()


def let(slot: int, result: Closure) -> Closure:
    """cel.bind: the variable gets its value when it is first read (see `lazy`), if ever."""

    def run(frame: Frame) -> Any:
        frame[slot] = _UNSET
        return result(frame)

    return run


def lazy(slot: int, value: Closure) -> Closure:
    """Reading a bound variable. A failure is kept as well, so that no value is ever worked out twice."""

    def run(frame: Frame) -> Any:
        held = frame[slot]
        if held is _UNSET:
            try:
                held = value(frame)
            except EvaluationError as error:
                held = error
            frame[slot] = held
        if type(held) is EvaluationError:
            raise held
        return held

    return run


local = itemgetter
"""Reading a loop variable: a closure made in C."""
