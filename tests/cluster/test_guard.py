"""certificates.guard: Fallgate may give its webhook configurations another caBundle, and change nothing else of them."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.sites import Site
from tests.cluster.waiting import eventually

USER = "system:serviceaccount:fallgate-system:fallgate"
KINDS = ("mutatingwebhookconfiguration", "validatingwebhookconfiguration")
HOOK = "/webhooks/0"

#: JSON Patches that the account's right to update would let through.
CHANGES: dict[str, list[dict[str, Any]]] = {
    "rules": [{"op": "replace", "path": f"{HOOK}/rules/0/resources", "value": ["secrets"]}],
    "matchPolicy": [{"op": "replace", "path": f"{HOOK}/matchPolicy", "value": "Exact"}],
    "matchConditions": [{"op": "remove", "path": f"{HOOK}/matchConditions"}],
    "namespaceSelector": [{"op": "remove", "path": f"{HOOK}/namespaceSelector"}],
    "objectSelector": [{"op": "replace", "path": f"{HOOK}/objectSelector", "value": {"matchLabels": {"a": "b"}}}],
    "timeoutSeconds": [{"op": "replace", "path": f"{HOOK}/timeoutSeconds", "value": 30}],
    "the address": [{"op": "replace", "path": f"{HOOK}/clientConfig/url", "value": "https://elsewhere.example.com"}],
    "another hook": [
        {"op": "copy", "from": HOOK, "path": "/webhooks/-"},
        {"op": "replace", "path": HOOK + "/name", "value": "another.fallgate.dev"},
    ],
    "a hook less": [{"op": "remove", "path": HOOK}],
    "labels": [{"op": "add", "path": "/metadata/labels/a", "value": "b"}],
}


@pytest.fixture(scope="module")
def guarded(site: Site) -> Iterator[Site]:
    """With the guard, in force."""
    site.install(certificates={"guard": True})
    eventually("the guard is in force", lambda: changed(site, KINDS[0], CHANGES["labels"]) != "", within=60)
    yield site
    site.install()


def changed(site: Site, kind: str, patch: list[dict[str, Any]]) -> str:
    """What the API server says against a change by Fallgate's own account; nothing when it would be made."""
    before = site.plane.kubectl().get(kind, "fallgate")
    said = site.plane.kubectl()(
        "patch", kind, "fallgate", "--type=json", "-p", json.dumps(patch), "--dry-run=server", "-o", "json", "--local=false"
    )
    assert said.code == 0, said.err  # the administrator may
    after = json.loads(said.out)
    after["metadata"]["resourceVersion"] = before["metadata"]["resourceVersion"]
    replaced = site.plane.kubectl()("replace", "-f", "-", "--dry-run=server", "--as", USER, stdin=after)
    return "" if replaced.code == 0 else replaced.err


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("change", CHANGES)
def test_nothing_else_can_be_changed(guarded: Site, kind: str, change: str) -> None:
    said = changed(guarded, kind, CHANGES[change])
    thing = "may not change the metadata of" if change == "labels" else "may change nothing of"
    assert f"Fallgate {thing} its webhook configurations" in said


@pytest.mark.parametrize(("kind", "other"), [(KINDS[0], "Fail"), (KINDS[1], "Ignore")])
def test_nor_what_happens_without_an_answer(guarded: Site, kind: str, other: str) -> None:
    said = changed(guarded, kind, [{"op": "replace", "path": f"{HOOK}/failurePolicy", "value": other}])
    assert "Fallgate may change nothing of its webhook configurations" in said


@pytest.mark.parametrize("kind", KINDS)
def test_the_bundle_can(guarded: Site, kind: str) -> None:
    bundle = base64.b64encode(guarded.plane.authority.read_bytes()).decode()
    assert changed(guarded, kind, [{"op": "add", "path": f"{HOOK}/clientConfig/caBundle", "value": bundle}]) == ""


def test_fallgate_itself_goes_on_keeping_the_bundle(guarded: Site) -> None:
    admin = guarded.plane.kubectl()
    kept = admin.get(KINDS[1], "fallgate")["webhooks"][0]["clientConfig"]["caBundle"]
    admin(
        "patch",
        KINDS[1],
        "fallgate",
        "--type=json",
        "-p",
        json.dumps([{"op": "remove", "path": f"{HOOK}/clientConfig/caBundle"}]),
    ).fine()
    eventually(
        "the bundle is back",
        lambda: admin.get(KINDS[1], "fallgate")["webhooks"][0]["clientConfig"].get("caBundle") == kept,
        within=60,
    )
