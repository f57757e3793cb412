"""The order in which Go's sort.Slice leaves a list: it does not keep equal elements as they were.

`sortBy` shows that order, so it has to be the same here. It is pattern-defeating quicksort: insertion sort for up to twelve
elements, else a pivot of three or nine, with short cuts for what is sorted already, runs backwards, or has many equal
elements. Elements that are known to differ have one order only, and need none of this.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_SHORT = 12
_LONG = 50
_MOST_SHIFTS = 5
_ALL_SWAPPED = 12
_WORD = 2**64


def go_sorted(elements: list[Any], less: Callable[[Any, Any], bool]) -> list[Any]:
    """The elements in Go's order."""
    sorting = _Sorting(elements, less)
    sorting.sort(0, len(elements), len(elements).bit_length())
    return sorting.data


class _Sorting:
    def __init__(self, elements: list[Any], less: Callable[[Any, Any], bool]) -> None:
        self.data = list(elements)
        self._less = less
        self._swapped = 0

    def less(self, one: int, two: int) -> bool:
        return self._less(self.data[one], self.data[two])

    def swap(self, one: int, two: int) -> None:
        data = self.data
        data[one], data[two] = data[two], data[one]

    def sort(self, low: int, high: int, bad_left: int) -> None:
        """Sorts from `low` up to `high`; after `bad_left` uneven partitions by heap."""
        even = untouched = True
        while high - low > _SHORT:
            if bad_left == 0:
                self.heap(low, high)
                return
            if not even:
                self.scatter(low, high)
                bad_left -= 1
            pivot = self.pivot(low, high)
            rising = self._swapped == 0
            if self._swapped == _ALL_SWAPPED:
                self.data[low:high] = self.data[low:high][::-1]
                pivot, rising = high - 1 - (pivot - low), True
            if even and untouched and rising and self.nearly_sorted(low, high):
                return
            if low > 0 and not self.less(low - 1, pivot):
                low = self.past_equals(low, high, pivot)
                continue
            middle, untouched = self.partition(low, high, pivot)
            left, right = middle - low, high - middle
            even = min(left, right) >= (high - low) // 8
            if left < right:
                self.sort(low, middle, bad_left)
                low = middle + 1
            else:
                self.sort(middle + 1, high, bad_left)
                high = middle
        self.insert(low, high)

    def insert(self, low: int, high: int) -> None:
        for end in range(low + 1, high):
            at = end
            while at > low and self.less(at, at - 1):
                self.swap(at, at - 1)
                at -= 1

    def heap(self, low: int, high: int) -> None:
        for root in range((high - low - 1) // 2, -1, -1):
            self.sift(root, high - low, low)
        for last in range(high - low - 1, -1, -1):
            self.swap(low, low + last)
            self.sift(0, last, low)

    def sift(self, root: int, size: int, low: int) -> None:
        while (child := 2 * root + 1) < size:
            if child + 1 < size and self.less(low + child, low + child + 1):
                child += 1
            if not self.less(low + root, low + child):
                return
            self.swap(low + root, low + child)
            root = child

    def scatter(self, low: int, high: int) -> None:
        """Swaps three elements of the middle with others, which only look chosen at random."""
        length = seed = high - low
        mask = (1 << length.bit_length()) - 1
        middle = low + length // 4 * 2
        for at in range(middle - 1, middle + 2):
            seed ^= seed << 13 & _WORD - 1
            seed ^= seed >> 7
            seed ^= seed << 17 & _WORD - 1
            other = seed & mask
            self.swap(at, low + (other - length if other >= length else other))

    def pivot(self, low: int, high: int) -> int:
        quarter = (high - low) // 4
        places = [low + quarter, low + 2 * quarter, low + 3 * quarter]
        self._swapped = 0
        if high - low >= _LONG:
            places = [self.median(place - 1, place, place + 1) for place in places]
        return self.median(*places)

    def median(self, one: int, two: int, three: int) -> int:
        one, two = self.ordered(one, two)
        two, three = self.ordered(two, three)
        return self.ordered(one, two)[1]

    def ordered(self, one: int, two: int) -> tuple[int, int]:
        if not self.less(two, one):
            return one, two
        self._swapped += 1
        return two, one

    def nearly_sorted(self, low: int, high: int) -> bool:
        """Whether it is sorted now: a few misplaced elements of a long part are put right."""
        at = low + 1
        for _ in range(_MOST_SHIFTS):
            while at < high and not self.less(at, at - 1):
                at += 1
            if at == high:
                return True
            if high - low < _LONG:
                return False
            self.swap(at, at - 1)
            if at - low >= 2:
                self.shift(range(at - 1, 0, -1))
            if high - at >= 2:
                self.shift(range(at + 1, high))
        return False

    def shift(self, places: range) -> None:
        for place in places:
            if not self.less(place, place - 1):
                return
            self.swap(place, place - 1)

    def past_equals(self, low: int, high: int, pivot: int) -> int:
        """Puts what equals the pivot, the least there is, in front; where the rest begins."""
        self.swap(low, pivot)
        left, right = low + 1, high - 1
        while True:
            while left <= right and not self.less(low, left):
                left += 1
            while left <= right and self.less(low, right):
                right -= 1
            if left > right:
                return left
            self.swap(left, right)
            left, right = left + 1, right - 1

    def partition(self, low: int, high: int, pivot: int) -> tuple[int, bool]:
        """Puts what is less than the pivot in front of it; its place, and whether nothing had to be moved."""
        self.swap(low, pivot)
        left, right, untouched = low + 1, high - 1, True
        while True:
            while left <= right and self.less(left, low):
                left += 1
            while left <= right and not self.less(right, low):
                right -= 1
            if left > right:
                self.swap(right, low)
                return right, untouched
            self.swap(left, right)
            left, right, untouched = left + 1, right - 1, False
