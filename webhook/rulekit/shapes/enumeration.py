"""From stocks to shapes: every multiset of models that a stock has, less those its shared counters can never pay.

All searches are bounded. When a bound is hit, shapes are kept (a shape too many is a question too many; one too few is a
promise broken), or the result says that it is not all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, takewhile
from typing import TypeVar

from webhook.rulekit.shapes.candidates import LISTED, Ask, Kind, Stock, Values
from webhook.rulekit.shapes.counters import MOST_STEPS_TOGETHER, Ledger
from webhook.rulekit.shapes.shape import EVERY, Shape, shape_of, shape_of_models

#: Shapes of one alternative that are told apart.
MOST_SHAPES = 4096
#: Multisets that are tried for that: some turn out to be unreachable, and some are found on many nodes.
MOST_TRIED = 4 * MOST_SHAPES

_Item = TypeVar("_Item")

COUNTERS = "the shared counters of its pool do not allow these devices together"
TIES = "a constraint of the claim cannot hold for all devices of a node"
PARTIAL = "a pool of the node is incomplete or contradicts itself, and then nobody is given all devices"


@dataclass(slots=True)
class Enumeration:
    """What was found. `most` is the largest number of devices that any stock has together; `complete` is False at a bound."""

    shapes: set[Shape] = field(default_factory=set)
    unreachable: dict[Shape, str] = field(default_factory=dict)
    most: int = 0
    complete: bool = True
    tried: int = 0
    _steps: int = MOST_STEPS_TOGETHER

    def found(self, shape: Shape, fault: str = "") -> None:
        """Take note of a shape that was not known to be possible; with a `fault`, that this stock at least cannot give it."""
        self.tried += 1
        if fault:
            self.unreachable[shape] = fault
        else:
            self.shapes.add(shape)
            self.unreachable.pop(shape, None)

    def refuse(self, elsewhere: Enumeration) -> None:
        """Take note of what there is on nodes where all devices are given to nobody."""
        for shape in elsewhere.shapes:
            if shape not in self.shapes:
                self.unreachable[shape] = PARTIAL
        self.most = max(self.most, elsewhere.most)
        self.complete = self.complete and elsewhere.complete

    def full(self) -> bool:
        """Whether no further shape is told apart; asked when there is one, so that the result is not complete then."""
        self.complete = len(self.shapes) < MOST_SHAPES and self.tried < MOST_TRIED
        return not self.complete

    def paid(self, ledger: Ledger, wanted: Mapping[Kind, int]) -> bool:
        """Whether the counters pay for `wanted`; True when the searches have taken too many steps."""
        paid, self._steps = ledger.pays(wanted, self._steps)
        return paid


def enumerate_shapes(stocks: Iterable[Stock], ask: Ask) -> Enumeration:
    """All shapes of `ask.count` devices (all of them when it is 0) that one of the stocks can give."""
    result = Enumeration()
    for stock in sorted(stocks, key=_order):
        if ask.count == 0:
            _everything(stock, result)
        elif ask.count == 2:
            _pairs(stock, result)
        else:
            _multisets(stock, ask.count, result)
    return result


def _order(stock: Stock) -> tuple[object, ...]:
    """So that at a bound the same shapes are found every time."""
    return stock.free, [(pool.budget, pool.lots) for pool in stock.counted]


def _supply(stock: Stock) -> Mapping[Kind, int]:
    """How many devices of each kind a stock has, whatever its counters say."""
    numbers = dict(stock.free)
    for pool in stock.counted:
        for kind, _, number in pool.lots:
            numbers[kind] = numbers.get(kind, 0) + number
    return numbers


def _everything(stock: Stock, result: Enumeration) -> None:
    shape = shape_of({model: EVERY for model, _ in _supply(stock)})
    if shape not in result.shapes:
        fault = TIES if stock.broken else ""
        result.found(shape, fault if Ledger(stock).pays_for_everything() else COUNTERS)


def _pairs(stock: Stock, result: Enumeration) -> None:
    supply = _supply(stock)
    kinds, ledger = sorted(supply), Ledger(stock)
    result.most = 1
    for i, one in enumerate(kinds):
        for other in kinds[i:]:
            shape, wanted = shape_of_models((one[0], other[0])), Counter((one, other))
            enough = wanted[one] <= supply[one]
            if shape in result.shapes or not enough or not _differ(one[1], other[1]):
                continue
            if result.full():
                return
            result.found(shape, "" if result.paid(ledger, wanted) else COUNTERS)


def _differ(some: Values, others: Values) -> bool:
    """Whether every distinct attribute may differ. Lists of values are taken to."""
    return all(LISTED in (one, other) or one != other for one, other in zip(some, others, strict=True))


def _multisets(stock: Stock, size: int, result: Enumeration) -> None:
    supply, ledger = sorted(_supply(stock).items()), Ledger(stock)
    result.most = max(result.most, sum(number for _, number in supply))
    for chosen in choices(supply, size):
        shape = shape_of({kind[0]: number for kind, number in chosen})
        if shape in result.shapes:
            continue
        if result.full():
            return
        result.found(shape, "" if result.paid(ledger, dict(chosen)) else COUNTERS)


def choices(supply: Sequence[tuple[_Item, int]], size: int) -> Iterator[tuple[tuple[_Item, int], ...]]:
    """All ways to take `size` from a supply of items with their numbers, most of the first items first."""
    # How many the items from one on hold.
    left = [*accumulate(number for _, number in reversed(supply))][::-1]
    return _choices(supply, left, size, 0)


def _choices(
    supply: Sequence[tuple[_Item, int]], left: list[int], size: int, start: int
) -> Iterator[tuple[tuple[_Item, int], ...]]:
    if size == 0:
        yield ()
        return
    for i in takewhile(lambda i: left[i] >= size, range(start, len(supply))):
        item, number = supply[i]
        for taken in range(min(number, size), 0, -1):
            for rest in _choices(supply, left, size - taken, i + 1):
                yield ((item, taken), *rest)
