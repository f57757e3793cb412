"""caBundle in webhook configurations: of the entries that call us, and of nothing else. Pure: objects in, objects out."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from certs.model import covers
from certs.store import Object

_GROUP = "/apis/admissionregistration.k8s.io/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """How the API server calls us: by a Service, or by a URL whose host is one of `names`."""

    service: str
    namespace: str
    names: tuple[str, ...] = ()


def paths(name: str) -> tuple[str, str]:
    """Where the mutating and the validating configuration of that name are."""
    return f"{_GROUP}/mutatingwebhookconfigurations/{name}", f"{_GROUP}/validatingwebhookconfigurations/{name}"


def bundles(configuration: Object, server: Server) -> tuple[bytes, ...]:
    """caBundle of every entry that calls `server`, b"" where there is none or one that is no base64."""
    return tuple(_decoded(entry["clientConfig"].get("caBundle")) for entry in _entries_of(configuration, server))


def with_bundle(configuration: Object, server: Server, bundle: bytes) -> Object:
    """The configuration with that caBundle where it calls `server`. Everything else as it was, its resourceVersion too."""
    ours = [id(entry) for entry in _entries_of(configuration, server)]
    encoded = base64.b64encode(bundle).decode()
    hooks = [
        {**hook, "clientConfig": {**hook["clientConfig"], "caBundle": encoded}} if id(hook) in ours else hook
        for hook in configuration.get("webhooks") or ()
    ]
    return {**configuration, "webhooks": hooks}


def _entries_of(configuration: Object, server: Server) -> Iterator[dict[str, Any]]:
    hooks: Sequence[dict[str, Any]] = configuration.get("webhooks") or ()
    return (hook for hook in hooks if isinstance(hook.get("clientConfig"), dict) and _calls(hook["clientConfig"], server))


def _calls(client: dict[str, Any], server: Server) -> bool:
    service = client.get("service")
    if isinstance(service, dict):
        return (service.get("name"), service.get("namespace")) == (server.service, server.namespace)
    host = urlsplit(str(client.get("url") or "")).hostname
    return host is not None and covers(server.names, host)


def _decoded(value: object) -> bytes:
    try:
        return base64.b64decode(value, validate=True) if isinstance(value, str) else b""
    except (binascii.Error, ValueError):
        return b""
