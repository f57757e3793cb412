"""Expressions of policies: the same language as selectors, over variables that the policy's rule declares.

Values are given as plain Python; they are turned into CEL values by the declared types. A value that does not have its
declared type is a run-time error of the expression, as a missing one is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeAlias
from typing import Literal as Choice

from webhook.cel.ast import Node
from webhook.cel.checker import check
from webhook.cel.closures import DEEPEST, Compiler
from webhook.cel.code import MAX_STEPS, ROOT, Closure, Frame
from webhook.cel.cost import LIMIT
from webhook.cel.cost.estimate import estimate
from webhook.cel.cost.sizes import Declared
from webhook.cel.device import Lookup, Path, attribute_map, capacity_map, capacity_value
from webhook.cel.environment import Environment
from webhook.cel.folds import weight
from webhook.cel.frontend import parse
from webhook.cel.hints import for_result
from webhook.cel.names_read import names_read
from webhook.cel.problems import TOO_DEEP, CompileProblem, ExpressionError, too_costly
from webhook.cel.syntax_hints import with_names
from webhook.cel.types import (
    BOOL,
    DEVICE_ATTRIBUTES,
    DEVICE_CAPACITY,
    DOUBLE,
    DYN,
    INT,
    QUANTITY,
    STRING,
    Kind,
    Type,
    TypeTooLargeError,
    VariableType,
    format_type,
)
from webhook.cel.validators import validate
from webhook.cel.values import STEPS, AbortedError, CelError, EvaluationError, limit_exceeded, map_key, type_name
from webhook.model.quantity import Quantity

ResultType = Choice["bool", "string"]
_RESULTS: dict[ResultType, tuple[Type, type]] = {"bool": (BOOL, bool), "string": (STRING, str)}
_CACHED_EXPRESSIONS = 1_024
_NO_SIZES: Mapping[str, Declared] = {}

Converter: TypeAlias = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Expression:
    """A compiled expression. Immutable; may be used by many threads at once.

    `weight` is that of a Selector. `names` are those of attributes and capacities that it can look at, None for all.
    """

    text: str
    weight: int
    names: frozenset[str] | None
    _run: Closure = field(repr=False, compare=False)
    _result: type = field(repr=False, compare=False)
    _locals: tuple[None, ...] = field(repr=False, compare=False)

    def evaluate(self, values: Mapping[str, object]) -> object | CelError:
        """The result for these values of the declared variables, or the run-time error. Never raises."""
        return self._evaluated([_Values(values), MAX_STEPS, *self._locals])

    def tried(self, values: Mapping[str, object], most: int) -> tuple[object | CelError | None, int]:
        """`evaluate`, with the steps that it took, as `Selector.tried` counts them; what turning `values` into CEL values takes
        is not in them. None when it would take more than `most`. Never raises."""
        if most < self.weight:
            return None, self.weight
        allowed = min(most - self.weight, MAX_STEPS)
        frame: Frame = [_Values(values), allowed, *self._locals]
        result = self._evaluated(frame)
        taken: int = self.weight + allowed - frame[STEPS]
        return (None if result == CelError(limit_exceeded().message) and allowed < MAX_STEPS else result), taken

    def _evaluated(self, frame: Frame) -> object | CelError:
        try:
            value = self._run(frame)
        except (EvaluationError, AbortedError) as error:
            return CelError(error.message)
        except Exception as error:  # noqa: BLE001  # whatever hostile text can still provoke
            return CelError(f"internal error: {type(error).__name__}")
        if type(value) is self._result:
            return value
        return CelError(f"result of type {type_name(value)} could not be converted to {self._result.__name__}")


def compile_expression(
    text: str, *, variables: Mapping[str, VariableType], result: ResultType, sizes: Mapping[str, Declared] = _NO_SIZES
) -> Expression | tuple[CompileProblem, ...]:
    """The expression that `text` spells, or what is wrong with it: what may cost too much is refused as in a selector.

    `sizes` says how large the variables and their parts can be; what it does not say may be as large as can be. Where nothing
    is said of any variable, costs are not judged. Never raises. Both outcomes are remembered.
    """
    try:
        return _compile_cached(text, _Variables(variables, sizes), result)
    except RecursionError:  # the caller has used up the stack: this says nothing of the text, and is not remembered
        return (CompileProblem(TOO_DEEP, 1, 1),)


class _Variables:
    """Declared variables as the key of a cache: equal when names and types are, the fields of objects included."""

    __slots__ = ("_key", "sizes", "variables")

    def __init__(self, variables: Mapping[str, VariableType], sizes: Mapping[str, Declared]) -> None:
        self.variables, self.sizes = variables, sizes
        self._key = tuple((name, _structure(variables[name]), id(sizes.get(name))) for name in sorted(variables))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Variables) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def _structure(type_: Type) -> tuple[Any, ...]:
    fields = None
    if type_.fields is not None:
        fields = tuple((name, _structure(nested)) for name, nested in sorted(type_.fields.items()))
    return type_.kind, type_.name, tuple(map(_structure, type_.params)), fields


@lru_cache(maxsize=_CACHED_EXPRESSIONS)
def _compile_cached(text: str, declared: _Variables, result: ResultType) -> Expression | tuple[CompileProblem, ...]:
    try:
        return _compile(text, declared, result)
    except ExpressionError as error:
        return with_names(error.problems, text, frozenset(declared.variables))
    except TypeTooLargeError:
        return (CompileProblem(TOO_DEEP, 1, 1),)
    except AbortedError as error:
        return (CompileProblem(error.message, 1, 1),)
    except RecursionError:
        raise
    except Exception as error:  # noqa: BLE001  # whatever hostile text can still provoke
        return (CompileProblem(f"internal error: {type(error).__name__}", 1, 1),)


def _compile(text: str, declared: _Variables, result: ResultType) -> Expression:
    variables = declared.variables
    checked = check(parse(text), Environment(variables, sizes=declared.sizes))
    validate(checked)
    expected, python_result = _RESULTS[result]
    actual = checked.types[checked.tree]
    if actual not in (expected, DYN):
        message = f"must evaluate to {result}, not {format_type(actual)}"
        raise ExpressionError(CompileProblem(message, 1, 1, for_result(checked.tree, actual) if result == "bool" else ""))
    most = estimate(checked).most if declared.sizes else 0
    if most > LIMIT:
        raise ExpressionError(too_costly(most))
    if checked.tree.depth > DEEPEST:
        raise ExpressionError(CompileProblem(TOO_DEEP, 1, 1))
    compiler = Compiler(checked, _VariableRoots(variables))
    code = compiler.compile(checked.tree)
    slots = (None,) * (compiler.slots - 2)
    return Expression(text, weight(checked.tree), names_read(checked), code.run, python_result, slots)


class _Values:
    """The values of one evaluation: given ones, and the CEL values of those that were read."""

    __slots__ = ("given", "read")

    def __init__(self, given: Mapping[str, object]) -> None:
        self.given = given
        self.read: dict[str, Any] = {}


class Shared:
    """A value of a variable that many evaluations are given: it is converted once for each expression that reads it."""

    __slots__ = ("_converted", "value")

    def __init__(self, value: object) -> None:
        self.value = value
        self._converted: dict[Converter, Any] = {}

    def converted(self, convert: Converter) -> Any:
        """What `convert` makes of the value."""
        if convert not in self._converted:
            self._converted[convert] = convert(self.value)
        return self._converted[convert]


class _VariableRoots:
    """Access to declared variables for the compiler: each is converted when it is first read."""

    def __init__(self, variables: Mapping[str, VariableType]) -> None:
        self._variables = variables

    def variable(self, name: str) -> Closure:
        """Code that reads a variable."""
        convert = converter(self._variables[name], name)

        def run(frame: Frame) -> Any:
            values = frame[ROOT]
            if name not in values.read:
                if name not in values.given:
                    raise EvaluationError(f"no such attribute(s): {name}")
                given = values.given[name]
                values.read[name] = given.converted(convert) if type(given) is Shared else convert(given)
            return values.read[name]

        return run

    def start(self, name: str) -> Path | None:
        """No path here is better than reading step by step."""
        return None

    def path(self, node: Node, lookup: Lookup) -> Closure | None:
        """As `start`."""
        return None

    def alias(self, node: Node, lookup: Lookup) -> Path | None:
        """As `start`."""
        return None

    def membership(self, name: str, container: Node, lookup: Lookup) -> Closure | None:
        """As `start`."""
        return None


def converter(type_: Type, name: str) -> Converter:
    """What turns a plain Python value of the declared type into its CEL value. `name` says which one in errors."""
    if type_.fields is not None and type_ == DEVICE_ATTRIBUTES and not type_.fields:
        return _checked(Mapping, attribute_map, name)
    if type_.fields is not None and type_ == DEVICE_CAPACITY and not type_.fields:
        return _checked(Mapping, capacity_map, name)
    if type_.kind is Kind.LIST:
        return _list(converter(type_.params[0], f"{name}[]"), name)
    if type_.kind is Kind.MAP:
        return _map(converter(type_.params[1], f"{name}[]"), name)
    if type_.kind is Kind.STRUCT and type_.fields is not None:
        return _object({key: converter(nested, f"{name}.{key}") for key, nested in type_.fields.items()}, name)
    if type_ == QUANTITY:
        return _checked((str, Quantity), lambda value: capacity_value(name, value), name)
    return _plain(type_, name)


_HOLDERS: dict[Type, type] = {STRING: str, INT: int, BOOL: bool, DOUBLE: float}


def _plain(type_: Type, name: str) -> Converter:
    holder = _HOLDERS.get(type_)
    if holder is None:
        return dynamic

    def convert(value: Any) -> Any:
        if type(value) is not holder:
            raise _wrong(name, value)
        return value

    return convert


def _wrong(name: str, value: object) -> EvaluationError:
    return EvaluationError(f"{name} has no value of its type, but {type(value).__name__}")


def _checked(holder: Any, convert: Converter, name: str) -> Converter:
    def run(value: Any) -> Any:
        if not isinstance(value, holder):
            raise _wrong(name, value)
        return convert(value)

    return run


def _list(element: Converter, name: str) -> Converter:
    def convert(values: Any) -> list[Any]:
        if not isinstance(values, Sequence) or isinstance(values, str | bytes):
            raise _wrong(name, values)
        return [element(value) for value in values]

    return convert


def _map(element: Converter, name: str) -> Converter:
    def convert(values: Any) -> dict[Any, Any]:
        if not isinstance(values, Mapping):
            raise _wrong(name, values)
        return {map_key(key): element(value) for key, value in values.items()}

    return convert


def _object(fields: Mapping[str, Converter], name: str) -> Converter:
    def convert(values: Any) -> dict[str, Any]:
        if not isinstance(values, Mapping):
            raise _wrong(name, values)
        return {key: fields[key](value) for key, value in values.items() if key in fields}

    return convert


def dynamic(value: Any) -> Any:
    """The CEL value of a plain Python value whose type nobody declared."""
    if isinstance(value, Mapping):
        return {map_key(key): dynamic(nested) for key, nested in value.items()}
    if isinstance(value, list | tuple):
        return [dynamic(nested) for nested in value]
    return value
