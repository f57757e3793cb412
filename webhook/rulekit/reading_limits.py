"""How much of one review is read: CEL, the steps that it takes, and the devices that alternatives choose from.

A mutating webhook sees claims before the API server has validated them, and a pod may name dozens of templates. What is beyond
a limit is withheld from the rules (`Alternative.unread`): nothing is concluded from it, and nobody is denied for it. The limits
count what is written and what an evaluation does, never time: the same review is read in the same way everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from webhook.fleet.inventory import Inventory
from webhook.fleet.matching import given_up, untried
from webhook.model.claim import Alternative, ClaimSpec, Request

#: Characters of different selectors that are compiled for one review: some 200 selectors as people write them.
MOST_TEXT: Final = 32 * 1024
#: Different selectors of one review that are read.
MOST_SELECTORS: Final = 128
#: Alternatives of one review that are judged: what one claim can have. Of a pod, those of its first claims.
MOST_ALTERNATIVES: Final = 256
#: Devices that the alternatives of a review choose from together; what asks alike for the same ones counts once.
MOST_DEVICES: Final = 1_000_000
#: What a device counts where constraints or capacities have to be looked at.
_COMPARED: Final = 4
#: A longer text is refused before it is parsed, and costs nothing.
_PARSED: Final = 10 * 1024


def within_limits(inventory: Inventory, specs: Sequence[ClaimSpec]) -> tuple[ClaimSpec, ...]:
    """The specs of one review, with the selectors withheld that are too much to be read; the very same ones when none are."""
    texts = tuple(dict.fromkeys(_texts(specs)))
    excess = _excess(texts)
    if excess:
        return tuple(_unread(spec, _with_selectors, excess) for spec in specs)
    read = _tried(inventory, specs, texts) if texts else tuple(specs)
    alternatives = sum(map(number_of_alternatives, read))
    if alternatives * inventory.sets.everything.bit_count() * _COMPARED <= MOST_DEVICES:
        return read
    return _with_few_devices(inventory, read)


def _tried(inventory: Inventory, specs: Sequence[ClaimSpec], texts: tuple[str, ...]) -> tuple[ClaimSpec, ...]:
    """Without the selectors for which there are not steps enough."""
    left_out = untried(inventory.sets, inventory.server, texts)
    if not left_out:
        return tuple(specs)
    why = given_up(inventory.sets)
    return tuple(_unread(spec, lambda item: any(s.expression in left_out for s in item.selectors), why) for spec in specs)


def _with_few_devices(inventory: Inventory, specs: tuple[ClaimSpec, ...]) -> tuple[ClaimSpec, ...]:
    """Without the alternatives that choose from more devices than are left when those before them have been looked at."""
    seen: set[Hashable] = set()
    beyond: set[int] = set()
    left = MOST_DEVICES
    for spec, request, alternative in _alternatives(specs):
        matches = inventory.match(alternative.device_class, tuple([item.expression for item in alternative.selectors]))
        covering = tuple([item for item in spec.constraints if item.covers(request.name, alternative.name)])
        ask = (alternative.allocation_mode, alternative.count, tuple(alternative.capacity.items()), covering)
        if (matches.match, ask) in seen:
            continue
        left -= matches.count * (_COMPARED if covering or alternative.capacity else 1)
        if left < 0:
            beyond.add(id(alternative))
        else:
            seen.add((matches.match, ask))
    if not beyond:
        return specs
    why = f"the alternatives choose from more than {MOST_DEVICES:,} devices together, and no more are looked at"
    return tuple(_unread(spec, lambda item: id(item) in beyond, why) for spec in specs)


def _alternatives(specs: Iterable[ClaimSpec]) -> Iterator[tuple[ClaimSpec, Request, Alternative]]:
    for spec in specs:
        for request in spec.requests:
            yield from ((spec, request, item) for item in request.alternatives if not item.unread)


def number_of_alternatives(spec: ClaimSpec) -> int:
    """The alternatives of all requests of a claim."""
    return sum([len(request.alternatives) for request in spec.requests])


def _texts(specs: Sequence[ClaimSpec]) -> Iterator[str]:
    for _, _, alternative in _alternatives(specs):
        yield from (selector.expression for selector in alternative.selectors)


def _excess(texts: Sequence[str]) -> str:
    """Why these are too many or too long to be compiled, or ""."""
    length = sum(len(text) for text in texts if len(text) <= _PARSED)
    if length > MOST_TEXT:
        return f"its selectors are {_size(length)} of CEL together, more than the {MOST_TEXT // 1024} KiB that are read"
    if len(texts) > MOST_SELECTORS:
        return f"it has {len(texts):,} different selectors, more than the {MOST_SELECTORS} that are read"
    return ""


def _size(characters: int) -> str:
    kib = characters / 1024
    return f"{kib / 1024:.1f} MiB" if kib >= 1024 else f"{kib:.1f} KiB"


def _with_selectors(alternative: Alternative) -> bool:
    return bool(alternative.selectors)


def _unread(spec: ClaimSpec, which: Callable[[Alternative], bool], why: str) -> ClaimSpec:
    return replace(spec, requests=tuple(_unread_request(request, which, why) for request in spec.requests))


def _unread_request(request: Request, which: Callable[[Alternative], bool], why: str) -> Request:
    alternatives = (
        replace(item, unread=why, selectors=(), withheld=item.selectors) if which(item) else item
        for item in request.alternatives
    )
    return replace(request, alternatives=tuple(alternatives))
