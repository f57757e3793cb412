"""Serves a certificate whose files may change: poll, check, build a whole TLS context, swap it. A bad pair changes nothing.

Why not load the new files into the running context: with a pair that does not match, OpenSSL refuses them and also breaks every
later handshake, and after a change from ECDSA to RSA it goes on serving the old certificate. So the context that the listener
holds never has a certificate; its SNI callback, which runs whether or not the client names a server, hands each new connection
the context of the day. Connections that are up are not touched.
"""

from __future__ import annotations

import hashlib
import ssl
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from certs.model import CertificateError, Facts, Pair, check_pair


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a look at the files came to.

    "swapped": new connections get the certificate of `facts`. "refused": `message` says why the files are not taken, and
    whatever was served still is. "unchanged": nothing new, or the same refusal as last time.
    """

    kind: Literal["unchanged", "swapped", "refused"]
    message: str = ""
    facts: Facts | None = None


UNCHANGED = Outcome(kind="unchanged")


def server_context() -> ssl.SSLContext:
    """A TLS server context without a certificate: TLS 1.2 or newer, HTTP/1.1.

    Session tickets are off: kube-apiserver keeps no session cache, and they make each handshake dearer.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    context.num_tickets = 0
    return context


class Reloader:
    """The certificate and key at two paths, as one TLS context that stays the same object for ever."""

    def __init__(self, certificate: Path, key: Path) -> None:
        self._paths = (certificate, key)
        self._digest = b""
        self._served: ssl.SSLContext | None = None
        self._facts: Facts | None = None
        self._refusal = ""
        self.context = server_context()
        self.context.sni_callback = self._choose

    @property
    def facts(self) -> Facts | None:
        """The certificate that new connections get, None before the first good pair."""
        return self._facts

    @property
    def refusal(self) -> str:
        """Why the files that lie there now are not served, "" when they are."""
        return self._refusal

    def poll(self, now: datetime) -> Outcome:
        """Look at the files and serve them when they are new and good. Never raises for what is in the files."""
        try:
            swapped = self._take(now)
        except (CertificateError, OSError, ssl.SSLError) as error:
            return self._refuse(_said(error))
        self._refusal = ""
        return Outcome(kind="swapped", facts=self._facts) if swapped else UNCHANGED

    def _take(self, now: datetime) -> bool:
        pair = self._read()
        digest = _digest(pair)
        if digest == self._digest:
            return False
        facts = check_pair(pair, now)
        context = server_context()
        context.load_cert_chain(*self._paths)
        # The context was built from the files, not from the bytes that were checked: they must still be the same.
        if _digest(self._read()) != digest:
            raise CertificateError("the files changed while they were read")
        self._served, self._facts, self._digest = context, facts, digest
        return True

    def _read(self) -> Pair:
        certificate, key = self._paths
        return Pair(certificate=certificate.read_bytes(), key=key.read_bytes())

    def _refuse(self, message: str) -> Outcome:
        if message == self._refusal:
            return UNCHANGED
        self._refusal = message
        return Outcome(kind="refused", message=message)

    def _choose(self, connection: ssl.SSLSocket | ssl.SSLObject, _name: str | None, _front: ssl.SSLContext) -> int | None:
        if self._served is None:
            return ssl.ALERT_DESCRIPTION_INTERNAL_ERROR
        connection.context = self._served
        return None


def _digest(pair: Pair) -> bytes:
    return hashlib.sha256(len(pair.certificate).to_bytes(8) + pair.certificate + pair.key).digest()


def _said(error: Exception) -> str:
    if isinstance(error, OSError) and not isinstance(error, ssl.SSLError):
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, ssl.SSLError):
        return f"TLS does not take it: {error.reason or 'unknown reason'}"
    return str(error)
