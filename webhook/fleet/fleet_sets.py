"""What selectors say of all devices of a fleet: one bit set over all pools, so that selectors are intersected at once.

Every pool takes whole bytes, in the order of the pools. The sets of an inventory in which a few pools are others are those of
the inventory before it, cut up and put together again around these pools.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import accumulate, compress, count
from operator import is_not
from typing import Final, TypeAlias

from webhook.cel import Selector
from webhook.fleet.device_sets import MOST_STEPS, Asker, Bits, DeviceSet, everything, key_of, width
from webhook.fleet.memo import Memo, remembered
from webhook.fleet.pool import Pool

#: Selectors whose sets are kept, and answers made of them. 40,000 devices take 10 KiB in each.
LIMIT: Final = 256
#: With more new pools than this nothing is carried over: what is asked again is put together again.
_FEW: Final = 64

#: A run of pools, from one byte to another, of the sets before; or a pool that those do not have.
_Part: TypeAlias = "tuple[int, int] | Pool"


class FleetSet:
    """The devices that match one selector, and those on which it errs."""

    __slots__ = ("_error", "_match", "error_bytes", "match_bytes", "selector", "steps")

    def __init__(self, selector: Selector, match: bytes, error: bytes, steps: int) -> None:
        self.selector = selector
        self.match_bytes = match
        self.error_bytes = error
        #: What like pools took is counted once, and again for each that came later: never less than it took.
        self.steps = steps
        self._match: Bits | None = None
        self._error: Bits | None = None

    @property
    def match(self) -> Bits:
        """The devices that match."""
        if self._match is None:
            self._match = int.from_bytes(self.match_bytes, "little")
        return self._match

    @property
    def error(self) -> Bits:
        """The devices with an error."""
        if self._error is None:
            self._error = int.from_bytes(self.error_bytes, "little")
        return self._error


class FleetSets:
    """The sets of all selectors that were asked about these pools. `memo` is for what is derived from them alone."""

    def __init__(self, pools: tuple[Pool, ...], before: FleetSets | None = None) -> None:
        self.pools = pools
        self.memo: Memo = {}
        self._sets: Memo = {}
        self._everything: Bits | None = None
        self._starts: Sequence[int] | None = None
        # Sets that nobody has asked anything have nothing to hand on but what they were to be made of.
        self._before: FleetSets | None = before._before or before if before is not None else None

    def after(self, pools: tuple[Pool, ...]) -> FleetSets:
        """The sets for other pools; what concerns those that stay is not asked again. Costs nothing until it is used."""
        return self if pools == self.pools else FleetSets(pools, self)

    @property
    def everything(self) -> Bits:
        """All devices."""
        if self._everything is None:
            packed = b"".join([everything(pool).to_bytes(width(pool), "little") for pool in self.pools])
            self._everything = int.from_bytes(packed, "little")
        return self._everything

    @property
    def starts(self) -> Sequence[int]:
        """Where each pool begins, in bytes, and where the last one ends."""
        if self._starts is None:
            self._starts = tuple(accumulate(map(width, self.pools), initial=0))
        return self._starts

    def of(self, selector: Selector) -> FleetSet | None:
        """What a selector says of all devices; None when it takes more than MOST_STEPS to find out."""
        before = self._before
        if before is not None:
            self._carry_over(before)
            self._before = None
        found: FleetSet | None = remembered(self._sets, key_of(selector), lambda: self._asked(selector), LIMIT)
        return found

    def _asked(self, selector: Selector) -> FleetSet | None:
        asker = Asker(selector)
        matches: list[bytes] = []
        errors: list[bytes] = []
        known: dict[Hashable, DeviceSet] = {}
        steps = 0
        for pool in self.pools:
            like = asker.like(pool)
            found = known.get(like)
            if found is None:
                found = asker.about(pool, MOST_STEPS - steps)
                if found is None:
                    return None
                known[like] = found
                steps += found.steps
            matches.append(found.packed[0])
            errors.append(found.packed[1])
        return FleetSet(selector, b"".join(matches), b"".join(errors), steps)

    def _carry_over(self, before: FleetSets) -> None:
        parts = tuple(_parts(before, self.pools))
        if sum(isinstance(part, Pool) for part in parts) > _FEW:
            return
        for key, old in list(before._sets.items()):
            made = _joined(old, parts) if old is not None else None
            if made is not None:
                self._sets[key] = made


def _joined(old: FleetSet, parts: tuple[_Part, ...]) -> FleetSet | None:
    """A set made of runs of an old one and of new pools; None when it has come near the limit of steps."""
    asker = Asker(old.selector)
    matches: list[bytes] = []
    errors: list[bytes] = []
    steps = old.steps
    for part in parts:
        if isinstance(part, Pool):
            found = asker.about(part, MOST_STEPS - steps)
            if found is None:
                return None
            match, error = found.packed
            steps += found.steps
        else:
            match, error = old.match_bytes[slice(*part)], old.error_bytes[slice(*part)]
        matches.append(match)
        errors.append(error)
    return FleetSet(old.selector, b"".join(matches), b"".join(errors), steps)


def _parts(before: FleetSets, pools: Sequence[Pool]) -> Iterator[_Part]:
    """`pools` as runs of those before, and others."""
    old, starts = before.pools, before.starts
    head = _common(old, pools)
    tail = min(_common(old[::-1], pools[::-1]), len(old) - head, len(pools) - head)
    if head:
        yield starts[0], starts[head]
    places = {id(old[index]): index for index in range(head, len(old) - tail)}
    first = last = -1
    for pool in pools[head : len(pools) - tail]:
        place = places.get(id(pool), -1)
        if place != last + 1 or first < 0:
            if first >= 0:
                yield starts[first], starts[last + 1]
            first = place
        last = place
        if place < 0:
            yield pool
    if first >= 0:
        yield starts[first], starts[last + 1]
    if tail:
        yield starts[len(old) - tail], starts[-1]


def _common(one: Sequence[Pool], other: Sequence[Pool]) -> int:
    """How many pools at the beginning are the same objects."""
    return next(compress(count(), map(is_not, one, other)), min(len(one), len(other)))
