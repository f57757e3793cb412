"""Pods, and the pod templates inside controllers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.build import container, controller, node_affinity, pod, pod_spec
from webhook.model.pod import NodeToleration, PodClaim
from webhook.model.pod_reading import read_pod, read_workload
from webhook.model.workload_kinds import BUILT_IN_WORKLOADS, WorkloadKind

KINDS = {kind.kind: kind for kind in BUILT_IN_WORKLOADS}


def test_claims_of_a_pod_with_their_pointers() -> None:
    read = read_pod(pod("p", templates={"gpu": "one-gpu"}, claims={"nic": "my-nic"}))
    assert read.claims == (
        PodClaim(name="gpu", pointer="/spec/resourceClaims/0", template_name="one-gpu"),
        PodClaim(name="nic", pointer="/spec/resourceClaims/1", claim_name="my-nic"),
    )


def test_the_source_of_before_1_31() -> None:
    raw = pod("p", resourceClaims=[{"name": "gpu", "source": {"resourceClaimTemplateName": "one-gpu"}}])
    assert read_pod(raw).claims[0].template_name == "one-gpu"


def test_an_entry_that_refers_to_something_else_has_no_names() -> None:
    raw = pod("p", resourceClaims=[{"name": "gpu", "clusterResourceClaimTemplateName": "x"}])
    assert read_pod(raw).claims[0] == PodClaim(name="gpu", pointer="/spec/resourceClaims/0")


def test_containers_init_containers_and_sidecars() -> None:
    init = [container("prepare", extended={"nvidia.com/gpu": 1}), container("proxy", restartPolicy="Always")]
    raw = pod("p", container("main", ["gpu", {"name": "nic", "request": "port"}]), initContainers=init)
    read = read_pod(raw)
    assert [(item.name, item.kind, item.pointer) for item in read.containers] == [
        ("prepare", "init", "/spec/initContainers/0"),
        ("proxy", "sidecar", "/spec/initContainers/1"),
        ("main", "container", "/spec/containers/0"),
    ]
    first, second = read.containers[2].claims
    assert (first.name, first.request, first.pointer) == ("gpu", "", "/spec/containers/0/resources/claims/0")
    assert (second.name, second.request) == ("nic", "port")


@pytest.mark.parametrize(
    ("resources", "extended"),
    [
        ({"limits": {"nvidia.com/gpu": "2"}}, {"nvidia.com/gpu": 2}),
        ({"limits": {"nvidia.com/gpu": 2}}, {"nvidia.com/gpu": 2}),
        ({"requests": {"nvidia.com/gpu": "1"}}, {"nvidia.com/gpu": 1}),
        ({"requests": {"nvidia.com/gpu": "1"}, "limits": {"nvidia.com/gpu": "3"}}, {"nvidia.com/gpu": 3}),
        ({"limits": {"example.com/many": "1k", "example.com/whole": "2.0", "example.com/float": 3.0}},
         {"example.com/many": 1000, "example.com/whole": 2, "example.com/float": 3}),
        ({"limits": {"cpu": "4", "memory": "1Gi", "nvidia.com/gpu": "0"}}, {}),
        ({"limits": {"example.com/a": "1.5", "example.com/b": "-1", "example.com/c": True, "example.com/d": "x",
                     "example.com/e": None, "example.com/f": "9" * 40}}, {}),
    ],
)  # fmt: skip
def test_extended_resources_are_whole_numbers_with_a_slash(resources: dict[str, Any], extended: dict[str, int]) -> None:
    read = read_pod({"spec": {"containers": [{"name": "main", "resources": resources}]}})
    assert read.containers[0].extended == extended


def test_extended_resources_of_all_containers_are_summed() -> None:
    raw = pod("p", container("a", extended={"x.io/y": 1}), container("b", extended={"x.io/y": 2, "x.io/z": 3}))
    assert read_pod(raw).extended == {"x.io/y": 3, "x.io/z": 3}


def test_placement() -> None:
    tolerations = [{"key": "gpu"}, {"operator": "Exists", "effect": "NoSchedule"}]
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}]}
    raw = pod(
        "p", nodeName="node-1", nodeSelector={"a": "b"}, affinity=node_affinity(term, {}), tolerations=tolerations,
        schedulerName="volcano", schedulingGroup={"podGroupName": "group-1"},
    )  # fmt: skip
    read = read_pod(raw)
    assert (read.node_name, read.node_selector, read.scheduler_name) == ("node-1", {"a": "b"}, "volcano")
    assert read.required_terms == (term, {})
    assert read.tolerations == (NodeToleration(key="gpu"), NodeToleration(operator="Exists", effect="NoSchedule"))
    assert read.tolerations[0].operator == "Equal"
    assert read.scheduling_group == "group-1"


@pytest.mark.parametrize(
    ("affinity", "terms"),
    [
        (None, None),
        ({"nodeAffinity": {}}, None),
        ({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}}, ()),
        ({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": None}}}, ()),
    ],
)
def test_no_required_affinity_is_not_the_same_as_one_without_terms(affinity: Any, terms: Any) -> None:
    assert read_pod({"spec": {"affinity": affinity}}).required_terms == terms


def test_status() -> None:
    status = {
        "phase": "Running",
        "extendedResourceClaimStatus": {
            "requestMappings": [
                {"containerName": "main", "resourceName": "nvidia.com/gpu", "requestName": "container-0-request-0"}
            ],
        },
    }
    read = read_pod(pod("p", status=status))
    assert read.phase == "Running"
    assert read.extended_by_dra == {"nvidia.com/gpu"}


@pytest.mark.parametrize(
    ("kind", "api_version", "replicas", "gang"),
    [
        ("Deployment", "apps/v1", 8, False),
        ("StatefulSet", "apps/v1", 8, True),
        ("ReplicaSet", "apps/v1", 8, False),
        ("DaemonSet", "apps/v1", None, False),
    ],
)
def test_controllers_with_a_pod_template(kind: str, api_version: str, replicas: int | None, gang: bool) -> None:
    spec = pod_spec(templates={"gpu": "one-gpu"})
    raw = controller(kind, "web", spec, api_version=api_version, replicas=replicas, pod_meta={"annotations": {"a": "b"}})
    read = read_workload(raw, KINDS[kind])
    assert (read.api_version, read.kind, read.meta.name) == (api_version, kind, "web")
    assert (read.replicas, read.gang) == (replicas, gang)
    assert read.pod.pointer == "/spec/template"
    assert (read.pod.meta.namespace, read.pod.meta.annotations) == ("team-a", {"a": "b"})
    assert read.pod.claims[0].pointer == "/spec/template/spec/resourceClaims/0"
    assert read.pod.containers[0].pointer == "/spec/template/spec/containers/0"


@pytest.mark.parametrize(("parallelism", "replicas"), [(None, 1), (4, 4), ("x", 1)])
def test_jobs_run_as_many_pods_as_their_parallelism(parallelism: Any, replicas: int) -> None:
    inner = {"parallelism": parallelism, "template": {"spec": pod_spec(templates={"gpu": "t"})}}
    job = read_workload({"apiVersion": "batch/v1", "kind": "Job", "spec": inner}, KINDS["Job"])
    assert (job.replicas, job.gang) == (replicas, True)
    cron = read_workload(
        {"apiVersion": "batch/v1", "kind": "CronJob", "spec": {"jobTemplate": {"spec": inner}}}, KINDS["CronJob"]
    )
    assert (cron.replicas, cron.gang) == (replicas, True)
    assert cron.pod.claims[0].pointer == "/spec/jobTemplate/spec/template/spec/resourceClaims/0"


def test_a_configured_kind_with_its_template_elsewhere() -> None:
    kind = WorkloadKind(group="kubeflow.org", kind="PyTorchJob", template="/spec/pytorchReplicaSpecs/Worker/template")
    raw = {
        "kind": "PyTorchJob",
        "spec": {"pytorchReplicaSpecs": {"Worker": {"template": {"spec": pod_spec(claims={"a": "b"})}}}},
    }
    read = read_workload(raw, kind)
    assert read.pod.claims[0].claim_name == "b"
    assert read.replicas is None


def test_a_pod_template_that_names_a_namespace_keeps_it() -> None:
    raw = controller("Deployment", "web", pod_spec(), pod_meta={"namespace": "team-b"})
    assert read_workload(raw, KINDS["Deployment"]).pod.meta.namespace == "team-b"
