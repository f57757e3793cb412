"""Whether shared counters can pay for devices together, and how long it is tried."""

from __future__ import annotations

import pytest

from webhook.rulekit.shapes.candidates import Counted, Kind, Stock
from webhook.rulekit.shapes.counters import MOST_STEPS, Ledger

A: Kind = ("a", ())
B: Kind = ("b", ())
PLENTY = 10_000


def card(i: int) -> tuple[str, str]:
    return (f"card-{i}", "memory")


def pool(budget: dict[int, int], *lots: tuple[Kind, int, int, int]) -> Counted:
    """A pool with a budget per card and lots of (kind, card, amount, number)."""
    return Counted(
        tuple((card(i), amount) for i, amount in budget.items()),
        tuple((kind, ((card(i), amount),), number) for kind, i, amount, number in lots),
    )


def pays(stock: Stock, **wanted: int) -> bool:
    return Ledger(stock).pays({(kind, ()): number for kind, number in wanted.items()}, PLENTY)[0]


TWO_CARDS = {0: 8, 1: 8}


def test_what_is_free_costs_nothing() -> None:
    stock = Stock(((A, 2), (B, 1)), (pool({0: 8}, (A, 0, 8, 3)),))
    assert pays(stock, a=1)
    assert pays(stock, a=2, b=1)
    assert pays(stock, a=3)
    assert not pays(stock, a=4)


def test_a_sum_that_is_too_large_is_seen_without_a_search() -> None:
    stock = Stock((), (pool(TWO_CARDS, (A, 0, 6, 1), (A, 1, 6, 1), (B, 0, 6, 1), (B, 1, 6, 1)),))
    assert Ledger(stock).pays({A: 2, B: 1}, PLENTY) == (False, PLENTY)


def test_what_fits_in_sum_may_not_fit_on_any_card() -> None:
    # three of 5 are 15 of 16, but each card has room for one
    stock = Stock((), (pool(TWO_CARDS, (A, 0, 5, 2), (A, 1, 5, 2)),))
    assert pays(stock, a=2)
    assert not pays(stock, a=3)


def test_kinds_are_fitted_in_together() -> None:
    stock = Stock((), (pool(TWO_CARDS, (A, 0, 6, 1), (A, 1, 6, 1), (B, 0, 2, 1), (B, 1, 3, 1)),))
    assert pays(stock, a=2, b=1)
    assert not pays(stock, a=2, b=2)
    assert pays(stock, a=1, b=2)


def test_a_choice_that_leads_nowhere_is_taken_back() -> None:
    # the first card can hold b or a, the second only a
    stock = Stock((), (pool(TWO_CARDS, (A, 0, 6, 1), (A, 1, 6, 1), (B, 0, 5, 1)),))
    assert pays(stock, a=1, b=1)
    assert not pays(stock, a=2, b=1)


def test_several_of_one_lot() -> None:
    stock = Stock((), (pool({0: 8}, (A, 0, 2, 5)),))
    assert [pays(stock, a=number) for number in range(1, 6)] == [True, True, True, True, False]
    assert not pays(Stock((), (pool({0: 100}, (A, 0, 2, 3)),)), a=4)


def test_pools_have_budgets_of_their_own() -> None:
    stock = Stock((), (pool({0: 8}, (A, 0, 5, 2)), pool({0: 8}, (A, 0, 5, 2))))
    assert pays(stock, a=2)
    assert not pays(stock, a=3)


def test_a_counter_that_the_pool_does_not_have_is_not_counted() -> None:
    assert pays(Stock((), (pool({0: 8}, (A, 9, 100, 2)),)), a=2)


@pytest.mark.parametrize(("number", "used"), [(1, 1), (2, 1), (3, 1)])
def test_a_lot_is_taken_at_once(number: int, used: int) -> None:
    stock = Stock((), (pool({0: 100}, (A, 0, 2, 3)),))
    assert Ledger(stock).pays({A: number}, PLENTY) == (True, PLENTY - used)


def test_lots_that_cannot_be_enough_any_more_are_not_tried() -> None:
    # without the first lot there are two left, and three are owed
    stock = Stock((), (pool({0: 1, 1: 9, 2: 9}, (A, 1, 5, 1), (A, 2, 5, 1), (B, 0, 1, 1), (A, 0, 2, 1)),))
    assert Ledger(stock).pays({A: 3}, PLENTY) == (False, PLENTY - 2)


def test_the_greedy_kind_is_taken_first() -> None:
    # b on the only card leaves nothing for a: seen at once when a, which takes more, goes first
    stock = Stock((), (pool({0: 8, 1: 3}, (B, 0, 3, 1), (B, 1, 3, 1), (A, 0, 6, 1)),))
    assert Ledger(stock).pays({B: 1, A: 1}, PLENTY) == (True, PLENTY - 2)


def puzzle(cards: int) -> Stock:
    """Devices of 5 and 6 on cards of 8: one on each card, in sum there would be room for more."""
    lots = [(A, i, 5 + j, 1) for i in range(cards) for j in range(2)]
    return Stock((), (pool(dict.fromkeys(range(cards), 8), *lots),))


def test_a_long_search_ends_with_yes() -> None:
    assert Ledger(puzzle(4)).pays({A: 5}, PLENTY)[0] is False
    assert Ledger(puzzle(20)).pays({A: 21}, PLENTY) == (True, PLENTY - MOST_STEPS - 1)
    assert Ledger(puzzle(20)).pays({A: 21}, 10) == (True, -1)


def test_a_search_may_take_exactly_as_long_as_it_needs() -> None:
    _, left = Ledger(puzzle(4)).pays({A: 5}, PLENTY)
    needed = PLENTY - left
    assert Ledger(puzzle(4)).pays({A: 5}, needed)[0] is False
    assert Ledger(puzzle(4)).pays({A: 5}, needed - 1)[0] is True


def test_paying_for_everything() -> None:
    assert Ledger(Stock(((A, 3),), (pool({0: 8}, (A, 0, 4, 2)),))).pays_for_everything()
    assert not Ledger(Stock((), (pool({0: 8}, (A, 0, 4, 2), (B, 0, 1, 1)),))).pays_for_everything()
