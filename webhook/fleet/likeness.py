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

#: Columns that are told apart; those of a cluster in which every pool differs in an attribute are at most as many as pools.
_COLUMNS: Final = 8_192

#: What a selector looks at: kinds and qualified names, sorted.
Reads: TypeAlias = "tuple[tuple[str, str], ...]"
#: Equal for pools that are alike.
Likeness: TypeAlias = "tuple[int, ...]"

_numbers = count()
_FIELDS: Final = {"driver": attrgetter("driver"), "sharable": attrgetter("sharable"), "unreadable": attrgetter("unreadable")}


def reads_of(selector: Selector) -> Reads | None:
    """All that the answer depends on; None for one that looks at a whole domain, or at names known at run time only."""
    named: set[tuple[str, str]] = {("unreadable", "")}
    for reference in selector.references:
        if not _is_single(reference):
            return None
        named.add((reference.kind, f"{reference.domain}/{reference.name}"))
    return tuple(sorted(named))


def _is_single(reference: Reference) -> bool:
    return reference.kind in _FIELDS or bool(reference.domain and reference.name)


def likeness(pool: Pool, reads: Reads) -> Likeness:
    """Two pools have the same only if they have as many devices, and each says what its counterpart says where it is read.

    Remembered on the pool; no limit is needed, as the memo is emptied by others when it is full.
    """
    known: Likeness | None = pool.memo.get(reads)
    if known is None:
        known = tuple([_number(_column(pool, kind, name)) for kind, name in reads])
        pool.memo[reads] = known
    return known


@lru_cache(maxsize=_COLUMNS)
def _number(_column: tuple[Any, ...]) -> int:
    """A number that only this column has; one that was forgotten gets another, which costs an evaluation and nothing else."""
    return next(_numbers)


def _column(pool: Pool, kind: str, name: str) -> tuple[Any, ...]:
    return (kind, *_values(pool, kind, name))


def _values(pool: Pool, kind: str, name: str) -> Iterable[Any]:
    if kind == "attribute":
        held = [device.attributes.get(name) for device in pool.devices]
        # The kind is a part of it: to Python, True is 1.
        return [None if attribute is None else (attribute.kind, attribute.value) for attribute in held]
    if kind == "capacity":
        return [device.capacity.get(name) for device in pool.devices]
    return map(_FIELDS[kind], pool.devices)
