"""The Secret, read and written."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

import pytest

from certs.contents import EMPTY, Contents, read_contents, written
from certs.model import Pair

FULL = Contents(leaf=Pair(certificate=b"cert", key=b"key"), authorities=b"ca", authority_key=b"ca key", asked="leaf")


@pytest.mark.parametrize("secret", [None, {}, {"data": None}, {"data": []}, {"data": {"tls.crt": 7, "tls.key": "%"}}])
def test_what_is_missing_is_empty(secret: Any) -> None:
    assert read_contents(secret) == EMPTY


def test_what_is_written_is_read() -> None:
    secret = written(None, FULL, namespace="ns", name="s")
    assert (secret["type"], secret["metadata"]["name"], secret["metadata"]["namespace"]) == ("kubernetes.io/tls", "s", "ns")
    assert secret["metadata"]["labels"] == {"app.kubernetes.io/name": "fallgate", "app.kubernetes.io/managed-by": "fallgate"}
    assert secret["metadata"]["annotations"] == {"fallgate.dev/rotate": "leaf"}
    assert base64.b64decode(secret["data"]["ca.key"]) == b"ca key"
    assert read_contents(secret) == FULL


def test_everything_else_stays() -> None:
    found = {
        "kind": "Secret",
        "type": "Opaque",
        "metadata": {"resourceVersion": "7", "annotations": {"fallgate.dev/rotate": "leaf", "a": "b"}, "labels": {"c": "d"}},
        "data": {"other": "eA==", "tls.crt": "eA=="},
    }
    secret = written(found, replace(FULL, asked=""), namespace="ns", name="s")
    assert secret["metadata"] == {"resourceVersion": "7", "annotations": {"a": "b"}, "labels": {"c": "d"}}
    assert (secret["type"], secret["data"]["other"], secret["data"]["tls.crt"]) == ("Opaque", "eA==", "Y2VydA==")
    assert found["metadata"]["annotations"]["fallgate.dev/rotate"] == "leaf"


def test_keys_are_never_printed() -> None:
    assert "b'key'" not in repr(FULL)
    assert "ca key" not in repr(FULL)
