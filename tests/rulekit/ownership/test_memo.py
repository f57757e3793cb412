"""Results are kept for one state of their parts, and only the newest one."""

from __future__ import annotations

from webhook.fleet.memo import LIMIT, Memo
from webhook.rulekit.ownership.memo import kept


def test_kept_while_the_parts_are_the_same_objects() -> None:
    memo: Memo = {}
    one, other, calls = object(), object(), []

    def compute() -> int:
        calls.append(1)
        return len(calls)

    assert kept(memo, "key", (one, other), compute) == 1
    assert kept(memo, "key", (one, other), compute) == 1
    assert kept(memo, "key", (other, one), compute) == 2
    assert kept(memo, "key", (one, other), compute) == 3
    assert kept(memo, "other key", (one, other), compute) == 4
    assert list(memo) == ["key", "other key"]


def test_a_result_of_none_is_kept_too() -> None:
    memo: Memo = {}
    calls: list[int] = []
    for _ in range(2):
        assert kept(memo, "key", (), lambda: calls.append(1)) is None
    assert calls == [1]


def test_a_full_memo_is_emptied() -> None:
    memo: Memo = {number: ((), number) for number in range(LIMIT)}
    assert kept(memo, "key", (), lambda: "value") == "value"
    assert memo == {"key": ((), "value")}
