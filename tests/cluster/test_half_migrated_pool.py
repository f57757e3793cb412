"""A pool that is half moved from the device plugin to the driver: no card is handed out twice, and nobody waits untold."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests import build
from tests.cluster.kubectl import Raw
from tests.cluster.sites import Site
from tests.cluster.waiting import eventually
from tests.cluster.world import A100, H100, STACK, World, allocated, denied, h100, product, scheduled

STEERED = "fallgate.dev/steered"
EXTENDED = "resource.kubernetes.io/extended-resource-claim"


@pytest.fixture(scope="module")
def pool(site: Site, world: World) -> World:
    """A node that the driver has, one that the plugin has, one of which nobody has said anything. All three publish devices."""
    world.device_class()
    world.node("node-dra", *h100("gpu-0", "gpu-1", "gpu-2", "gpu-3"), labels={STACK: "dra"})
    world.node("node-plugin", *h100("gpu-0", "gpu-1"), labels={STACK: "device-plugin"}, plugin={"nvidia.com/gpu": "2"})
    world.node("node-both", *h100("gpu-0", "gpu-1"), plugin={"nvidia.com/gpu": "2"})
    world.namespace("moving", {"mode": "enforce"})
    site.settle()
    world.plane.kubectl("ada").create(build.template("one-gpu", namespace="moving")).fine()
    return world


def claim_pod(name: str, template: str = "one-gpu", **spec: Any) -> Raw:
    """A pod that asks through the driver."""
    main = build.container(claims=["gpu"], image="registry.example.com/app:1")
    return build.pod(name, main, namespace="moving", templates={"gpu": template}, **spec)


def plugin_pod(name: str, count: str = "1", resource: str = "nvidia.com/gpu", **spec: Any) -> Raw:
    """A pod that asks through the plugin, as all pods did before."""
    main = build.container(extended={resource: count}, image="registry.example.com/app:1")
    return build.pod(name, main, namespace="moving", **spec)


def on(node: str) -> dict[str, str]:
    """A nodeSelector for one node."""
    return {"kubernetes.io/hostname": node}


def added(pod: Raw) -> Any:
    """What the steering annotation says was added."""
    return [entry["added"] for entry in json.loads(pod["metadata"]["annotations"][STEERED])]


def test_a_claim_pod_is_steered_to_the_drivers_nodes(pool: World) -> None:
    ada = pool.plane.kubectl("ada")
    ada.create(claim_pod("by-claim")).fine()
    assert scheduled(ada, "moving", "by-claim") == "node-dra"
    stored = ada.get("pod", "by-claim", "-n", "moving")
    terms = stored["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert terms == [{"matchExpressions": [{"key": STACK, "operator": "In", "values": ["dra"]}]}]
    assert added(stored) == terms


def test_an_old_style_pod_is_steered_to_the_plugins_nodes(pool: World) -> None:
    ada = pool.plane.kubectl("ada")
    ada.create(plugin_pod("old-style")).fine()
    assert scheduled(ada, "moving", "old-style") == "node-plugin"
    assert added(ada.get("pod", "old-style", "-n", "moving")) == [
        {"matchExpressions": [{"key": STACK, "operator": "In", "values": ["device-plugin"]}]}
    ]


@pytest.mark.parametrize("style", [claim_pod, plugin_pod])
def test_a_pod_is_refused_when_no_node_is_left(pool: World, style: Any) -> None:
    said = pool.plane.kubectl("ada").create(style("tied", nodeSelector=on("node-both"))).refused()
    assert "node-both (nvidia.com/gpu allocatable 2, 2 devices of gpu.nvidia.com)" in denied(said.err)


def test_the_refusal_names_the_way_out(pool: World) -> None:
    said = pool.plane.kubectl("ada").create(claim_pod("tied", nodeSelector=on("node-both"))).refused()
    assert (
        denied(said.err)
        == """\
pod "tied" may be given devices that somebody else hands out too
  spec.resourceClaims[0] "gpu" -> ResourceClaimTemplate one-gpu
    spec.spec.devices.requests[0].exactly request "gpu" may be given devices of gpu.nvidia.com that the device plugin has too: \
node-both (nvidia.com/gpu allocatable 2, 2 devices of gpu.nvidia.com)
  no feasible node is safe: an administrator has to give node-both to DRA, once the other side's pods are gone:
    kubectl label node node-both example.com/gpu-stack=dra
  [device-ownership, policy nvidia-gpus]"""
    )


@pytest.mark.parametrize(("style", "node"), [(claim_pod, "node-dra"), (plugin_pod, "node-plugin")])
def test_on_the_owners_node_a_pod_stays_as_it_was_written(pool: World, style: Any, node: str) -> None:
    ada = pool.plane.kubectl("ada")
    name = f"on-{node}"
    ada.create(style(name, nodeSelector=on(node))).fine()
    assert scheduled(ada, "moving", name) == node
    stored = ada.get("pod", name, "-n", "moving")
    assert "affinity" not in stored["spec"]
    assert STEERED not in stored["metadata"].get("annotations", {})


def test_the_other_side_is_refused_whatever_the_plugin_counts_now(pool: World) -> None:
    pool.advertise("node-plugin", gpu="0")  # a plugin that restarts
    try:
        pool.plane.kubectl("ada").create(claim_pod("restarting", nodeSelector=on("node-plugin"))).refused()
    finally:
        pool.advertise("node-plugin", gpu="2")


def test_pods_that_hold_cards_count_after_the_plugin_is_gone(site: Site, pool: World) -> None:
    ada = pool.plane.kubectl("ada")
    pool.node("node-left", plugin={"nvidia.com/gpu": "2"})
    site.settle()
    ada.create(plugin_pod("holder", nodeSelector=on("node-left"))).fine()
    assert scheduled(ada, "moving", "holder") == "node-left"
    pool.advertise("node-left", gpu="0")
    pool.put(build.device_slice("node-left", *h100("gpu-0", "gpu-1")))
    site.settle()
    said = ada.create(claim_pod("newcomer", nodeSelector=on("node-left"))).refused()
    assert "node-left (nvidia.com/gpu allocatable 0, 2 devices of gpu.nvidia.com, 1 held by plugin pods)" in denied(said.err)
    ada("delete", "pod", "holder", "-n", "moving", "--force", "--grace-period=0").fine()
    eventually(
        "the pod is accepted when nobody holds a card any more",
        lambda: ada.create(claim_pod("newcomer", nodeSelector=on("node-left"))).code == 0,
    )
    assert scheduled(ada, "moving", "newcomer") == "node-left"


def test_a_template_that_comes_after_its_pod_is_judged_with_the_claim(pool: World) -> None:
    ada = pool.plane.kubectl("ada")
    ada.create(claim_pod("early", "late", nodeSelector=on("node-both"))).fine()
    ada.create(build.template("late", namespace="moving")).fine()

    def look() -> str:
        events = ada.items("events", "-n", "moving", "--field-selector=involvedObject.name=early")
        return " ".join(event["message"] for event in events if "denied" in event["message"])

    assert "somebody else hands out" in eventually("the refused claim is an event of the pod", look)
    assert not ada.get("pod", "early", "-n", "moving")["spec"].get("nodeName")


def test_the_schedulers_own_claims_are_never_touched(site: Site, pool: World) -> None:
    """In a namespace where every other claim of an H100 gets a list, and any list without a declaration is refused."""
    ada = pool.plane.kubectl("ada")
    pool.device_class(
        "h100-cards", f'device.driver == "{build.NVIDIA}" && {product(H100)}', extended_resource="example.com/h100"
    )
    pool.namespace("moving-shared", {"tier": "shared", "mode": "enforce"})
    asks = plugin_pod("official", resource="example.com/h100", nodeSelector=on("node-dra"))
    asks["metadata"]["namespace"] = "moving-shared"
    ada.create(asks).fine()
    assert scheduled(ada, "moving-shared", "official") == "node-dra"
    claim = ada.items("resourceclaims", "-n", "moving-shared")[0]
    assert claim["metadata"]["annotations"][EXTENDED] == "true"
    assert "exactly" in claim["spec"]["devices"]["requests"][0]
    assert len(allocated(claim)) == 1
    assert [item for item in site.decisions() if item["kind"] == "ResourceClaim" and item["namespace"] == "moving-shared"] == []


def test_a_forged_mark_of_the_scheduler_is_not_believed(pool: World) -> None:
    ada = pool.plane.kubectl("ada")
    pool.namespace("moving-production", {"tier": "production"})
    two = build.first_available(
        "gpu", build.alternative("h100", build.NVIDIA, product(H100)), build.alternative("a100", build.NVIDIA, product(A100))
    )
    forged = build.claim("forged", two, namespace="moving-production", annotations={EXTENDED: "true"})
    assert "is not declared" in denied(ada.create(forged).refused().err)
