"""Bounded memos: what was derived from an immutable object is kept in a plain dict on it.

Several threads may fill one memo at once: each step is a single dictionary operation, and two threads that miss together
compute the same value.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Final, TypeAlias, TypeVar

Memo: TypeAlias = dict[Hashable, Any]

#: Entries of a memo before it is emptied: far more than a cluster's policies and templates need, and what a flood of
#: requests with ever new selectors can cost stays small.
LIMIT: Final = 2048

_Value = TypeVar("_Value")
_MISSING: Final = object()


def remembered(memo: Memo, key: Hashable, compute: Callable[[], _Value], limit: int = LIMIT) -> _Value:
    """`memo[key]`, computed on the first call. A full memo is emptied."""
    found = memo.get(key, _MISSING)
    if found is not _MISSING:
        value: _Value = found
        return value
    return keep(memo, key, compute(), limit)


def keep(memo: Memo, key: Hashable, value: _Value, limit: int = LIMIT) -> _Value:
    """`value`, remembered under `key`. A full memo is emptied before."""
    if len(memo) >= limit:
        memo.clear()
    memo[key] = value
    return value
