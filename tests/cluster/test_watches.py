"""Whatever happens between Fallgate and the API server: afterwards it knows the same, and decides the same."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest

from tests import build
from tests.cluster.front import Front
from tests.cluster.kubectl import Raw
from tests.cluster.sites import Site
from tests.cluster.waiting import eventually
from tests.cluster.world import A100, H100, STACK, World, a100, claim_of, denied, h100, product


@pytest.fixture(scope="module")
def line(site: Site) -> Iterator[Front]:
    """What lies between Fallgate and the API server."""
    made = Front(lambda: [site.plane.port])
    eventually("the way to the API server is open", made.has_some)
    site.start(through=made.port, alone=True)
    try:
        yield made
    finally:
        site.start(alone=True)
        made.close()


@pytest.fixture(scope="module")
def busy(site: Site, world: World, line: Front) -> World:
    """A cluster in which every kind that is watched matters to some decision."""
    world.device_class()
    world.node("node-h100", *h100(), labels={STACK: "dra"})
    world.node("node-a100", *a100(), labels={STACK: "dra"}, plugin={"nvidia.com/gpu": "2"})
    world.namespace("watched", {"tier": "production", "mode": "enforce"})
    world.namespace("watched-shared", {"tier": "shared"})
    world.namespace("watched-legacy", {"tier": "legacy", "mode": "enforce"})
    first = build.alternative("h100", build.NVIDIA, product(H100))
    listed = build.first_available("gpu", first, build.alternative("a100", build.NVIDIA, product(A100)))
    world.plane.kubectl("ada").create(build.template("listed", listed, namespace="watched-legacy")).fine()
    site.settle()
    return world


def undeclared(namespace: str = "watched") -> Raw:
    """A claim with a list that nobody has declared."""
    first = build.alternative("h100", build.NVIDIA, product(H100))
    second = build.alternative("a100", build.NVIDIA, product(A100))
    return build.claim("undeclared", build.first_available("gpu", first, second), namespace=namespace)


def decisions(world: World) -> dict[str, str]:
    """What is answered to one object of each kind now; nothing is stored."""
    ada = world.plane.kubectl("ada")
    plain = build.claim("plain", build.exactly("gpu", build.NVIDIA, product(H100)), namespace="watched-shared")
    plugin = build.container(extended={"nvidia.com/gpu": "1"}, image="registry.example.com/app:1")
    injected = ada.create(plain, "--dry-run=server", "-o", "jsonpath={.spec.devices.requests[0].firstAvailable[*].name}")
    return {
        "a list that nobody has declared": denied(ada.create(undeclared(), "--dry-run=server").err),
        "a plain claim of the tier": injected.out,
        "an old-style pod": denied(ada.create(build.pod("old", plugin, namespace="watched"), "--dry-run=server").err),
    }


def notices(site: Site, world: World, name: str) -> None:
    """A new node is known soon, and its devices."""
    world.node(name, *h100(), labels={STACK: "dra"})
    site.settle()


def test_decisions_do_come_from_the_cluster(busy: World) -> None:
    found = decisions(busy)
    assert "1x a100-40gb is not declared" in found["a list that nobody has declared"]
    assert found["a plain claim of the tier"] == "requested a100-pair"
    assert "node-a100" in found["an old-style pod"]


def test_a_watch_that_is_cut_is_taken_up_again(site: Site, busy: World, line: Front) -> None:
    before = decisions(busy)
    line.cut()
    notices(site, busy, "node-after-cut")
    assert decisions(busy) == before


def test_nothing_is_lost_while_the_line_is_down(site: Site, busy: World, line: Front) -> None:
    before = decisions(busy)
    line.hold()
    busy.node("node-while-down", *h100(), labels={STACK: "dra"})
    busy.admin("label", "namespace", "watched", "fallgate.dev/mode=audit", "--overwrite").fine()
    line.cut()
    line.release()
    site.settle()
    eventually("the label set meanwhile holds", lambda: decisions(busy)["a list that nobody has declared"] == "")
    busy.admin("label", "namespace", "watched", "fallgate.dev/mode=enforce", "--overwrite").fine()
    eventually("all is as it was", lambda: decisions(busy) == before)


def test_the_api_server_is_restarted(site: Site, busy: World, line: Front) -> None:
    before = decisions(busy)
    site.plane.restart_api_server()
    notices(site, busy, "node-after-restart")
    assert decisions(busy) == before


def forgotten(site: Site) -> int:
    """How often Fallgate was told 410 about nodes."""
    events = [json.loads(text) for text in site.fallgate.process.log.read_text().splitlines()]
    return sum(event.get("kind") == "Node" and "410" in event.get("why", "") for event in events)


def test_the_api_server_has_forgotten_where_the_watch_was(site: Site, busy: World, line: Front) -> None:
    """410: a server that has just started remembers nothing from before, and of this Fallgate has not seen all."""
    before, known = decisions(busy), forgotten(site)
    line.hold()
    busy.node("node-in-between", *h100("gpu-0", "gpu-1"), labels={STACK: "dra"})
    busy.admin("delete", "node", "node-after-cut").fine()
    busy.admin("delete", "resourceslice", f"node-after-cut-{build.NVIDIA}").fine()
    site.plane.restart_api_server()
    line.cut()
    line.release()
    site.settle()
    assert forgotten(site) > known
    assert decisions(busy) == before


@pytest.fixture
def lagging(site: Site, busy: World, line: Front) -> Iterator[World]:
    """The watches stand still, while the API server can be asked."""
    line.cut()
    site.settle()
    eventually("every kind is watched", lambda: "broken" not in site.fallgate.conditions())
    time.sleep(2)  # until every watch is taken up: what is idle then is no connection that a question could go through
    line.stall()
    yield busy
    line.release()
    line.cut()
    site.settle()


def test_what_the_watches_have_not_shown_yet_is_looked_up(site: Site, lagging: World) -> None:
    ada = lagging.plane.kubectl("ada")
    lagging.namespace("watched-new", {"tier": "production", "mode": "enforce"})  # the namespace itself
    assert "is not declared" in denied(ada.create(undeclared("watched-new"), "--dry-run=server").refused().err)
    lagging.namespace("watched-research", {"tier": "research", "mode": "enforce"})
    first = build.alternative("h100", build.NVIDIA, product(H100))
    second = build.alternative("a100", build.NVIDIA, product(A100))
    listed = build.first_available("gpu", first, second)
    ada.create(
        [build.template("new", listed, namespace="watched-research"), build.claim("new", listed, namespace="watched-research")]
    ).fine()
    main = build.container(claims=["gpu"], image="registry.example.com/app:1")
    for asks in ({"templates": {"gpu": "new"}}, {"claims": {"gpu": "new"}}):
        said = ada.create(build.pod("asks", main, namespace="watched-research", **asks)).refused()
        assert "is not declared" in denied(said.err)


def test_the_pod_of_a_generated_claim_is_looked_up(lagging: World) -> None:
    ada = lagging.plane.kubectl("ada")
    main = build.container(claims=["gpu"], image="registry.example.com/app:1")
    plain = build.template("plain", build.exactly("gpu", build.NVIDIA, product(H100)), namespace="watched-shared")
    ada.create([plain, build.pod("plain", main, namespace="watched-shared", templates={"gpu": "plain"})]).fine()
    made = claim_of(ada, "watched-shared", "plain")
    assert [item["name"] for item in made["spec"]["devices"]["requests"][0]["firstAvailable"]] == ["requested", "a100-pair"]


@pytest.mark.parametrize("kind", ["StatefulSet", "Job"])
def test_the_controller_of_a_new_pod_is_looked_up(site: Site, lagging: World, kind: str) -> None:
    """Its age decides: pods of controllers that were there before the policy are let through with a warning."""
    ada, name = lagging.plane.kubectl("ada"), f"old-{kind.lower()}"
    main = build.container(claims=["gpu"], image="registry.example.com/app:1")
    ada.create(build.pod("of-nobody", main, namespace="watched-legacy", templates={"gpu": "listed"})).refused()
    spec = build.pod_spec(main, templates={"gpu": "listed"})
    above = build.controller(kind, name, spec, namespace="watched-legacy", pod_meta={"labels": {"app": name}})
    if kind == "Job":
        above["apiVersion"], above["spec"]["template"]["spec"]["restartPolicy"] = "batch/v1", "Never"
    else:
        above["spec"] |= {"serviceName": name, "selector": {"matchLabels": {"app": name}}}
    ada.create(above).fine()
    eventually("its pod is let through", lambda: ada.items("pods", "-n", "watched-legacy", "-l", f"app={name}"))
    events = ada.items("events", "-n", "watched-legacy", f"--field-selector=involvedObject.name={name}")
    assert [event["message"] for event in events if event["reason"] == "FailedCreate"] == []
