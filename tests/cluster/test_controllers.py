"""Deployment, Job and StatefulSet through the real controllers: the author is told at once, the pods get the verdict."""

from __future__ import annotations

from typing import Any

import pytest

from tests import build
from tests.cluster.kubectl import Kubectl, Raw
from tests.cluster.sites import Site
from tests.cluster.waiting import eventually
from tests.cluster.world import A100, H100, World, a100, h100, product

LIST = (
    'spec.template.spec.resourceClaims[0] "gpu" -> ResourceClaimTemplate h100-else-a100: '
    "spec.spec.devices.requests[0].firstAvailable"
)
REMEDY = (
    "(if the program handles it, add to the pod template's annotations: "
    'fallgate.dev/compatible-shapes: "h100-80gb, 2x a100-40gb"; otherwise leave only alternatives that it runs on)'
)
DECLARED = {"fallgate.dev/compatible-shapes": "h100-80gb, 2x a100-40gb"}


def controller(kind: str, name: str, annotations: dict[str, str] | None = None, namespace: str = "apps") -> Raw:
    """A controller of two pods with such a claim each."""
    main = build.container(claims=["gpu"], image="registry.example.com/app:1")
    spec = build.pod_spec(main, templates={"gpu": "h100-else-a100"})
    labels = {"app": name}
    made = build.controller(
        kind,
        name,
        spec | ({"restartPolicy": "Never"} if kind == "Job" else {}),
        api_version="batch/v1" if kind == "Job" else "apps/v1",
        namespace=namespace,
        pod_meta=build.without_empty({"labels": labels, "annotations": annotations or {}}),
    )
    if kind == "Job":
        made["spec"] |= {"completions": 1, "parallelism": 1, "backoffLimit": 6}
    else:
        made["spec"] |= {"replicas": 1, "selector": {"matchLabels": labels}}
    if kind == "StatefulSet":
        made["spec"]["serviceName"] = name
    return made


@pytest.fixture(scope="module")
def apps(site: Site, world: World) -> World:
    """A cluster with both cards, and a template that falls back from one to the other."""
    world.device_class()
    world.node("node-h100", *h100("gpu-0", "gpu-1", "gpu-2"))
    world.node("node-a100", *a100("gpu-0", "gpu-1"))
    world.namespace("apps", {"tier": "research", "mode": "enforce"})
    world.namespace("apps-production", {"tier": "production"})
    world.namespace("apps-legacy", {"tier": "legacy", "mode": "enforce"})
    site.settle()
    first = build.alternative("h100", build.NVIDIA, product(H100))
    second = build.alternative("a100-pair", build.NVIDIA, product(A100), count=2)
    made = build.template("h100-else-a100", build.first_available("gpu", first, second), namespace="apps")
    world.plane.kubectl("ada").create(made).fine()
    for namespace, declared in (("apps-production", DECLARED), ("apps-legacy", {})):
        made["metadata"] |= {"namespace": namespace, "annotations": declared}
        world.plane.kubectl("ada").create(made).fine()
    return world


def refused_pods(ada: Kubectl, kind: str, name: str) -> str:
    """What the events say about pods of a controller that were refused."""
    events = ada.items("events", "-n", "apps")
    about = [
        event
        for event in events
        if event["involvedObject"]["kind"] == kind and event["involvedObject"]["name"].startswith(name)
    ]
    return "\n".join(event["message"] for event in about if event["reason"] == "FailedCreate" and "denied" in event["message"])


def pods(ada: Kubectl, name: str) -> list[Any]:
    """The pods of a controller."""
    return ada.items("pods", "-n", "apps", "-l", f"app={name}")


@pytest.mark.parametrize(("kind", "maker"), [("Deployment", "ReplicaSet"), ("StatefulSet", "StatefulSet"), ("Job", "Job")])
def test_the_author_is_warned_and_the_pods_are_refused(apps: World, kind: str, maker: str) -> None:
    ada = apps.plane.kubectl("ada")
    name = f"undeclared-{kind.lower()}"
    assert ada.apply(controller(kind, name)).fine().warnings == [
        f'[fallback-compatibility] {LIST}[0]: "h100": 1x h100-80gb is not declared (nothing is declared) {REMEDY}',
        f'[fallback-compatibility] {LIST}[1]: "a100-pair": 2x a100-40gb is not declared (nothing is declared) {REMEDY}',
    ]
    message = eventually(f"the {maker} says why there is no pod", lambda: refused_pods(ada, maker, name))
    assert '"a100-pair": 2x a100-40gb is not declared (nothing is declared)' in message
    assert pods(ada, name) == []


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "Job"])
def test_a_declaration_in_the_pod_template_lets_the_pods_run(apps: World, kind: str) -> None:
    ada = apps.plane.kubectl("ada")
    name = f"declared-{kind.lower()}"
    assert ada.apply(controller(kind, name, DECLARED)).fine().warnings == []
    eventually(
        f"the pod of the {kind} is scheduled", lambda: [item for item in pods(ada, name) if item["spec"].get("nodeName")]
    )


def test_a_declaration_one_level_too_high_is_pointed_out(apps: World) -> None:
    made = controller("Deployment", "too-high")
    made["metadata"]["annotations"] = DECLARED
    warnings = apps.plane.kubectl("ada").apply(made, "--dry-run=server").fine().warnings
    assert any("one level too high" in line for line in warnings), warnings


def test_a_controller_is_refused_where_the_policy_says_so(apps: World) -> None:
    ada = apps.plane.kubectl("ada")
    assert (
        "is not declared"
        in ada.apply(controller("Deployment", "strict", {"fallgate.dev/compatible-shapes": "h100-80gb"}, "apps-production"))
        .refused()
        .err
    )


def test_scaling_asks_nothing_new_and_a_changed_template_is_judged(site: Site, apps: World) -> None:
    ada = apps.plane.kubectl("ada")
    ada.apply(controller("Deployment", "scaled", DECLARED)).fine()
    assert ada("scale", "deployment", "scaled", "-n", "apps", "--replicas=0").fine().warnings == []
    changed = controller("Deployment", "scaled", {"fallgate.dev/compatible-shapes": "h100-80gb"})
    assert any("2x a100-40gb is not declared" in line for line in ada.apply(changed).fine().warnings)


def test_pods_of_controllers_from_before_the_policy_keep_coming_back(apps: World) -> None:
    ada = apps.plane.kubectl("ada")
    ada.apply(controller("Deployment", "old", namespace="apps-legacy")).fine()
    eventually("its pod is let through", lambda: ada.items("pods", "-n", "apps-legacy", "-l", "app=old"))


def test_a_controller_of_another_project_is_judged_too(apps: World) -> None:
    main = build.container(claims=["gpu"], image="registry.example.com/app:1")
    inner = {"template": {"spec": build.pod_spec(main, templates={"gpu": "h100-else-a100"})}}
    made = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "undeclared", "namespace": "apps"},
        "spec": {"replicatedJobs": [{"name": "workers", "replicas": 1, "template": {"spec": inner}}]},
    }
    warnings = apps.plane.kubectl("ada").create(made).fine().warnings
    assert any('"a100-pair": 2x a100-40gb is not declared' in line for line in warnings), warnings


def test_no_list_goes_into_claims_where_kueue_admits_pods(site: Site, apps: World) -> None:
    """First as the tier says, then with a LocalQueue in the namespace."""
    ada = apps.plane.kubectl("ada")
    apps.namespace("apps-queued", {"tier": "shared"})
    plain = build.claim("plain", build.exactly("gpu", build.NVIDIA, product(H100)), namespace="apps-queued")

    def stored() -> str:
        return (
            ada.create(plain, "--dry-run=server", "-o", "jsonpath={.spec.devices.requests[0].firstAvailable[*].name}")
            .fine()
            .out
        )

    assert stored() == "requested a100-pair"
    queue = {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "LocalQueue",
        "metadata": {"name": "night", "namespace": "apps-queued"},
    }
    ada.create(queue).fine()
    eventually("the claim stays as it was written", lambda: stored() == "")
