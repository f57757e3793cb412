"""When one type may stand for another, and what type parameters become: the unification behind the checker.

The rules are cel-go's. A `Bindings` is a plain dict from type parameter to type; it is copied before it is tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from webhook.cel.types import DYN, Kind, Type

Bindings: TypeAlias = dict[Type, Type]

_NULLABLE = {Kind.OPAQUE, Kind.STRUCT, Kind.WELL_KNOWN, Kind.NULL}
_DYNAMIC = {Kind.DYN, Kind.ANY}
_WILD = {*_DYNAMIC, Kind.ERROR}
_NESTED = {Kind.OPAQUE, Kind.LIST, Kind.MAP}


def assignable(bindings: Bindings, source: Type, target: Type) -> Bindings | None:
    """The bindings under which `source` may stand for `target`, or None."""
    return assignable_all(bindings, (source,), (target,))


def assignable_all(bindings: Bindings, sources: Sequence[Type], targets: Sequence[Type]) -> Bindings | None:
    """The bindings under which every source may stand for its target, or None."""
    trial = dict(bindings)
    return trial if _all(trial, sources, targets) else None


def _all(bindings: Bindings, sources: Sequence[Type], targets: Sequence[Type]) -> bool:
    return len(sources) == len(targets) and all(
        _fits(bindings, source, target) for source, target in zip(sources, targets, strict=True)
    )


def _fits(bindings: Bindings, one: Type, two: Type) -> bool:
    if two.kind is Kind.PARAM:
        valid, bound = _binds(bindings, one, two)
        if valid or bound:
            return valid
    if one.kind is Kind.PARAM:
        return _binds(bindings, two, one)[0]
    if one.kind in _WILD or two.kind in _WILD:
        return True
    if one.kind is Kind.NULL:
        return two.kind in _NULLABLE or two.nullable
    if two.kind is Kind.NULL:
        return one.kind in _NULLABLE or one.nullable
    if one.kind in _NESTED:
        return one.kind is two.kind and one.name == two.name and _all(bindings, one.params, two.params)
    if one.kind is Kind.TYPE:
        return two.kind is Kind.TYPE
    return one == two


def _binds(bindings: Bindings, type_: Type, parameter: Type) -> tuple[bool, bool]:
    """(may `parameter` become `type_`, was it bound before)."""
    if type_ == parameter:
        return True, True
    bound = bindings.get(parameter)
    if bound is not None:
        if type_ == bound:
            return True, True
        if not _fits(bindings, type_, bound):
            return False, True
        general = most_general(type_, bound)
        if _free_of(bindings, parameter, general):
            bindings[parameter] = general
        return True, True
    if _free_of(bindings, parameter, type_):
        bindings[parameter] = type_
        return True, False
    return False, False


def most_general(one: Type, two: Type) -> Type:
    """The less specific of two types that unify."""
    return one if _less_specific(one, two) else two


def _less_specific(one: Type, two: Type) -> bool:
    if one.kind in _DYNAMIC or one.kind is Kind.PARAM:
        return True
    if two.kind in _DYNAMIC or two.kind is Kind.PARAM or one.kind is not two.kind:
        return False
    if one.kind in _NESTED:
        return one.name == two.name and len(one.params) == len(two.params) and all(map(_less_specific, one.params, two.params))
    return one.kind is Kind.TYPE or one == two


def _free_of(bindings: Bindings, parameter: Type, within: Type) -> bool:
    """The parameter does not occur in the type (else it would become a part of itself)."""
    if not within.open:
        return True
    if parameter == within:
        return False
    if within.kind is Kind.PARAM:
        bound = bindings.get(within)
        return bound is None or _free_of(bindings, parameter, bound)
    return all(_free_of(bindings, parameter, nested) for nested in within.params)


def substitute(bindings: Bindings, type_: Type, *, close: bool = False) -> Type:
    """The type with all bound parameters replaced; with `close`, unbound ones become dyn."""
    if not type_.open:
        return type_
    bound = bindings.get(type_) if type_.kind is Kind.PARAM else None
    if bound is not None:
        return substitute(bindings, bound, close=close)
    if type_.kind is Kind.PARAM:
        return DYN if close else type_
    params = tuple(substitute(bindings, nested, close=close) for nested in type_.params)
    return type_ if params == type_.params else Type(type_.kind, type_.name, params, type_.fields)


def params_of(type_: Type) -> set[Type]:
    """The type parameters in a type."""
    if not type_.open:
        return set()
    if type_.kind is Kind.PARAM:
        return {type_}
    return {found for nested in type_.params for found in params_of(nested)}
