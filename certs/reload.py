"""Serves a certificate that may change: read it, check it, build a whole TLS context, swap it. A bad pair changes nothing.

Why not load the new pair into the running context: with a pair that does not match, OpenSSL refuses it and also breaks every
later handshake, and after a change from ECDSA to RSA it goes on serving the old certificate. So the context that the listener
holds never has a certificate; its SNI callback, which runs whether or not the client names a server, hands each new connection
the context of the day. Connections that are up are not touched.
"""

from __future__ import annotations

import hashlib
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal, TypeAlias

from certs.authority import is_signed_by, read_authorities
from certs.loading import ask_for_certificates, loaded_context, server_context
from certs.model import CertificateError, Facts, Pair, check_pair, read_certificates
from certs.store import StoreError


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """What is to be served: the pair; the authorities that must vouch for it (PEM, empty: not looked at); those of clients."""

    pair: Pair
    trusted: bytes = b""
    clients: bytes = b""


#: Reads what is to be served. Raises CertificateError, OSError or StoreError when it cannot.
Source: TypeAlias = Callable[[], Material]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a look at the source came to.

    "swapped": new connections get the certificate of `facts`. "refused": `message` says why what is there is not taken, and
    whatever was served still is. "unchanged": nothing new, or the same refusal as last time.
    """

    kind: Literal["unchanged", "swapped", "refused"]
    message: str = ""
    facts: Facts | None = None


UNCHANGED = Outcome(kind="unchanged")


def no_clients() -> bytes:
    """The authorities of clients, where clients need no certificate."""
    return b""


def clients_from(path: Path | None) -> Callable[[], bytes]:
    """What reads the authorities of clients from a file, none without one. Raises CertificateError, OSError."""
    if path is None:
        return no_clients

    def read() -> bytes:
        clients = _content(path)
        if not read_authorities(clients):
            raise CertificateError(f"{path}: there is no certificate of an authority in it, so no client could be verified")
        return clients

    return read


def from_files(certificate: Path, key: Path, clients: Callable[[], bytes] = no_clients) -> Source:
    """The pair in two files."""

    def read() -> Material:
        return Material(pair=Pair(certificate=_content(certificate), key=_content(key)), clients=clients())

    return read


def _content(path: Path) -> bytes:
    """What is in a file. Raises OSError; CertificateError for a pipe or device, whose end might never come."""
    if not path.is_file() and path.exists():
        raise CertificateError(f"{path} is no regular file")
    return path.read_bytes()


class Reloader:
    """What a source holds, as one TLS context that stays the same object for ever.

    `names` are those under which clients call the server: a certificate for others is not taken.
    """

    def __init__(self, source: Source, names: Sequence[str] = (), *, verify_clients: bool = False) -> None:
        self._source = source
        self._names = tuple(names)
        self._digest = b""
        self._served: ssl.SSLContext | None = None
        self._facts: Facts | None = None
        self._refusal = ""
        self.context = server_context()
        if verify_clients:
            # A connection keeps the mode of the context it began with, and takes the authorities of the one it is handed.
            ask_for_certificates(self.context)
        self.context.sni_callback = self._choose

    @property
    def facts(self) -> Facts | None:
        """The certificate that new connections get, None before the first good pair."""
        return self._facts

    @property
    def refusal(self) -> str:
        """Why what is there now is not served, "" when it is."""
        return self._refusal

    def poll(self, now: datetime) -> Outcome:
        """Look at the source and serve what it has when it is new and good. May block; never raises for what it finds."""
        try:
            swapped = self._take(self._source(), now)
        except (CertificateError, StoreError) as error:
            return self._refuse(str(error))
        except OSError as error:
            return self._refuse(f"{error.filename}: {error.strerror}")
        self._refusal = ""
        return Outcome(kind="swapped", facts=self._facts) if swapped else UNCHANGED

    def _take(self, found: Material, now: datetime) -> bool:
        digest = _digest(found)
        if digest == self._digest:
            return False
        facts = check_pair(found.pair, now, self._names)
        if found.trusted:
            _check_issuer(found)
        self._served, self._facts, self._digest = loaded_context(found.pair, found.clients), facts, digest
        return True

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


def _check_issuer(found: Material) -> None:
    leaf = read_certificates(found.pair.certificate)[0]
    if not any(is_signed_by(leaf, authority) for authority in read_authorities(found.trusted)):
        raise CertificateError(
            "the certificate was signed by none of the authorities in ca.crt: the API server, which is told to trust those, "
            "would refuse it"
        )


def _digest(found: Material) -> bytes:
    parts = (found.pair.certificate, found.pair.key, found.clients)
    return hashlib.sha256(b"".join(len(part).to_bytes(8) + part for part in parts)).digest()
