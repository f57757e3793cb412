"""Which devices pass a class's and a request's selectors, pool by pool and in the whole fleet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from webhook.cel import DIALECT_GATES, CompileProblem, Selector, compile_selector
from webhook.fleet.bits import indexes
from webhook.fleet.device_sets import MOST_STEPS, Asker, Bits, everything
from webhook.fleet.fleet_sets import LIMIT, FleetSets
from webhook.fleet.likeness import POOL_LIMIT
from webhook.fleet.memo import remembered
from webhook.fleet.pool import Pool
from webhook.model.device import Device
from webhook.model.server_version import NEWEST, Server

__all__ = [
    "POOL_LIMIT",
    "DeviceError",
    "Matches",
    "PoolMatches",
    "compile_all",
    "compile_for",
    "dialect_of",
    "given_up",
    "match_pools",
    "untried",
]


#: What a selector list is compiled to: all selectors, or everything that is wrong with them.
Compiled: TypeAlias = "tuple[tuple[Selector, ...], tuple[CompileProblem, ...]]"
#: A selector's text, the error it raises, and the devices of a pool on which it does.
_Raised: TypeAlias = "tuple[str, str, Bits]"
_NOTHING: Final = (0, 0)


@dataclass(frozen=True, slots=True)
class DeviceError:
    """A selector that raises a CEL error on a device: the scheduler gives up on the pod when it gets there."""

    device: Device
    message: str
    expression: str


class PoolMatches:
    """What one pool has for some selectors; `matched` and `errors` are in the allocator's order.

    The same object for the same devices and errors of a pool, so that it can be part of a memo's key.
    """

    __slots__ = ("_errors", "_matched", "_raised", "match", "pool")

    def __init__(self, pool: Pool, match: Bits, raised: tuple[_Raised, ...] = ()) -> None:
        self.pool = pool
        #: The devices that match: bit i is the pool's i-th.
        self.match = match
        self._raised = raised
        self._matched: tuple[Device, ...] | None = pool.devices if match == everything(pool) else None
        self._errors: tuple[DeviceError, ...] | None = None if raised else ()

    @property
    def matched(self) -> tuple[Device, ...]:
        """The devices that pass all selectors."""
        if self._matched is None:
            self._matched = tuple([self.pool.devices[index] for index in indexes(self.match)])
        return self._matched

    @property
    def errors(self) -> tuple[DeviceError, ...]:
        """The devices on which a selector, before any that they do not match, raises an error."""
        if self._errors is None:
            devices = self.pool.devices
            found = sorted((index, text, message) for text, message, bits in self._raised for index in indexes(bits))
            self._errors = tuple([DeviceError(devices[index], message, text) for index, text, message in found])
        return self._errors


class Matches:
    """What all pools have for a class and further selectors.

    `problems` says which selectors do not compile; then, and when the class is missing, nothing matches. `too_costly` says
    that they were given up, "" if not: then nothing is known, and nothing must be concluded from what is not here.
    """

    __slots__ = ("_pools", "_selectors", "_sets", "class_missing", "count", "error", "match", "problems", "too_costly")

    def __init__(
        self,
        sets: FleetSets | None = None,
        selectors: tuple[Selector, ...] = (),
        *,
        class_missing: bool = False,
        problems: tuple[CompileProblem, ...] = (),
    ) -> None:
        self.class_missing = class_missing
        self.problems = problems
        self._sets = sets
        self._selectors = selectors
        found = intersection(sets, selectors) if sets is not None else _NOTHING
        self.too_costly: str = given_up(sets) if found is None and sets is not None else ""
        #: The devices of the fleet that pass, and those with an error, as `FleetSets` numbers them.
        self.match, self.error = found or _NOTHING
        #: The number of devices that pass.
        self.count = self.match.bit_count()
        self._pools: tuple[PoolMatches, ...] | None = None if self.match | self.error else ()

    @property
    def pools(self) -> tuple[PoolMatches, ...]:
        """The pools with a match or an error, in the allocator's order (driver, pool name)."""
        if self._pools is None:
            self._pools = tuple(self._by_pool())
        return self._pools

    def first_error(self, among: Bits | None = None) -> DeviceError | None:
        """The first error in the allocator's order, of those on devices of the set `among`. The others are not spelt out."""
        found = self.error if among is None else self.error & among
        if not found or self._sets is None:
            return None
        pool, device = self._sets.place_of((found & -found).bit_length() - 1)
        (matches,) = match_pools((pool,), self._selectors)
        return next(error for error in matches.errors if error.device is device)

    def _by_pool(self) -> Iterator[PoolMatches]:
        assert self._sets is not None
        starts = self._sets.starts
        match, error = self.match.to_bytes(starts[-1], "little"), self.error.to_bytes(starts[-1], "little")
        askers = [Asker(selector) for selector in self._selectors] if self.error else []
        for number, pool in enumerate(self._sets.pools):
            begin, end = starts[number], starts[number + 1]
            if self.error and any(error[begin:end]):
                found = _asked(pool, askers)
                if found is not None:
                    yield found
            else:
                bits = int.from_bytes(match[begin:end], "little")
                if bits:
                    yield _pool_matches(pool, bits, ())


def intersection(sets: FleetSets, selectors: tuple[Selector, ...]) -> tuple[Bits, Bits] | None:
    """The devices that pass all selectors, and those on which one raises an error before another does not match.

    None when the selectors take more than MOST_STEPS together. Up to twice as many have been taken then.
    """
    match, error, steps = sets.everything, 0, 0
    for selector in selectors:
        found = sets.of(selector)
        steps += found.steps if found is not None else 0
        if found is None or steps > MOST_STEPS:
            return None
        error |= match & found.error
        match &= found.match
    return match, error


def untried(sets: FleetSets, server: Server, texts: tuple[str, ...], most: int = MOST_STEPS) -> frozenset[str]:
    """Of different selectors, those for which no steps are left when all are tried in this order, `most` for all together.

    One that takes more than is left uses it up. What does not compile takes none. Remembered for these pools.
    """
    key = ("untried", dialect_of(server), texts, most)
    return remembered(sets.memo, key, lambda: frozenset(_untried(sets, compile_all(texts, server)[0], most)), LIMIT)


def _untried(sets: FleetSets, selectors: tuple[Selector, ...], left: int) -> Iterator[str]:
    for selector in selectors:
        found = sets.of(selector, left)
        if found is None:
            yield selector.text
        left = left - found.steps if found is not None else 0


def given_up(sets: FleetSets) -> str:
    """Why selectors are not tried any further."""
    number = sets.everything.bit_count()
    return f"its selectors are too costly to be tried on {number:,} device{'' if number == 1 else 's'}"


def compile_all(texts: tuple[str, ...], server: Server = NEWEST) -> Compiled:
    """All selectors compiled as this API server and its scheduler do, and the problems of those that they refuse."""
    selectors: list[Selector] = []
    problems: list[CompileProblem] = []
    for text in texts:
        compiled = compile_for(server, text)
        if isinstance(compiled, tuple):
            problems.extend(compiled)
        elif compiled.refusal is not None:
            problems.append(compiled.refusal)
        else:
            selectors.append(compiled)
    return tuple(selectors), tuple(problems)


def compile_for(server: Server, text: str) -> Selector | tuple[CompileProblem, ...]:
    """The selector in the dialect of this server's release and gates."""
    minor, gates = dialect_of(server)
    return compile_selector(text, minor=minor, gates=gates)


def dialect_of(server: Server) -> tuple[int, tuple[str, ...]]:
    """What decides how this server reads selectors: its minor version, and the gates that are on."""
    return server.minor, tuple(filter(server.enabled, DIALECT_GATES))


def match_pools(pools: Iterable[Pool], selectors: tuple[Selector, ...]) -> tuple[PoolMatches, ...]:
    """The devices of each pool that pass all selectors in their order; pools with neither a match nor an error are left out.

    On a device the first selector that is not a match ends it, as in the allocator. What is too costly to be tried counts as
    a match: the device may be given out. Remembered on each pool.
    """
    askers = [Asker(selector) for selector in selectors]
    found = (_asked(pool, askers) for pool in pools)
    return tuple(matches for matches in found if matches is not None)


def _asked(pool: Pool, askers: list[Asker]) -> PoolMatches | None:
    match = everything(pool)
    raised: list[_Raised] = []
    for asker in askers:
        found = asker.about(pool)
        if found is None:
            continue
        if match & found.error:
            raised += [(asker.selector.text, message, bits & match) for message, bits in found.messages if bits & match]
        match &= found.match
    return _pool_matches(pool, match, tuple(raised)) if match or raised else None


def _pool_matches(pool: Pool, match: Bits, raised: tuple[_Raised, ...]) -> PoolMatches:
    return remembered(pool.memo, ("matches of a pool", match, raised), lambda: PoolMatches(pool, match, raised), POOL_LIMIT)
