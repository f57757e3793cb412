"""Which pools are alike for a selector: device by device they say the same wherever it looks.

A fleet of thousands of nodes has a handful of different machines. What a selector says of one pool holds for all like it, so
that it is asked a few times and not once for each device.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import count
from operator import attrgetter
from typing import Any, Final, TypeAlias

from webhook.cel import Reference, Selector
from webhook.fleet.pool import Pool
from webhook.model.device import Attribute

#: Columns that are told apart; those of a cluster in which every pool differs in an attribute are at most as many as pools.
_COLUMNS: Final = 8_192
#: Entries of one pool's memo. There are thousands of pools: it is smaller than the inventory's own.
POOL_LIMIT: Final = 256

#: What a selector looks at: kinds and qualified names, sorted.
Reads: TypeAlias = "tuple[tuple[str, str], ...]"
#: Equal for pools that are alike.
Likeness: TypeAlias = "tuple[int, ...]"

_numbers = count()
_seen: dict[tuple[int, ...], tuple[int, list[Any]]] = {}
_FIELDS: Final = {"sharable": attrgetter("sharable"), "unreadable": attrgetter("unreadable", "listed")}


def reads_of(selectors: Iterable[Selector], attributes: Iterable[str] = ()) -> Reads | None:
    """All that the answers of selectors depend on, and further attributes (qualified names).

    None when one of them looks at a whole domain, or at names that are known at run time only.
    """
    named = {("unreadable", ""), *(("attribute", name) for name in attributes)}
    for reference in (reference for selector in selectors for reference in selector.references):
        if not _is_single(reference):
            return None
        named.add((reference.kind, f"{reference.domain}/{reference.name}"))
    return tuple(sorted(named))


def _is_single(reference: Reference) -> bool:
    return reference.kind in ("driver", "sharable") or bool(reference.domain and reference.name)


def likeness(pool: Pool, reads: Reads) -> Likeness:
    """Two pools have the same only if they have as many devices, and each says what its counterpart says where it is read.

    Remembered on the pool.
    """
    memo = pool.memo
    known: Likeness | None = memo.get(reads)
    if known is None:
        numbers: list[int] = []
        for read in reads:
            number = memo.get(read)
            if number is None:
                number = memo[read] = _number_of(pool, *read)
            numbers.append(number)
        if len(memo) >= POOL_LIMIT:
            memo.clear()
        known = memo[reads] = tuple(numbers)
    return known


def _number_of(pool: Pool, kind: str, name: str) -> int:
    """The number of a column: what every device says there."""
    held: list[Any]
    if kind == "attribute":
        held = [device.attributes.get(name) for device in pool.devices]
    elif kind == "capacity":
        held = [device.capacity.get(name) for device in pool.devices]
    elif kind == "driver":
        held = [pool.driver]
    else:
        held = list(map(_FIELDS[kind], pool.devices))
    # The same objects say the same, and mostly they are the same: then nothing has to be compared.
    ids = tuple(map(id, held))
    seen = _seen.get(ids)
    if seen is not None:
        return seen[0]
    # The kind is a part of it: to Python, True is 1.
    number = _number(tuple([(item.kind, item.value) if isinstance(item, Attribute) else item for item in held]))
    if len(_seen) >= _COLUMNS:
        _seen.clear()
    _seen[ids] = (number, held)  # held on to, so that no other object can get one of these ids
    return number


@lru_cache(maxsize=_COLUMNS)
def _number(_column: tuple[Any, ...]) -> int:
    """A number that only this column has; one that was forgotten gets another, which costs an evaluation and nothing else."""
    return next(_numbers)
