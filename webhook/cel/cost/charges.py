"""What a call cost, from what it was given and what came of it.

The rules are the scheduler's. It takes the first that applies: one for the overload, if the call has a single one; one for
the function; and else the language's own, by overload. Everything else costs one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

from webhook.cel.cost.amounts import (
    AUTHORIZATION,
    NEW_LIST,
    PER_CHARACTER,
    PER_PATTERN_CHARACTER,
    exactly,
    selector_cost,
)
from webhook.cel.library.named_formats import FormatValue
from webhook.cel.library.net import CidrValue, IpValue
from webhook.cel.library.url import UrlValue
from webhook.cel.values import (
    MAPS,
    AbortedError,
    DerivedQuantity,
    EvaluationError,
    Optional,
    go_type,
    key_value,
    take,
)
from webhook.model.quantity import Quantity
from webhook.model.semver import Semver

#: (frame, arguments with the receiver first, result) -> cost. Any of the values may be an EvaluationError.
Charge: TypeAlias = Callable[[list[Any], list[Any], Any], int]


def charge(function: str, overload: str, *, before_37: bool = False) -> Charge:
    """How calls of a function are charged; `overload` is "" when several overloads fit."""
    if before_37 and overload in _BEFORE_37:
        return _BEFORE_37[overload]
    found = _BY_OVERLOAD.get(overload) or (_sorted_by if function == "@sortByAssociatedKeys" and overload else None)
    if found is None and function == "sort" and overload:
        found = _self_compared
    return found or _BY_NAME.get(function) or _CORE.get(overload) or _one


def _one(frame: list[Any], args: list[Any], result: Any) -> int:
    return 1


_SIZED = {str, bytes, list, *MAPS}


def size(value: Any) -> int:
    """How large a value is to Kubernetes' functions."""
    if type(value) in _SIZED:
        return len(value)
    if type(value) is IpValue:
        return value.address.max_prefixlen // 8
    if type(value) is CidrValue:
        return math.ceil(value.bits / 8)
    return 1


def _core_size(value: Any) -> int:
    """How large a value is to the language's own functions, which look into optional values."""
    while type(value) is Optional:
        value = value.value
    return size(value)


def _walk(length: float, factor: float = PER_CHARACTER) -> int:
    return math.ceil(float(length) * factor)


# Kubernetes' functions.


def _traversed(frame: list[Any], args: list[Any], result: Any) -> int:
    """The strings in a value, and one for everything else in it."""
    cost, pending = 0, [args[0]]
    while pending:
        value = pending.pop()
        kind = type(value)
        if kind is str or kind is bytes:
            cost += int(len(value if kind is bytes else value.encode("utf-8", "replace")) * PER_CHARACTER)
        elif kind is list:
            take(frame, 1 + len(value) // 8)
            pending.extend(value)
        elif kind is dict or kind in MAPS:
            take(frame, 1 + len(value) // 4)
            pending.extend(value.values())
            pending.extend(map(key_value, value))
        else:
            cost += 1
    return cost


def _walked_once(frame: list[Any], args: list[Any], result: Any) -> int:
    return _walk(size(args[0]))


def _walked_twice(frame: list[Any], args: list[Any], result: Any) -> int:
    return _walk(size(args[0]) * 2)


def _joined(frame: list[Any], args: list[Any], result: Any) -> int:
    return _walk(size(result) * 2)


def _searched(frame: list[Any], args: list[Any], result: Any) -> int:
    return _walk(1.0 + size(args[0])) * _walk(size(args[1]), PER_PATTERN_CHARACTER)


def _contains_ip(frame: list[Any], args: list[Any], result: Any) -> int:
    return _walk(size(args[0]) * 2)


def _contains_ip_text(frame: list[Any], args: list[Any], result: Any) -> int:
    return _walk(size(args[0]) * 2) + _walk(size(args[1]))


def _contains_cidr(frame: list[Any], args: list[Any], result: Any) -> int:
    return _walk(size(args[0]) * 2) + _walk(size(args[0])) + 1


def _contains_cidr_text(frame: list[Any], args: list[Any], result: Any) -> int:
    return _contains_cidr(frame, args, result) + _walk(size(args[1]))


def _validated(frame: list[Any], args: list[Any], result: Any) -> int:
    if type(args[0]) is not FormatValue:
        return 1
    return _walk(1.0 + size(args[1])) * _walk(args[0].pattern_length, PER_PATTERN_CHARACTER)


_OPAQUE = {Quantity, DerivedQuantity, Semver, IpValue, CidrValue, FormatValue, UrlValue}


def _equal(frame: list[Any], args: list[Any], result: Any) -> int:
    return 1 if type(args[0]) in _OPAQUE else _compared(frame, args, result)


def _checked(frame: list[Any], args: list[Any], result: Any) -> int:
    return AUTHORIZATION


def _required(frame: list[Any], args: list[Any], result: Any) -> int:
    return selector_cost(exactly(size(args[1]))).most


# Functions of lists and sets. The library looks into their arguments, and panics where those are not what it expects.


#: The functions whose charge can fail an evaluation by itself.
TRACKED = frozenset({"flatten", "distinct", "sort", "@sortByAssociatedKeys"})


def _panic(value: Any, expected: str) -> AbortedError:
    actual = "*types.Err" if isinstance(value, EvaluationError) else go_type(value)
    if expected == "int":
        return AbortedError(f"internal error: interface conversion: ref.Val is {actual}, not types.Int")
    return AbortedError(f"internal error: interface conversion: {actual} is not traits.Lister: missing method Add")


def _new_list(length: int, factor: float = 1.0) -> int:
    cost = int(length * (factor if factor >= 0 else 1.0))
    return (cost if cost < 2**64 else 2**63) + 1 + NEW_LIST  # what Go makes of a number that is too large


def _by_result(frame: list[Any], args: list[Any], result: Any) -> int:
    return _new_list(size(result))


def _flattened(frame: list[Any], args: list[Any], result: Any) -> int:
    if len(args) == 2 and type(args[1]) is not int:
        raise _panic(args[1], "int")
    return _new_list(size(args[0]), float(args[1]) if len(args) == 2 else 1.0)


def _flattened_before_37(frame: list[Any], args: list[Any], result: Any) -> int:
    """A cost below zero became a number without a sign: a huge one, or by overflow a small one."""
    if len(args) == 2 and type(args[1]) is int and args[1] < 0:
        cost = max(int(float(size(args[0])) * float(args[1])), -(2**63))
        return (cost + 1 + NEW_LIST) % 2**64 if cost > -(2**63) else 2**63 + 1 + NEW_LIST
    return _flattened(frame, args, result)


def _pairs_of(values: Any) -> int:
    if type(values) is not list:
        raise _panic(values, "list")
    is_text = bool(values) and type(values[0]) in (str, bytes)
    return _new_list(len(values) ** 2, 2.0 + (PER_CHARACTER if is_text else 0.0))


def _self_compared(frame: list[Any], args: list[Any], result: Any) -> int:
    return _pairs_of(args[0])


def _sorted_by(frame: list[Any], args: list[Any], result: Any) -> int:
    return _pairs_of(args[1])


def _sets(frame: list[Any], args: list[Any], result: Any) -> int:
    return 1 + size(args[0]) * size(args[1])


def _sets_twice(frame: list[Any], args: list[Any], result: Any) -> int:
    return 1 + size(args[0]) * size(args[1]) * 2


# Functions of the language itself.


def _affix(frame: list[Any], args: list[Any], result: Any) -> int:
    return _walk(_core_size(args[1]))


def _walked(frame: list[Any], args: list[Any], result: Any) -> int:
    return _walk(_core_size(args[0]))


def _in_list(frame: list[Any], args: list[Any], result: Any) -> int:
    return _core_size(args[1])


def _compared(frame: list[Any], args: list[Any], result: Any) -> int:
    return _walk(min(_core_size(args[0]), _core_size(args[1])))


def _concatenated(frame: list[Any], args: list[Any], result: Any) -> int:
    return _walk(_core_size(args[0]) + _core_size(args[1]))


def _matched(frame: list[Any], args: list[Any], result: Any) -> int:
    return _walk(1.0 + _core_size(args[0])) * _walk(_core_size(args[1]), PER_PATTERN_CHARACTER)


def _contained(frame: list[Any], args: list[Any], result: Any) -> int:
    return _walk(_core_size(args[0])) * _walk(_core_size(args[1]))


_ACCESSORS = (
    "masked prefixLength family isUnspecified isLoopback isLinkLocalMulticast isLinkLocalUnicast isGlobalUnicast format.named "
    "sign asInteger isInteger asApproximateFloat isGreaterThan isLessThan compareTo add sub major minor patch "
    "getScheme getHostname getHost getPort getEscapedPath getQuery"
)


def _named(names: str, rule: Charge) -> dict[str, Charge]:
    return dict.fromkeys(names.split(), rule)


_BY_OVERLOAD: dict[str, Charge] = {
    **_named("list_slice lists_range list_reverse", _by_result),
    **_named("list_flatten list_flatten_int", _flattened),
    **_named("list_distinct", _self_compared),
    **_named("list_sets_contains_list list_sets_intersects_list", _sets),
    **_named("list_sets_equivalent_list", _sets_twice),
    # Within functions that Kubernetes charges by name, the overloads that cost something else.
    **_named("cidr_ip dra_includes_dyn_dyn", _one),
    **_named("cidr_contains_ip_string", _contains_ip_text),
    **_named("cidr_contains_cidr_string", _contains_cidr_text),
}
_BY_NAME: dict[str, Charge] = {
    **_named("isSorted sum max min indexOf lastIndexOf includes", _traversed),
    **_named("url lowerAscii upperAscii substring trim", _walked_once),
    **_named("cidr isIP isCIDR ip quantity isQuantity semver isSemver", _walked_once),
    **_named("replace split ip.isCanonical", _walked_twice),
    **_named("join", _joined),
    **_named("find findAll", _searched),
    **_named("containsIP", _contains_ip),
    **_named("containsCIDR", _contains_cidr),
    **_named("validate", _validated),
    **_named("_==_", _equal),
    **_named("check", _checked),
    **_named("fieldSelector labelSelector", _required),
    **_named(_ACCESSORS, _one),
}
_BEFORE_37: dict[str, Charge] = {
    **_named("starts_with_string ends_with_string", _walked),
    **_named("list_flatten list_flatten_int", _flattened_before_37),
}
_ORDERED = (f"{order}_{kind}" for order in ("less", "less_equals", "greater", "greater_equals") for kind in ("string", "bytes"))
_CORE: dict[str, Charge] = {
    **_named("starts_with_string ends_with_string", _affix),
    **_named("string_to_bytes bytes_to_string strings_quote string_format", _walked),
    **_named("in_list", _in_list),
    **_named("not_equals", _compared),
    **_named("add_string add_bytes", _concatenated),
    **_named("matches matches_string", _matched),
    **_named("contains_string", _contained),
    **dict.fromkeys(_ORDERED, _compared),
}
