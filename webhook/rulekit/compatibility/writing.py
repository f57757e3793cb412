"""Shapes as entries of a declaration: as few as cover all of them, and nothing else.

Consecutive counts of one model become a range, `*x` stands for all devices of a node. A glob stands for several models of one
family (`2x a100-*`) where every mix of so many devices of them is wanted, and where it fits no other name that the catalog has:
members of a family such as `a100-mig-{profile}`, whose names nobody has listed, count as names it must not fit.

Only where more than `MOST_MIXES` entries of one count would be left, a glob also stands for mixes of the same models and count
that no node has to give: any two of the models occur together in some shape that is wanted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement, pairwise
from math import comb
from typing import Final

from webhook.rulekit.shapes.catalog import UNKNOWN, Catalog
from webhook.rulekit.shapes.shape import EVERY, Shape, shape_of, shape_of_models

#: Mixed shapes of one count that are spelt out where they are not all there are.
MOST_MIXES: Final = 8
#: The most mixes that are worked out to see whether all are there.
_MOST_OF_A_FAMILY: Final = 4096

_SEPARATORS = re.compile(r"[,+*\[\n\r\t]")


@dataclass(frozen=True, slots=True)
class _Family:
    """Models that one glob stands for, and the counts in which all their mixes are wanted."""

    models: tuple[str, ...]
    glob: str
    counts: tuple[int, ...]


def entries_for(shapes: Iterable[Shape], catalog: Catalog) -> tuple[str, ...]:
    """Entries that cover these shapes: families of models first, then single models, then mixes."""
    left = dict.fromkeys(shapes)
    texts: list[str] = []
    for family in _families(left, catalog):
        texts += _counted(family.glob, family.counts)
        left = {shape: None for shape in left if not (shape.count in family.counts and set(shape.models) <= set(family.models))}
    counts: dict[str, list[int]] = {}
    for shape in left:
        if len(shape.parts) == 1:
            counts.setdefault(shape.models[0], []).append(shape.parts[0][1])
    for model, found in counts.items():
        texts += _counted(_written(model), found)
    mixes = (shape for shape in left if len(shape.parts) > 1)
    return (*texts, *(" + ".join(_entry(_written(model), count, count) for model, count in shape.parts) for shape in mixes))


def _families(shapes: Iterable[Shape], catalog: Catalog) -> Iterator[_Family]:
    by_count: dict[int, set[Shape]] = {}
    for shape in shapes:
        by_count.setdefault(shape.count, set()).add(shape)
    done: set[tuple[int, str]] = set()
    mixed = {count: [shape for shape in found if len(shape.parts) > 1] for count, found in by_count.items()}
    for models in sorted(
        {models for found in mixed.values() for models in _mixing(found)}, key=lambda item: (-len(item), item)
    ):
        glob = _glob_for(models, catalog)
        if not glob:
            continue
        counts = tuple(
            count
            for count in sorted(by_count)
            if not any((count, model) in done for model in models)
            and (_all_mixes(models, count, by_count[count]) or _too_many(models, mixed[count]))
        )
        if any(mixed[count] for count in counts):
            done.update((count, model) for count in counts for model in models)
            yield _Family(models, glob, counts)


def _mixing(mixed: Sequence[Shape]) -> Iterator[tuple[str, ...]]:
    """Sets of models that are mixed with each other and with no others."""
    together: dict[str, set[str]] = {}
    for shape in mixed:
        joined = set(shape.models).union(*(together.get(model, ()) for model in shape.models))
        together.update(dict.fromkeys(joined, joined))
    yield from {tuple(sorted(models)) for models in together.values()}


def _all_mixes(models: Sequence[str], count: int, wanted: set[Shape]) -> bool:
    """Whether every multiset of so many devices of these models is wanted."""
    number = 2 ** len(models) - 1 if count == EVERY else comb(len(models) + count - 1, count)
    if number > min(len(wanted), _MOST_OF_A_FAMILY):
        return False
    if count == EVERY:
        subsets = (chosen for size in range(1, len(models) + 1) for chosen in combinations(models, size))
        return all(shape_of(dict.fromkeys(chosen, EVERY)) in wanted for chosen in subsets)
    return all(shape_of_models(chosen) in wanted for chosen in combinations_with_replacement(models, count))


def _too_many(models: Sequence[str], mixed: Sequence[Shape]) -> bool:
    """Whether mixes of these models are too many to spell out, and any two of the models are mixed in one of them."""
    of_these = [set(shape.models) for shape in mixed if set(shape.models) <= set(models)]
    return len(of_these) > MOST_MIXES and all(any({*pair} <= found for found in of_these) for pair in combinations(models, 2))


def _glob_for(models: Sequence[str], catalog: Catalog) -> str:
    """The plainest glob that fits these models and no other that the catalog can name; "" when there is none."""
    if any(model.startswith(UNKNOWN) for model in models):
        return ""
    before, after = _common(models), _common([model[::-1] for model in models])[::-1]
    family, ending = before[: before.rfind("-") + 1], after[after.find("-") :] if "-" in after else ""
    candidates = [
        f"{start}*{end}" for start, end in ((family, ""), (before, ""), (family, ending), ("", ending)) if start or end
    ]
    return next((glob for glob in candidates if catalog.fits_only(glob, models)), "")


def _common(texts: Sequence[str]) -> str:
    """What all of them begin with."""
    first, last = min(texts), max(texts)
    same = next(
        (i for i, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), min(len(first), len(last))
    )
    return first[:same]


def _counted(pattern: str, counts: Iterable[int]) -> list[str]:
    """Entries of one name or glob for these counts."""
    found = sorted(set(counts))
    if EVERY in found:
        return [_entry(pattern, EVERY, EVERY)]
    starts = [found[0], *(high for low, high in pairwise(found) if high != low + 1)]
    ends = [*(low for low, high in pairwise(found) if high != low + 1), found[-1]]
    return [_entry(pattern, low, high) for low, high in zip(starts, ends, strict=True)]


def _written(model: str) -> str:
    # A product name may hold what separates entries: a `?` there stands for any character.
    return _SEPARATORS.sub("?", model)


def _entry(pattern: str, low: int, high: int) -> str:
    if low == EVERY:
        return f"*x {pattern}"
    if low == high == 1:
        return pattern
    return f"{low}x {pattern}" if low == high else f"{low}-{high}x {pattern}"
