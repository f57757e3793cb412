"""The plan at the edges: instants that are just so, trust that is somebody else's, times that make no sense."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from certs.contents import Contents
from certs.issue import issue_authority, issue_leaf
from certs.model import Pair
from certs.plan import Drop, NewAuthority, NewLeaf, Publish, Rest, Schedule, Trust, observe, plan
from tests.certs.cluster import NAMES, NOW, Candidate, MemoryStore, installed

DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)
SCHEDULE = Schedule(names=NAMES)


@pytest.fixture
def store() -> MemoryStore:
    """Everything is as it should be, since NOW."""
    store = installed()
    assert len(Candidate(store).round()) == 3
    return store


def trust(store: MemoryStore) -> Trust:
    return Trust(fingerprint=store.authorities[0].fingerprint, since=NOW)


def test_rest_until_the_next_date(store: MemoryStore) -> None:
    contents, in_force = store.contents, store.ca_bundles()
    assert plan(NOW, contents, in_force, trust(store), SCHEDULE) == Rest(until=NOW + 60 * DAY)
    assert plan(NOW + 60 * DAY, contents, in_force, trust(store), SCHEDULE) == Rest(until=NOW + 60 * DAY)
    later = plan(NOW + 60 * DAY + SECOND, contents, in_force, trust(store), SCHEDULE)
    assert later == NewLeaf(why="the one in use ends on 2027-04-01T00:00:00Z")


def test_an_authority_exactly_a_year_before_its_end(store: MemoryStore) -> None:
    contents, end = store.contents, store.authorities[0].not_after
    at = end - 365 * DAY
    # Its certificate has expired long ago: of the two, the authority comes first.
    assert isinstance(plan(at, contents, store.ca_bundles(), trust(store), SCHEDULE), NewLeaf)
    action = plan(at + SECOND, contents, store.ca_bundles(), trust(store), SCHEDULE)
    assert action == NewAuthority(why=f"the one in use ends on {end:%Y-%m-%dT%H:%M:%SZ}", keep=store.authorities)


def test_an_authority_that_has_ended(store: MemoryStore) -> None:
    end = store.authorities[0].not_after
    action = plan(end, store.contents, store.ca_bundles(), trust(store), SCHEDULE)
    assert action == NewAuthority(why=f"the one in use ended on {end:%Y-%m-%dT%H:%M:%SZ}", keep=())
    assert "ends on" in str(plan(end - SECOND, store.contents, store.ca_bundles(), trust(store), SCHEDULE))


@pytest.mark.parametrize("known", [None, Trust(fingerprint="another", since=NOW - DAY)])
def test_without_trust_nothing_is_signed(store: MemoryStore, known: Trust | None) -> None:
    contents = replace(store.contents, asked="leaf")
    assert plan(NOW, contents, store.ca_bundles(), known, SCHEDULE) == Rest(
        until=NOW + timedelta(seconds=5),
        waiting="the new authority is not in every caBundle yet; a certificate is due: it was asked for",
    )


def test_the_wait_to_the_second(store: MemoryStore) -> None:
    contents = replace(store.contents, asked="leaf")
    at = NOW + timedelta(seconds=60)
    waits = plan(at - SECOND, contents, store.ca_bundles(), trust(store), SCHEDULE)
    assert isinstance(waits, Rest)
    assert waits.until == at
    assert plan(at, contents, store.ca_bundles(), trust(store), SCHEDULE) == NewLeaf(why="it was asked for")


def test_only_where_nobody_can_be_serving_the_first_certificate_comes_at_once(store: MemoryStore) -> None:
    empty = replace(store.contents, leaf=Pair(certificate=b"", key=b""))
    assert isinstance(plan(NOW, empty, store.ca_bundles(), trust(store), SCHEDULE), NewLeaf)
    other = issue_authority("other", now=NOW, valid_for=1825 * DAY).certificate
    two = replace(empty, authorities=empty.authorities + other)
    assert isinstance(plan(NOW, two, [two.authorities], trust(store), SCHEDULE), Rest)


def test_trust_begins_when_the_last_bundle_has_it_and_ends_with_the_first_that_has_not(store: MemoryStore) -> None:
    contents, whole = store.contents, store.contents.authorities
    assert observe(None, NOW, contents, [whole, b""]) is None
    first = observe(None, NOW, contents, [whole, whole])
    assert first == trust(store)
    assert observe(first, NOW + DAY, contents, [whole]) == first
    assert observe(first, NOW + DAY, contents, [b"", whole]) is None
    another = Trust(fingerprint="another", since=NOW - DAY)
    assert observe(another, NOW, contents, [whole]) == first
    assert observe(None, NOW, contents, []) == first
    assert observe(first, NOW, replace(contents, authorities=b""), [whole]) is None


def test_old_authorities_are_dropped_to_the_second() -> None:
    old = issue_authority("old", now=NOW - 10 * DAY, valid_for=1825 * DAY)
    new = issue_authority("new", now=NOW, valid_for=1825 * DAY)
    leaf = issue_leaf(new, NAMES, now=NOW + 40 * DAY, valid_for=90 * DAY)
    contents = replace(installed_contents(), leaf=leaf, authorities=new.certificate + old.certificate, authority_key=new.key)
    in_force = [contents.authorities]
    known = observe(None, NOW, contents, in_force)
    at = NOW + 90 * DAY + timedelta(hours=1)
    assert plan(at - SECOND, contents, in_force, known, SCHEDULE) == Rest(until=at)
    action = plan(at, contents, in_force, known, SCHEDULE)
    assert isinstance(action, Drop)
    assert [item.pem for item in action.keep] == [new.certificate]


def test_an_authority_that_signed_what_is_served_is_never_dropped() -> None:
    """A clock that was wrong, or a Secret written by hand: whatever the dates say."""
    new = issue_authority("new", now=NOW - 1000 * DAY, valid_for=1825 * DAY)
    old = issue_authority("old", now=NOW - 1100 * DAY, valid_for=1825 * DAY)
    leaf = issue_leaf(old, NAMES, now=NOW, valid_for=90 * DAY)
    contents = replace(installed_contents(), leaf=leaf, authorities=new.certificate + old.certificate, authority_key=new.key)
    action = plan(NOW, contents, [contents.authorities], None, SCHEDULE)
    assert isinstance(action, Rest)


def test_an_expired_authority_leaves_every_bundle(store: MemoryStore) -> None:
    expired = issue_authority("expired", now=NOW - 10 * DAY, valid_for=DAY).certificate
    contents = replace(store.contents, authorities=store.contents.authorities + expired)
    assert plan(NOW, contents, [contents.authorities], trust(store), SCHEDULE) == Publish(bundle=store.contents.authorities)
    assert plan(NOW, contents, store.ca_bundles(), trust(store), SCHEDULE) == Drop(keep=store.authorities)


def test_what_is_adopted_from_a_bundle_is_alive_and_newest_first(store: MemoryStore) -> None:
    made = [issue_authority(str(age), now=NOW - age * DAY, valid_for=1000 * DAY).certificate for age in (30, 10, 20)]
    expired = issue_authority("expired", now=NOW - 2 * DAY, valid_for=DAY).certificate
    lost = replace(store.contents, authorities=b"", authority_key=b"")
    action = plan(NOW, lost, [made[0] + made[1], made[2] + expired + b"junk"], None, SCHEDULE)
    assert isinstance(action, NewAuthority)
    assert [item.pem for item in action.keep] == [made[1], made[2], made[0]]


@pytest.mark.parametrize(
    "times",
    [
        {"leaf_renew_before": 90 * DAY},
        {"leaf_for": 366 * DAY},
        {"authority_renew_before": 5 * 365 * DAY},
        {"authority_renew_before": 89 * DAY},
    ],
)
def test_times_that_make_no_sense(times: dict[str, timedelta]) -> None:
    with pytest.raises(ValueError, match="does not hold"):
        Schedule(names=NAMES, **times)


def test_times_that_just_do() -> None:
    assert Schedule(names=NAMES, leaf_for=365 * DAY).leaf_for == 365 * DAY


def installed_contents() -> Contents:
    store = installed()
    Candidate(store).round()
    return store.contents


@pytest.mark.parametrize("behind", [True, False])
def test_a_first_certificate_that_is_no_authoritys(store: MemoryStore, behind: bool) -> None:
    contents = store.contents
    bundle = contents.leaf.certificate + (contents.authorities if behind else b"")
    odd = replace(contents, authorities=bundle, authority_key=contents.leaf.key)
    action = plan(NOW, odd, [contents.authorities], None, SCHEDULE)
    assert action == NewAuthority(why="the first certificate of ca.crt is not an authority's", keep=store.authorities)


def test_the_next_date_may_be_that_of_the_authority() -> None:
    schedule = Schedule(names=NAMES, authority_for=500 * DAY, authority_renew_before=400 * DAY)
    authority = issue_authority("a", now=NOW, valid_for=500 * DAY)
    leaf = issue_leaf(authority, NAMES, now=NOW + 60 * DAY, valid_for=90 * DAY)
    contents = replace(installed_contents(), leaf=leaf, authorities=authority.certificate, authority_key=authority.key)
    action = plan(NOW + 60 * DAY, contents, [authority.certificate], None, schedule)
    assert action == Rest(until=NOW + 100 * DAY)
