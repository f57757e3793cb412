"""Issues a certificate authority of our own and server certificates signed by it. No files, no clock.

ECDSA P-256 throughout: a handshake costs the server about half of what it costs with RSA-2048.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from certs.model import CertificateError, Pair, read_certificates, read_key

#: Certificates are valid from a little before they are made: the clocks of a cluster differ.
CLOCK_SKEW = timedelta(minutes=5)
#: RFC 5280, ub-common-name.
_LONGEST_COMMON_NAME = 64


def issue_authority(name: str, *, now: datetime, valid_for: timedelta) -> Pair:
    """A self-signed certificate authority that may sign server certificates, and nothing below them."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _named(name)
    certificate = (
        _builder(subject, subject, key.public_key(), now, now + valid_for)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .sign(key, hashes.SHA256())
    )
    return _pem(certificate, key)


def issue_leaf(authority: Pair, names: Sequence[str], *, now: datetime, valid_for: timedelta) -> Pair:
    """A server certificate for `names` (DNS names, `*.` allowed, or IP addresses), never valid for longer than its authority.

    Raises CertificateError when there is no name, or when the authority cannot be read, is none or has expired.
    """
    if not names:
        raise CertificateError("a server certificate needs at least one name: the DNS name or IP address clients connect to")
    issuer = read_certificates(authority.certificate)[0]
    signer = read_key(authority.key)
    end = min(now + valid_for, issuer.not_valid_after_utc)
    if end <= now:
        raise CertificateError(f"the authority has expired on {issuer.not_valid_after_utc:%Y-%m-%dT%H:%M:%SZ}")
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = (
        _builder(_named(names[0]), issuer.subject, key.public_key(), now, end)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_alternative_name(name) for name in names]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
        .sign(signer, hashes.SHA256())
    )
    return _pem(certificate, key)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime, end: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(end)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:_LONGEST_COMMON_NAME])])


def _alternative_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        pass
    try:
        return x509.DNSName(name)
    except ValueError as error:
        raise CertificateError(f"{name!r} is neither an IP address nor a DNS name: {error}") from error


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Pair:
    return Pair(
        certificate=certificate.public_bytes(serialization.Encoding.PEM),
        key=key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
    )
