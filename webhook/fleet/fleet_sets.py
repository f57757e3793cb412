"""What selectors say of all devices of a fleet: one bit set over all pools, so that selectors are intersected at once.

Every pool takes whole bytes, in the order of the pools. The sets of an inventory in which a few pools are others are those of
the inventory before it, cut up and put together again around these pools.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import accumulate, compress, count
from operator import is_not
from typing import Final, TypeAlias

from webhook.cel import Selector
from webhook.fleet.device_sets import MOST_STEPS, Asker, Bits, DeviceSet, everything, key_of, width
from webhook.fleet.memo import Memo, keep
from webhook.fleet.pool import Pool
from webhook.model.device import Device

#: Selectors whose sets are kept, and answers made of them. 40,000 devices take 10 KiB in each.
LIMIT: Final = 256
#: With more new pools than this nothing is carried over: what is asked again is put together again.
_FEW: Final = 64

#: Steps that whoever comes first takes to carry sets over, some 30 milliseconds: the others are made when they are asked for.
_CARRIED_STEPS: Final = 100_000

#: A run of pools, from one byte to another, of the sets before; or a pool that those do not have.
_Part: TypeAlias = "tuple[int, int] | Pool"


class _Unasked:
    """Stands for the sets of a selector that nobody has asked for."""


_UNASKED: Final = _Unasked()


class FleetSet:
    """The devices that match one selector, and those on which it errs."""

    __slots__ = ("_error", "_match", "error_bytes", "match_bytes", "selector", "steps")

    def __init__(self, selector: Selector, match: bytes, error: bytes, steps: int) -> None:
        self.selector = selector
        self.match_bytes = match
        self.error_bytes = error
        #: Steps it took: pools that are alike count once, pools carried in later count each; an upper bound.
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
        self._catch_up()
        if self._everything is None:
            self._everything = self.joined(everything)
        return self._everything

    @property
    def starts(self) -> Sequence[int]:
        """Where each pool begins, in bytes, and where the last one ends."""
        if self._starts is None:
            self._starts = tuple(accumulate(map(width, self.pools), initial=0))
        return self._starts

    def place_of(self, bit: int) -> tuple[Pool, Device]:
        """The device that a bit of these sets stands for, and its pool."""
        number = bisect_right(self.starts, bit >> 3) - 1
        pool = self.pools[number]
        return pool, pool.devices[bit - 8 * self.starts[number]]

    def joined(self, of_pool: Callable[[Pool], Bits]) -> Bits:
        """One set of what `of_pool` says of each pool."""
        return int.from_bytes(b"".join(of_pool(pool).to_bytes(width(pool), "little") for pool in self.pools), "little")

    def of(self, selector: Selector, most: int = MOST_STEPS) -> FleetSet | None:
        """What a selector says of all devices; None when it takes more than `most` steps to find out."""
        self._catch_up()
        key = key_of(selector)
        # One look: between two, another thread may have put there what this one would take for an answer of none.
        known: FleetSet | _Unasked | None = self._sets.get(key, _UNASKED)
        if not isinstance(known, _Unasked):  # None: given up at MOST_STEPS
            return known if known is not None and known.steps <= most else None
        found = self._asked(selector, most)
        if found is None and most < MOST_STEPS:  # with more steps there may be an answer
            return None
        return keep(self._sets, key, found, LIMIT)

    def _asked(self, selector: Selector, most: int) -> FleetSet | None:
        asker = Asker(selector)
        matches: list[bytes] = []
        errors: list[bytes] = []
        known: dict[Hashable, DeviceSet] = {}
        steps = 0
        for pool in self.pools:
            like = asker.like(pool)
            found = known.get(like)
            if found is None:
                found = asker.about(pool, most - steps)
                if found is None:
                    return None
                known[like] = found
                steps += found.steps
            matches.append(found.packed[0])
            errors.append(found.packed[1])
        return FleetSet(selector, b"".join(matches), b"".join(errors), steps)

    def _catch_up(self) -> None:
        before = self._before
        if before is not None:
            self._carry_over(before)
            self._before = None

    def _carry_over(self, before: FleetSets) -> None:
        head = _common(before.pools, self.pools)
        tail = min(_common(before.pools[::-1], self.pools[::-1]), len(before.pools) - head, len(self.pools) - head)
        was, now = before.pools[head : len(before.pools) - tail], self.pools[head : len(self.pools) - tail]
        if [*map(width, was)] == [*map(width, now)]:
            self._starts = before.starts
        parts = tuple(_parts(before, was, now, head))
        if sum(isinstance(part, Pool) for part in parts) > _FEW:
            return
        if before._everything is not None:
            old_bytes = before._everything.to_bytes(before.starts[-1], "little")
            pieces = [_all_of(part) if isinstance(part, Pool) else old_bytes[slice(*part)] for part in parts]
            self._everything = int.from_bytes(b"".join(pieces), "little")
        left = _CARRIED_STEPS
        for key, old in list(before._sets.items()):
            made = _joined(old, parts, left) if old is not None else None
            if old is not None and made is not None:
                self._sets[key] = made
                left -= made.steps - old.steps


def _all_of(pool: Pool) -> bytes:
    return everything(pool).to_bytes(width(pool), "little")


def _joined(old: FleetSet, parts: tuple[_Part, ...], left: int) -> FleetSet | None:
    """A set made of runs of an old one and of new pools; None when that takes more than `left` steps, or too many in all."""
    asker = Asker(old.selector)
    most = min(MOST_STEPS, old.steps + left)
    matches: list[bytes] = []
    errors: list[bytes] = []
    steps = old.steps
    for part in parts:
        if isinstance(part, Pool):
            found = asker.about(part, most - steps)
            if found is None:
                return None
            match, error = found.packed
            steps += found.steps
        else:
            match, error = old.match_bytes[slice(*part)], old.error_bytes[slice(*part)]
        matches.append(match)
        errors.append(error)
    return FleetSet(old.selector, b"".join(matches), b"".join(errors), steps)


def _parts(before: FleetSets, was: Sequence[Pool], now: Sequence[Pool], head: int) -> Iterator[_Part]:
    """The pools that are there now as runs of those before, and others. `was` became `now` behind the `head` first ones."""
    starts = before.starts
    places = {id(pool): head + index for index, pool in enumerate(was)}
    first, last = 0, head - 1  # a run from one pool to another; none when it begins behind its end
    for pool in now:
        place = places.get(id(pool), -1)
        if place >= 0 and place == last + 1:
            last = place
            continue
        if first <= last:
            yield starts[first], starts[last + 1]
        first, last = (place, place) if place >= 0 else (0, -1)
        if place < 0:
            yield pool
    end = head + len(was)
    if last + 1 == end and first <= last:
        yield starts[first], starts[-1]
        return
    if first <= last:
        yield starts[first], starts[last + 1]
    yield starts[end], starts[-1]


def _common(one: Sequence[Pool], other: Sequence[Pool]) -> int:
    """How many pools at the beginning are the same objects."""
    return next(compress(count(), map(is_not, one, other)), min(len(one), len(other)))
