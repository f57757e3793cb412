"""Which entries of a webhook configuration are ours, and that nothing else is touched."""

from __future__ import annotations

import base64
import copy
from typing import Any

import pytest

from certs.configurations import bundles, paths, with_bundle
from tests.certs.cluster import SERVER, hook, our_hook


def encoded(text: bytes) -> str:
    return base64.b64encode(text).decode()


def test_paths() -> None:
    assert paths("f") == (
        "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/f",
        "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/f",
    )


@pytest.mark.parametrize(
    ("client", "ours"),
    [
        ({"service": {"name": "fallgate", "namespace": "fallgate-system"}}, True),
        ({"service": {"name": "fallgate", "namespace": "fallgate-system", "path": "/x", "port": 8443}}, True),
        ({"service": {"name": "fallgate", "namespace": "other"}}, False),
        ({"service": {"name": "other", "namespace": "fallgate-system"}}, False),
        ({"url": "https://hooks.example.com:8443/validate"}, True),
        ({"url": "https://HOOKS.example.com/validate"}, True),
        ({"url": "https://elsewhere.example.com/validate"}, False),
        ({"url": "https:///validate"}, False),
        ({}, False),
    ],
)
def test_which_entries_are_ours(client: dict[str, Any], ours: bool) -> None:
    configuration = {"webhooks": [hook("x", **client)]}
    assert len(bundles(configuration, SERVER)) == ours
    changed = with_bundle(configuration, SERVER, b"pem")
    assert (changed["webhooks"][0]["clientConfig"].get("caBundle") == encoded(b"pem")) is ours


@pytest.mark.parametrize("webhooks", [None, [], [{"name": "no client"}], [{"clientConfig": None}]])
def test_configurations_without_entries(webhooks: Any) -> None:
    assert bundles({"webhooks": webhooks}, SERVER) == ()
    assert with_bundle({"webhooks": webhooks}, SERVER, b"pem")["webhooks"] == (webhooks or [])


def test_bundles_as_they_are() -> None:
    entries = [our_hook(str(number)) for number in range(3)]
    entries[0]["clientConfig"]["caBundle"] = encoded(b"pem")
    entries[1]["clientConfig"]["caBundle"] = "no base64!"
    assert bundles({"webhooks": entries}, SERVER) == (b"pem", b"", b"")


def test_nothing_else_changes() -> None:
    configuration = {
        "metadata": {"resourceVersion": "7", "annotations": {"a": "b"}},
        "webhooks": [our_hook("a") | {"timeoutSeconds": 3, "unknown": [1]}, hook("theirs", url="https://x", caBundle="QQ==")],
    }
    before = copy.deepcopy(configuration)
    changed = with_bundle(configuration, SERVER, b"pem")
    assert configuration == before
    assert changed["webhooks"][0]["clientConfig"].pop("caBundle") == encoded(b"pem")
    assert changed == before
