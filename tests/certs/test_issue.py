"""What is issued, checked by named assertions and by a real handshake."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from certs.issue import issue_authority, issue_leaf
from certs.model import CertificateError, Pair, read_certificates
from tests.real_clock import real_now

NOW = real_now().replace(microsecond=0)
DAY = timedelta(days=1)
AUTHORITY = issue_authority("an authority", now=NOW, valid_for=365 * DAY)


def certificate(pair: Pair) -> x509.Certificate:
    [only] = read_certificates(pair.certificate)
    return only


def assert_is_authority(found: x509.Certificate) -> None:
    constraints = found.extensions.get_extension_for_class(x509.BasicConstraints)
    assert (constraints.critical, constraints.value.ca, constraints.value.path_length) == (True, True, 0)
    usage = found.extensions.get_extension_for_class(x509.KeyUsage).value
    assert (usage.key_cert_sign, usage.crl_sign) == (True, True)
    assert found.issuer == found.subject


def assert_is_leaf(found: x509.Certificate) -> None:
    constraints = found.extensions.get_extension_for_class(x509.BasicConstraints)
    assert (constraints.critical, constraints.value.ca) == (True, False)
    usage = found.extensions.get_extension_for_class(x509.KeyUsage).value
    assert (usage.digital_signature, usage.key_cert_sign) == (True, False)
    purpose = found.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(purpose) == [ExtendedKeyUsageOID.SERVER_AUTH]


def test_authority() -> None:
    found = certificate(AUTHORITY)
    assert_is_authority(found)
    assert found.not_valid_after_utc == NOW + 365 * DAY
    assert isinstance(found.public_key(), ec.EllipticCurvePublicKey)


def test_leaf() -> None:
    found = certificate(issue_leaf(AUTHORITY, ["fallgate.svc", "*.example.com", "::1"], now=NOW, valid_for=90 * DAY))
    assert_is_leaf(found)
    found.verify_directly_issued_by(certificate(AUTHORITY))
    names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["fallgate.svc", "*.example.com"]
    assert names.get_values_for_type(x509.IPAddress) == [ip_address("::1")]
    assert (found.not_valid_before_utc, found.not_valid_after_utc) == (NOW - timedelta(minutes=5), NOW + 90 * DAY)


def test_leaf_names_the_key_that_signed_it() -> None:
    found = certificate(issue_leaf(AUTHORITY, ["a"], now=NOW, valid_for=DAY))
    signer = certificate(AUTHORITY).extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    named = found.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value
    assert named.key_identifier == signer.digest


def test_leaf_never_outlives_its_authority() -> None:
    assert certificate(issue_leaf(AUTHORITY, ["a"], now=NOW, valid_for=1000 * DAY)).not_valid_after_utc == NOW + 365 * DAY


def test_every_issue_has_a_key_and_a_serial_number_of_its_own() -> None:
    pairs = [issue_leaf(AUTHORITY, ["a"], now=NOW, valid_for=DAY) for _ in range(2)]
    assert len({pair.key for pair in pairs}) == 2
    assert len({certificate(pair).serial_number for pair in pairs}) == 2


def test_long_name_is_in_the_alternative_names_in_full() -> None:
    name = "fallgate." + "n" * 60 + ".svc"
    found = certificate(issue_leaf(AUTHORITY, [name], now=NOW, valid_for=DAY))
    assert found.subject.rfc4514_string() == f"CN={name[:64]}"
    assert found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value.get_values_for_type(x509.DNSName) == [
        name
    ]


def test_no_names() -> None:
    with pytest.raises(CertificateError) as refused:
        issue_leaf(AUTHORITY, [], now=NOW, valid_for=DAY)
    assert str(refused.value) == ("a server certificate needs at least one name: the DNS name or IP address clients connect to")


def test_name_that_is_none() -> None:
    with pytest.raises(CertificateError, match=r"^'fällgate' is neither an IP address nor a DNS name: "):
        issue_leaf(AUTHORITY, ["fällgate"], now=NOW, valid_for=DAY)


def test_expired_authority() -> None:
    old = issue_authority("old", now=datetime(2026, 1, 1, tzinfo=UTC), valid_for=DAY)
    with pytest.raises(CertificateError) as refused:
        issue_leaf(old, ["a"], now=datetime(2026, 1, 2, tzinfo=UTC), valid_for=DAY)
    assert str(refused.value) == "the authority has expired on 2026-01-02T00:00:00Z"


@pytest.mark.parametrize(("name", "accepted"), [("localhost", True), ("127.0.0.1", True), ("other", False)])
def test_handshake(tmp_path: Path, name: str, accepted: bool) -> None:
    pair = issue_leaf(AUTHORITY, ["localhost", "127.0.0.1"], now=NOW, valid_for=DAY)
    (tmp_path / "crt").write_bytes(pair.certificate)
    (tmp_path / "key").write_bytes(pair.key)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(tmp_path / "crt", tmp_path / "key")
    client = ssl.create_default_context(cadata=AUTHORITY.certificate.decode())
    assert shake_hands(server, client, name) is accepted


def shake_hands(server: ssl.SSLContext, client: ssl.SSLContext, name: str) -> bool:
    """Whether the client takes the server's certificate, in memory."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = (
        client.wrap_bio(to_client, to_server, server_hostname=name),
        server.wrap_bio(to_server, to_client, server_side=True),
    )
    done: set[int] = set()
    while len(done) < 2:
        for end in ends:
            try:
                end.do_handshake()
                done.add(id(end))
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLCertVerificationError:
                return False
    return True
