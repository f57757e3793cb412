"""The count of what an evaluation costs, and the stack of values by which the scheduler's library finds what a call was given.

The library observes every step of an evaluation: the step's value is pushed under its number, and an operation takes its
operands off again by theirs. An operand that was never worked out is not found, and then the operation costs nothing. The
stack is kept here in the same way, because only so the numbers are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from webhook.cel.values import limit_exceeded

#: Far more than what an evaluation of the highest cost takes: only what the scheduler does not charge for gets there.
MAX_STEPS: Final = 2_000_000


class Meter:
    """One evaluation's count. AbortedError when it gets above the limit.

    `steps` are those left for what has no cost: the time of comparing large values and of reading patterns.
    """

    __slots__ = ("_ids", "_limit", "_places", "_values", "cost", "steps")

    def __init__(self, limit: int, steps: int = MAX_STEPS) -> None:
        self.cost = 0
        self.steps = steps
        self._limit = limit
        self._ids: list[int] = []
        self._values: list[Any] = []
        self._places: dict[int, list[int]] = {}  # where in the stack the values of a step are

    def push(self, step: int, value: Any) -> None:
        """Note the value of a step, after its cost was added."""
        places = self._places.get(step)
        if places is None:
            places = self._places[step] = []
        places.append(len(self._ids))
        self._ids.append(step)
        self._values.append(value)
        if self.cost > self._limit:
            raise limit_exceeded()

    def drop(self, *steps: int) -> None:
        """Forget the latest value of each step, and whatever lies above it."""
        for step in steps:
            places = self._places.get(step)
            if places:
                self._truncate(places[-1])

    def take(self, steps: Sequence[int]) -> list[Any] | None:
        """The latest values of all steps, which are dropped; None when one is missing."""
        taken: list[Any] = [None] * len(steps)
        for index in range(len(steps) - 1, -1, -1):
            places = self._places.get(steps[index])
            if not places:
                return None
            place = places[-1]
            taken[index] = self._values[place]
            self._truncate(place)
        return taken

    def _truncate(self, length: int) -> None:
        ids, places = self._ids, self._places
        for step in ids[length:]:
            places[step].pop()
        del ids[length:]
        del self._values[length:]
