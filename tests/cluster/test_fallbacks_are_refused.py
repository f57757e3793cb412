"""A fallback that its workload has not declared is refused where its author sees it; a declared one is what is allocated."""

from __future__ import annotations

from typing import Any

import pytest

from tests import build
from tests.cluster.kubectl import Raw
from tests.cluster.sites import Site
from tests.cluster.waiting import eventually
from tests.cluster.world import A100, H100, World, a100, allocated, claim_of, denied, h100, ours, product, scheduled, told

ONE, BOTH = ({"fallgate.dev/compatible-shapes": shapes} for shapes in ("h100-80gb", "h100-80gb, 2x a100-40gb"))

LIST = "spec.spec.devices.requests[0].firstAvailable"
REMEDY = (
    '(if the program handles it, add to its annotations: fallgate.dev/compatible-shapes: "h100-80gb, 2x a100-40gb"; '
    "otherwise leave only alternatives that it runs on)"
)


def template(namespace: str, *, version: str = "v1", **meta: Any) -> Raw:
    """One H100, else two A100s."""
    first = build.alternative("h100", build.NVIDIA, product(H100))
    second = build.alternative("a100-pair", build.NVIDIA, product(A100), count=2)
    return build.template(
        "h100-else-a100", build.first_available("gpu", first, second), namespace=namespace, version=version, **meta
    )


def pod(namespace: str, name: str = "trainer", *, selector: Raw | None = None, **meta: Any) -> Raw:
    """A pod with such a claim."""
    main = build.container(claims=["accelerator"], image="registry.example.com/trainer:1")
    claims = {"accelerator": "h100-else-a100"}
    return build.pod(name, main, namespace=namespace, templates=claims, meta=meta, nodeSelector=selector)


@pytest.fixture(scope="module")
def cards(any_site: Site, any_world: World) -> World:
    """A node with an H100, one with two A100s, and a namespace of each tier; the research one has the template."""
    any_world.device_class()
    any_world.node("node-h100", *h100())
    any_world.node("node-a100", *a100())
    any_world.namespace("research", {"tier": "research"})
    any_world.namespace("production", {"tier": "production"})
    any_site.settle()
    any_world.plane.kubectl("ada").apply(template("research")).fine()
    return any_world


def test_a_template_is_refused_where_the_policy_says_so(cards: World) -> None:
    said = cards.plane.kubectl("ada").apply(template("production")).refused()
    assert said.err.startswith("Error from server (Forbidden): ")
    assert (
        denied(said.err)
        == """\
ResourceClaimTemplate "h100-else-a100" may hand out devices that its owner has not declared the program can run on
  spec.spec.devices.requests[0].firstAvailable[0] "h100": 1x h100-80gb is not declared (nothing is declared)
  spec.spec.devices.requests[0].firstAvailable[1] "a100-pair": 2x a100-40gb is not declared (nothing is declared)
  if the program handles it, add to its annotations:
    fallgate.dev/compatible-shapes: "h100-80gb, 2x a100-40gb"
  otherwise leave only alternatives that it runs on
  [fallback-compatibility, policy strict-fallbacks]"""
    )


def test_the_remedy_pasted_is_accepted(cards: World) -> None:
    said = cards.plane.kubectl("ada").apply(template("production", annotations=BOTH)).fine()
    assert said.warnings == []


@pytest.mark.parametrize("version", ["v1", "v1beta2", "v1beta1"])
def test_a_template_warns_where_its_pods_are_judged(cards: World, version: str) -> None:
    other = template("research", version=version)
    other["metadata"]["name"] = "another"
    assert ours(cards.plane.kubectl("ada").create(other, "--dry-run=server").fine()) == [
        f'[fallback-compatibility] {LIST}[0]: "h100": 1x h100-80gb is not declared (nothing is declared) {REMEDY}',
        f'[fallback-compatibility] {LIST}[1]: "a100-pair": 2x a100-40gb is not declared (nothing is declared) {REMEDY}',
    ]


@pytest.mark.parametrize("version", ["v1", "v1beta2", "v1beta1"])
def test_a_template_that_is_applied_again_is_not_judged_again(cards: World, version: str) -> None:
    assert ours(cards.plane.kubectl("ada").apply(template("research", version=version)).fine()) == []


@pytest.mark.parametrize("options", [(), ("--dry-run=server",)])
def test_a_pod_is_refused(cards: World, options: tuple[str, ...]) -> None:
    said = cards.plane.kubectl("ada").create(pod("research", annotations=ONE), *options).refused()
    assert said.err.startswith("Error from server (Forbidden): ")
    assert (
        denied(said.err)
        == """\
pod "trainer" may be given devices that its owner has not declared it can run on
  spec.resourceClaims[0] "accelerator" -> ResourceClaimTemplate h100-else-a100
    spec.spec.devices.requests[0].firstAvailable[1] "a100-pair": 2x a100-40gb is not declared (declared: h100-80gb)
  if the program handles it, add to the pod's annotations:
    fallgate.dev/compatible-shapes: "h100-80gb, 2x a100-40gb"
  otherwise remove the alternative a100-pair
  [fallback-compatibility, policy declared-fallbacks]"""
    )


def test_a_client_gets_the_causes(cards: World) -> None:
    status, answer = cards.plane.rest("ada", "POST", "/api/v1/namespaces/research/pods", pod("research", annotations=ONE))
    assert status == 403
    assert (answer["kind"], answer["reason"], answer["code"]) == ("Status", "Forbidden", 403)
    assert answer["details"]["causes"] == [
        {
            "reason": "shape-undeclared",
            "message": '"a100-pair": 2x a100-40gb is not declared (declared: h100-80gb)',
            "field": "spec.resourceClaims[0]",
        }
    ]


def test_the_review_named_in_the_message_is_in_the_decision_log(any_site: Site, cards: World) -> None:
    said = cards.plane.kubectl("ada").create(pod("research", "logged", annotations=ONE)).refused()
    review = said.err.partition(", review ")[2][:8]
    assert review

    def look() -> list[Any]:
        return [item for item in any_site.decisions() if item["uid"].startswith(review) and item["phase"] == "validate"]

    logged = eventually("the decision is in the log", look)
    assert [(item["name"], item["user"], item["allowed"]) for item in logged] == [("logged", "ada", False)]


def test_the_audit_log_keeps_the_finding(cards: World) -> None:
    cards.plane.kubectl("ada").create(pod("research", "audited", annotations=ONE)).refused()

    def look() -> list[str]:
        events = [event for event in cards.plane.audited() if event.get("objectRef", {}).get("name") == "audited"]
        return [value for event in events for key, value in event.get("annotations", {}).items() if key.endswith("/findings")]

    found = eventually("the refusal is in the audit log", look)
    assert [told(text) for text in found] == [
        "deny fallback-compatibility/shape-undeclared spec.resourceClaims[0] (enforce): "
        '"a100-pair": 2x a100-40gb is not declared (declared: h100-80gb)'
    ]


def test_a_declared_pod_is_accepted(cards: World) -> None:
    cards.plane.kubectl("ada").create(pod("research", "declared", annotations=BOTH), "--dry-run=server").fine()


# With the scheduler.


def test_the_scheduler_gives_what_was_declared(site: Site, cards: World) -> None:
    if not cards.plane.full:
        pytest.skip("no scheduler of this release here")
    ada = cards.plane.kubectl("ada")
    ada.create(pod("research", "first", annotations=BOTH)).fine()
    assert scheduled(ada, "research", "first") == "node-h100"
    assert allocated(claim_of(ada, "research", "first")) == [("gpu/h100", "gpu-0")]
    ada.create(pod("research", "second", annotations=BOTH)).fine()
    assert scheduled(ada, "research", "second") == "node-a100"
    assert allocated(claim_of(ada, "research", "second")) == [("gpu/a100-pair", "gpu-0"), ("gpu/a100-pair", "gpu-1")]


def test_a_pod_tied_to_the_nodes_it_runs_on_needs_no_more(site: Site, cards: World) -> None:
    tied = pod("research", "tied", selector={"kubernetes.io/hostname": "node-h100"}, annotations=ONE)
    cards.plane.kubectl("ada").create(tied, "--dry-run=server").fine()


def test_a_template_that_comes_after_its_pod_is_judged_with_the_claim(site: Site, cards: World) -> None:
    if not cards.plane.full:
        pytest.skip("no controllers of this release here")
    ada = cards.plane.kubectl("ada")
    early = pod("research", "early", annotations=ONE)
    early["spec"]["resourceClaims"][0]["resourceClaimTemplateName"] = "late"
    ada.create(early).fine()
    late = template("research")
    late["metadata"]["name"] = "late"
    ada.create(late).fine()

    def look() -> str:
        events = ada.items("events", "-n", "research", "--field-selector=involvedObject.name=early")
        return " ".join(
            event["message"]
            for event in events
            if event["reason"] == "FailedResourceClaimCreation" and "denied" in event["message"]
        )

    message = eventually("the refused claim is an event of the pod", look)
    assert '"a100-pair": 2x a100-40gb is not declared (declared: h100-80gb)' in message
    assert ada.get("pod", "early", "-n", "research")["spec"].get("nodeName") is None
