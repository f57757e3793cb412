"""A TLS context from a pair in memory. The ssl module takes keys from files only: they get one that is no file on a disk."""

from __future__ import annotations

import contextlib
import os
import ssl
import tempfile
from collections.abc import Iterator
from pathlib import Path

from certs.model import CertificateError, Pair


def server_context() -> ssl.SSLContext:
    """A TLS server context without a certificate: TLS 1.2 or newer, HTTP/1.1.

    Session tickets are off: kube-apiserver keeps no session cache, and they make each handshake dearer.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    context.num_tickets = 0
    return context


def ask_for_certificates(context: ssl.SSLContext) -> None:
    """Let the server ask clients for a certificate. Who has none is let in all the same: kubelet, which asks the probes."""
    context.verify_mode = ssl.CERT_OPTIONAL


def loaded_context(pair: Pair, clients: bytes = b"") -> ssl.SSLContext:
    """A server context that serves `pair`, and verifies clients by the authorities in `clients` (PEM) unless that is empty.

    Raises CertificateError when OpenSSL does not take them.
    """
    context = server_context()
    try:
        with _in_memory(pair.certificate) as certificate, _in_memory(pair.key) as key:
            context.load_cert_chain(certificate, key)
    except ssl.SSLError as error:
        raise CertificateError(f"OpenSSL does not take the pair ({error.reason or 'it gives no reason'})") from error
    if clients:
        ask_for_certificates(context)
        try:
            context.load_verify_locations(cadata=clients.decode("ascii", errors="replace"))
        except ssl.SSLError as error:
            raise CertificateError("no authority can be read from the file of client authorities") from error
    return context


@contextlib.contextmanager
def _in_memory(data: bytes) -> Iterator[str]:
    """A path that gives `data` as long as this holds, readable by this process alone."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("pem", os.MFD_CLOEXEC)
        try:
            os.write(descriptor, data)
            yield f"/proc/self/fd/{descriptor}"
        finally:
            os.close(descriptor)
    else:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "pem")
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(data)
            yield str(path)
