"""Device selectors: compiled once, asked about many devices, with three kinds of answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from typing import TypeAlias

from webhook.cel.checker import check
from webhook.cel.closures import Compiler
from webhook.cel.code import MAX_STEPS, Closure
from webhook.cel.device import ENVIRONMENT, DeviceRoots
from webhook.cel.frontend import parse
from webhook.cel.problems import CompileProblem, ExpressionError
from webhook.cel.references import Reference, references_of
from webhook.cel.types import BOOL, DYN, TypeTooLargeError, format_type
from webhook.cel.validators import validate
from webhook.cel.values import (
    AbortedError,
    Absent,
    CelError,
    DomainMap,
    EvaluationError,
    Optional,
    TypeValue,
    UInt,
    type_name,
)
from webhook.model.device import Device

_CACHED_SELECTORS = 2_048


class Verdict(Enum):
    """What a selector says of a device, when it can say anything."""

    MATCH = "match"
    NO_MATCH = "no match"


MATCH, NO_MATCH = Verdict.MATCH, Verdict.NO_MATCH
Outcome: TypeAlias = Verdict | CelError


@dataclass(frozen=True, slots=True)
class Selector:
    """A compiled selector. Immutable; may be used by many threads at once."""

    text: str
    references: frozenset[Reference]
    _run: Closure = field(repr=False, compare=False)
    _locals: tuple[None, ...] = field(repr=False, compare=False)

    def against(self, device: Device) -> Outcome:
        """Match, no match, or the error that would fail the allocation. Never raises. Hot path."""
        try:
            value = self._run([device, MAX_STEPS, *self._locals])
        except (EvaluationError, AbortedError) as error:
            return CelError(error.message)
        except Exception as error:  # noqa: BLE001  # whatever hostile text can still provoke
            return _internal_error(error)
        if value is True:
            return MATCH
        if value is False:
            return NO_MATCH
        return _converted(value)


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
    TypeValue: "type conversion not supported for 'type'",
    Absent: "optional.none() dereference",
}


def _internal_error(error: Exception) -> CelError:
    return CelError(f"internal error: {type(error).__name__}")


@lru_cache(maxsize=_CACHED_SELECTORS)
def compile_selector(text: str) -> Selector | tuple[CompileProblem, ...]:
    """The selector that `text` spells, or what is wrong with it. Never raises. Both outcomes are remembered."""
    try:
        return _compile(text)
    except ExpressionError as error:
        return error.problems
    except (RecursionError, TypeTooLargeError):
        return (CompileProblem("expression is nested too deeply", 1, 1),)
    except AbortedError as error:
        return (CompileProblem(error.message, 1, 1),)
    except Exception as error:  # noqa: BLE001  # whatever hostile text can still provoke
        return (CompileProblem(_internal_error(error).message, 1, 1),)


def _compile(text: str) -> Selector:
    checked = check(parse(text), ENVIRONMENT)
    validate(checked)
    result = checked.types[checked.tree]
    if result not in (BOOL, DYN):
        message = f"must evaluate to bool or the unknown type, not {format_type(result)}"
        raise ExpressionError(CompileProblem(message, 1, 1))
    compiler = Compiler(checked, DeviceRoots())
    code = compiler.compile(checked.tree)
    return Selector(text, references_of(checked), code.run, (None,) * (compiler.slots - 2))
