"""The Secret that holds it all, of type kubernetes.io/tls: what is in one, right or wrong, and how it is written.

| key                  | holds                                                                                          |
|----------------------|------------------------------------------------------------------------------------------------|
| `tls.crt`, `tls.key` | the certificate that is served and its key                                                     |
| `ca.crt`             | the authorities that clients must trust, newest first; the first is the one that signs         |
| `ca.key`             | the key of the first; keys of the others are gone, so that what they signed can be counted out |
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from typing import Any, Final

from certs.model import Pair
from certs.store import Object

CERTIFICATE, KEY, AUTHORITIES, AUTHORITY_KEY = "tls.crt", "tls.key", "ca.crt", "ca.key"

#: An annotation by which a person asks for a new certificate ("leaf") or a new authority ("ca") before it is time.
ROTATE: Final = "fallgate.dev/rotate"
_OWNED_BY: Final = {"app.kubernetes.io/name": "fallgate", "app.kubernetes.io/managed-by": "fallgate"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What a Secret holds, as it is written. What is missing or no base64 is empty. Keys are never printed."""

    leaf: Pair
    authorities: bytes = b""
    authority_key: bytes = field(default=b"", repr=False)
    asked: str = ""


EMPTY: Final = Contents(leaf=Pair(certificate=b"", key=b""))


def read_contents(secret: Object | None) -> Contents:
    """The contents of a Secret, of none when there is none. Total: whatever it holds."""
    if secret is None:
        return EMPTY
    data = _mapping(secret.get("data"))
    annotations = _mapping(_mapping(secret.get("metadata")).get("annotations"))
    return Contents(
        leaf=Pair(certificate=_decoded(data.get(CERTIFICATE)), key=_decoded(data.get(KEY))),
        authorities=_decoded(data.get(AUTHORITIES)),
        authority_key=_decoded(data.get(AUTHORITY_KEY)),
        asked=str(annotations.get(ROTATE, "")),
    )


def written(secret: Object | None, contents: Contents, *, namespace: str, name: str) -> Object:
    """The Secret with other contents, everything else as it was: its resourceVersion too, so that a newer one is not lost.

    Without a Secret, a new one. An empty Secret that was made beforehand keeps its type, which cannot be changed.
    """
    known = secret or {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/tls",
        "metadata": {"namespace": namespace, "name": name, "labels": _OWNED_BY},
    }
    metadata = dict(_mapping(known.get("metadata")))
    annotations = {key: value for key, value in _mapping(metadata.get("annotations")).items() if key != ROTATE}
    if contents.asked:
        annotations[ROTATE] = contents.asked
    data = {
        **_mapping(known.get("data")),
        CERTIFICATE: _encoded(contents.leaf.certificate),
        KEY: _encoded(contents.leaf.key),
        AUTHORITIES: _encoded(contents.authorities),
        AUTHORITY_KEY: _encoded(contents.authority_key),
    }
    if annotations or "annotations" in metadata:
        metadata["annotations"] = annotations
    return {**known, "metadata": metadata, "data": data}


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _decoded(value: object) -> bytes:
    try:
        return base64.b64decode(value, validate=True) if isinstance(value, str) else b""
    except (binascii.Error, ValueError):
        return b""


def _encoded(value: bytes) -> str:
    return base64.b64encode(value).decode()
