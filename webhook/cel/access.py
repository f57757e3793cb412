"""Reaching into values: selection, indexing, presence, and their optional forms. Hot paths.

The order of the tests and the wording of the errors are the scheduler's library's.
"""

from __future__ import annotations

from typing import Any

from webhook.cel.library.numbers import format_float
from webhook.cel.values import (
    INT_MAX,
    INT_MIN,
    MAPS,
    MISSING,
    NONE,
    Absent,
    EvaluationError,
    Optional,
    UInt,
    find,
    go_type,
    type_name,
)


def no_such_key(key: object) -> EvaluationError:
    """The error of looking up what is not there."""
    return EvaluationError(f"no such key: {go_text(key)}")


def go_text(value: object) -> str:
    """A plain value as messages show it."""
    if value is None:
        return "null"
    if type(value) is float:
        return format_float(value)
    return str(value).lower() if type(value) is bool else str(value)


_KEY_TYPES = {str, int, UInt, bool, float}


def check_key(key: Any) -> None:
    """An error unless the value is of a type that may be looked up."""
    if type(key) not in _KEY_TYPES:
        raise EvaluationError(f"invalid qualifier type: {go_type(key)}")


def get(container: Any, key: Any) -> Any:
    """container[key] or container.key"""
    kind = type(container)
    if type(key) is not str and container is not NONE:
        check_key(key)
    if kind is dict or kind in MAPS:
        found = find(container, key)
        if found is MISSING:
            raise no_such_key(key)
        return found
    if kind is list:
        index = _list_index(key)
        if 0 <= index < len(container):
            return container[index]
        raise EvaluationError(f"index out of bounds: {go_text(key)}")
    if kind is Optional or kind is Absent:
        return get_optional(container, key)
    raise no_such_key(key)


def get_optional(container: Any, key: Any) -> Any:
    """container[?key] or container.?key"""
    if container is NONE:
        return NONE
    found = look_up(container.value if type(container) is Optional else container, key)
    return NONE if found is MISSING else Optional(found)


def look_up(container: Any, key: Any) -> Any:
    """container[key], or MISSING."""
    check_key(key)
    return _find(container, key)


def is_present(container: Any, key: Any) -> bool:
    """has(container.key)"""
    if container is NONE:
        return False
    return _find(container.value if type(container) is Optional else container, key) is not MISSING


def _find(container: Any, key: Any) -> Any:
    kind = type(container)
    if kind is dict or kind in MAPS:
        return find(container, key)
    if kind is list:
        index = _list_index(key)
        return container[index] if 0 <= index < len(container) else MISSING
    return MISSING


def _list_index(key: Any) -> int:
    kind = type(key)
    if kind is int:
        return key  # type: ignore[no-any-return]
    if kind is UInt or kind is float:
        if INT_MIN <= key <= INT_MAX and key == int(key):
            return int(key)
        raise EvaluationError(f"unsupported index value {go_text(key)} in list")
    raise EvaluationError(f"unsupported index type '{type_name(key)}' in list")
