"""How deep a text may nest: the two limits of the scheduler's parser, counted while the tree is built bottom up.

Its parser refuses a text in which one grammar rule is active more than 250 times at once, and its tree builder one that is
more than 250 operators, selections, indexings, member calls and conditions deep. Not every bracket costs the same: the right
operand of `+` or `==` holds its rule active twice.
"""

from __future__ import annotations

from typing import NamedTuple

LIMIT = 250


class NestingError(Exception):
    """The text nests too deeply; the message is the scheduler's own."""


class Nesting(NamedTuple):
    """What a piece of text keeps active at its deepest place.

    `expressions`, `relations` and `sums` count the grammar's rules for whole expressions (without the one that the piece
    itself stands in), comparisons and arithmetic; `visits` counts what the tree builder does.
    """

    expressions: int
    relations: int
    sums: int
    visits: int


LEAF = Nesting(0, 1, 1, 0)


def beside(*parts: Nesting) -> Nesting:
    """Parts that are read one after the other, such as the terms of `&&`."""
    if len(parts) == 1:
        return parts[0]
    return Nesting(*map(max, zip(*parts, strict=True))) if parts else LEAF


def bracketed(*parts: Nesting) -> Nesting:
    """Whole expressions within brackets of any kind, or the arguments of a call."""
    if not parts:
        return LEAF
    inner = beside(*parts)
    return _within_limits(inner.expressions + 1, inner.relations + 1, inner.sums + 1, inner.visits)


def compared(left: Nesting, right: Nesting) -> Nesting:
    """left == right"""
    both = beside(left, right)
    return _within_limits(both.expressions, max(left.relations, right.relations + 1), both.sums, both.visits + 1)


def added(left: Nesting, right: Nesting) -> Nesting:
    """left + right"""
    both = beside(left, right)
    return _within_limits(both.expressions, both.relations, max(left.sums, right.sums + 1), both.visits + 1)


def visited(part: Nesting) -> Nesting:
    """A selection, an indexing or a call of a member on top of `part`."""
    return _within_limits(part.expressions, part.relations, part.sums, part.visits + 1)


def chosen(condition: Nesting, then: Nesting, otherwise: Nesting) -> Nesting:
    """condition ? then : otherwise; the last part is a whole expression again."""
    inner = beside(condition, then, otherwise._replace(expressions=otherwise.expressions + 1))
    return _within_limits(inner.expressions, inner.relations, inner.sums, inner.visits + 1)


def _within_limits(expressions: int, relations: int, sums: int, visits: int) -> Nesting:
    if expressions >= LIMIT or relations > LIMIT or sums > LIMIT:
        raise NestingError(f"expression recursion limit exceeded: {LIMIT}")
    if visits > LIMIT:
        raise NestingError("max recursion depth exceeded")
    return Nesting(expressions, relations, sums, visits)
