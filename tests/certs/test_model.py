"""When a certificate and a key may be served, and what is said when not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from certs.issue import issue_authority, issue_leaf
from certs.model import (
    CertificateError,
    Pair,
    ServerKey,
    check_for_clients,
    check_pair,
    covers,
    facts_of,
    read_certificates,
    read_key,
)

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


HALVES = (
    "the private key does not belong to the certificate: they are halves of two pairs, or the chain does not begin with the "
    "server's own certificate"
)


def test_key_of_another_certificate() -> None:
    pair = Pair(certificate=leaf().certificate, key=leaf().key)
    assert refusal(pair) == HALVES


def test_the_leaf_is_the_first_certificate() -> None:
    pair = leaf()
    assert check_pair(Pair(certificate=pair.certificate + AUTHORITY.certificate, key=pair.key), NOW).subject == "localhost"
    wrong = Pair(certificate=AUTHORITY.certificate + pair.certificate, key=pair.key)
    assert refusal(wrong) == HALVES


PEM = leaf().certificate
KEY = leaf().key
DER = read_certificates(PEM)[0].public_bytes(serialization.Encoding.DER)
KEY_DER = read_key(KEY).private_bytes(
    serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
)
JUNK = b"-----BEGIN %s-----\nc2VjcmV0\n-----END %s-----\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "there is no certificate: it is empty"),
        (b" \n", "there is no certificate: it is empty"),
        (b"hello", "the certificate is not PEM: it has no line -----BEGIN CERTIFICATE-----"),
        (DER, "the certificate is DER, not PEM: convert it with openssl x509 -inform der -outform pem"),
        (KEY, "there is a private key where the certificate should be: were tls.crt and tls.key swapped?"),
        (PEM[:-40], "the certificate is cut off: a line -----END CERTIFICATE----- is missing"),
        (
            JUNK % (b"CERTIFICATE", b"CERTIFICATE"),
            "the certificate is damaged: what stands between BEGIN CERTIFICATE and END CERTIFICATE cannot be read",
        ),
    ],
)
def test_no_certificate(text: bytes, said: str) -> None:
    assert refusal(Pair(certificate=text, key=KEY)) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "there is no private key: it is empty"),
        (b"half a ke", "the private key is not PEM: it has no line -----BEGIN PRIVATE KEY-----"),
        (KEY_DER, "the private key is DER, not PEM: convert it with openssl pkey -inform der -outform pem"),
        (PEM, "there is a certificate where the private key should be: were tls.crt and tls.key swapped?"),
        (KEY[:-40], "the private key is cut off: a line -----END PRIVATE KEY----- is missing"),
        (
            JUNK % (b"PRIVATE KEY", b"PRIVATE KEY"),
            "the private key is damaged: what stands between BEGIN PRIVATE KEY and END PRIVATE KEY cannot be read",
        ),
    ],
)
def test_no_key(text: bytes, said: str) -> None:
    assert refusal(Pair(certificate=PEM, key=text)) == said


def pem_of(key: ServerKey | ed25519.Ed25519PrivateKey, password: bytes = b"") -> bytes:
    encryption = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)


def test_encrypted_key() -> None:
    said = refusal(Pair(certificate=PEM, key=pem_of(read_key(KEY), b"x")))
    assert said == "the private key is encrypted: a server cannot ask for its password; store it without one"


def test_kind_of_key_that_go_clients_may_not_take() -> None:
    said = refusal(Pair(certificate=PEM, key=pem_of(ed25519.Ed25519PrivateKey.generate())))
    assert said == "the private key is neither ECDSA nor RSA, which is what every TLS client takes"


def test_short_rsa_key() -> None:
    said = refusal(Pair(certificate=PEM, key=pem_of(rsa.generate_private_key(65537, 1024))))
    assert said == "the RSA key has 1024 bits, and TLS takes none below 2048"


def self_signed(*extensions: x509.ExtensionType) -> Pair:
    """A certificate with just these extensions."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "theirs")])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(7)
    builder = builder.not_valid_before(NOW).not_valid_after(NOW + DAY)
    for extension in extensions:
        builder = builder.add_extension(extension, critical=False)
    signed = builder.sign(key, hashes.SHA256())
    return Pair(certificate=signed.public_bytes(serialization.Encoding.PEM), key=pem_of(key))


NAMED = x509.SubjectAlternativeName([x509.DNSName("fallgate.svc")])


def test_certificate_without_alternative_names() -> None:
    assert refusal(self_signed()) == (
        "the certificate has no subject alternative names, and the API server does not look at its common name: issue it with "
        "the DNS names that the API server calls"
    )


def test_certificate_for_clients_only() -> None:
    only = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
    assert refusal(self_signed(NAMED, only)) == (
        "the certificate is not for servers: its extended key usage must hold serverAuth"
    )
    anything = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE])
    assert check_pair(self_signed(NAMED, anything), NOW).names == ("fallgate.svc",)
    plain = check_pair(self_signed(NAMED), NOW)
    assert (plain.names, plain.authority) == (("fallgate.svc",), False)


def test_certificate_for_other_names() -> None:
    pair = leaf("fallgate.other.svc", "10.0.0.1")
    with pytest.raises(CertificateError) as refused:
        check_pair(pair, NOW, ("fallgate.fallgate-system.svc", "10.0.0.1", "10.0.0.2"))
    assert str(refused.value) == (
        "the certificate is for fallgate.other.svc, 10.0.0.1, but the server is called as fallgate.fallgate-system.svc, "
        "10.0.0.2: issue it with these subject alternative names too"
    )


@pytest.mark.parametrize(
    ("certified", "name", "covered"),
    [
        ("a.example.com", "a.example.com", True),
        ("A.example.com", "a.EXAMPLE.com.", True),
        ("*.example.com", "a.example.com", True),
        ("*.example.com", "a.b.example.com", False),
        ("*.example.com", "example.com", False),
        ("::1", "0:0:0:0:0:0:0:1", True),
        ("10.0.0.1", "10.0.0.2", False),
        ("*.0.0.1", "10.0.0.1", False),
    ],
)
def test_names_that_are_covered(certified: str, name: str, covered: bool) -> None:
    assert covers([certified], name) is covered


#: Signed with SHA-1 by a key that is gone, for the name `weak`.
SHA_1 = b"""\
-----BEGIN CERTIFICATE-----
MIIBhTCCASugAwIBAgIUOOE2qxHV0aVEMxTJsgFPqiMUKYwwCQYHKoZIzj0EATAP
MQ0wCwYDVQQDDAR3ZWFrMCAXDTI2MTEzMDAzNDMxOVoYDzIxMjYxMTA2MDM0MzE5
WjAPMQ0wCwYDVQQDDAR3ZWFrMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEczZW
4RtCNiIQqaahJsYrC9ooXWpiw4doR9Ro/TPzOxjbPMvPLdLY8SClDKBNDNdfV7Ic
LRq8z84+yrxZxZzbQKNkMGIwHQYDVR0OBBYEFCXmU4HNIj3/0CMrltFgTen5TEKK
MB8GA1UdIwQYMBaAFCXmU4HNIj3/0CMrltFgTen5TEKKMA8GA1UdEwEB/wQFMAMB
Af8wDwYDVR0RBAgwBoIEd2VhazAJBgcqhkjOPQQBA0kAMEYCIQCk48pfBmPF4Ydb
8H3MsA6CY9cWYVJ8FX9SZGy5haJi6AIhAJ331wotACWrkNWhW4Hg8VH8WgMDQjWX
FN73WKNDoQ+G
-----END CERTIFICATE-----
"""


def test_signature_that_is_too_weak() -> None:
    with pytest.raises(CertificateError) as refused:
        check_for_clients(read_certificates(SHA_1)[0], ["weak"])
    assert str(refused.value) == "the certificate is signed with SHA1, which TLS clients refuse: use SHA-256"


def test_a_key_is_never_printed() -> None:
    assert "PRIVATE" not in repr(leaf())
    assert "key" not in repr(leaf())


def test_a_chain_that_clients_do_not_read_to_its_end() -> None:
    """For instance a whole bundle of authorities behind the certificate."""
    pair = leaf()
    assert refusal(Pair(certificate=pair.certificate * 400, key=pair.key)) == (
        "there are 400 certificates in the chain, more than 65536 bytes, and clients end such handshakes: "
        "write the server's own certificate and the intermediate ones only"
    )
    assert check_pair(Pair(certificate=pair.certificate + AUTHORITY.certificate * 20, key=pair.key), NOW).subject == "localhost"
