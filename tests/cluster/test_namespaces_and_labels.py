"""Every namespace has its mode, only who may label namespaces sets it, and excluded ones never feel that Fallgate is there."""

from __future__ import annotations

import pytest

from tests import build
from tests.cluster.kubectl import Raw
from tests.cluster.sites import Site
from tests.cluster.waiting import eventually
from tests.cluster.world import A100, H100, World, a100, h100, product


def undeclared(namespace: str, name: str = "undeclared") -> Raw:
    """A claim with a list that nobody has declared."""
    first = build.alternative("h100", build.NVIDIA, product(H100))
    second = build.alternative("a100", build.NVIDIA, product(A100))
    return build.claim(name, build.first_available("gpu", first, second), namespace=namespace)


@pytest.fixture(scope="module")
def modes(site: Site, world: World) -> World:
    """A namespace for each mode, all of the tier in which undeclared lists are refused."""
    world.device_class()
    world.node("node-h100", *h100())
    world.node("node-a100", *a100())
    for mode in ("enforce", "warn", "audit", "off"):
        world.namespace(f"mode-{mode}", {"tier": "production", "mode": mode})
    world.namespace("mode-unlabelled", {"tier": "production"})
    world.namespace("left-out", {"tier": "production", "mode": "enforce"})
    site.settle()
    return world


@pytest.mark.parametrize("namespace", ["mode-enforce", "mode-unlabelled"])
def test_enforce_refuses(modes: World, namespace: str) -> None:
    modes.plane.kubectl("ada").create(undeclared(namespace)).refused()


def test_warn_warns_and_stores(modes: World) -> None:
    warnings = modes.plane.kubectl("ada").create(undeclared("mode-warn")).fine().warnings
    assert any("is not declared" in line for line in warnings), warnings


def test_audit_says_nothing_to_the_author_and_everything_to_the_log(site: Site, modes: World) -> None:
    assert modes.plane.kubectl("ada").create(undeclared("mode-audit")).fine().err == ""

    def look() -> list[tuple[bool, list[str], str]]:
        mine = [item for item in site.decisions() if item["namespace"] == "mode-audit" and item.get("reasons")]
        return [(item["allowed"], item["reasons"], item["mode"]) for item in mine]

    logged = eventually("the decision is in the log", look)
    assert logged == [(True, ["fallback-compatibility/shape-undeclared"] * 2, "audit")]


def test_off_finds_nothing(site: Site, modes: World) -> None:
    assert modes.plane.kubectl("ada").create(undeclared("mode-off")).fine().err == ""

    def look() -> list[list[str]]:
        return [item.get("reasons") or [] for item in site.decisions() if item["namespace"] == "mode-off"]

    logged = eventually("the decision is in the log", look)
    assert not any(logged)


def test_a_label_set_by_the_administrator_holds_at_once(modes: World) -> None:
    ada, admin = modes.plane.kubectl("ada"), modes.admin
    admin("label", "namespace", "mode-unlabelled", "fallgate.dev/mode=audit").fine()
    eventually("audit holds", lambda: ada.create(undeclared("mode-unlabelled"), "--dry-run=server").code == 0, within=2)
    admin("label", "namespace", "mode-unlabelled", "fallgate.dev/mode-").fine()
    eventually("enforce holds again", lambda: ada.create(undeclared("mode-unlabelled"), "--dry-run=server").refused(), within=2)


def test_a_mode_for_one_rule(modes: World) -> None:
    ada, admin = modes.plane.kubectl("ada"), modes.admin
    admin("label", "namespace", "mode-unlabelled", "fallgate.dev/mode.fallback-compatibility=warn").fine()
    eventually(
        "the rule only warns", lambda: ada.create(undeclared("mode-unlabelled"), "--dry-run=server").fine().warnings, within=2
    )
    admin("label", "namespace", "mode-unlabelled", "fallgate.dev/mode.fallback-compatibility-").fine()


def test_one_configmap_switches_everything_to_audit_and_back(modes: World) -> None:
    ada, admin = modes.plane.kubectl("ada"), modes.admin
    admin("create", "configmap", "fallgate-cap", "-n", "fallgate-system", "--from-literal=mode=audit").fine()
    try:
        eventually("audit holds", lambda: ada.create(undeclared("mode-enforce"), "--dry-run=server").code == 0, within=2)
    finally:
        admin("delete", "configmap", "fallgate-cap", "-n", "fallgate-system").fine()
    eventually("enforce holds again", lambda: ada.create(undeclared("mode-enforce"), "--dry-run=server").refused(), within=2)


def test_who_may_not_label_a_namespace_does_not_choose_its_mode(modes: World) -> None:
    ada = modes.plane.kubectl("ada")
    said = ada("label", "namespace", "mode-enforce", "fallgate.dev/mode=off", "--overwrite")
    assert said.code == 1
    assert 'User "ada" cannot patch resource "namespaces"' in said.err
    labelled = undeclared("mode-enforce")
    labelled["metadata"]["labels"] = {"fallgate.dev/mode": "off"}  # on an object of one's own it counts for nothing
    ada.create(labelled).refused()


def test_without_fallgate_only_enforced_namespaces_wait_for_it(site: Site, modes: World) -> None:
    ada, admin = modes.plane.kubectl("ada"), modes.admin
    with site.nobody_there():
        refused = ada.create(undeclared("mode-enforce", "down"))
        assert refused.code == 1
        assert 'failed calling webhook "claims.enforced.fallgate.dev"' in refused.err
        for namespace in ("mode-warn", "mode-audit", "mode-off", "mode-unlabelled", "left-out"):
            ada.create(undeclared(namespace, "down")).fine()
        for namespace in ("kube-system", "fallgate-system"):
            admin.create(undeclared(namespace, "down")).fine()
            admin("delete", "resourceclaim", "down", "-n", namespace).fine()
        admin.create(build.namespace("made-meanwhile", {"fallgate.dev/mode": "enforce"})).fine()
        admin("delete", "namespace", "made-meanwhile", "--wait=false").fine()
        admin.create(build.device_class("made-meanwhile")).fine()
        modes.mine("DeviceClass", "made-meanwhile")
        no_devices = build.pod("plain", build.container(image="registry.example.com/app:1"), namespace="mode-enforce")
        ada.create(no_devices).fine()


def test_an_excluded_namespace_is_not_judged(modes: World) -> None:
    assert modes.plane.kubectl("ada").create(undeclared("left-out", "excluded")).fine().err == ""
