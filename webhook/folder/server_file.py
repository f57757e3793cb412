"""`kind: Server`: the API server that a folder's objects come from, so that the folder says all by itself.

apiVersion: fallgate.dev/v1alpha1
kind: Server
spec:
  version: "1.36"
  featureGates: {DRAExtendedResource: true}
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from webhook.model.server_version import Server, read_version
from webhook.model.tolerant import Json, mapping

API_VERSION: Final = "fallgate.dev/v1alpha1"
KIND: Final = "Server"

_KEYS: Final = {"apiVersion": (), "kind": (), "metadata": (), "spec": ("version", "featureGates")}


def is_server(raw: Json) -> bool:
    """Whether an object is a Server document."""
    return raw.get("apiVersion") == API_VERSION and raw.get("kind") == KIND


def read_server(raw: Json) -> tuple[Server, tuple[str, ...]]:
    """The server a document describes, and what is wrong with the document; wrong parts count as not said."""
    spec = mapping(raw.get("spec"))
    server, problems = Server(), list(_unknown_keys(raw))
    version = spec.get("version")
    if not isinstance(version, str):
        problems.append('spec.version must be text, in quotes: version: "1.36"')
    else:
        try:
            server = Server(version=read_version(version))
        except ValueError as fault:
            problems.append(f"spec.version: {fault}")
    gates: dict[str, bool] = {}
    for gate, on in mapping(spec.get("featureGates")).items():
        if isinstance(on, bool):
            gates[gate] = on
        else:
            problems.append(f"spec.featureGates.{gate} must be true or false")
    return Server(version=server.version, gates=gates), tuple(problems)


def _unknown_keys(raw: Json) -> Iterator[str]:
    for key in raw:
        if key not in _KEYS:
            yield f"unknown key {key}; known are {', '.join(_KEYS)}"
    spec: Any = raw.get("spec")
    for key in mapping(spec):
        if key not in _KEYS["spec"]:
            yield f"unknown key spec.{key}; known are {', '.join(_KEYS['spec'])}"
    if spec is not None and not isinstance(spec, dict):
        yield "spec must be a mapping"
