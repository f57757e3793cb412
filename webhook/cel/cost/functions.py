"""What a call of a function can cost at most, and how large its result can be.

The rules are the scheduler's: most functions cost one, those that walk over a text or a list cost by its size. A function
is known by its name, or, where only one of its overloads counts, by that overload.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

from webhook.cel.ast import Literal
from webhook.cel.cost.amounts import (
    AUTHORIZATION,
    LARGEST,
    NEW_LIST,
    NOTHING,
    ONE,
    PER_CHARACTER,
    PER_PATTERN_CHARACTER,
    Range,
    exactly,
    scaled,
    selector_cost,
)
from webhook.cel.cost.scopes import Operand
from webhook.cel.cost.sizes import ITEMS, NO_PATH, declared_size
from webhook.cel.library import authorization
from webhook.cel.types import BYTES, CIDR, FORMAT, IP, QUANTITY, SEMVER, STRING, URL

#: Cost and, where it can be told, size of the result.
Estimate: TypeAlias = tuple[Range, Range | None]
#: None: this call is an ordinary one.
Estimator: TypeAlias = Callable[[str, str, Operand | None, list[Operand]], Estimate | None]

_LONGEST_NAMED_FORMAT = 128
_LONGEST_FORMAT = 64
_MAX_ATTRIBUTE_VALUES = 48


def estimate(name: str, overload: str, target: Operand | None, args: list[Operand]) -> Estimate:
    """The call itself, without its arguments."""
    for found in (_BY_OVERLOAD.get(overload), _BY_NAME.get(name), _CORE.get(overload)):
        result = found(name, overload, target, args) if found is not None else None
        if result is not None:
            return result
    return ONE, None


def _walk(size: Range, times: int = 1) -> Range:
    return size.scaled(times * PER_CHARACTER)


# Kubernetes' functions.


def _element(target: Operand) -> Operand | None:
    """The elements of a list whose type is known."""
    if not target.type.params:
        return None
    path = target.path.copy().then(ITEMS) if target.path else NO_PATH
    return Operand(path, target.type.params[0], None, declared_size(path))


def _traversal(name: str, overload: str, target: Operand | None, args: list[Operand]) -> Estimate | None:
    if target is None:
        return None
    element, size = _element(target), target.size_or_unknown
    if element is None:
        return (size if name == "includes" else _walk(size)), None
    each = ONE
    if element.type in (STRING, BYTES):
        each = each.plus(_walk(element.size_or_unknown))
    return size.times(each), None


def _includes_few(name: str, overload: str, target: Operand | None, args: list[Operand]) -> Estimate | None:
    return Range(0, _MAX_ATTRIBUTE_VALUES), None


def _same_size(name: str, overload: str, target: Operand | None, args: list[Operand]) -> Estimate | None:
    walked = target if name != "url" else args[0]
    if walked is None:
        return None
    return _walk(walked.size_or_unknown), walked.size_or_unknown


def _replace(name: str, overload: str, target: Operand | None, args: list[Operand]) -> Estimate | None:
    if target is None or len(args) < 2:
        return None
    size, old, new = target.size_or_unknown, args[0].size_or_unknown, args[1].size_or_unknown
    most, kept_most = _most_replacements(size.most, old.least, new.most)
    least, kept_least = _least_replacements(size.least, old.most, new.least)
    result = Range(least, most).times(new).plus(Range(kept_least, kept_most))
    return _walk(size, 2), result


def _most_replacements(size: int, shortest_old: int, longest_new: int) -> tuple[int, int]:
    """How often a text can be replaced, and how much of the old one stays."""
    if shortest_old == 0:
        return min(size + 1, LARGEST), size
    if longest_new <= shortest_old:
        return 0, size
    return scaled(size, 1 / shortest_old) if size == LARGEST else math.ceil(float(size) / float(shortest_old)), 0


def _least_replacements(size: int, longest_old: int, shortest_new: int) -> tuple[int, int]:
    if longest_old == 0:
        return min(size + 1, LARGEST), size
    if longest_old <= shortest_new:
        return 0, size
    return math.ceil(float(size) / float(longest_old)), 0


def _split(name: str, overload: str, target: Operand | None, args: list[Operand]) -> Estimate | None:
    if target is None:
        return None
    size = target.size_or_unknown
    limit = args[1].node.value if len(args) > 1 and isinstance(args[1].node, Literal) else None
    most = limit % 2**64 if type(limit) is int else size.most
    return _walk(size, 2), Range(0, most)


def _join(name: str, overload: str, target: Operand | None, args: list[Operand]) -> Estimate | None:
    if target is None:
        return None
    count, size = target.size_or_unknown, NOTHING
    element = _element(target)
    if element is not None:
        size = count.times(element.size_or_unknown)
    if args:
        separators = Range(max(count.least - 1, 0), max(count.most - 1, 0))
        size = size.plus(args[0].size_or_unknown.times(separators))
    return _walk(size), size


def _find(name: str, overload: str, target: Operand | None, args: list[Operand]) -> Estimate | None:
    if target is None or not args:
        return None
    size = target.size_or_unknown
    return _search(size, args[0].size_or_unknown), Range(0, size.most)


def _search(text: Range, pattern: Range) -> Range:
    return _walk(text.plus(ONE)).times(pattern.scaled(PER_PATTERN_CHARACTER))


def _parse(name: str, overload: str, target: Operand | None, args: list[Operand]) -> Estimate | None:
    if overload == "cidr_ip":
        return ONE, None
    return (_walk(args[0].size_or_unknown, 2 if name == "ip.isCanonical" else 1), None) if args else None


_ADDRESS = Range(4, 16)


def _contains_network(name: str, overload: str, target: Operand | None, args: list[Operand]) -> Estimate | None:
    if not args:
        return None
    cost = _walk(_ADDRESS.plus(_ADDRESS))
    if name == "containsCIDR":
        cost = cost.plus(_walk(_ADDRESS)).plus(ONE)
    if overload in ("cidr_contains_ip_string", "cidr_contains_cidr_string"):
        cost = cost.plus(_walk(args[0].size_or_unknown))
    return cost, None


def _validate(name: str, overload: str, target: Operand | None, args: list[Operand]) -> Estimate | None:
    if not args:
        return None
    return _walk(args[0].size_or_unknown).scaled(_LONGEST_NAMED_FORMAT * PER_PATTERN_CHARACTER), None


_COMPARED_AT_ONCE = {QUANTITY, SEMVER, IP, CIDR, *authorization.TYPES}


def _equality(name: str, overload: str, target: Operand | None, args: list[Operand]) -> Estimate | None:
    left, right = args
    if left.type != right.type:
        return None
    if left.type in _COMPARED_AT_ONCE:
        return ONE, None
    if left.type == FORMAT:
        return Range(1, _LONGEST_FORMAT).scaled(PER_CHARACTER), None
    if left.type == URL:
        most = right.size.most if right.size is not None else 1
        return Range(1, most).scaled(PER_CHARACTER), None
    return None


def _one(name: str, overload: str, target: Operand | None, args: list[Operand]) -> Estimate | None:
    return ONE, None


def _check(name: str, overload: str, target: Operand | None, args: list[Operand]) -> Estimate | None:
    return exactly(AUTHORIZATION), None


def _requirements(name: str, overload: str, target: Operand | None, args: list[Operand]) -> Estimate | None:
    return selector_cost(args[0].size_or_unknown), None


# Functions of lists and sets.


def _list_of(size: Range, factor: float = 1.0) -> Estimate:
    """A call that makes a list of this size."""
    return size.scaled(factor).plus(ONE).plus(exactly(NEW_LIST)), size


def _literal_int(operand: Operand, otherwise: int) -> int:
    value = operand.node.value if isinstance(operand.node, Literal) else None
    return max(value, 0) if type(value) is int else otherwise


def _slice(name: str, overload: str, target: Operand | None, args: list[Operand]) -> Estimate | None:
    if target is None:
        return None
    end = _literal_int(args[1], target.size_or_unknown.most)
    return _list_of(exactly((end - _literal_int(args[0], 0)) % 2**64))


def _range(name: str, overload: str, target: Operand | None, args: list[Operand]) -> Estimate | None:
    return _list_of(exactly(_literal_int(args[0], LARGEST)))


def _flatten(name: str, overload: str, target: Operand | None, args: list[Operand]) -> Estimate | None:
    depth = _literal_int(args[0], LARGEST) if args else 1
    return _list_of(target.size_or_unknown, float(depth)) if target is not None else None


def _reverse(name: str, overload: str, target: Operand | None, args: list[Operand]) -> Estimate | None:
    return _list_of(target.size_or_unknown) if target is not None else None


def _distinct(name: str, overload: str, target: Operand | None, args: list[Operand]) -> Estimate | None:
    return _pairs(target.size_or_unknown, is_text=False) if target is not None else None


def _sort(name: str, overload: str, target: Operand | None, args: list[Operand]) -> Estimate | None:
    sorted_by = target if name == "sort" else args[0]
    is_text = overload.startswith(("list_string_", "list_bytes_"))
    return _pairs(sorted_by.size_or_unknown, is_text=is_text) if sorted_by is not None else None


def _pairs(size: Range, *, is_text: bool) -> Estimate:
    return _list_of(size.times(size), 2.0 + (PER_CHARACTER if is_text else 0.0))


def _sets(name: str, overload: str, target: Operand | None, args: list[Operand]) -> Estimate | None:
    compared = args[0].size_or_unknown.times(args[1].size_or_unknown)
    return compared.scaled(2 if name == "sets.equivalent" else 1).plus(ONE), None


# Functions of the language itself.


def _formatted(name: str, overload: str, target: Operand | None, args: list[Operand]) -> Estimate | None:
    return (_walk(target.size_or_unknown), None) if target is not None else None


def _to_bytes(name: str, overload: str, target: Operand | None, args: list[Operand]) -> Estimate | None:
    size = args[0].size_or_unknown
    return _walk(size), Range(size.least, size.most * 4 % 2**64)


def _from_bytes(name: str, overload: str, target: Operand | None, args: list[Operand]) -> Estimate | None:
    size = args[0].size_or_unknown
    return _walk(size), Range(size.least // 4, size.most)


def _quote(name: str, overload: str, target: Operand | None, args: list[Operand]) -> Estimate | None:
    size = args[0].size_or_unknown
    return _walk(size), Range((size.least + 2) % 2**64, (size.most * 2 + 2) % 2**64)


def _affix(name: str, overload: str, target: Operand | None, args: list[Operand]) -> Estimate | None:
    return _walk(args[0].size_or_unknown), None


def _in_list(name: str, overload: str, target: Operand | None, args: list[Operand]) -> Estimate | None:
    return args[1].size_or_unknown.scaled(1), None


def _matches(name: str, overload: str, target: Operand | None, args: list[Operand]) -> Estimate | None:
    text = target if target is not None else args[0]
    return _search(text.size_or_unknown, args[-1].size_or_unknown), None


def _contains(name: str, overload: str, target: Operand | None, args: list[Operand]) -> Estimate | None:
    if target is None:
        return None
    return _walk(target.size_or_unknown).times(_walk(args[0].size_or_unknown)), None


def _concatenation(name: str, overload: str, target: Operand | None, args: list[Operand]) -> Estimate | None:
    size = args[0].size_or_unknown.plus(args[1].size_or_unknown)
    return (ONE if overload == "add_list" else _walk(size)), size


def _comparison(name: str, overload: str, target: Operand | None, args: list[Operand]) -> Estimate | None:
    most = min(args[0].size_or_unknown.most, args[1].size_or_unknown.most)
    return Range(1 if most > 0 else 0, most).scaled(PER_CHARACTER), None


_ACCESSORS = (
    "masked prefixLength family isUnspecified isLoopback isLinkLocalMulticast isLinkLocalUnicast isGlobalUnicast format.named "
    "sign asInteger isInteger asApproximateFloat isGreaterThan isLessThan compareTo add sub major minor patch "
    "getScheme getHostname getHost getPort getEscapedPath getQuery"
)


def _named(names: str, estimator: Estimator) -> dict[str, Estimator]:
    return dict.fromkeys(names.split(), estimator)


_BY_OVERLOAD: dict[str, Estimator] = {
    **_named("dra_includes_dyn_dyn", _includes_few),
    **_named("list_slice", _slice),
    **_named("lists_range", _range),
    **_named("list_flatten list_flatten_int", _flatten),
    **_named("list_reverse", _reverse),
    **_named("list_distinct", _distinct),
    **_named("list_sets_contains_list list_sets_intersects_list list_sets_equivalent_list", _sets),
}
_BY_NAME: dict[str, Estimator] = {
    **_named("sort @sortByAssociatedKeys", _sort),
    **_named("isSorted sum max min indexOf lastIndexOf includes", _traversal),
    **_named("url lowerAscii upperAscii substring trim", _same_size),
    **_named("replace", _replace),
    **_named("split", _split),
    **_named("join", _join),
    **_named("find findAll", _find),
    **_named("cidr isIP isCIDR ip ip.isCanonical quantity isQuantity semver isSemver", _parse),
    **_named("containsIP containsCIDR", _contains_network),
    **_named("validate", _validate),
    **_named("_==_", _equality),
    **_named("check", _check),
    **_named("fieldSelector labelSelector", _requirements),
    **_named(_ACCESSORS, _one),
}
_ORDERED = (f"{order}_{kind}" for order in ("less", "less_equals", "greater", "greater_equals") for kind in ("string", "bytes"))
_CORE: dict[str, Estimator] = {
    **_named("string_format", _formatted),
    **_named("string_to_bytes", _to_bytes),
    **_named("bytes_to_string", _from_bytes),
    **_named("strings_quote", _quote),
    **_named("starts_with_string ends_with_string", _affix),
    **_named("in_list", _in_list),
    **_named("matches matches_string", _matches),
    **_named("contains_string", _contains),
    **_named("add_string add_bytes add_list", _concatenation),
    **_named("equals not_equals", _comparison),
    **dict.fromkeys(_ORDERED, _comparison),
}
