"""A small part of the fuzzer, with a fixed seed, in every run of the suite."""

from __future__ import annotations

from tests.fuzz import run


def test_random_and_malformed_reviews_are_no_fault_of_ours() -> None:
    statuses = run(1500, seed=20270101)
    assert set(statuses) == {200, 400}
    assert statuses[200] > 500
    assert statuses[400] > 100
