"""Sizes and costs that are known only within bounds, in 64 bits: what would overflow stays at the largest number."""

from __future__ import annotations

import math
from typing import NamedTuple

LARGEST = 2**64 - 1


class Range(NamedTuple):
    """From `least` to `most`."""

    least: int
    most: int

    def plus(self, other: Range) -> Range:
        """The sum."""
        return Range(min(self.least + other.least, LARGEST), min(self.most + other.most, LARGEST))

    def times(self, other: Range) -> Range:
        """The product."""
        return Range(min(self.least * other.least, LARGEST), min(self.most * other.most, LARGEST))

    def scaled(self, factor: float) -> Range:
        """Times a factor, rounded up."""
        return Range(scaled(self.least, factor), scaled(self.most, factor))

    def union(self, other: Range) -> Range:
        """The smallest range that has both within it."""
        return Range(min(self.least, other.least), max(self.most, other.most))


def exactly(number: int) -> Range:
    """From `number` to `number`."""
    return Range(number, number)


def scaled(number: int, factor: float) -> int:
    """number * factor, rounded up."""
    product = math.ceil(float(number) * factor)
    return LARGEST if product >= LARGEST else product


NOTHING, ONE, UNKNOWN = exactly(0), exactly(1), Range(0, LARGEST)

# What the scheduler's library charges.
NAME = 1  # reading a variable or a field
NEW_LIST, NEW_MAP, NEW_OBJECT = 10, 30, 40
PER_CHARACTER = 0.1
PER_PATTERN_CHARACTER = 0.25
AUTHORIZATION = 350_000  # asking an authorizer


def selector_cost(length: Range) -> Range:
    """Reading a label or field selector: two characters make a requirement at most, each with a list and an object."""
    return exactly(NEW_LIST).plus(length.scaled(PER_CHARACTER)).plus(length.scaled(0.5).scaled(NEW_LIST + NEW_OBJECT))
