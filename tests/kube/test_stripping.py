"""What is kept of an object: what rules read of it, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from tests.build import claim, container, device_slice, gpu, node, node_affinity, pod, quota, result, template
from webhook.fleet.build import build_fleet
from webhook.kube.kinds import FEATURES, READ, kinds_read
from webhook.kube.reading import read_object
from webhook.kube.stripping import asks_for_devices, stripped
from webhook.model.workload_kinds import WorkloadKind
from webhook.settings import FEATURES as OPTION_FEATURES

META = {
    "name": "x",
    "namespace": "team-a",
    "uid": "u",
    "resourceVersion": "7",
    "generation": 3,
    "managedFields": [{"manager": "kubectl"}],
    "labels": {"kueue.x-k8s.io/queue-name": "q"},
    "annotations": {
        "kubectl.kubernetes.io/last-applied-configuration": "{...}",
        "fallgate.dev/injected": "yes",
        "team.fallgate.dev/x": "kept",
        "resource.kubernetes.io/pod-claim-name": "gpu",
        "notfallgate.dev/x": "gone",
    },
    "ownerReferences": [{"kind": "Pod", "uid": "p"}],
}


def test_metadata() -> None:
    assert stripped({"metadata": META}, "ReplicaSet", "apps/v1") == {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": "x",
            "namespace": "team-a",
            "uid": "u",
            "labels": {"kueue.x-k8s.io/queue-name": "q"},
            "ownerReferences": [{"kind": "Pod", "uid": "p"}],
            "annotations": {
                "fallgate.dev/injected": "yes",
                "team.fallgate.dev/x": "kept",
                "resource.kubernetes.io/pod-claim-name": "gpu",
            },
        },
    }


def test_a_pod_loses_its_body() -> None:
    raw = pod(
        "p",
        container("main", ["gpu"], {"nvidia.com/gpu": 1}, image="i", env=[{"name": "PASSWORD", "value": "x"}], command=["sh"]),
        templates={"gpu": "t"},
        nodeName="n",
        volumes=[{"name": "v"}],
        affinity={**node_affinity({"matchExpressions": []}), "podAffinity": {"x": 1}},
        status={"phase": "Running", "podIP": "10.0.0.1", "containerStatuses": [{}]},
    )
    assert stripped(raw, "Pod", "v1") == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "team-a"},
        "spec": {
            "nodeName": "n",
            "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "t"}],
            "affinity": node_affinity({"matchExpressions": []}),
            "containers": [
                {"name": "main", "resources": {"claims": [{"name": "gpu"}], "limits": {"nvidia.com/gpu": 1}}},
            ],
        },
        "status": {"phase": "Running"},
    }


def test_a_node_loses_its_images() -> None:
    raw = node(
        "n", {"zone": "a"}, taints=[{"key": "k", "effect": "NoSchedule"}], allocatable={"cpu": "8", "nvidia.com/gpu": "0"}
    )
    raw["status"]["images"] = [{"names": ["a"]}]
    raw["spec"]["podCIDR"] = "10.0.0.0/24"
    assert stripped(raw, "Node", "v1") == {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n", "labels": {"zone": "a"}},
        "spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]},
        "status": {"allocatable": {"nvidia.com/gpu": "0"}, "capacity": {"nvidia.com/gpu": "0"}},
    }


@pytest.mark.parametrize(
    "raw",
    [
        node(
            "n", {"zone": "a"}, taints=[{"key": "k", "effect": "NoSchedule"}], allocatable={"cpu": "8", "nvidia.com/gpu": "1"}
        ),
        device_slice("n", gpu("gpu-0"), gpu("gpu-1")),
        claim("c", allocated=[result("gpu-0", pool="n")], annotations={"resource.kubernetes.io/pod-claim-name": "gpu"}),
        template("t"),
        quota("q", {"a": "1"}, {"a": "0"}),
        pod(
            "p",
            container("c", [], {"nvidia.com/gpu": 2}),
            container("d", [{"name": "gpu", "request": "r"}]),
            initContainers=[container("i", [], {"nvidia.com/gpu": 4}, restartPolicy="Always")],
            templates={"gpu": "t"},
            nodeSelector={"zone": "a"},
            tolerations=[{"operator": "Exists"}],
            schedulerName="s",
            nodeName="n",
            status={
                "phase": "Running",
                "resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "c"}],
                "extendedResourceClaimStatus": {
                    "resourceClaimName": "e",
                    "requestMappings": [{"resourceName": "nvidia.com/gpu"}],
                },
            },
        ),
    ],
    ids=lambda raw: str(raw["kind"]),
)
def test_nothing_that_is_read_is_lost(raw: dict[str, Any]) -> None:
    kind = next(kind for kind in READ if kind.kind == raw["kind"])
    fleet = build_fleet([raw])
    whole = {
        "slices": fleet.inventory.slice_named,
        "nodes": fleet.nodes.by_name.get,
        "claims": fleet.claims.get,
        "templates": fleet.templates.get,
        "quotas": lambda key: fleet.quotas[key[0]][0],
        "pods": fleet.pods.get,
    }[kind.part]
    kept = read_object(raw, kind.part, raw["kind"], raw["apiVersion"])
    assert kept.value == whole(kept.key)


@pytest.mark.parametrize(
    ("raw", "asks"),
    [
        (pod("p", container("c", [], {"cpu": "1", "hugepages-2Mi": "2Mi"})), False),
        (pod("p", container("c", [], {"example.com/card": "1"})), True),
        (pod("p", container("c"), initContainers=[container("i", [], {"example.com/card": "1"})]), True),
        (pod("p", templates={"gpu": "t"}), True),
        ({"spec": None}, False),
    ],
)
def test_which_pods_ask_for_devices(raw: dict[str, Any], asks: bool) -> None:
    assert asks_for_devices(raw) is asks


def test_features_are_the_same_everywhere() -> None:
    assert tuple(FEATURES) == OPTION_FEATURES
    assert {kind.feature for kind in kinds_read(FEATURES)} == {"", *FEATURES}
    assert all(kind.required for kind in kinds_read(()))


def test_workload_kinds_of_policies_are_read_once_each() -> None:
    own = WorkloadKind(group="example.com", kind="Training", template="/a")
    other = WorkloadKind(group="example.com", kind="Training", template="/b")
    found = [kind for kind in kinds_read({"owners"}, (own, other)) if kind.kind == "Training"]
    assert [(kind.group, kind.part, kind.metadata_only) for kind in found] == [("example.com", "controllers", True)]
