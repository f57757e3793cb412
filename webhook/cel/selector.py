"""Device selectors: compiled once, asked about many devices, with three kinds of answers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from typing import TypeAlias

from webhook.cel.checked import Checked
from webhook.cel.checker import check
from webhook.cel.closures import DEEPEST, Compiler
from webhook.cel.code import MAX_STEPS, Closure, Frame
from webhook.cel.cost import LIMIT
from webhook.cel.cost.estimate import estimate
from webhook.cel.cost.meter import MAX_STEPS as COUNTED_STEPS
from webhook.cel.cost.meter import Meter
from webhook.cel.cost.program import Program, device_reader, program
from webhook.cel.device import DeviceRoots
from webhook.cel.dialect import DEVICE, NEWEST, Dialect, dialect_of, environment_of
from webhook.cel.folds import weight
from webhook.cel.frontend import parse
from webhook.cel.hints import for_result
from webhook.cel.problems import TOO_DEEP, CompileProblem, ExpressionError, too_costly
from webhook.cel.quirks import needs_the_count
from webhook.cel.references import Reference, references_of
from webhook.cel.syntax_hints import with_names
from webhook.cel.types import BOOL, TypeTooLargeError, format_type
from webhook.cel.validators import validate
from webhook.cel.values import (
    STEPS,
    AbortedError,
    Absent,
    CelError,
    DeviceMap,
    DomainMap,
    EvaluationError,
    Optional,
    TypeValue,
    UInt,
    limit_exceeded,
    type_name,
)
from webhook.model.device import Device

_CACHED_SELECTORS = 2_048
_CACHED_LONG_SELECTORS = 64  # of 10 KiB each takes some 200 KiB when it is compiled
_LONG = 1_000
_CACHED_PROGRAMS = 64
_STEPS_PER_COST = 4  # what a counted evaluation takes for each unit of cost, in the time of closures' steps
_CLOSELY = 1_000  # what may cost more is counted unit by unit where its time is limited: closures count only their loops
_COST_PER_STEP = 16


class Verdict(Enum):
    """What a selector says of a device, when it can say anything."""

    MATCH = "match"
    NO_MATCH = "no match"


MATCH, NO_MATCH = Verdict.MATCH, Verdict.NO_MATCH
Outcome: TypeAlias = Verdict | CelError


@dataclass(frozen=True, slots=True)
class Selector:
    """A compiled selector. Immutable; may be used by many threads at once.

    `max_cost` is the most that it can cost: above cost.LIMIT the API server refuses it, see `refusal`. `weight` are the steps
    that an evaluation is charged for the expression alone, whatever is found.
    """

    text: str
    references: frozenset[Reference]
    max_cost: int
    dialect: Dialect
    weight: int
    _run: Closure | None = field(repr=False, compare=False)  # None: only the counted program will do
    _locals: tuple[None, ...] = field(repr=False, compare=False)

    def against(self, device: Device) -> Outcome:
        """Match, no match, or the error that would fail the allocation. Never raises. Hot path."""
        run = self._run
        if run is None or device.unreadable or (device.listed and not self.dialect.lists):
            return self.cost(device)[0]
        try:
            value = run([device, MAX_STEPS, *self._locals])
        except EvaluationError as error:
            return CelError(error.message)
        except AbortedError as error:
            return self._aborted(device, error)
        except Exception as error:  # noqa: BLE001  # whatever hostile text can still provoke
            return _internal_error(error)
        if value is True:
            return MATCH
        if value is False:
            return NO_MATCH
        return _converted(value)

    def _aborted(self, device: Device, error: AbortedError) -> Outcome:
        # Steps are counted more coarsely than costs, and stop an evaluation earlier: the count of costs decides.
        return self.cost(device)[0] if error.message == limit_exceeded().message else CelError(error.message)

    def tried(self, device: Device, most: int) -> tuple[Outcome | None, int]:
        """`against`, with the steps that it took: some 0.3 microseconds each. None when it would take more than `most`.

        Steps are deterministic, so that what is given up is given up on every machine. Never raises.
        """
        most -= self.weight
        if most < 0:
            return None, self.weight
        run = self._run
        if run is None or device.unreadable or (device.listed and not self.dialect.lists) or self.max_cost > _CLOSELY:
            return self._tried_counting(device, most, self.weight)
        allowed = min(most, MAX_STEPS)
        frame: Frame = [device, allowed, *self._locals]
        outcome: Outcome
        try:
            value = run(frame)
            outcome = MATCH if value is True else NO_MATCH if value is False else _converted(value)
        except EvaluationError as error:
            outcome = CelError(error.message)
        except AbortedError as error:
            if error.message == limit_exceeded().message:
                return self._tried_counting(device, most - allowed, self.weight + allowed)
            outcome = CelError(error.message)
        except Exception as error:  # noqa: BLE001  # whatever hostile text can still provoke
            outcome = _internal_error(error)
        taken: int = allowed - frame[STEPS]
        return outcome, self.weight + taken

    def _tried_counting(self, device: Device, most: int, before: int) -> tuple[Outcome | None, int]:
        meter = Meter(limit := min(LIMIT, most // _STEPS_PER_COST), allowed := min(most, COUNTED_STEPS))
        outcome = self._counted(device, meter)
        ended = outcome == CelError(limit_exceeded().message)
        given_up = ended and (limit < LIMIT if meter.cost > limit else allowed < COUNTED_STEPS)
        # What ran out of steps has taken all of them, though the last ones were not taken off.
        taken = allowed if ended and meter.cost <= limit else allowed - meter.steps
        return None if given_up else outcome, before + max(meter.cost * _STEPS_PER_COST, taken)

    def cost(self, device: Device) -> tuple[Outcome, int]:
        """The outcome, and what it cost to get there in the scheduler's units. Much slower than `against`. Never raises."""
        outcome = self._counted(device, meter := Meter(LIMIT))
        return outcome, meter.cost

    def _counted(self, device: Device, meter: Meter) -> Outcome:
        unreadable = device.unreadable or ("" if self.dialect.lists else device.listed)
        if unreadable:
            return CelError(unreadable)
        try:
            value = _program(self.text, self.dialect).run(device, meter)
        except AbortedError as error:
            return CelError(error.message)
        except Exception as error:  # noqa: BLE001  # whatever hostile text can still provoke
            return _internal_error(error)
        if type(value) is EvaluationError:
            return CelError(value.message)
        return (MATCH if value else NO_MATCH) if type(value) is bool else _converted(value)

    @property
    def refusal(self) -> CompileProblem | None:
        """Why the API server does not accept the selector although it compiles."""
        return too_costly(self.max_cost) if self.max_cost > LIMIT else None


def _converted(value: object) -> Outcome:
    """What the scheduler makes of a result that is no bool: only an optional bool will do."""
    inner = value.value if type(value) is Optional else value
    if type(value) is Optional and type(inner) is bool:
        return MATCH if inner else NO_MATCH
    reason = _REASONS.get(type(inner))
    if reason is None:
        reason = f"type conversion error from '{type_name(inner).rpartition('.')[2]}' to 'bool'"
    return CelError(f"CEL result of type {type_name(value)} could not be converted to bool: {reason}")


_REASONS: dict[type, str] = {
    int: "unsupported type conversion from 'int' to bool",
    UInt: "unsupported type conversion from 'uint' to bool",
    str: "unsupported native conversion from string to 'bool'",
    float: "type conversion error from Double to 'bool'",
    bytes: "type conversion error from Bytes to 'bool'",
    list: "type conversion error from list to 'bool'",
    dict: "type conversion error from map to 'bool'",
    DomainMap: "type conversion error from map to 'bool'",
    DeviceMap: "type conversion error from map to 'bool'",
    TypeValue: "type conversion not supported for 'type'",
    Absent: "optional.none() dereference",
}


def _internal_error(error: Exception) -> CelError:
    return CelError(f"internal error: {type(error).__name__}")


def compile_selector(text: str, *, minor: int = NEWEST, gates: Collection[str] = ()) -> Selector | tuple[CompileProblem, ...]:
    """The selector that `text` spells in a minor version of Kubernetes with these feature gates on, or what is wrong with it.

    Never raises. Both outcomes are remembered, those of the texts that were asked last: 2,048 texts of ordinary length, which
    take 3 KiB each, and 64 long ones.
    """
    remembered = _compiled if len(text) <= _LONG else _compiled_long
    try:
        return remembered(text, dialect_of(minor, gates))
    except RecursionError:  # the caller has used up the stack: this says nothing of the text, and is not remembered
        return (CompileProblem(TOO_DEEP, 1, 1),)


def _compile_safely(text: str, dialect: Dialect) -> Selector | tuple[CompileProblem, ...]:
    try:
        return _compile(text, dialect)
    except ExpressionError as error:
        return with_names(error.problems, text, frozenset({DEVICE}))
    except TypeTooLargeError:
        return (CompileProblem(TOO_DEEP, 1, 1),)
    except AbortedError as error:
        return (CompileProblem(error.message, 1, 1),)
    except RecursionError:
        raise
    except Exception as error:  # noqa: BLE001  # whatever hostile text can still provoke
        return (CompileProblem(_internal_error(error).message, 1, 1),)


_compiled = lru_cache(maxsize=_CACHED_SELECTORS)(_compile_safely)
_compiled_long = lru_cache(maxsize=_CACHED_LONG_SELECTORS)(_compile_safely)


def _compile(text: str, dialect: Dialect) -> Selector:
    checked = _checked(text, dialect)
    max_cost = estimate(checked).most
    references = references_of(checked)
    steps = weight(checked.tree) + min(max_cost, _CLOSELY) // _COST_PER_STEP
    if max_cost > LIMIT or checked.tree.depth > DEEPEST or needs_the_count(checked):
        _program(text, dialect)  # what cannot be planned is a compile error
        return Selector(text, references, max_cost, dialect, steps, None, ())
    compiler = Compiler(checked, DeviceRoots())
    code = compiler.compile(checked.tree)
    return Selector(text, references, max_cost, dialect, steps, code.run, (None,) * (compiler.slots - 2))


def _checked(text: str, dialect: Dialect) -> Checked:
    checked = check(parse(text), environment_of(dialect))
    validate(checked)
    result = checked.types[checked.tree]
    if result not in (BOOL, dialect.attribute):
        message = f"must evaluate to bool or the unknown type, not {format_type(result)}"
        raise ExpressionError(CompileProblem(message, 1, 1, for_result(checked.tree, result)))
    return checked


@lru_cache(maxsize=_CACHED_PROGRAMS)
def _program(text: str, dialect: Dialect) -> Program:
    return program(_checked(text, dialect), device_reader)
