"""What a certificate and its key are, and when the two may be served. Pure: bytes and an instant in, facts or an error out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final, TypeAlias

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes, PublicKeyTypes
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from certs.pem import certificate_fault, key_fault

#: Keys that TLS servers use here. Others (DSA, Ed25519) are not accepted by every Go client.
#: Bytes of a chain that is served. Go's crypto/tls takes 256 KiB, OpenSSL 100 KiB; an honest chain has some 5.
MOST_CHAIN: Final = 64 * 1024

ServerKey: TypeAlias = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


#: Below that, TLS libraries refuse an RSA key.
_LEAST_RSA_BITS = 2048
_WEAK_HASHES = (hashes.MD5, hashes.SHA1)


class CertificateError(Exception):
    """A pair that must not be served, or a file that holds no certificate. The text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A certificate, leaf first, with its chain, and the leaf's private key, both PEM. The key is never printed."""

    certificate: bytes
    key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What people ask about a certificate. `names` are its subject alternative names, `fingerprint` is SHA-256 in hex."""

    subject: str
    issuer: str
    names: tuple[str, ...]
    not_before: datetime
    not_after: datetime
    key: str
    authority: bool
    fingerprint: str


def read_certificates(pem: bytes) -> tuple[x509.Certificate, ...]:
    """The certificates of a PEM file, in order.

    Raises CertificateError when there is none or one cannot be read.
    """
    try:
        certificates = tuple(x509.load_pem_x509_certificates(pem))
    except (ValueError, x509.InvalidVersion) as error:
        raise CertificateError(certificate_fault(pem)) from error
    for certificate in certificates:
        _look_into(certificate)
    return certificates


def _look_into(certificate: x509.Certificate) -> None:
    """The library reads a certificate lazily: what is wrong inside is found now, and not wherever a part is first asked for."""
    try:
        certificate.public_key()
        _ = (certificate.extensions, certificate.subject, certificate.issuer, certificate.signature_hash_algorithm)
        _ = (certificate.not_valid_before_utc, certificate.not_valid_after_utc)
    except (ValueError, UnsupportedAlgorithm, x509.UnsupportedGeneralNameType, x509.DuplicateExtension) as error:
        raise CertificateError(
            "the certificate is damaged, or made in a way that no TLS client knows: a part of it cannot be read"
        ) from error


def read_key(pem: bytes) -> ServerKey:
    """The private key of a PEM file.

    Raises CertificateError when it is encrypted, of a kind that is not used here, or no key at all.
    """
    try:
        key: PrivateKeyTypes = serialization.load_pem_private_key(pem, password=None)
    except (TypeError, ValueError, UnsupportedAlgorithm) as error:
        # The library's own text may quote what it read; a key must not reach a log.
        raise CertificateError(key_fault(pem)) from error
    if not isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey):
        raise CertificateError("the private key is neither ECDSA nor RSA, which is what every TLS client takes")
    if isinstance(key, rsa.RSAPrivateKey) and key.key_size < _LEAST_RSA_BITS:
        raise CertificateError(f"the RSA key has {key.key_size} bits, and TLS takes none below {_LEAST_RSA_BITS}")
    return key


def facts_of(certificate: x509.Certificate) -> Facts:
    """The facts of one certificate."""
    return Facts(
        subject=_common_name(certificate.subject),
        issuer=_common_name(certificate.issuer),
        names=_alternative_names(certificate),
        not_before=certificate.not_valid_before_utc,
        not_after=certificate.not_valid_after_utc,
        key=_key_text(certificate.public_key()),
        authority=_is_authority(certificate),
        fingerprint=certificate.fingerprint(hashes.SHA256()).hex(),
    )


def check_pair(pair: Pair, now: datetime, names: Sequence[str] = ()) -> Facts:
    """The facts of a pair's leaf, when it may be served at `now` under all of `names`.

    Raises CertificateError as `check_halves` does, when it is for other names, or when clients written in Go, as kube-apiserver
    is, would refuse it whatever authority they trust.
    """
    facts = check_halves(pair, now)
    chain = read_certificates(pair.certificate)
    check_for_clients(chain[0], names)
    if sum(len(item.public_bytes(serialization.Encoding.DER)) for item in chain) > MOST_CHAIN:
        raise CertificateError(
            f"there are {len(chain)} certificates in the chain, more than {MOST_CHAIN} bytes, and clients end such handshakes: "
            "write the server's own certificate and the intermediate ones only"
        )
    return facts


def check_halves(pair: Pair, now: datetime) -> Facts:
    """The facts of a pair's first certificate, when the key is its own and `now` is within its validity.

    Raises CertificateError when either half cannot be read, the key is another certificate's, or `now` is outside its validity.
    """
    leaf = read_certificates(pair.certificate)[0]
    if not belongs(leaf, read_key(pair.key)):
        raise CertificateError(
            "the private key does not belong to the certificate: they are halves of two pairs, "
            "or the chain does not begin with the server's own certificate"
        )
    facts = facts_of(leaf)
    if now >= facts.not_after:
        raise CertificateError(f"the certificate has expired on {facts.not_after:%Y-%m-%dT%H:%M:%SZ}")
    if now < facts.not_before:
        raise CertificateError(f"the certificate is not valid before {facts.not_before:%Y-%m-%dT%H:%M:%SZ}")
    return facts


def belongs(certificate: x509.Certificate, key: ServerKey) -> bool:
    """Whether the key is that certificate's."""
    return _public_bytes(certificate.public_key()) == _public_bytes(key.public_key())


def covers(certified: Sequence[str], name: str) -> bool:
    """Whether a certificate with these alternative names is good for a server called `name`: RFC 6125, `*.` is one label."""
    try:
        return ip_address(name) in {address for item in certified if (address := _address(item)) is not None}
    except ValueError:
        known = {item.lower().rstrip(".") for item in certified}
        asked = name.lower().rstrip(".")
        return asked in known or "*." + asked.partition(".")[2] in known


def check_for_clients(leaf: x509.Certificate, names: Sequence[str]) -> None:
    """Raises CertificateError when clients would refuse the certificate of a server with these names, whoever signed it."""
    certified = _alternative_names(leaf)
    if not certified:
        raise CertificateError(
            "the certificate has no subject alternative names, and the API server does not look at its common name: "
            "issue it with the DNS names that the API server calls"
        )
    missing = [name for name in names if not covers(certified, name)]
    if missing:
        raise CertificateError(
            f"the certificate is for {', '.join(certified)}, but the server is called as {', '.join(missing)}: "
            "issue it with these subject alternative names too"
        )
    if not _is_for_servers(leaf):
        raise CertificateError("the certificate is not for servers: its extended key usage must hold serverAuth")
    if isinstance(leaf.signature_hash_algorithm, _WEAK_HASHES):
        weak = leaf.signature_hash_algorithm.name.upper()
        raise CertificateError(f"the certificate is signed with {weak}, which TLS clients refuse: use SHA-256")


def _is_for_servers(leaf: x509.Certificate) -> bool:
    try:
        purposes = leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except (x509.ExtensionNotFound, ValueError):
        return True
    return ExtendedKeyUsageOID.SERVER_AUTH in purposes or ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE in purposes


def _address(name: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(name)
    except ValueError:
        return None


def _public_bytes(key: PublicKeyTypes) -> bytes:
    return key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)


def _common_name(name: x509.Name) -> str:
    found = name.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(found[0].value) if found else name.rfc4514_string()


def _alternative_names(certificate: x509.Certificate) -> tuple[str, ...]:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (x509.ExtensionNotFound, ValueError):
        return ()
    return tuple(str(name.value) for name in names)


def _is_authority(certificate: x509.Certificate) -> bool:
    try:
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except (x509.ExtensionNotFound, ValueError):
        return False


def _key_text(key: PublicKeyTypes) -> str:
    if isinstance(key, ec.EllipticCurvePublicKey):
        return f"ECDSA {key.curve.name}"
    if isinstance(key, rsa.RSAPublicKey):
        return f"RSA {key.key_size}"
    return type(key).__name__
