"""Uninstalled as docs/install.md says, nothing of Fallgate is left, and every manifest can be applied again."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator

import pytest
import yaml

from tests import build
from tests.cluster.fallgate import COMMAND
from tests.cluster.installation import NAMESPACE
from tests.cluster.kubectl import Raw
from tests.cluster.sites import Site
from tests.cluster.world import H100, World, a100, product

INJECTED = "fallgate.dev/injected"
#: What a chart can have made, by the names of kubectl.
KINDS = (
    "deployments,replicasets,services,serviceaccounts,configmaps,secrets,leases,roles,rolebindings,poddisruptionbudgets,networkpolicies",
    "clusterroles,clusterrolebindings,priorityclasses,mutatingwebhookconfigurations,validatingwebhookconfigurations",
)


@pytest.fixture(scope="module")
def cards(any_site: Site, any_world: World) -> Iterator[World]:
    """A namespace in which claims and templates get a list."""
    any_world.device_class()
    any_world.node("node-a100", *a100())
    any_world.namespace("leaving", {"tier": "git", "mode": "enforce"})
    any_site.settle()
    yield any_world
    if any_world.plane.full:  # else nobody would empty it
        any_world.admin("delete", "namespace", NAMESPACE, "--wait=false").fine()
    any_site.reopen()


@pytest.fixture(scope="module")
def manifests() -> list[Raw]:
    """What is in somebody's git."""
    plain = build.exactly("gpu", build.NVIDIA, product(H100))
    return [build.claim("kept", plain, namespace="leaving"), build.template("kept", plain, namespace="leaving")]


def stored(world: World) -> list[Raw]:
    """What is stored of it."""
    return world.plane.kubectl("ada").items("resourceclaims,resourceclaimtemplates", "-n", "leaving")


def test_everything_can_be_undone(any_site: Site, cards: World, manifests: list[Raw]) -> None:
    ada = cards.plane.kubectl("ada")
    ada.apply(manifests).fine()
    injected = [item for item in stored(cards) if INJECTED in item["metadata"]["annotations"]]
    assert len(injected) == 2
    asked = "\n".join(json.dumps(item) for item in injected)
    undone = subprocess.run([COMMAND, "patch", "--undo", "-"], input=asked, capture_output=True, text=True, check=True)
    authored = list(yaml.safe_load_all(undone.stdout))

    any_site.fallgate.process.terminate()  # as the Deployment's pods are when it is deleted
    said = any_site.installation.uninstall().fine()
    assert "uninstalled" in said.out
    assert any_site.fallgate.process.wait(30) == 0

    assert "field is immutable" in ada.apply(manifests).err  # the stored list is not what git says, and nobody restores it
    for item in authored:
        assert INJECTED not in item["metadata"].get("annotations", {})
        ada("replace", "--force", "-f", "-", stdin=item).fine()
    ada.apply(manifests).fine()
    assert ada("diff", "-f", "-", stdin=manifests).code == 0
    assert {"exactly" in _request(item) for item in stored(cards)} == {True}


def test_nothing_is_left(any_site: Site, cards: World) -> None:
    admin = cards.plane.kubectl()
    for kinds in KINDS:
        names = [f"{item['kind']} {item['metadata']['name']}" for item in admin.items(kinds, "-A")]
        assert [name for name in names if "fallgate" in name.partition(" ")[2]] == []


def _request(thing: Raw) -> Raw:
    spec = thing["spec"].get("spec", thing["spec"])
    request: Raw = spec["devices"]["requests"][0]
    return request
