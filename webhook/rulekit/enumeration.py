"""From stocks to shapes: every multiset of models that a stock has, less those its shared counters can never pay.

All searches are bounded. When a bound is hit, shapes are kept (a shape too many is a question too many; one too few is a
promise broken), or the result says that it is not all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

from webhook.rulekit.candidates import LISTED, Ask, Counted, Kind, Stock, Values
from webhook.rulekit.shape import EVERY, Shape, shape_of, shape_of_models

#: Shapes of one alternative that are told apart.
MOST_SHAPES = 4096
#: Models of one stock that are mixed: with more, two devices alone make more shapes than are told apart.
_MOST_MODELS = 128
#: Steps of all searches through shared counters of one alternative.
_MOST_STEPS = 100_000

#: A counter of one of the pools of a stock.
_Counter: TypeAlias = "tuple[int, tuple[str, str]]"
_Budget: TypeAlias = "dict[_Counter, int]"
_Item = TypeVar("_Item")
_Drawing: TypeAlias = "tuple[Kind, tuple[tuple[_Counter, int], ...], int]"

COUNTERS = "the shared counters of its pool do not allow these devices together"
TIES = "a constraint of the claim cannot hold for all devices of a node"


@dataclass(slots=True)
class Enumeration:
    """What was found. `most` is the largest number of devices that any stock has; `complete` is False at a bound."""

    shapes: set[Shape] = field(default_factory=set)
    unreachable: dict[Shape, str] = field(default_factory=dict)
    most: int = 0
    complete: bool = True
    _steps: int = _MOST_STEPS

    def found(self, shape: Shape, fault: str = "") -> None:
        """Take note of a shape; with a `fault`, that this stock at least cannot give it."""
        if not fault:
            self.shapes.add(shape)
            self.unreachable.pop(shape, None)
        elif shape not in self.shapes:
            self.unreachable[shape] = fault

    def full(self) -> bool:
        """Whether no further shape is told apart; then the result is not complete."""
        if len(self.shapes) + len(self.unreachable) >= MOST_SHAPES:
            self.complete = False
        return not self.complete

    def step(self) -> bool:
        """One step of a search; False when there have been too many."""
        self._steps -= 1
        return self._steps >= 0


def enumerate_shapes(stocks: Iterable[Stock], ask: Ask) -> Enumeration:
    """All shapes of `ask.count` devices (all of them when it is 0) that one of the stocks can give."""
    result = Enumeration()
    for stock in sorted(stocks, key=lambda stock: (stock.free, len(stock.counted))):
        if ask.count == 0:
            _everything(stock, result)
        elif ask.count == 2 and ask.distinct:
            _pairs(stock, result)
        else:
            _multisets(stock, ask.count, result)
        if result.full():
            break
    return result


def _supply(stock: Stock) -> Mapping[Kind, int]:
    """How many devices of each kind a stock has, whatever its counters say."""
    numbers = dict(stock.free)
    for pool in stock.counted:
        for kind, _, number in pool.lots:
            numbers[kind] = numbers.get(kind, 0) + number
    return numbers


def _everything(stock: Stock, result: Enumeration) -> None:
    supply = _supply(stock)
    result.most = max(result.most, 1)
    shape = shape_of({model: EVERY for model, _ in supply})
    fault = TIES if stock.broken else ""
    if not all(_pays(pool) for pool in stock.counted):
        fault = COUNTERS
    result.found(shape, fault)


def _pays(pool: Counted) -> bool:
    """Whether a pool's counters pay for all its devices at once."""
    left = dict(pool.budget)
    for _, draw, number in pool.lots:
        for counter, amount in draw:
            if counter in left:
                left[counter] -= amount * number
    return all(amount >= 0 for amount in left.values())


def _pairs(stock: Stock, result: Enumeration) -> None:
    supply = _supply(stock)
    result.most = max(result.most, min(2, sum(supply.values())))
    kinds = sorted(supply)
    for i, one in enumerate(kinds):
        for other in kinds[i:]:
            shape = shape_of_models((one[0], other[0]))
            enough = one != other or supply[one] > 1
            if shape in result.shapes or not enough or not _differ(one[1], other[1]):
                continue
            wanted = {one: 1, other: 1} if one != other else {one: 2}
            result.found(shape, "" if _reachable(stock, wanted, result) else COUNTERS)


def _differ(some: Values, others: Values) -> bool:
    """Whether every distinct attribute may differ. Lists of values are taken to."""
    return all(LISTED in (one, other) or one != other for one, other in zip(some, others, strict=True))


def _multisets(stock: Stock, size: int, result: Enumeration) -> None:
    supply = sorted(_supply(stock).items())
    if size > 1 and len(supply) > _MOST_MODELS:
        supply, result.complete = supply[:_MOST_MODELS], False
    result.most = max(result.most, min(size, sum(number for _, number in supply)))
    for chosen in choices(supply, size):
        shape = shape_of({kind[0]: number for kind, number in chosen})
        if shape not in result.shapes:
            result.found(shape, "" if _reachable(stock, dict(chosen), result) else COUNTERS)
            if result.full():
                return


def choices(supply: Sequence[tuple[_Item, int]], size: int) -> Iterator[tuple[tuple[_Item, int], ...]]:
    """All ways to take `size` from a supply of items with their numbers, most of the first items first."""
    left = [sum(number for _, number in supply[i:]) for i in range(len(supply))]
    return _choices(supply, left, size, 0)


def _choices(
    supply: Sequence[tuple[_Item, int]], left: list[int], size: int, start: int
) -> Iterator[tuple[tuple[_Item, int], ...]]:
    if size == 0:
        yield ()
        return
    for i in range(start, len(supply)):
        if left[i] < size:
            return
        item, number = supply[i]
        for taken in range(min(number, size), 0, -1):
            for rest in _choices(supply, left, size - taken, i + 1):
                yield ((item, taken), *rest)


def _reachable(stock: Stock, wanted: Mapping[Kind, int], result: Enumeration) -> bool:
    """Whether the counters can pay for `wanted`. True when the search would take too long."""
    free = dict(stock.free)
    owed = {kind: number - free.get(kind, 0) for kind, number in wanted.items() if number > free.get(kind, 0)}
    lots = [
        (kind, tuple(((i, counter), amount) for counter, amount in draw), number)
        for i, pool in enumerate(stock.counted)
        for kind, draw, number in pool.lots
        if kind in owed
    ]
    budget = {(i, counter): amount for i, pool in enumerate(stock.counted) for counter, amount in pool.budget}
    return _can_pay(owed, lots, 0, budget, result)


def _can_pay(owed: Mapping[Kind, int], lots: list[_Drawing], start: int, budget: _Budget, result: Enumeration) -> bool:
    """Whether what is owed can be taken from `lots[start:]`, of each lot as many as are owed down to none."""
    if not owed:
        return True
    for i in range(start, len(lots)):
        kind, draw, number = lots[i]
        for taken in range(min(number, owed.get(kind, 0)), 0, -1):
            if not result.step():
                return True
            after = _spend(budget, draw, taken)
            if after is None:
                continue
            rest = {other: owes - (taken if other == kind else 0) for other, owes in owed.items()}
            if _can_pay({other: owes for other, owes in rest.items() if owes}, lots, i + 1, after, result):
                return True
    return False


def _spend(budget: _Budget, draw: tuple[tuple[_Counter, int], ...], number: int) -> _Budget | None:
    """What is left of a budget, None when it is too small. A counter that the pool does not have is not counted."""
    left = dict(budget)
    for counter, amount in draw:
        if counter in left:
            left[counter] -= amount * number
            if left[counter] < 0:
                return None
    return left
