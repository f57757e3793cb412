"""Optional values. `or` and `orValue` are compiled, because they look at their argument only when they need it."""

from __future__ import annotations

from typing import Any

from webhook.cel.library.table import Function, Overload
from webhook.cel.types import BOOL, list_of, optional_of, param
from webhook.cel.values import NONE, Absent, DomainMap, Duration, EvaluationError, Optional, Timestamp, no_such_overload

_V = param("V")
_OPT = optional_of(_V)
_ZERO_TIMES = (Duration(0), Timestamp(-62135596800 * 10**9))
_ZERO_TYPES = (bool, int, float, str, bytes, list, dict, DomainMap)


def _of_non_zero(value: Any) -> Optional | Absent:
    if value is None or (isinstance(value, _ZERO_TYPES) and not value) or value in _ZERO_TIMES:
        return NONE
    return Optional(value)


def value_of(optional: Any) -> Any:
    """optional.value()"""
    if type(optional) is Optional:
        return optional.value
    if optional is NONE:
        raise EvaluationError("optional.none() dereference")
    raise no_such_overload()


def has_value(optional: Any) -> bool:
    """optional.hasValue()"""
    return type(optional) is Optional


def _unwrap(values: list[Any]) -> list[Any]:
    for value in values:
        if type(value) is not Optional and value is not NONE:
            raise EvaluationError(f"value {value} is not optional")
    return [value.value for value in values if type(value) is Optional]


FUNCTIONS: tuple[Function, ...] = (
    Function("optional.of", (Overload("optional_of", (_V,), _OPT, Optional),)),
    Function("optional.ofNonZeroValue", (Overload("optional_ofNonZeroValue", (_V,), _OPT, _of_non_zero),)),
    Function("optional.none", (Overload("optional_none", (), _OPT, lambda: NONE),)),
    Function("value", (Overload("optional_value", (_OPT,), _V, value_of, member=True),)),
    Function("hasValue", (Overload("optional_hasValue", (_OPT,), BOOL, has_value, member=True),)),
    Function("or", (Overload("optional_or_optional", (_OPT, _OPT), _OPT, member=True),)),
    Function("orValue", (Overload("optional_orValue_value", (_OPT, _V), _V, member=True),)),
    Function("first", (Overload("list_first", (list_of(_V),), _OPT, lambda v: Optional(v[0]) if v else NONE, member=True),)),
    Function("last", (Overload("list_last", (list_of(_V),), _OPT, lambda v: Optional(v[-1]) if v else NONE, member=True),)),
    Function("optional.unwrap", (Overload("optional_unwrap", (list_of(_OPT),), list_of(_V), _unwrap),)),
    Function("unwrapOpt", (Overload("optional_unwrapOpt", (list_of(_OPT),), list_of(_V), _unwrap, member=True),)),
)
