"""When a certificate and a key may be served, and what is said when not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

from certs.issue import issue_authority, issue_leaf
from certs.model import CertificateError, Pair, check_pair, facts_of, read_certificates, read_key

NOW = datetime(2027, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
AUTHORITY = issue_authority("an authority", now=NOW, valid_for=365 * DAY)


def leaf(*names: str, now: datetime = NOW, valid_for: timedelta = 10 * DAY) -> Pair:
    return issue_leaf(AUTHORITY, names or ("localhost",), now=now, valid_for=valid_for)


def refusal(pair: Pair, now: datetime = NOW) -> str:
    with pytest.raises(CertificateError) as refused:
        check_pair(pair, now)
    return str(refused.value)


def test_facts() -> None:
    facts = check_pair(leaf("fallgate.svc", "127.0.0.1"), NOW)
    assert facts.subject == "fallgate.svc"
    assert facts.issuer == "an authority"
    assert facts.names == ("fallgate.svc", "127.0.0.1")
    assert facts.not_after == NOW + 10 * DAY
    assert facts.key == "ECDSA secp256r1"
    assert facts.authority is False
    assert len(facts.fingerprint) == 64


def test_authority_is_told_apart() -> None:
    assert facts_of(read_certificates(AUTHORITY.certificate)[0]).authority is True


def test_last_second() -> None:
    pair = leaf()
    assert check_pair(pair, NOW + 10 * DAY - timedelta(seconds=1)).subject == "localhost"
    assert refusal(pair, NOW + 10 * DAY) == "the certificate has expired on 2027-01-11T00:00:00Z"


def test_first_second() -> None:
    pair = leaf()
    assert check_pair(pair, NOW - timedelta(minutes=5)).subject == "localhost"
    assert refusal(pair, NOW - timedelta(minutes=5, seconds=1)) == "the certificate is not valid before 2026-12-31T23:55:00Z"


def test_key_of_another_certificate() -> None:
    pair = Pair(certificate=leaf().certificate, key=leaf().key)
    assert refusal(pair) == "the private key does not belong to the certificate"


def test_the_leaf_is_the_first_certificate() -> None:
    pair = leaf()
    assert check_pair(Pair(certificate=pair.certificate + AUTHORITY.certificate, key=pair.key), NOW).subject == "localhost"
    wrong = Pair(certificate=AUTHORITY.certificate + pair.certificate, key=pair.key)
    assert refusal(wrong) == "the private key does not belong to the certificate"


def test_no_certificate() -> None:
    assert refusal(Pair(certificate=b"", key=leaf().key)).startswith("no certificate can be read from it: ")


@pytest.mark.parametrize("key", [b"", b"-----BEGIN PRIVATE KEY-----\nsecret\n-----END PRIVATE KEY-----\n", leaf().key[:-50]])
def test_no_key(key: bytes) -> None:
    assert refusal(Pair(certificate=leaf().certificate, key=key)) == "no private key can be read from it"


def test_encrypted_key() -> None:
    encrypted = read_key(leaf().key).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"x")
    )
    said = refusal(Pair(certificate=leaf().certificate, key=encrypted))
    assert said == "the private key is encrypted; a server cannot ask for its password"


def test_kind_of_key_that_go_clients_may_not_take() -> None:
    key = ed25519.Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    assert refusal(Pair(certificate=leaf().certificate, key=key)) == "the private key is neither ECDSA nor RSA"


def test_a_key_is_never_printed() -> None:
    assert "PRIVATE" not in repr(leaf())
    assert "key" not in repr(leaf())
