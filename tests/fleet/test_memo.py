"""Memos remember, and stay bounded."""

from __future__ import annotations

import pytest

from webhook.fleet.memo import Memo, remembered


def test_a_value_is_computed_once_even_if_it_is_none() -> None:
    memo: Memo = {}
    calls: list[str] = []

    def compute() -> None:
        calls.append("computed")

    assert remembered(memo, "key", compute) is None
    assert remembered(memo, "key", compute) is None
    assert calls == ["computed"]


def test_a_full_memo_is_emptied() -> None:
    memo: Memo = {}
    for key in range(3):
        remembered(memo, key, lambda: "value", limit=3)
    assert set(memo) == {0, 1, 2}
    remembered(memo, 3, lambda: "value", limit=3)
    assert set(memo) == {3}


def test_what_fails_is_not_remembered() -> None:
    memo: Memo = {}

    def fail() -> str:
        raise KeyError("x")

    with pytest.raises(KeyError):
        remembered(memo, "key", fail)
    assert remembered(memo, "key", lambda: "value") == "value"
