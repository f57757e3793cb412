"""Whether the shared counters of pools can pay for devices together (partitionable devices, KEP-4815)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from webhook.rulekit.shapes.candidates import Counted, Kind, Stock

#: Steps of one search. A search that takes longer ends with "they can pay": a shape too many rather than one too few.
MOST_STEPS: Final = 2_000
#: Steps of all searches for one alternative.
MOST_STEPS_TOGETHER: Final = 50_000

#: The index of a counter in a Ledger's budget, and an amount.
_Draw: TypeAlias = "tuple[tuple[int, int], ...]"
#: Like devices that draw the same: what each draws, how many they are, and how many of their kind come after them.
_Lot: TypeAlias = "tuple[_Draw, int, int]"


class Ledger:
    """The counters behind one stock, prepared for many questions."""

    def __init__(self, stock: Stock) -> None:
        self._free = dict(stock.free)
        self._budget: list[int] = []
        self._names: list[str] = []
        drawing: dict[Kind, list[tuple[_Draw, int]]] = {}
        for pool in stock.counted:
            for kind, draw, number in self._enter(pool):
                drawing.setdefault(kind, []).append((draw, number))
        self._lots = {kind: _with_rest(found) for kind, found in drawing.items()}
        self._least = {kind: self._least_draw(found) for kind, found in self._lots.items()}
        self._totals: dict[str, int] = {}
        for name, amount in zip(self._names, self._budget, strict=True):
            self._totals[name] = self._totals.get(name, 0) + amount

    def pays(self, wanted: Mapping[Kind, int], steps: int) -> tuple[bool, int]:
        """Whether devices of these kinds can be had together, and the steps that are left of `steps`."""
        owed = [(kind, n - self._free.get(kind, 0)) for kind, n in wanted.items() if n > self._free.get(kind, 0)]
        if not self._could_pay(owed):
            return False, steps
        # The greedy first: when they do not fit, that shows early.
        owed.sort(key=lambda item: -sum(self._least[item[0]].values()))
        search = _Search([(self._lots[kind], n) for kind, n in owed], [*self._budget], min(steps, MOST_STEPS))
        paid = search.take(0, 0, 0)
        return paid, steps - search.used

    def pays_for_everything(self) -> bool:
        """Whether all devices of the stock can be had together."""
        left = [*self._budget]
        for lots in self._lots.values():
            for draw, number, _ in lots:
                for counter, amount in draw:
                    left[counter] -= amount * number
        return all(amount >= 0 for amount in left)

    def _enter(self, pool: Counted) -> Iterator[tuple[Kind, _Draw, int]]:
        index = {counter: i for i, (counter, _) in enumerate(pool.budget, len(self._budget))}
        self._budget.extend(amount for _, amount in pool.budget)
        self._names.extend(name for (_, name), _ in pool.budget)
        for kind, draw, number in pool.lots:
            # A counter that the pool does not have is not counted.
            yield kind, tuple((index[counter], amount) for counter, amount in draw if counter in index), number

    def _least_draw(self, lots: Sequence[_Lot]) -> Mapping[str, int]:
        """What a device of these lots takes at least of the counters of one name, whichever sets they are in."""
        taken: list[dict[str, int]] = []
        for draw, _, _ in lots:
            by_name: dict[str, int] = {}
            for counter, amount in draw:
                by_name[self._names[counter]] = by_name.get(self._names[counter], 0) + amount
            taken.append(by_name)
        return {name: min(by_name.get(name, 0) for by_name in taken) for name in taken[0]}

    def _could_pay(self, owed: Iterable[tuple[Kind, int]]) -> bool:
        """False when the counters of some name, all sets together, are less than what is owed takes at least."""
        needed: dict[str, int] = {}
        for kind, number in owed:
            for name, amount in self._least[kind].items():
                needed[name] = needed.get(name, 0) + amount * number
        return all(amount <= self._totals[name] for name, amount in needed.items())


def _with_rest(lots: Sequence[tuple[_Draw, int]]) -> tuple[_Lot, ...]:
    rest = 0
    found: list[_Lot] = []
    for draw, number in reversed(lots):
        found.append((draw, number, rest))
        rest += number
    return tuple(reversed(found))


class _Search:
    """Takes lots one after the other, kind by kind, of each lot as many devices as can be paid down to none."""

    def __init__(self, owed: Sequence[tuple[tuple[_Lot, ...], int]], budget: list[int], steps: int) -> None:
        self._owed, self._budget, self._steps = owed, budget, steps
        self.used = 0

    def take(self, kind: int, start: int, taken: int) -> bool:
        """Whether the rest can be taken: of kind number `kind` from its lots on from `start`, `taken` being had, and of all
        kinds after it. True when there were too many steps."""
        if kind == len(self._owed):
            return True
        lots, owes = self._owed[kind]
        if taken == owes:
            return self.take(kind + 1, 0, 0)
        for i in range(start, len(lots)):
            draw, number, rest = lots[i]
            for more in range(self._affordable(draw, min(number, owes - taken)), 0, -1):
                self.used += 1
                if self.used > self._steps:
                    return True
                self._spend(draw, more)
                paid = self.take(kind, i + 1, taken + more)
                self._spend(draw, -more)
                if paid:
                    return True
            if rest < owes - taken:
                return False
        return False

    def _affordable(self, draw: _Draw, number: int) -> int:
        return min([number, *(self._budget[counter] // amount for counter, amount in draw)])

    def _spend(self, draw: _Draw, number: int) -> None:
        for counter, amount in draw:
            self._budget[counter] -= amount * number
