"""The writer on a small API server: installation, rotation, repair, and writers that come and go in the middle of it."""

from __future__ import annotations

import base64
import copy
from datetime import timedelta

import pytest

from certs.authority import is_signed_by
from certs.issue import issue_authority, issue_leaf
from certs.model import Facts, check_pair, read_certificates
from certs.plan import Schedule
from certs.store import Conflict, StoreError
from certs.writer import Done
from tests.certs.cluster import MUTATING, NAMES, NOW, PLACE, VALIDATING, Candidate, MemoryStore, installed

DAY = timedelta(days=1)
FIRST = ["new authority", "caBundle", "new certificate"]


def served(candidate: Candidate) -> Facts:
    """The certificate in the Secret, which must be good."""
    return check_pair(candidate.store.contents.leaf, candidate.now, NAMES)


def signer_index(store: MemoryStore) -> int:
    """Which of the authorities signed the certificate."""
    leaf = read_certificates(store.contents.leaf.certificate)[0]
    return [is_signed_by(leaf, authority) for authority in store.authorities].index(True)


def settled(**options: object) -> Candidate:
    """A cluster where everything is as it should be."""
    candidate = Candidate(installed(), **options)
    assert candidate.round() == FIRST
    return candidate


def test_installation() -> None:
    candidate = settled()
    store = candidate.store
    secret = store.objects[PLACE.secret]
    assert (secret["type"], sorted(secret["data"])) == ("kubernetes.io/tls", ["ca.crt", "ca.key", "tls.crt", "tls.key"])
    assert served(candidate).not_after == NOW + 90 * DAY
    assert served(candidate).names == NAMES
    assert served(candidate).key == "ECDSA secp256r1"
    assert store.ca_bundles() == [store.contents.authorities] * 4
    assert store.authorities[0].not_after == NOW + 5 * 365 * DAY
    assert candidate.report.done == (
        Done(what="new authority", why="there is none"),
        Done(what="caBundle", why="it holds 1 authority now"),
        Done(what="new certificate", why="there is no certificate: it is empty"),
    )
    assert candidate.rounds(60) == []


def test_entries_of_others_and_everything_else_in_the_configuration_survive() -> None:
    before = installed()
    candidate = settled()
    for path in (MUTATING, VALIDATING):
        was, now = before.objects[path], copy.deepcopy(candidate.store.objects[path])
        for entry in now["webhooks"]:
            if entry["name"] != "theirs":
                del entry["clientConfig"]["caBundle"]
        assert now["webhooks"] == was["webhooks"]
        assert now["metadata"]["labels"] == {"a": "b"}


def test_the_secret_may_be_there_before() -> None:
    store = installed()
    store.put(
        PLACE.secret, {"kind": "Secret", "type": "Opaque", "metadata": {"name": "fallgate-certs", "annotations": {"team": "a"}}}
    )
    assert Candidate(store).round() == FIRST
    assert store.objects[PLACE.secret]["type"] == "Opaque"
    assert store.objects[PLACE.secret]["metadata"]["annotations"] == {"team": "a"}


def test_configurations_may_come_later() -> None:
    store = MemoryStore()
    candidate = Candidate(store)
    assert candidate.round() == ["new authority", "new certificate"]
    assert candidate.report.waiting == (
        "no entry of the webhook configurations fallgate calls the Service fallgate-system/fallgate: as long as that is so, "
        "no caBundle is kept"
    )
    store.objects |= installed().objects
    assert candidate.round(3) == ["caBundle"]
    assert store.ca_bundles() == [store.contents.authorities] * 4


def test_a_certificate_is_renewed_30_days_before_it_ends() -> None:
    candidate = settled()
    assert candidate.round(60 * DAY) == []
    assert candidate.round(1) == ["new certificate"]
    assert served(candidate).not_after == NOW + 150 * DAY + timedelta(seconds=1)
    assert candidate.report.done[0].why == "the one in use ends on 2027-04-01T00:00:00Z"
    assert len(candidate.store.authorities) == 1


def test_a_new_authority_is_trusted_everywhere_before_it_signs_and_the_old_one_until_its_last_certificate_has_expired() -> None:
    candidate = settled()
    store = candidate.store
    old = store.authorities[0]
    leaf = store.contents.leaf
    store.ask("ca")
    assert candidate.round(3) == ["new authority", "caBundle"]
    new = store.authorities[0]
    assert store.authorities == (new, old)
    assert store.contents.leaf == leaf
    assert store.ca_bundles() == [store.contents.authorities] * 4
    assert store.objects[PLACE.secret]["metadata"]["annotations"] == {"team": "a"}
    assert candidate.report.waiting == (
        "every API server must know the authority before it signs; "
        "a certificate is due: the one in use was not signed by the newest authority"
    )
    made = candidate.now
    assert candidate.rounds(57) == []
    assert candidate.round(3) == ["new certificate"]
    assert signer_index(store) == 0
    assert candidate.report.waiting == ""
    candidate.now = made + 90 * DAY + timedelta(hours=1)
    assert "old authorities dropped" not in candidate.round(-1)
    assert candidate.round(2)[-2:] == ["old authorities dropped", "caBundle"]
    assert store.authorities == (new,)
    assert store.ca_bundles() == [new.pem] * 4


def test_an_authority_is_replaced_a_year_before_it_ends() -> None:
    candidate = settled()
    first = candidate.store.authorities[0]
    candidate.now = first.not_after - 365 * DAY - timedelta(seconds=1)
    assert "new authority" not in candidate.round()
    assert candidate.round(2)[:2] == ["new authority", "caBundle"]
    assert candidate.store.authorities[1] == first
    assert candidate.report.done[0].why == f"the one in use ends on {first.not_after:%Y-%m-%dT%H:%M:%SZ}"


def test_a_certificate_on_request() -> None:
    candidate = settled()
    before = served(candidate)
    candidate.store.ask("leaf")
    assert candidate.rounds(60, every=3) == ["new certificate"]
    assert served(candidate).fingerprint != before.fingerprint
    assert len(candidate.store.authorities) == 1


def test_three_authorities_one_after_the_other() -> None:
    candidate = settled()
    for asked in range(3):
        candidate.store.ask("ca")
        assert candidate.rounds(66) == ["new authority", "caBundle", "new certificate"]
        assert len(candidate.store.authorities) == asked + 2
    assert signer_index(candidate.store) == 0


def test_who_asks_again_in_the_middle_waits_for_the_end() -> None:
    candidate = settled()
    candidate.store.ask("ca")
    candidate.round(3)
    candidate.store.ask("ca")
    assert candidate.rounds(57) == []
    assert candidate.round(3) == ["new certificate", "new authority", "caBundle"]
    assert signer_index(candidate.store) == 1


def test_names_that_are_new() -> None:
    candidate = settled()
    later = Candidate(candidate.store, name="pod-b", schedule=Schedule(names=(*NAMES, "10.0.0.1")), now=candidate.now)
    candidate.writer.end()
    assert later.rounds(63) == ["new certificate"]
    assert later.report.done == (Done(what="new certificate", why="the one in use is not for 10.0.0.1"),)
    assert served(later).names == (*NAMES, "10.0.0.1")
    # Who needs fewer names than the certificate has changes nothing.
    later.writer.end()
    candidate.now = later.now
    assert candidate.rounds(120) == []


@pytest.mark.parametrize(
    ("damage", "done", "why"),
    [
        ({"tls_key": None}, ["new certificate"], "there is no private key: it is empty"),
        ({"tls_crt": b""}, ["new certificate"], "there is no certificate: it is empty"),
        ({"ca_key": None}, FIRST, "ca.crt or ca.key: there is no private key: it is empty"),
        ({"ca_key": b"x"}, FIRST, "ca.crt or ca.key: the private key is not PEM: it has no line -----BEGIN PRIVATE KEY-----"),
        ({"ca_crt": None}, FIRST, "there is none"),
        ({"ca_crt": b"x"}, FIRST, "ca.crt or ca.key: the certificate is not PEM: it has no line -----BEGIN CERTIFICATE-----"),
        ({"ca_crt": None, "ca_key": None, "tls_crt": None, "tls_key": None}, FIRST, "there is none"),
    ],
)  # fmt: skip
def test_damage_is_repaired_without_a_gap(damage: dict[str, bytes | None], done: list[str], why: str) -> None:
    candidate = settled()
    old = candidate.store.authorities[0]
    candidate.store.change_secret(**damage)
    reports = [candidate.report for _ in range(30) if candidate.round(3)]
    assert [step.what for report in reports for step in report.done] == done
    assert reports[0].done[0].why == why
    # Whoever serves what the old authority signed goes on being trusted.
    assert old in candidate.store.authorities
    assert candidate.store.ca_bundles() == [candidate.store.contents.authorities] * 4
    served(candidate)
    if done == FIRST:
        assert len(reports) == 2  # the certificate comes after the wait


def test_the_secret_is_made_again_when_it_was_deleted() -> None:
    candidate = settled()
    old = candidate.store.authorities[0]
    del candidate.store.objects[PLACE.secret]
    assert candidate.round(3) == ["new authority", "caBundle"]
    assert candidate.store.authorities[1] == old
    assert candidate.store.contents.leaf.certificate == b""
    assert candidate.rounds(60) == ["new certificate"]


def test_a_pair_of_somebody_else_is_replaced() -> None:
    candidate = settled()
    foreign = issue_leaf(issue_authority("theirs", now=NOW, valid_for=DAY * 100), NAMES, now=NOW, valid_for=DAY * 90)
    candidate.store.change_secret(tls_crt=foreign.certificate, tls_key=foreign.key)
    assert candidate.round(60) == ["new certificate"]
    assert candidate.report.done[0].why == "the one in use was not signed by the newest authority"
    assert signer_index(candidate.store) == 0


def test_first_certificate_that_is_no_authoritys() -> None:
    candidate = settled()
    leaf = candidate.store.contents.leaf
    candidate.store.change_secret(ca_crt=leaf.certificate, ca_key=leaf.key)
    candidate.round(3)
    assert candidate.report.done[0].why == "the first certificate of ca.crt is not an authority's"


def test_a_secret_that_keeps_being_broken_does_not_fill_the_configurations() -> None:
    candidate = settled()
    for _ in range(20):
        candidate.store.change_secret(ca_key=None)
        candidate.round(3)
    assert len(candidate.store.authorities) == 8


def test_ca_bundle_that_somebody_changes_is_put_right_in_the_next_round() -> None:
    candidate = settled()
    good = candidate.store.ca_bundles()
    strange = issue_authority("theirs", now=NOW, valid_for=DAY).certificate
    for bad in (b"", b"junk", strange, good[0] + strange):
        configuration = copy.deepcopy(candidate.store.objects[MUTATING])
        configuration["webhooks"][2]["clientConfig"]["caBundle"] = base64.b64encode(bad).decode()
        configuration["webhooks"][2]["timeoutSeconds"] = 3
        candidate.store.put(MUTATING, configuration)
        assert candidate.round(3) == ["caBundle"]
        assert candidate.store.ca_bundles() == good
        assert candidate.store.objects[MUTATING]["webhooks"][2]["timeoutSeconds"] == 3
    writes = [path for _, path in candidate.store.writes if path == VALIDATING]
    assert len(writes) == 1


def test_an_authority_that_leaves_a_bundle_for_a_moment_begins_its_wait_anew() -> None:
    candidate = settled()
    candidate.store.ask("ca")
    candidate.round(3)
    candidate.rounds(30)
    configuration = copy.deepcopy(candidate.store.objects[VALIDATING])
    configuration["webhooks"][0]["clientConfig"]["caBundle"] = ""
    candidate.store.put(VALIDATING, configuration)
    assert candidate.round(3) == ["caBundle"]
    assert candidate.rounds(57) == []
    assert candidate.round(3) == ["new certificate"]


def test_a_bundle_that_cannot_be_written_holds_the_change_up() -> None:
    candidate = settled()
    candidate.store.ask("ca")

    def forbidden(verb: str, path: str) -> None:
        if path == VALIDATING:
            raise StoreError("we may not update validatingwebhookconfigurations")

    candidate.store.before = forbidden
    leaf = candidate.store.contents.leaf
    for _ in range(40):
        with pytest.raises(StoreError, match="may not"):
            candidate.round(3)
    assert candidate.store.contents.leaf == leaf
    candidate.store.before = lambda verb, path: None
    assert candidate.round(3) == ["caBundle"]
    assert candidate.rounds(60) == ["new certificate"]


def test_conflict_is_read_again() -> None:
    candidate = settled()
    store = candidate.store
    store.ask("ca")
    turns = iter([True, True])

    def meddle(verb: str, path: str) -> None:
        """Somebody writes to the object a moment before we do, twice."""
        if path in (PLACE.secret, MUTATING) and next(turns, False):
            changed = copy.deepcopy(store.objects[path])
            changed["metadata"]["labels"] = {"changed": "yes"}
            store.put(path, changed)

    store.before = meddle
    assert candidate.round(3) == ["new authority", "caBundle"]
    assert store.objects[PLACE.secret]["metadata"]["labels"] == {"changed": "yes"}
    assert len(store.authorities) == 2


class Died(Exception):
    """A process that is gone in the middle of a call."""


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("write", range(6))
@pytest.mark.parametrize("change", ["installation", "authority", "deleted"])
def test_the_next_writer_finishes_what_a_dead_one_began(change: str, write: int, when: str) -> None:
    candidate = Candidate(installed()) if change == "installation" else settled()
    store = candidate.store
    if change == "authority":
        store.ask("ca")
    elif change == "deleted":
        del store.objects[PLACE.secret]
    count = 0

    def die(verb: str, path: str) -> None:
        nonlocal count
        if "leases" not in path:
            count += 1
            if count == write + 1:
                raise Died

    setattr(store, when, die)
    try:
        candidate.rounds(90)
    except Died:
        store.before = store.after = lambda verb, path: None
    other = Candidate(store, name="pod-b", now=candidate.now)
    assert other.rounds(12) == []
    other.rounds(90)
    assert signer_index(store) == 0
    assert store.ca_bundles() == [store.contents.authorities] * 4
    assert store.contents.asked == ""
    assert len(store.authorities) == (1 if change == "installation" else 2)
    served(other)


def test_only_the_holder_of_the_lease_writes() -> None:
    candidate = settled()
    other = Candidate(candidate.store, name="pod-b", now=candidate.now)
    candidate.store.ask("leaf")
    assert other.round(3) == []
    assert other.report.writer is False
    assert candidate.round(3) == []
    assert candidate.report.writer is True


def test_a_writer_whose_lease_runs_out_while_it_reads_writes_nothing() -> None:
    candidate = settled()
    candidate.store.ask("leaf")
    candidate.now += timedelta(seconds=60)
    candidate.store.writes.clear()

    def slow(path: str) -> None:
        if path == PLACE.secret:
            candidate.now += timedelta(seconds=10)

    candidate.store.on_read = slow
    assert candidate.round() == []
    assert [path for _, path in candidate.store.writes if "leases" not in path] == []
    candidate.store.on_read = lambda path: None
    assert candidate.round() == ["new certificate"]


def test_what_goes_round_in_circles_waits_for_the_next_round() -> None:
    candidate = settled()

    def undo(verb: str, path: str) -> None:
        """Somebody who takes the caBundle away whenever it is written."""
        if path == MUTATING:
            configuration = copy.deepcopy(candidate.store.objects[path])
            configuration["webhooks"][0]["clientConfig"]["caBundle"] = ""
            candidate.store.put(path, configuration)

    candidate.store.after = undo
    undo("update", MUTATING)
    assert candidate.round(3) == ["caBundle"] * 8


def test_a_writer_that_wakes_up_late_cannot_publish_what_is_old() -> None:
    """It read everything, then slept; meanwhile another one has become the writer and changed the authority."""
    candidate = settled()
    store = candidate.store
    other = Candidate(store, name="pod-b", now=candidate.now)
    configuration = copy.deepcopy(store.objects[MUTATING])
    configuration["webhooks"][0]["clientConfig"]["caBundle"] = ""
    store.put(MUTATING, configuration)
    slept = False

    def sleep(verb: str, path: str) -> None:
        nonlocal slept
        if path == MUTATING and not slept:
            slept = True
            store.ask("ca")
            other.rounds(120)

    store.before = sleep
    candidate.round(3)
    assert slept
    assert len(store.authorities) == 2
    assert store.ca_bundles() == [store.contents.authorities] * 4


def test_time_counts_from_when_it_was_read_back() -> None:
    """The API server took its time for the first write: the authority has not been trusted since before that."""
    candidate = settled()
    candidate.store.ask("ca")

    def slow(verb: str, path: str) -> None:
        if path == PLACE.secret:
            candidate.now += timedelta(seconds=8)

    candidate.store.after = slow
    candidate.round(3)
    candidate.store.after = lambda verb, path: None
    assert candidate.rounds(57) == []
    assert candidate.round(3) == ["new certificate"]


def test_what_is_read_first() -> None:
    """Configurations before the Secret: see certs/writer.py."""
    candidate = settled()
    candidate.store.reads.clear()
    candidate.round(3)
    assert candidate.store.reads[1:] == [MUTATING, VALIDATING, PLACE.secret]


def test_an_api_server_that_does_not_answer() -> None:
    candidate = settled()

    def down(path: str) -> None:
        raise StoreError("the API server did not answer in time")

    candidate.store.on_read = down
    with pytest.raises(StoreError, match="did not answer"):
        candidate.round(3)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (
            "secrets",
            "there is no Secret fallgate-system/fallgate-certs, and it cannot be created: POST secrets: 403; "
            "create it without data, and it is filled within seconds",
        ),
        (
            "leases",
            "there is no Lease fallgate-system/fallgate-certs, and it cannot be created: POST leases: 403; "
            "without it nobody may write, so create it without a spec",
        ),
    ],
)
def test_what_may_not_be_created(kind: str, said: str) -> None:
    store = installed()

    def forbidden(verb: str, path: str) -> None:
        if verb == "create" and kind in path:
            raise StoreError(f"POST {kind}: 403")

    store.before = forbidden
    with pytest.raises(StoreError) as refused:
        Candidate(store).round()
    assert str(refused.value) == said


def test_a_secret_that_appears_in_the_middle() -> None:
    store = installed()
    candidate = Candidate(store)
    other = installed()
    Candidate(other, name="pod-b").round()

    def appear(verb: str, path: str) -> None:
        if verb == "create" and path == PLACE.secret and path not in store.objects:
            store.put(path, other.objects[path])

    store.before = appear
    assert candidate.round() == ["caBundle"]
    assert store.contents.authorities == other.contents.authorities
    with pytest.raises(Conflict):
        store.create(PLACE.secrets, {"metadata": {"name": PLACE.name}})
