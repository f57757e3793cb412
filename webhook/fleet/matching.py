"""Which devices of a pool pass a class's and a request's selectors."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias

from webhook.cel import DIALECT_GATES, CelError, CompileProblem, Selector, Verdict, compile_selector
from webhook.fleet.memo import remembered
from webhook.fleet.pool import Pool
from webhook.model.device import Device
from webhook.model.server_version import Server

_NEWEST_SERVER: Final = Server()

#: Entries of one pool's memo. There are thousands of pools: it is smaller than the inventory's own.
POOL_LIMIT: Final = 256

#: What a selector list is compiled to: all selectors, or everything that is wrong with them.
Compiled: TypeAlias = "tuple[tuple[Selector, ...], tuple[CompileProblem, ...]]"


@dataclass(frozen=True, slots=True)
class DeviceError:
    """A selector that raises a CEL error on a device: the scheduler gives up on the pod when it gets there."""

    device: Device
    message: str
    expression: str


@dataclass(frozen=True, slots=True, eq=False)
class PoolMatches:
    """What one pool has for some selectors; both tuples are in the allocator's order."""

    pool: Pool
    matched: tuple[Device, ...]
    errors: tuple[DeviceError, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Matches:
    """What all pools have for a class and further selectors.

    `pools` are those with a match or an error, in the allocator's order (driver, pool name). `problems` says which selectors
    do not compile; then, and when the class is missing, nothing matches. `count` is the number of matched devices.
    """

    pools: tuple[PoolMatches, ...] = ()
    class_missing: bool = False
    problems: tuple[CompileProblem, ...] = ()
    count: int = 0


def compile_all(texts: tuple[str, ...], server: Server = _NEWEST_SERVER) -> Compiled:
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
    return compile_selector(text, minor=server.minor, gates=tuple(filter(server.enabled, DIALECT_GATES)))


def match_pools(pools: Iterable[Pool], selectors: tuple[Selector, ...]) -> tuple[PoolMatches, ...]:
    """The devices of each pool that pass all selectors in their order; pools with neither a match nor an error are left out.

    On a device the first selector that is not a match ends it, as in the allocator. Remembered on each pool.
    """
    # One key object for all pools: a memo entry without matches then costs next to nothing.
    key = ("match", *(selector.dialect for selector in selectors[:1]), tuple(selector.text for selector in selectors))
    found = (remembered(pool.memo, key, partial(_evaluate, pool, selectors), POOL_LIMIT) for pool in pools)
    return tuple(matches for matches in found if matches is not None)


def _evaluate(pool: Pool, selectors: tuple[Selector, ...]) -> PoolMatches | None:
    matched: list[Device] = []
    errors: list[DeviceError] = []
    for device in pool.devices:
        verdict = _judge(device, selectors)
        if verdict is Verdict.MATCH:
            matched.append(device)
        elif isinstance(verdict, DeviceError):
            errors.append(verdict)
    if not matched and not errors:
        return None
    everything = len(matched) == len(pool.devices)
    return PoolMatches(pool, pool.devices if everything else tuple(matched), tuple(errors))


def _judge(device: Device, selectors: tuple[Selector, ...]) -> Verdict | DeviceError:
    for selector in selectors:
        outcome = selector.against(device)
        if isinstance(outcome, CelError):
            return DeviceError(device, outcome.message, selector.text)
        if outcome is not Verdict.MATCH:
            return Verdict.NO_MATCH
    return Verdict.MATCH
