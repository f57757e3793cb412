"""Results that hold for one state of some parts of the fleet: only the newest is kept, the parts it came from beside it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from operator import is_
from typing import TypeVar

from webhook.fleet.memo import LIMIT, Memo

_Value = TypeVar("_Value")


def kept(memo: Memo, key: Hashable, parts: tuple[object, ...], compute: Callable[[], _Value]) -> _Value:
    """`compute()`, remembered under `key` for as long as `parts` are the same objects. A full memo is emptied.

    Unlike `fleet.memo.remembered` with the parts in the key, it does not keep outdated parts alive.
    """
    found = memo.get(key)
    if found is not None and all(map(is_, found[0], parts)):
        value: _Value = found[1]
        return value
    value = compute()
    if len(memo) >= LIMIT:
        memo.clear()
    memo[key] = (parts, value)
    return value
