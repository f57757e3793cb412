"""Which clients may ask for decisions: those who show a certificate for a name that is expected."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, TypeAlias

#: A verified certificate as the ssl module gives it, empty or None when the client showed none.
PeerCertificate: TypeAlias = Mapping[str, Any] | None

_NONE = (
    "this server answers only clients with a certificate, and this one has shown none; kube-apiserver shows one when the "
    "kubeconfig in its --admission-control-config-file names it for this webhook"
)


def client_fault(certificate: PeerCertificate, expected: Collection[str]) -> str:
    """Why a client may not ask, "" when it may. Nothing is expected of clients where no name is."""
    if not expected:
        return ""
    if not certificate:
        return _NONE
    names = tuple(dict.fromkeys(_names(certificate)))
    if any(name in expected for name in names):
        return ""
    shown = ", ".join(names) or "nobody"
    return f"the client's certificate is for {shown}, and this server answers only {', '.join(sorted(expected))}"


def _names(certificate: Mapping[str, Any]) -> Iterator[str]:
    """The common names and DNS names of a certificate."""
    for part in certificate.get("subject", ()):
        yield from (value for name, value in part if name == "commonName")
    yield from (value for kind, value in certificate.get("subjectAltName", ()) if kind == "DNS")
