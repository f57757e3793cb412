"""What is wrong with a text that should be PEM, in words for whoever wrote it. Never quotes it: it may be a key."""

from __future__ import annotations

import re
from typing import Final

#: How DER begins: a sequence with a length of one or more bytes.
_DER: Final = re.compile(rb"\x30[\x80-\x84\x00-\x7f]")
_CERTIFICATE: Final = re.compile(rb"-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----")
_KEY: Final = re.compile(rb"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----")
_ENCRYPTED: Final = re.compile(rb"-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: *4, *ENCRYPTED", re.MULTILINE)
_BLOCK: Final = re.compile(rb"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)


def certificate_blocks(text: bytes) -> tuple[bytes, ...]:
    """The certificates of a PEM text, one by one, not looked into."""
    return tuple(found + b"\n" for found in _BLOCK.findall(text))


def certificate_fault(text: bytes) -> str:
    """Why no certificate can be read from `text`."""
    if not text.strip():
        return "there is no certificate: it is empty"
    if _CERTIFICATE.search(text) is None:
        if _KEY.search(text):
            return "there is a private key where the certificate should be: were tls.crt and tls.key swapped?"
        if _DER.match(text):
            return "the certificate is DER, not PEM: convert it with openssl x509 -inform der -outform pem"
        return "the certificate is not PEM: it has no line -----BEGIN CERTIFICATE-----"
    if text.count(b"-----END ") < text.count(b"-----BEGIN "):
        return "the certificate is cut off: a line -----END CERTIFICATE----- is missing"
    return "the certificate is damaged: what stands between BEGIN CERTIFICATE and END CERTIFICATE cannot be read"


def key_fault(text: bytes) -> str:
    """Why no private key can be read from `text`."""
    if not text.strip():
        return "there is no private key: it is empty"
    if _ENCRYPTED.search(text):
        return "the private key is encrypted: a server cannot ask for its password; store it without one"
    if _KEY.search(text) is None:
        if _CERTIFICATE.search(text):
            return "there is a certificate where the private key should be: were tls.crt and tls.key swapped?"
        if _DER.match(text):
            return "the private key is DER, not PEM: convert it with openssl pkey -inform der -outform pem"
        return "the private key is not PEM: it has no line -----BEGIN PRIVATE KEY-----"
    if text.count(b"-----END ") < text.count(b"-----BEGIN "):
        return "the private key is cut off: a line -----END PRIVATE KEY----- is missing"
    return "the private key is damaged: what stands between BEGIN PRIVATE KEY and END PRIVATE KEY cannot be read"
