"""How much CEL of one review is read: text that is compiled, and steps that its selectors take on the fleet together.

A mutating webhook sees claims before the API server has validated them, and a pod may name dozens of templates. What is beyond
a limit is withheld from the rules (`Alternative.unread`): nothing is concluded from it, and nobody is denied for it. The limits
count what is written and what an evaluation does, never time: the same review is read in the same way everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
#: A longer text is refused before it is parsed, and costs nothing.
_PARSED: Final = 10 * 1024


def within_limits(inventory: Inventory, specs: Sequence[ClaimSpec]) -> tuple[ClaimSpec, ...]:
    """The specs of one review, with the selectors withheld that are too much to be read; the very same ones when none are."""
    texts = tuple(dict.fromkeys(_texts(specs)))
    if not texts:
        return tuple(specs)
    excess = _excess(texts)
    if excess:
        return tuple(_unread(spec, frozenset(texts), excess) for spec in specs)
    left_out = untried(inventory.sets, inventory.server, texts)
    return tuple(_unread(spec, left_out, given_up(inventory.sets)) for spec in specs) if left_out else tuple(specs)


def number_of_alternatives(spec: ClaimSpec) -> int:
    """The alternatives of all requests of a claim."""
    return sum([len(request.alternatives) for request in spec.requests])


def _texts(specs: Sequence[ClaimSpec]) -> Iterator[str]:
    for spec in specs:
        for request in spec.requests:
            for alternative in request.alternatives:
                for selector in alternative.selectors:
                    yield selector.expression


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


def _unread(spec: ClaimSpec, texts: frozenset[str], why: str) -> ClaimSpec:
    return replace(spec, requests=tuple(_unread_request(request, texts, why) for request in spec.requests))


def _unread_request(request: Request, texts: frozenset[str], why: str) -> Request:
    return replace(request, alternatives=tuple(_unread_alternative(item, texts, why) for item in request.alternatives))


def _unread_alternative(alternative: Alternative, texts: frozenset[str], why: str) -> Alternative:
    if not any(selector.expression in texts for selector in alternative.selectors):
        return alternative
    return replace(alternative, unread=why, selectors=(), withheld=alternative.selectors)
