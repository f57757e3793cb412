"""Operators: arithmetic with CEL's ranges, order, equality, membership and size.

`&&`, `||`, `?:`, indexing and selection are compiled, not called; only their signatures stand here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from webhook.cel.equality import compare, equal, equal_or_false
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
    Kind,
    Type,
    list_of,
    map_of,
    optional_of,
    param,
)
from webhook.cel.values import (
    INT_MAX,
    INT_MIN,
    MAPS,
    MISSING,
    UINT_MAX,
    Duration,
    EvaluationError,
    Optional,
    Timestamp,
    UInt,
    find,
    limit_exceeded,
    no_such_overload,
    take,
)
from webhook.model.quantity import Quantity

_A, _B = param("A"), param("B")
_LIST, _MAP = list_of(_A), map_of(_B, _A)
MAX_ELEMENTS = 1_000_000  # of a list that an expression makes
MAX_LENGTH = 10_000_000  # of a string that its length is charged for: the scheduler stops before that
MAX_UNCHARGED = 2_000_000  # of any other string

# Go types that answer any call themselves: their errors do not name the function.
RECEIVERS: set[type] = {str, Timestamp, Duration}

_YEAR_1, _YEAR_9999 = -62135596800 * 10**9, 253402300800 * 10**9 - 1


def int_result(value: int) -> int:
    """`value` as an int, or the overflow error."""
    if INT_MIN <= value <= INT_MAX:
        return value
    raise EvaluationError("integer overflow")


def uint_result(value: int) -> UInt:
    """`value` as a uint, or the overflow error."""
    if 0 <= value <= UINT_MAX:
        return UInt(value)
    raise EvaluationError("unsigned integer overflow")


def duration_result(nanos: int) -> Duration:
    """A duration, or the overflow error."""
    if INT_MIN <= nanos <= INT_MAX:
        return Duration(nanos)
    raise EvaluationError("duration overflow")


def timestamp_result(nanos: int, offset: int = 0) -> Timestamp:
    """A timestamp of the years 1 to 9999, or the overflow error."""
    if _YEAR_1 <= nanos <= _YEAR_9999:
        return Timestamp(nanos, offset)
    raise EvaluationError("timestamp overflow")


def _joined(left: Any, right: Any) -> Any:
    if len(left) + len(right) > (MAX_ELEMENTS if type(left) is list else MAX_LENGTH):
        raise limit_exceeded()
    return left + right


_ADD: dict[tuple[type, type], Callable[[Any, Any], Any]] = {
    (int, int): lambda a, b: int_result(a + b),
    (UInt, UInt): lambda a, b: uint_result(int(a) + int(b)),
    (float, float): lambda a, b: a + b,
    (str, str): _joined,
    (bytes, bytes): _joined,
    (list, list): _joined,
    (Duration, Duration): lambda a, b: duration_result(a.nanos + b.nanos),
    (Timestamp, Duration): lambda a, b: timestamp_result(a.nanos + b.nanos, a.offset),
    (Duration, Timestamp): lambda a, b: timestamp_result(a.nanos + b.nanos, b.offset),
}


def _between(later: int, earlier: int) -> Duration:
    """The seconds alone may not overflow either."""
    seconds = int_result((later // 10**9 - earlier // 10**9) * 10**9)
    return Duration(int_result(seconds + later % 10**9 - earlier % 10**9))


_SUBTRACT: dict[tuple[type, type], Callable[[Any, Any], Any]] = {
    (int, int): lambda a, b: int_result(a - b),
    (UInt, UInt): lambda a, b: uint_result(int(a) - int(b)),
    (float, float): lambda a, b: a - b,
    (Duration, Duration): lambda a, b: duration_result(a.nanos - b.nanos),
    (Timestamp, Duration): lambda a, b: timestamp_result(a.nanos + duration_result(-b.nanos).nanos, a.offset),
    (Timestamp, Timestamp): lambda a, b: _between(a.nanos, b.nanos),
}
_MULTIPLY: dict[tuple[type, type], Callable[[Any, Any], Any]] = {
    (int, int): lambda a, b: int_result(a * b),
    (UInt, UInt): lambda a, b: uint_result(int(a) * int(b)),
    (float, float): lambda a, b: a * b,
}


def _quotient(a: int, b: int) -> int:
    if b == 0:
        raise EvaluationError("division by zero")
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _remainder(a: int, b: int) -> int:
    if b == 0:
        raise EvaluationError("modulus by zero")
    if a == INT_MIN and b == -1:
        raise EvaluationError("integer overflow")
    return abs(a) % abs(b) * (-1 if a < 0 else 1)


def _float_quotient(a: float, b: float) -> float:
    if b != 0:
        return a / b
    if a == 0 or math.isnan(a):
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


_DIVIDE: dict[tuple[type, type], Callable[[Any, Any], Any]] = {
    (int, int): lambda a, b: int_result(_quotient(a, b)),
    (UInt, UInt): lambda a, b: UInt(_quotient(int(a), int(b))),
    (float, float): _float_quotient,
}
_MODULO: dict[tuple[type, type], Callable[[Any, Any], Any]] = {
    (int, int): _remainder,
    (UInt, UInt): lambda a, b: UInt(_remainder(int(a), int(b))),
}


def _arithmetic(name: str, table: dict[tuple[type, type], Callable[[Any, Any], Any]]) -> Callable[[Any, Any], Any]:
    left_types = {left for left, _ in table} | RECEIVERS

    def operate(left: Any, right: Any) -> Any:
        implementation = table.get((type(left), type(right)))
        if implementation is None:
            raise no_such_overload("" if type(left) in left_types else name)
        return implementation(left, right)

    return operate


def _negate(value: Any) -> Any:
    if type(value) is int:
        return int_result(-value)
    if type(value) is float:
        return -value
    if type(value) is Duration:  # the checker knows nothing of this one
        return duration_result(-value.nanos)
    raise no_such_overload("" if type(value) is bool or type(value) in RECEIVERS else "-_")


def _not(value: Any) -> bool:
    if type(value) is bool:
        return not value
    raise no_such_overload()


def _not_strictly_false(value: Any) -> bool:
    return value if type(value) is bool else True


def contains(frame: list[Any], value: Any, container: Any) -> bool:
    """value in container. Hot path of selectors with lists."""
    kind = type(container)
    if kind is list:
        take(frame, 1 + len(container) // 4)
        return any(equal_or_false(frame, value, element) for element in container)
    if kind is dict:
        return bool(container) and find(container, value) is not MISSING
    if kind in MAPS:
        return _publishes(container, value)
    raise no_such_overload()


def _publishes(container: dict[str, Any], value: Any) -> bool:
    """`value` is a name in a device's own map. A map of capacities looks into optional values."""
    if any(type(published) is Quantity for published in container.values()):
        while type(value) is Optional:
            value = value.value
    return type(value) is str and value in container


_SIZED = {str, bytes, list, *MAPS}


def size(value: Any) -> int:
    """The number of characters, bytes, elements or entries."""
    if type(value) in _SIZED:
        return len(value)
    raise no_such_overload("" if type(value) in RECEIVERS else "size")


def _not_equal(frame: list[Any], left: Any, right: Any) -> bool:
    return not equal_or_false(frame, left, right)  # what cannot be compared differs


_ORDERS = {"<": "less", "<=": "less_equals", ">": "greater", ">=": "greater_equals"}
_ARITHMETIC = {"_+_": "add", "_-_": "subtract", "_*_": "multiply", "_/_": "divide", "_%_": "modulo"}
_ID_NAMES = {"int": "int64", "uint": "uint64", TIMESTAMP.name: "timestamp", DURATION.name: "duration"}


def _id(prefix: str, *types: Type) -> str:
    """The id of an overload, as the scheduler's library calls it: costs go by these."""
    return "_".join((prefix, *(_ID_NAMES.get(type_.name, type_.name) for type_ in types)))


# The first overload that fits settles what an unknown element type is: this order is the scheduler's library's.
_ORDERED_PAIRS = (
    (BOOL, BOOL),
    *((INT, other) for other in (INT, DOUBLE, UINT)),
    *((UINT, other) for other in (UINT, DOUBLE, INT)),
    *((DOUBLE, other) for other in (DOUBLE, INT, UINT)),
    *((same, same) for same in (STRING, BYTES, TIMESTAMP, DURATION)),
)


def _ordering(symbol: str, test: Callable[[int], bool]) -> Function:
    name = f"_{symbol}_"
    overloads = tuple(Overload(_id(_ORDERS[symbol], *dict.fromkeys(pair)), pair, BOOL) for pair in _ORDERED_PAIRS)
    return Function(name, overloads, shared=lambda left, right: test(compare(left, right, name)))


def _binary(name: str, *signatures: tuple[Type, Type, Type], shared: Callable[..., Any], takes_frame: bool = False) -> Function:
    overloads = (Overload(_binary_id(name, left, right), (left, right), result) for left, right, result in signatures)
    return Function(name, tuple(overloads), shared=shared, takes_frame=takes_frame)


def _binary_id(name: str, left: Type, right: Type) -> str:
    if name in ("_==_", "_!=_"):
        return "equals" if name == "_==_" else "not_equals"
    if name == "@in":
        return _id("in", right)
    both = (left, right) if left.kind is Kind.WELL_KNOWN else (right,)
    return _id(_ARITHMETIC[name], *both)


def _same(*types: Type) -> list[tuple[Type, Type, Type]]:
    return [(type_, type_, type_) for type_ in types]


_OPT_LIST, _OPT_MAP = optional_of(_LIST), optional_of(_MAP)

FUNCTIONS: tuple[Function, ...] = (
    Function("_&&_", (Overload("logical_and", (BOOL, BOOL), BOOL),)),
    Function("_||_", (Overload("logical_or", (BOOL, BOOL), BOOL),)),
    Function("_?_:_", (Overload("conditional", (BOOL, _A, _A), _A),)),
    Function("!_", (Overload("logical_not", (BOOL,), BOOL),), shared=_not),
    Function("@not_strictly_false", (Overload("not_strictly_false", (BOOL,), BOOL),), shared=_not_strictly_false),
    _binary("_==_", (_A, _A, BOOL), shared=equal, takes_frame=True),
    _binary("_!=_", (_A, _A, BOOL), shared=_not_equal, takes_frame=True),
    _binary(
        "_+_",
        *_same(BYTES, DOUBLE, DURATION),
        (DURATION, TIMESTAMP, TIMESTAMP),
        (TIMESTAMP, DURATION, TIMESTAMP),
        *_same(INT, _LIST, STRING, UINT),
        shared=_arithmetic("_+_", _ADD),
    ),
    _binary(
        "_-_",
        *_same(DOUBLE, DURATION, INT),
        (TIMESTAMP, DURATION, TIMESTAMP),
        (TIMESTAMP, TIMESTAMP, DURATION),
        *_same(UINT),
        shared=_arithmetic("_-_", _SUBTRACT),
    ),
    _binary("_*_", *_same(DOUBLE, INT, UINT), shared=_arithmetic("_*_", _MULTIPLY)),
    _binary("_/_", *_same(DOUBLE, INT, UINT), shared=_arithmetic("_/_", _DIVIDE)),
    _binary("_%_", *_same(INT, UINT), shared=_arithmetic("_%_", _MODULO)),
    Function("-_", (Overload("negate_double", (DOUBLE,), DOUBLE), Overload("negate_int", (INT,), INT)), shared=_negate),
    _ordering("<", lambda order: order < 0),
    _ordering("<=", lambda order: order <= 0),
    _ordering(">", lambda order: order > 0),
    _ordering(">=", lambda order: order >= 0),
    Function(
        "_[_]",
        (
            Overload("index_list", (_LIST, INT), _A),
            Overload("index_map", (_MAP, _A), _B),
            Overload("optional_list_index_int", (_OPT_LIST, INT), optional_of(_A)),
            Overload("optional_map_index_value", (_OPT_MAP, _A), optional_of(_B)),
        ),
    ),
    Function(
        "_[?_]",
        (
            Overload("list_optindex_optional_int", (_LIST, INT), optional_of(_A)),
            Overload("optional_list_optindex_optional_int", (_OPT_LIST, INT), optional_of(_A)),
            Overload("map_optindex_optional_value", (_MAP, _A), optional_of(_B)),
            Overload("optional_map_optindex_optional_value", (_OPT_MAP, _A), optional_of(_B)),
        ),
    ),
    Function("_?._", (Overload("select_optional_field", (DYN, STRING), optional_of(_A)),)),
    Function(  # what transformMap becomes; the loop itself is compiled
        "cel.@mapInsert",
        (
            Overload("cel_@mapInsert_map_key_value", (_MAP, _A, _B), _MAP),
            Overload("cel_@mapInsert_map_map", (_MAP, _MAP), _MAP),
        ),
    ),
    _binary("@in", (_A, _LIST, BOOL), (_A, _MAP, BOOL), shared=contains, takes_frame=True),
    Function(
        "size",
        tuple(
            Overload(f"size_{type_.name}{'_inst' if member else ''}", (type_,), INT, member=member)
            for type_ in (BYTES, _LIST, _MAP, STRING)
            for member in (False, True)
        ),
        shared=size,
    ),
)
