"""Which requests the chart's hooks bring to Fallgate, on every release: what it has to judge, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests import build
from tests.cluster.kubectl import Kubectl, Raw, Said
from tests.cluster.sites import Site
from tests.cluster.waiting import eventually
from tests.cluster.world import World

HERE, LEFT_OUT = "hooked", "left-out"
BOTH, VALIDATE, NOTHING = ["mutate", "validate"], ["validate"], list[str]()
GPU = {"nvidia.com/gpu": "1"}
CONTROLLERS = {
    "Deployment": "apps/v1",
    "StatefulSet": "apps/v1",
    "DaemonSet": "apps/v1",
    "ReplicaSet": "apps/v1",
    "Job": "batch/v1",
    "CronJob": "batch/v1",
}


def container(name: str = "main", extended: Raw | None = None, **fields: Any) -> Raw:
    """A container that the API server takes."""
    return build.container(name, extended=extended, image="registry.example.com/program", **fields)


def pod(name: str, *containers: Raw, **fields: Any) -> Raw:
    """A pod."""
    return build.pod(name, *(containers or [container()]), namespace=fields.pop("namespace", HERE), **fields)


def controller(kind: str, name: str, extended: Raw | None = None) -> Raw:
    """A controller of that kind."""
    api_version = CONTROLLERS[kind]
    spec = build.pod_spec(container(extended=extended), restartPolicy="Never" if api_version == "batch/v1" else None)
    labels = {"app": name}
    made = build.controller(kind, name, spec, api_version=api_version, namespace=HERE, pod_meta={"labels": labels})
    inner = made["spec"]
    if api_version == "apps/v1":
        inner["selector"] = {"matchLabels": labels}
    if kind == "StatefulSet":
        inner["serviceName"] = name
    if kind == "CronJob":
        made["spec"] = {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": inner}}
    return made


@dataclass(frozen=True, slots=True)
class Step:
    """One request by the administrator, and the calls it may lead to. An object is changed in one way only."""

    about: str
    kind: str
    name: str
    request: Callable[[Kubectl], Said]
    calls: list[str]
    operation: str = "CREATE"
    #: The first release that knows the kind.
    since: tuple[int, int] = (1, 34)


def create(about: str, thing: Raw, calls: list[str], since: tuple[int, int] = (1, 34)) -> Step:
    """The object is created."""
    return Step(about, thing["kind"], thing["metadata"]["name"], lambda admin: admin.create(thing), calls, since=since)


def change(about: str, kind: str, name: str, calls: list[str], *words: str) -> Step:
    """The object is changed by a command of kubectl."""
    return Step(about, kind, name, lambda admin: admin(*words), calls, "UPDATE")


def patch(about: str, kind: str, name: str, calls: list[str], merge: str) -> Step:
    """The object in our namespace is patched."""
    return change(about, kind, name, calls, "patch", kind.lower(), name, "-n", HERE, "--type=merge", "-p", merge)


CLAIMS = [
    create("a claim", build.claim("claim", namespace=HERE), BOTH),
    create("a template", build.template("template", namespace=HERE), BOTH),
    create("a claim of an older version", build.claim("older", namespace=HERE, version="v1beta1"), BOTH),
    create("a claim in an excluded namespace", build.claim("excluded", namespace=LEFT_OUT), NOTHING),
    create("a claim in kube-system", build.claim("system", namespace="kube-system"), NOTHING),
    change("a claim's label", "ResourceClaim", "claim", NOTHING, "label", "resourceclaim", "claim", "-n", HERE, "a=b"),
    patch("a claim's finalizer", "ResourceClaim", "claim", NOTHING, '{"metadata":{"finalizers":["example.com/wait"]}}'),
    patch("a claim's last finalizer", "ResourceClaim", "claim", NOTHING, '{"metadata":{"finalizers":null}}'),
    change(
        "a template's label",
        "ResourceClaimTemplate",
        "template",
        NOTHING,
        "label",
        "resourceclaimtemplate",
        "template",
        "-n",
        HERE,
        "a=b",
    ),
]
PODS = [
    create("a pod", pod("plain"), NOTHING),
    create("a pod with ordinary limits", pod("limits", container(extended={"cpu": "1", "memory": "1Gi"})), NOTHING),
    create("a pod with an extended resource", pod("extended", container(extended=GPU)), BOTH),
    create("an extended resource of the second container", pod("second", container(), container("other", extended=GPU)), BOTH),
    create("an extended resource of an init container", pod("init", initContainers=[container("first", extended=GPU)]), BOTH),
    create("a pod with a claim", pod("claims", claims={"gpu": "claim"}), BOTH),
    create("a pod in an excluded namespace", pod("excluded", container(extended=GPU), namespace=LEFT_OUT), NOTHING),
    create("a pod of 300 containers", pod("wide", *(container(f"c{i}", {"cpu": "1"}) for i in range(300))), NOTHING),
    change("a pod's label", "Pod", "claims", NOTHING, "label", "pod", "claims", "-n", HERE, "a=b"),
    change("a pod's end", "Pod", "claims", NOTHING, "delete", "pod", "claims", "-n", HERE, "--force", "--grace-period=0"),
]
WORKLOADS = [
    step
    for kind in CONTROLLERS
    for step in (
        create(f"a {kind}", controller(kind, f"plain-{kind.lower()}"), NOTHING),
        create(f"a {kind} with devices", controller(kind, f"gpu-{kind.lower()}", GPU), VALIDATE),
    )
] + [
    patch("more replicas", "Deployment", "gpu-deployment", NOTHING, '{"spec":{"replicas":0}}'),
    patch(
        "another pod template",
        "StatefulSet",
        "gpu-statefulset",
        VALIDATE,
        '{"spec":{"template":{"metadata":{"annotations":{"a":"b"}}}}}',
    ),
    patch("a pause", "CronJob", "gpu-cronjob", NOTHING, '{"spec":{"suspend":true}}'),
]
OF_THE_CLUSTER = [
    create("a class", build.device_class("hooked.example.com"), VALIDATE),
    create("another class", build.device_class("hooked-other.example.com"), VALIDATE),
    change(
        "a class's label",
        "DeviceClass",
        "hooked-other.example.com",
        NOTHING,
        "label",
        "deviceclass",
        "hooked-other.example.com",
        "a=b",
    ),
    change(
        "a class's selectors",
        "DeviceClass",
        "hooked.example.com",
        VALIDATE,
        *("patch", "deviceclass", "hooked.example.com", "--type=merge", "-p", '{"spec":{"selectors":[]}}'),
    ),
    create(
        "a taint rule", build.taint_rule("hooked", {"key": "a", "effect": "NoSchedule"}, {"driver": "none"}), VALIDATE, (1, 37)
    ),
    create("a namespace", build.namespace("hooked-plain", {"a": "b"}), NOTHING),
    create("a namespace with a label of ours", build.namespace("hooked-labelled", {"fallgate.dev/tier": "a"}), VALIDATE),
    change("another label", "Namespace", "hooked-plain", NOTHING, "label", "namespace", "hooked-plain", "c=d"),
    change(
        "a label of ours, new", "Namespace", "hooked-new", VALIDATE, "label", "namespace", "hooked-new", "fallgate.dev/tier=a"
    ),
    change(
        "a label of ours, changed",
        "Namespace",
        "hooked-changed",
        VALIDATE,
        *("label", "namespace", "hooked-changed", "--overwrite", "fallgate.dev/tier=b"),
    ),
    change(
        "a label of ours, gone", "Namespace", "hooked-gone", VALIDATE, "label", "namespace", "hooked-gone", "fallgate.dev/tier-"
    ),
]
STEPS = CLAIMS + PODS + WORKLOADS + OF_THE_CLUSTER


@pytest.fixture(scope="module")
def calls(any_site: Site, any_world: World) -> Callable[[Step], list[str]]:
    """Which calls each step led to, by the decision log."""
    admin, release = any_world.admin, tuple(int(part) for part in any_site.plane.programs.version.split(".")[:2])
    any_world.namespace(HERE, {"mode": "audit"})
    any_world.namespace(LEFT_OUT)
    for name, label in (("new", ""), ("changed", "a"), ("gone", "a")):
        any_world.namespace(f"hooked-{name}", {"tier": label} if label else None)
    for kind, names in (
        ("namespace", ("hooked-plain", "hooked-labelled")),
        ("deviceclass", ("hooked.example.com", "hooked-other.example.com")),
    ):
        for name in names:
            any_world.mine(kind, name)
    before = len(any_site.decisions())
    for step in STEPS:
        if release >= step.since:
            step.request(admin).fine()
    if release >= (1, 37):
        any_world.mine("devicetaintrule", "hooked")
    admin("delete", "resourceclaim", "system", "-n", "kube-system").fine()
    admin.create(build.claim("last", namespace=HERE)).fine()

    def seen() -> list[Raw]:
        made = any_site.decisions()[before:]
        assert [item for item in made if item["name"] == "last" and item["phase"] == "validate"]
        return made

    decisions = eventually("the last decision is in the log", seen)

    def of(step: Step) -> list[str]:
        if release < step.since:
            pytest.skip(f"{step.kind} is known from {step.since} on")
        about = (step.kind, step.name, step.operation)
        return sorted({item["phase"] for item in decisions if (item["kind"], item["name"], item["operation"]) == about})

    return of


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.about.replace(" ", "-"))
def test_what_is_asked(calls: Callable[[Step], list[str]], step: Step) -> None:
    assert calls(step) == step.calls
