"""What happens to a claim after its creation never waits for Fallgate: finalizers, status, labels, deletion, collection.

Asked is the API server itself, which counts the calls it makes to every webhook. Then the same with nobody there to answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests import build
from tests.cluster.kubectl import Kubectl, Raw
from tests.cluster.sites import Site
from tests.cluster.waiting import eventually
from tests.cluster.world import A100, H100, World, allocated, claim_of, h100, product, scheduled

FINALIZER = "resource.kubernetes.io/delete-protection"


def undeclared(name: str) -> Raw:
    """A claim that would be refused today."""
    first = build.alternative("h100", build.NVIDIA, product(H100))
    return build.claim(
        name, build.first_available("gpu", first, build.alternative("a100", build.NVIDIA, product(A100))), namespace="life"
    )


@pytest.fixture(scope="module")
def old_claims(any_site: Site, any_world: World) -> World:
    """A namespace that is enforced since a moment ago, with claims from before."""
    any_world.device_class()
    any_world.node("node-h100", *h100("gpu-0", "gpu-1", "gpu-2"))
    any_world.namespace("life")
    any_site.settle()
    ada = any_world.plane.kubectl("ada")
    ada.create([undeclared(name) for name in ("one", "two", "three", "four")]).fine()
    any_world.admin("label", "namespace", "life", "fallgate.dev/tier=production", "fallgate.dev/mode=enforce").fine()
    eventually("new ones of the kind are refused", lambda: ada.create(undeclared("new")).refused())
    return any_world


def calls(plane: Any) -> float:
    """How often the API server has called a webhook."""
    text = plane.kubectl().raw("/metrics").fine().out
    counts = [
        line for line in text.splitlines() if line.startswith("apiserver_admission_webhook_admission_duration_seconds_count")
    ]
    ours = [float(line.rsplit(" ", 1)[1]) for line in counts if "fallgate.dev" in line]
    assert ours, "the API server counts its calls under another name"
    return sum(ours)


def patch(kubectl: Kubectl, name: str, change: Any, *options: str) -> None:
    """`kubectl patch` of one of the claims."""
    kubectl("patch", "resourceclaim", name, "-n", "life", "--type=merge", "-p", json.dumps(change), *options).fine()


def whole_life(world: World, name: str) -> None:
    """What scheduler, controllers and people do to a claim after its creation."""
    scheduler, ada = world.plane.kubectl("scheduler"), world.plane.kubectl("ada")
    result = build.result("gpu-0", "node-h100", request="gpu/h100")
    patch(scheduler, name, {"metadata": {"finalizers": [FINALIZER]}})
    patch(scheduler, name, {"status": {"allocation": {"devices": {"results": [result]}}}}, "--subresource=status")
    assert allocated(ada.get("resourceclaim", name, "-n", "life")) == [("gpu/h100", "gpu-0")]
    ada("label", "resourceclaim", name, "-n", "life", "team=a").fine()
    ada("annotate", "resourceclaim", name, "-n", "life", "note=kept").fine()
    ada("delete", "resourceclaim", name, "-n", "life", "--wait=false").fine()
    if not world.plane.full:  # else the claim controller does it
        patch(scheduler, name, {"status": {"allocation": None}}, "--subresource=status")
        patch(scheduler, name, {"metadata": {"finalizers": None}})
    eventually("the deleted claim is gone", lambda: ada("get", "resourceclaim", name, "-n", "life").code == 1)


def test_nothing_of_it_is_asked(any_site: Site, old_claims: World) -> None:
    before = calls(old_claims.plane)
    whole_life(old_claims, "one")
    assert calls(old_claims.plane) == before


def test_it_goes_on_while_fallgate_is_down(any_site: Site, old_claims: World) -> None:
    with any_site.nobody_there():
        assert "failed calling webhook" in old_claims.plane.kubectl("ada").create(undeclared("new")).err
        whole_life(old_claims, "two")


def test_it_goes_on_while_fallgate_hangs(any_site: Site, old_claims: World) -> None:
    with any_site.paused():
        before = calls(old_claims.plane)
        whole_life(old_claims, "three")
        assert calls(old_claims.plane) == before


# With the real controllers and the real scheduler.


@pytest.fixture(scope="module")
def template(site: Site, old_claims: World) -> Callable[[str], Raw]:
    """Pods with a claim of their own, made from a template."""
    if not old_claims.plane.full:
        pytest.skip("no controllers of this release here")
    old_claims.plane.kubectl("ada").create(
        build.template("one-h100", build.exactly("gpu", build.NVIDIA, product(H100)), namespace="life")
    ).fine()
    main = build.container(claims=["gpu"], image="registry.example.com/app:1")
    return lambda name: build.pod(name, main, namespace="life", templates={"gpu": "one-h100"})


def test_claims_of_deleted_pods_vanish_while_fallgate_is_down(
    site: Site, old_claims: World, template: Callable[[str], Raw]
) -> None:
    ada = old_claims.plane.kubectl("ada")
    ada.create(template("short-lived")).fine()
    scheduled(ada, "life", "short-lived")
    claim = claim_of(ada, "life", "short-lived")["metadata"]["name"]
    with site.nobody_there():
        ada("delete", "pod", "short-lived", "-n", "life", "--force", "--grace-period=0").fine()
        eventually("the claim of the deleted pod is gone", lambda: ada("get", "resourceclaim", claim, "-n", "life").code == 1)


def test_a_claim_that_exists_is_allocated_while_fallgate_is_down(
    site: Site, old_claims: World, template: Callable[[str], Raw]
) -> None:
    ada = old_claims.plane.kubectl("ada")
    waiting = template("waiting") | {}
    waiting["spec"]["nodeSelector"] = {"kubernetes.io/hostname": "node-later"}
    ada.create(waiting).fine()
    claim_of(ada, "life", "waiting")
    with site.nobody_there():
        old_claims.node("node-later", *h100())
        assert scheduled(ada, "life", "waiting") == "node-later"
        old_claims.admin("delete", "namespace", "life", "--wait=false").fine()
        ada("delete", "pods", "--all", "-n", "life", "--force", "--grace-period=0")
        eventually(
            "a namespace full of claims is deleted", lambda: old_claims.admin("get", "namespace", "life").code == 1, within=60
        )
