"""What is to be done next so that the certificate, the authorities and what the API server is told stay right. Pure: no clock.

A change of the authority, and why no moment exists in which a call fails:
1. A new authority is written in front of the old ones; the certificate that is served stays as it is. The old authority's key
   is thrown away in the same write.
2. caBundle of the webhook configurations is made to hold all of them.
3. When the new one has been read back from every caBundle without a break for `settle`, every API server knows it.
4. Only then it signs a new certificate, which replicas pick up one after the other: each of the two is trusted.
5. The old authority is dropped when everything it can have signed has expired.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from certs.authority import Authority, bundle_of, is_signed_by, read_authorities
from certs.contents import Contents
from certs.issue import CLOCK_SKEW
from certs.model import CertificateError, Facts, Pair, belongs, check_halves, check_pair, covers, read_certificates, read_key

#: How many authorities are kept at most: whatever keeps breaking the Secret must not make caBundle grow without end.
_MOST_AUTHORITIES: Final = 8
#: After an old certificate has expired, its authority is kept a little longer: clocks differ.
_SLACK: Final = timedelta(hours=1)
_SOON: Final = timedelta(seconds=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """For which names, for how long, and when anew.

    `settle` is how long an authority must have been in caBundle before it signs. Raises ValueError for times that would have a
    new certificate due as soon as one is made, or end an authority before its certificates.
    """

    names: tuple[str, ...]
    leaf_for: timedelta = timedelta(days=90)
    leaf_renew_before: timedelta = timedelta(days=30)
    authority_for: timedelta = timedelta(days=5 * 365)
    authority_renew_before: timedelta = timedelta(days=365)
    settle: timedelta = timedelta(seconds=60)

    def __post_init__(self) -> None:
        if not self.leaf_renew_before < self.leaf_for <= self.authority_renew_before < self.authority_for:
            raise ValueError("leaf_renew_before < leaf_for <= authority_renew_before < authority_for does not hold")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """Since when the authority that signs has been in every caBundle without a break, as far as this writer has seen."""

    fingerprint: str
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAuthority:
    """Make an authority and write it in front of `keep`, together with its key. The certificate is not touched."""

    why: str
    keep: tuple[Authority, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Publish:
    """Make every caBundle hold exactly these authorities."""

    bundle: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class NewLeaf:
    """Sign a certificate with the first authority and write it."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """Write the authorities without those that nothing depends on any more."""

    keep: tuple[Authority, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """Nothing can be done before `until`, unless something changes. `waiting` says for what, "" when all is as it should be."""

    until: datetime
    waiting: str = ""


Action: TypeAlias = NewAuthority | Publish | NewLeaf | Drop | Rest


def observe(known: Trust | None, now: datetime, contents: Contents, in_force: Sequence[bytes]) -> Trust | None:
    """What is known about trust after a look at the Secret and every caBundle. `known` is what the look before came to."""
    authorities = read_authorities(contents.authorities)
    if not authorities:
        return None
    signer = authorities[0].fingerprint
    if not all(signer in _fingerprints(read_authorities(bundle)) for bundle in in_force):
        return None
    return known if known is not None and known.fingerprint == signer else Trust(fingerprint=signer, since=now)


def plan(now: datetime, contents: Contents, in_force: Sequence[bytes], trust: Trust | None, schedule: Schedule) -> Action:
    """The next action. `in_force` is caBundle of every entry that calls us, `trust` what `observe` made of them.

    The same again after each action, by whoever is the writer then: nothing but the Secret and caBundle is remembered.
    """
    authorities = tuple(item for item in read_authorities(contents.authorities) if now < item.not_after)
    signer_fault = _signer_fault(contents, now)
    if signer_fault:
        return NewAuthority(why=signer_fault, keep=_kept(authorities, in_force, now))
    signer = authorities[0]
    why = _authority_due(contents, signer, now, schedule)
    if why:
        return NewAuthority(why=why, keep=authorities[: _MOST_AUTHORITIES - 1])
    needed = _fingerprints(authorities)
    if any(_fingerprints(read_authorities(bundle)) != needed for bundle in in_force):
        return Publish(bundle=bundle_of(authorities))
    why = _leaf_fault(contents, signer, now, schedule)
    if why:
        return _sign(why, now, contents, authorities, trust, schedule)
    kept = tuple(_still_needed(now, contents, authorities, schedule))
    if kept != authorities or len(read_authorities(contents.authorities)) != len(authorities):
        return Drop(keep=kept)
    return Rest(until=_next_date(contents, authorities, schedule))


def _sign(
    why: str, now: datetime, contents: Contents, authorities: Sequence[Authority], trust: Trust | None, schedule: Schedule
) -> Action:
    """A certificate is wanted: sign it, or wait until the signer is trusted everywhere."""
    nobody_calls_yet = len(authorities) == 1 and not contents.leaf.certificate
    settle = timedelta(0) if nobody_calls_yet else schedule.settle
    if trust is None or trust.fingerprint != authorities[0].fingerprint:
        return Rest(until=now + _SOON, waiting=f"the new authority is not in every caBundle yet; a certificate is due: {why}")
    if now < trust.since + settle:
        waiting = f"every API server must know the authority before it signs; a certificate is due: {why}"
        return Rest(until=trust.since + settle, waiting=waiting)
    return NewLeaf(why=why)


def _signer_fault(contents: Contents, now: datetime) -> str:
    """Why the first authority cannot sign, "" when it can."""
    if not contents.authorities.strip():
        return "there is none"
    try:
        first = read_certificates(contents.authorities)[0]
        if not belongs(first, read_key(contents.authority_key)):
            return "ca.key does not belong to the first certificate of ca.crt"
    except CertificateError as error:
        return f"ca.crt or ca.key: {error}"
    found = read_authorities(contents.authorities)
    if not found or found[0].certificate != first:
        return "the first certificate of ca.crt is not an authority's"
    return "" if now < found[0].not_after else f"the one in use ended on {_instant(found[0].not_after)}"


def _authority_due(contents: Contents, signer: Authority, now: datetime, schedule: Schedule) -> str:
    """Why a new authority is due although this one can sign, "" when none is."""
    if signer.not_after - now < schedule.authority_renew_before:
        return f"the one in use ends on {_instant(signer.not_after)}"
    # One change after the other: who asks again in the middle of one waits for its end.
    in_use = not _leaf_fault(contents, signer, now, schedule)
    return "it was asked for" if contents.asked == "ca" and in_use else ""


def _leaf_fault(contents: Contents, signer: Authority, now: datetime, schedule: Schedule) -> str:
    """Why a new certificate is due, "" when none is."""
    try:
        facts = _facts_when_usable(contents.leaf, now)
    except CertificateError as error:
        return str(error)
    if contents.asked == "leaf":
        return "it was asked for"
    missing = [name for name in schedule.names if not covers(facts.names, name)]
    if missing:
        return f"the one in use is not for {', '.join(missing)}"
    if not is_signed_by(read_certificates(contents.leaf.certificate)[0], signer):
        return "the one in use was not signed by the newest authority"
    if facts.not_after - now < schedule.leaf_renew_before:
        return f"the one in use ends on {_instant(facts.not_after)}"
    return ""


def _facts_when_usable(leaf: Pair, now: datetime) -> Facts:
    """Raises CertificateError. One that begins in the future was issued by a clock ahead of ours, which is no fault."""
    begins = read_certificates(leaf.certificate)[0].not_valid_before_utc
    return check_pair(leaf, max(now, begins))


def _kept(authorities: Sequence[Authority], in_force: Sequence[bytes], now: datetime) -> tuple[Authority, ...]:
    """What is trusted now, by the Secret or by a caBundle: whoever serves a certificate of theirs must go on being trusted."""
    known = {item.fingerprint: item for item in authorities}
    for bundle in in_force:
        known |= {item.fingerprint: item for item in read_authorities(bundle) if now < item.not_after}
    newest_first = sorted(known.values(), key=lambda item: item.not_before, reverse=True)
    return tuple(newest_first[: _MOST_AUTHORITIES - 1])


def _still_needed(
    now: datetime, contents: Contents, authorities: Sequence[Authority], schedule: Schedule
) -> Iterator[Authority]:
    """The first, and those that can have signed something that has not expired."""
    leaf = read_certificates(contents.leaf.certificate)[0]
    for index, item in enumerate(authorities):
        if index == 0 or now < _droppable_at(authorities, index, schedule) or is_signed_by(leaf, item):
            yield item


def _droppable_at(authorities: Sequence[Authority], index: int, schedule: Schedule) -> datetime:
    """An authority lost its key when the next one was made, and signed nothing after that."""
    replaced = authorities[index - 1].not_before + CLOCK_SKEW
    return replaced + schedule.leaf_for + _SLACK


def _next_date(contents: Contents, authorities: Sequence[Authority], schedule: Schedule) -> datetime:
    leaf = check_halves(contents.leaf, read_certificates(contents.leaf.certificate)[0].not_valid_before_utc)
    dates = [leaf.not_after - schedule.leaf_renew_before, authorities[0].not_after - schedule.authority_renew_before]
    dates += [_droppable_at(authorities, index, schedule) for index in range(1, len(authorities))]
    return min(dates)


def _fingerprints(authorities: Iterable[Authority]) -> frozenset[str]:
    return frozenset(item.fingerprint for item in authorities)


def _instant(when: datetime) -> str:
    return f"{when:%Y-%m-%dT%H:%M:%SZ}"
