"""What a selector says of a pool's devices, as bit sets: which match and on which it raises an error; the others do not match.

Bit i is the pool's i-th device. Sets are remembered per selector for all pools that are alike (see likeness), so that a new
generation of a pool, or a new pool, is evaluated only if there was none like it.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, TypeAlias

from webhook.cel import MATCH, CelError, Selector
from webhook.fleet.likeness import POOL_LIMIT, likeness, reads_of
from webhook.fleet.memo import Memo, keep
from webhook.fleet.pool import Pool
from webhook.model.device import Device

#: Steps that one selector may take on all devices of a fleet, some third of a second: beyond, it is not tried any further.
#: A step is the time of a simple operation. 25 for each of 40,000 devices; and devices that are alike count once.
MOST_STEPS: Final = 1_000_000
#: Selectors for which sets are remembered, and sets of each.
_SELECTORS: Final = 256
_SETS: Final = 256

Bits: TypeAlias = int


@dataclass(frozen=True, slots=True, eq=False)
class DeviceSet:
    """Of a pool, the devices that match and those with an error; `messages` has each different one with its devices.

    `steps` is what it took to find out. `packed` are both sets as bytes, in whole bytes: what the sets of a fleet are made of.
    """

    match: Bits
    error: Bits
    messages: tuple[tuple[str, Bits], ...]
    steps: int
    packed: tuple[bytes, bytes] = field(repr=False)


def width(pool: Pool) -> int:
    """The bytes that a set of the pool's devices takes."""
    return (len(pool.devices) + 7) >> 3


def everything(pool: Pool) -> Bits:
    """All devices of a pool."""
    return (1 << len(pool.devices)) - 1


class Asker:
    """One selector, ready to be asked about many pools: what it reads, and the sets that are known."""

    __slots__ = ("_key", "_reads", "_sets", "selector")

    def __init__(self, selector: Selector) -> None:
        self.selector = selector
        self._key = key_of(selector)
        self._reads = reads_of((selector,))
        self._sets = _sets_of(self._key)

    def like(self, pool: Pool) -> Hashable:
        """A key that is equal for pools which the selector cannot tell apart; the pool itself where it reads whole domains."""
        return pool if self._reads is None else likeness(pool, self._reads)

    def about(self, pool: Pool, most: int = MOST_STEPS) -> DeviceSet | None:
        """The devices of a pool that match and err; None when it would take more than `most` steps to find out."""
        if self._reads is None:
            return self._remembered(pool.memo, self._key, POOL_LIMIT, pool, most)
        return self._remembered(self._sets, likeness(pool, self._reads), _SETS, pool, most)

    def _remembered(self, memo: Memo, key: Hashable, limit: int, pool: Pool, most: int) -> DeviceSet | None:
        found: DeviceSet | None = memo.get(key)
        if found is None:
            found = _evaluate(pool, self.selector, most)
            if found is None:  # with more steps another answer may be had
                return None
            keep(memo, key, found, limit)
        return found if found.steps <= most else None


class Trials:
    """Selectors tried on single devices, one after the other, within `most` steps for all: beyond, none passes any more."""

    __slots__ = ("_left", "_selectors")

    def __init__(self, selectors: tuple[Selector, ...], most: int = MOST_STEPS) -> None:
        self._selectors = selectors
        self._left = most

    def passes(self, device: Device) -> bool:
        """Whether a device matches all selectors."""
        for selector in self._selectors:
            outcome, steps = selector.tried(device, self._left)
            self._left = max(self._left - steps, 0)
            if outcome is not MATCH:
                return False
        return True


def key_of(selector: Selector) -> Hashable:
    """What tells a selector from all others."""
    return ("set", selector.text, selector.dialect.minor, selector.dialect.lists)


@lru_cache(maxsize=_SELECTORS)
def _sets_of(_key: Hashable) -> Memo:
    return {}


def _evaluate(pool: Pool, selector: Selector, most: int) -> DeviceSet | None:
    match = error = steps = 0
    messages: dict[str, Bits] = {}
    for index, device in enumerate(pool.devices):
        outcome, taken = selector.tried(device, most - steps)
        steps += taken
        if outcome is None:
            return None
        if outcome is MATCH:
            match |= 1 << index
        elif isinstance(outcome, CelError):
            error |= 1 << index
            messages[outcome.message] = messages.get(outcome.message, 0) | 1 << index
    size = width(pool)
    packed = (match.to_bytes(size, "little"), error.to_bytes(size, "little"))
    return DeviceSet(match, error, tuple(messages.items()), steps, packed)
