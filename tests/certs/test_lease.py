"""One holder at a time: taking, renewing, giving back a Lease, and clocks that differ."""

from __future__ import annotations

import copy
from datetime import timedelta
from typing import Any

import pytest

from certs.lease import Lease
from certs.store import Conflict, StoreError
from tests.certs.cluster import LEASE, NOW, MemoryStore


class Candidate:
    """A candidate with a clock of its own, which may go wrong."""

    def __init__(self, store: MemoryStore, name: str, *, wrong_by: float = 0) -> None:
        self.elapsed = 0.0
        self.wrong_by = wrong_by
        self.lease = Lease(store, "fallgate-system", "fallgate-certs", name, lambda: self.elapsed)

    def hold(self, at: float) -> bool:
        self.elapsed = at
        return self.lease.hold(NOW + timedelta(seconds=at + self.wrong_by))


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


def spec(store: MemoryStore) -> dict[str, Any]:
    return dict(store.objects[LEASE]["spec"])


def test_the_first_takes_it(store: MemoryStore) -> None:
    first = Candidate(store, "a")
    assert first.lease.held is False
    assert first.hold(0) is True
    assert first.lease.held is True
    assert spec(store) == {
        "holderIdentity": "a",
        "leaseDurationSeconds": 15,
        "acquireTime": "2027-01-01T00:00:00.000000Z",
        "renewTime": "2027-01-01T00:00:00.000000Z",
        "leaseTransitions": 0,
    }


@pytest.mark.parametrize("there", [{}, {"spec": {}}, {"spec": None}, {"spec": {"holderIdentity": ""}}])
def test_a_lease_that_nobody_holds(store: MemoryStore, there: dict[str, Any]) -> None:
    store.put(LEASE, {"metadata": {"name": "fallgate-certs", "labels": {"a": "b"}}, **there})
    assert Candidate(store, "a").hold(0) is True
    assert spec(store)["holderIdentity"] == "a"
    assert spec(store)["leaseTransitions"] == 1
    assert store.objects[LEASE]["metadata"]["labels"] == {"a": "b"}


def test_renewing(store: MemoryStore) -> None:
    first = Candidate(store, "a")
    first.hold(0)
    assert first.hold(3) is True
    assert (spec(store)["acquireTime"], spec(store)["renewTime"]) == (
        "2027-01-01T00:00:00.000000Z",
        "2027-01-01T00:00:03.000000Z",
    )
    assert spec(store)["leaseTransitions"] == 0


def test_another_waits_until_it_has_seen_no_renewal_for_as_long_as_it_lasts(store: MemoryStore) -> None:
    first, second = Candidate(store, "a"), Candidate(store, "b")
    first.hold(0)
    assert second.hold(10) is False
    assert second.hold(24.9) is False
    assert second.hold(25) is True
    assert (spec(store)["holderIdentity"], spec(store)["leaseTransitions"]) == ("b", 1)
    assert spec(store)["acquireTime"] == "2027-01-01T00:00:25.000000Z"
    assert first.hold(26) is False
    assert first.lease.held is False


def test_each_renewal_is_seen(store: MemoryStore) -> None:
    first, second = Candidate(store, "a"), Candidate(store, "b")
    for at in range(0, 60, 3):
        assert first.hold(at) is True
        assert second.hold(at + 1) is False


@pytest.mark.parametrize("wrong_by", [-86_400, 86_400])
def test_clocks_that_are_wrong_by_a_day(store: MemoryStore, wrong_by: float) -> None:
    first, second = Candidate(store, "a", wrong_by=wrong_by), Candidate(store, "b")
    for at in range(0, 30, 3):
        assert first.hold(at) is True
        assert second.hold(at + 1) is False


def test_the_duration_that_the_holder_wrote_counts(store: MemoryStore) -> None:
    first, second = Candidate(store, "a"), Candidate(store, "b")
    first.hold(0)
    changed = copy.deepcopy(store.objects[LEASE])
    changed["spec"]["leaseDurationSeconds"] = 40
    store.put(LEASE, changed)
    second.hold(1)
    assert second.hold(40.9) is False
    assert second.hold(41) is True


def test_the_holder_stops_writing_before_others_may_take_it(store: MemoryStore) -> None:
    first = Candidate(store, "a")
    first.hold(0)
    first.elapsed = 9.9
    assert first.lease.held is True
    first.elapsed = 10.0
    assert first.lease.held is False


def test_time_counts_from_before_the_question(store: MemoryStore) -> None:
    """An answer that took long must not make the holder think that it has more time than others give it."""
    first = Candidate(store, "a")

    def slow(path: str) -> None:
        first.elapsed += 9

    store.on_read = slow
    first.hold(0)
    first.elapsed = 10
    assert first.lease.held is False


def test_two_at_once(store: MemoryStore) -> None:
    first, second = Candidate(store, "a"), Candidate(store, "b")

    def quicker(verb: str, path: str) -> None:
        store.before = lambda verb, path: None
        second.hold(0)

    store.before = quicker
    assert first.hold(0) is False
    assert (second.lease.held, spec(store)["holderIdentity"]) == (True, "b")


def test_a_conflict_while_renewing_is_not_the_end(store: MemoryStore) -> None:
    first = Candidate(store, "a")
    first.hold(0)

    def conflict(verb: str, path: str) -> None:
        raise Conflict("changed")

    store.before = conflict
    assert first.hold(3) is True
    assert first.hold(10) is False


def test_giving_back(store: MemoryStore) -> None:
    first, second = Candidate(store, "a"), Candidate(store, "b")
    first.hold(0)
    second.hold(1)
    first.elapsed = 2
    first.lease.release(NOW)
    assert first.lease.held is False
    assert second.hold(2) is True


def test_giving_back_what_another_holds_changes_nothing(store: MemoryStore) -> None:
    first, second = Candidate(store, "a"), Candidate(store, "b")
    first.hold(0)
    second.hold(0)
    second.hold(15)
    first.elapsed = 5
    first.lease.release(NOW)
    assert spec(store)["holderIdentity"] == "b"
    Candidate(store, "c").lease.release(NOW)
    assert spec(store)["holderIdentity"] == "b"


def test_giving_back_when_the_api_server_is_gone(store: MemoryStore) -> None:
    first = Candidate(store, "a")
    first.hold(0)

    def down(path: str) -> None:
        raise StoreError("gone")

    store.on_read = down
    first.lease.release(NOW)
    assert first.lease.held is False
