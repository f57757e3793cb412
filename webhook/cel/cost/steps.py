"""The steps of a counted evaluation: the nodes of a plan, and what each of them does.

A step gives its value, or the EvaluationError that stands in its place, and has the meter observe it. Errors are values here
because the scheduler's library goes on after them, and what it does then costs as well. Steps are tasks (see descent.py);
those that are not deep are `direct` and are simply called, which is faster.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from webhook.cel.branches import add, put, put_field
from webhook.cel.code import Closure
from webhook.cel.cost import amounts
from webhook.cel.cost.charges import Charge
from webhook.cel.cost.meter import Meter
from webhook.cel.descent import Task
from webhook.cel.folds import pairs, singles
from webhook.cel.library.operators import MAX_ELEMENTS
from webhook.cel.values import NONE, EvaluationError, Optional, limit_exceeded, no_such_overload, take


class Machine:
    """One evaluation: the frame of the closures that compute calls, the meter, and what holds the variables."""

    __slots__ = ("frame", "growing", "meter", "variables")

    def __init__(self, frame: list[Any], meter: Meter) -> None:
        self.frame = frame
        self.meter = meter
        self.variables: dict[str, Any] = {}
        self.growing: dict[int, list[Any]] = {}  # by identity

    def fresh(self, value: Any) -> Any:
        """The first value of an accumulator. The scheduler's library lets empty ones grow in place."""
        if type(value) is list and not value:
            value = []
            self.growing[id(value)] = value
        return {} if type(value) is dict and not value else value


_MAX_DIRECT_HEIGHT = 12


class Step:
    """One step of a plan, known to the meter by its number."""

    __slots__ = ("direct", "height", "id")

    def __init__(self, id_: int, *parts: Step) -> None:
        self.id = id_
        self.height, self.direct = 1, True
        self.consists_of(*parts)

    def consists_of(self, *parts: Step) -> None:
        """Say which other steps this one needs."""
        self.height = max([part.height for part in parts], default=0) + 1
        self.direct = self.height <= _MAX_DIRECT_HEIGHT and all(part.direct for part in parts)

    def now(self, machine: Machine) -> Any:
        """The value of a direct step, all of whose parts are direct too, so that its task never waits."""
        try:
            next(self.run(machine))
        except StopIteration as stop:
            return stop.value
        raise AssertionError("a direct step waits for another")

    def run(self, machine: Machine) -> Task[Any]:
        """The value of any step."""
        raise NotImplementedError


class Constant(Step):
    """A value that was known when the plan was made."""

    __slots__ = ("value",)

    def __init__(self, id_: int, value: Any) -> None:
        super().__init__(id_)
        self.value = value

    def now(self, machine: Machine) -> Any:
        machine.meter.push(self.id, self.value)
        return self.value


def failed(value: Any) -> bool:
    """The value is an error."""
    return type(value) is EvaluationError


def attempted(call: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """What a call gives, or its error as a value."""
    try:
        return call(*args, **options)
    except EvaluationError as error:
        return error.with_traceback(None)


class Call(Step):
    """A function or operator: all arguments, then the call. `variadic` ones stop at the first argument that is an error."""

    __slots__ = ("args", "charge", "grows", "ids", "implementation", "slot", "strict", "variadic")

    def __init__(self, id_: int, args: Sequence[Step], slot: int, implementation: Closure, charge: Charge) -> None:
        super().__init__(id_, *args)
        self.args = args
        self.slot = slot  # of the first argument
        self.implementation = implementation
        self.charge = charge
        self.ids = [argument.id for argument in args]
        self.variadic = len(args) > 2
        self.strict = True
        self.grows = False  # `+`, which may have an accumulator on its left

    def run(self, machine: Machine) -> Task[Any]:
        frame, slot, failure = machine.frame, self.slot, None
        for argument in self.args:
            value = argument.now(machine) if argument.direct else (yield argument.run(machine))
            if type(value) is EvaluationError and self.strict:
                failure = failure or value
                if self.variadic:
                    break
            frame[slot] = value
            slot += 1
        if failure is not None:
            result = failure
        elif self.grows and (accumulator := machine.growing.get(id(frame[self.slot]))) is not None:
            result = attempted(_grown, accumulator, frame[self.slot + 1])
        else:
            result = attempted(self.implementation, frame)
        meter = machine.meter
        taken = meter.take(self.ids)
        if taken is not None:
            meter.cost += self.charge(frame, taken, result)
        meter.push(self.id, result)
        return result


def _grown(accumulator: list[Any], elements: Any) -> list[Any]:
    if type(elements) is not list:
        raise no_such_overload()
    if len(accumulator) + len(elements) > MAX_ELEMENTS:
        raise limit_exceeded()
    accumulator.extend(elements)
    return accumulator


class Logic(Step):
    """left && right, left || right"""

    __slots__ = ("decisive", "terms")

    def __init__(self, id_: int, terms: Sequence[Step], *, decisive: bool) -> None:
        super().__init__(id_, *terms)
        self.terms = terms
        self.decisive = decisive

    def run(self, machine: Machine) -> Task[Any]:
        result: Any = not self.decisive
        for term in self.terms:
            value = term.now(machine) if term.direct else (yield term.run(machine))
            if value is self.decisive:
                result = value
                break
            if type(value) is not bool and type(result) is bool:
                result = value if type(value) is EvaluationError else no_such_overload()
        machine.meter.drop(*(term.id for term in self.terms))
        machine.meter.push(self.id, result)
        return result


class Free(Step):
    """A step of one operand that costs nothing itself, such as `in` with a constant list."""

    __slots__ = ("implementation", "operand", "slot")

    def __init__(self, id_: int, operand: Step, slot: int, implementation: Closure) -> None:
        super().__init__(id_, operand)
        self.operand = operand
        self.slot = slot
        self.implementation = implementation

    def run(self, machine: Machine) -> Task[Any]:
        value = yield from value_of(self.operand, machine)
        if not failed(value):
            machine.frame[self.slot] = value
            value = attempted(self.implementation, machine.frame)
        machine.meter.push(self.id, value)
        return value


class Or(Step):
    """optional.or(other) and optional.orValue(other)"""

    __slots__ = ("left", "lenient", "right", "unwrap")

    def __init__(self, id_: int, left: Step, right: Step, *, unwrap: bool, lenient: bool) -> None:
        super().__init__(id_, left, right)
        self.left, self.right, self.unwrap, self.lenient = left, right, unwrap, lenient

    def run(self, machine: Machine) -> Task[Any]:
        value = yield from value_of(self.left, machine)
        if type(value) is Optional:
            value = value.value if self.unwrap else value
        elif value is NONE:
            value = yield from value_of(self.right, machine)
        elif not failed(value) and not self.lenient:
            value = no_such_overload()
        machine.meter.push(self.id, value)
        return value


def value_of(step: Step, machine: Machine) -> Task[Any]:
    """The value of a step."""
    return step.now(machine) if step.direct else (yield step.run(machine))


class NewList(Step):
    """[a, ?b]"""

    __slots__ = ("elements", "optional")

    def __init__(self, id_: int, elements: Sequence[Step], optional: frozenset[int]) -> None:
        super().__init__(id_, *elements)
        self.elements = elements
        self.optional = optional

    def run(self, machine: Machine) -> Task[Any]:
        result: Any = []
        for index, element in enumerate(self.elements):
            value = element.now(machine) if element.direct else (yield element.run(machine))
            if not failed(value):
                value = attempted(add, result, value, optional=index in self.optional)
            if failed(value):
                result = value
                break
        return _constructed(self, [element.id for element in self.elements], result, amounts.NEW_LIST, machine)


class NewMap(Step):
    """{k: v, ?k: v}"""

    __slots__ = ("entries",)

    def __init__(self, id_: int, entries: Sequence[tuple[Step, Step, bool]]) -> None:
        super().__init__(id_, *(part for key, value, _ in entries for part in (key, value)))
        self.entries = entries

    def run(self, machine: Machine) -> Task[Any]:
        result: Any = {}
        for key_step, value_step, optional in self.entries:
            key = yield from value_of(key_step, machine)
            value = key if failed(key) else (yield from value_of(value_step, machine))
            if not failed(value):
                value = attempted(put, result, key, value, optional=optional)
            if failed(value):
                result = value
                break
        ids = [step.id for key, value, _ in self.entries for step in (key, value)]
        return _constructed(self, ids, result, amounts.NEW_MAP, machine)


class NewObject(Step):
    """Name{field: value}"""

    __slots__ = ("fields", "make")

    def __init__(self, id_: int, fields: Sequence[tuple[str, Step, bool]], make: Callable[[dict[str, Any]], Any]) -> None:
        super().__init__(id_, *(step for _, step, _ in fields))
        self.fields = fields
        self.make = make

    def run(self, machine: Machine) -> Task[Any]:
        values: dict[str, Any] = {}
        result = None
        for name, step, optional in self.fields:
            value = yield from value_of(step, machine)
            if not failed(value):
                value = attempted(put_field, values, name, value, optional=optional)
            if failed(value):
                result = value
                break
        result = attempted(self.make, values) if result is None else result
        return _constructed(self, [step.id for _, step, _ in self.fields], result, amounts.NEW_OBJECT, machine)


def _constructed(step: Step, parts: Sequence[int], result: Any, cost: int, machine: Machine) -> Any:
    machine.meter.take(parts)
    machine.meter.cost += cost
    machine.meter.push(step.id, result)
    return result


class Loop(Step):
    """A macro. The accumulator gets its first value when it is first read, if ever."""

    __slots__ = ("accumulator", "condition", "first", "range", "result", "second", "step", "weight")

    def __init__(self, id_: int, range_: Step, slots: tuple[int, int, int | None], weight: int) -> None:
        super().__init__(id_)
        self.direct = False  # until its body is known
        self.range = range_
        self.accumulator, self.first, self.second = slots
        self.weight = weight
        self.condition: Step
        self.step: Step
        self.result: Step

    def run(self, machine: Machine) -> Task[Any]:
        frame, second = machine.frame, self.second
        frame[self.accumulator] = UNSET
        range_ = yield from value_of(self.range, machine)
        elements = range_ if failed(range_) else attempted(singles if second is None else pairs, range_)
        if failed(elements):
            value = elements
        else:
            condition, step = self.condition, self.step
            for one, two in elements:
                take(frame, self.weight)
                frame[self.first] = one
                if second is not None:
                    frame[second] = two
                value = condition.now(machine) if condition.direct else (yield condition.run(machine))
                if value is False:
                    break
                value = step.now(machine) if step.direct else (yield step.run(machine))
                frame[self.accumulator] = value
            value = yield from value_of(self.result, machine)
        machine.meter.drop(self.range.id)
        machine.meter.push(self.id, value)
        return value


UNSET = object()
"""The accumulator before it is first read."""
