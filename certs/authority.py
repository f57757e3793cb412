"""Authorities that clients trust: a bundle of certificates, newest first. What is no authority in it is passed over."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding

from certs.model import CertificateError, facts_of, read_certificates
from certs.pem import certificate_blocks


@dataclass(frozen=True, slots=True, kw_only=True)
class Authority:
    """One authority. Two are the same when their certificates are."""

    fingerprint: str
    not_before: datetime
    not_after: datetime
    pem: bytes

    @property
    def certificate(self) -> x509.Certificate:
        """The certificate, parsed."""
        return read_certificates(self.pem)[0]


@lru_cache(maxsize=64)  # a writer reads the same few bundles every few seconds, for ever
def read_authorities(bundle: bytes) -> tuple[Authority, ...]:
    """The authorities in a PEM text, in order, each once; without certificates that cannot be read or are no authority's."""
    found: dict[str, Authority] = {}
    for block in certificate_blocks(bundle):
        try:
            certificate = read_certificates(block)[0]
        except CertificateError:
            continue
        facts = facts_of(certificate)
        if facts.authority:
            authority = Authority(
                fingerprint=facts.fingerprint,
                not_before=facts.not_before,
                not_after=facts.not_after,
                pem=certificate.public_bytes(Encoding.PEM),
            )
            found.setdefault(facts.fingerprint, authority)
    return tuple(found.values())


def bundle_of(authorities: Iterable[Authority]) -> bytes:
    """Authorities as one PEM text."""
    return b"".join(authority.pem for authority in authorities)


def is_signed_by(leaf: x509.Certificate, authority: Authority) -> bool:
    """Whether the authority's key signed that certificate."""
    try:
        leaf.verify_directly_issued_by(authority.certificate)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        return False
    return True
