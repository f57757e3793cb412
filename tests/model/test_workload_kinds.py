"""Controllers with one or several pod templates, and kinds that policies add."""

from __future__ import annotations

from typing import Any

import pytest

from webhook.model.pod import Workload
from webhook.model.workload_kinds import WorkloadKind
from webhook.rulekit.subject import read_subjects

POD: dict[str, Any] = {"metadata": {}, "spec": {"containers": [{"name": "main"}]}}


def templates(api: str, kind: str, spec: Any, *more: WorkloadKind) -> list[tuple[str, int | None, bool]]:
    raw = {"apiVersion": api, "kind": kind, "metadata": {"name": "x", "namespace": "a"}, "spec": spec}
    group = api.rpartition("/")[0]
    found = read_subjects(group, kind, raw, more)
    assert all(isinstance(item, Workload) for item in found)
    return [(item.pod.pointer, item.replicas, item.gang) for item in found if isinstance(item, Workload)]


@pytest.mark.parametrize(
    ("api", "kind", "spec", "found"),
    [
        ("apps/v1", "Deployment", {"replicas": 3, "template": POD}, [("/spec/template", 3, False)]),
        ("apps/v1", "Deployment", {"replicas": 3}, []),
        (
            "jobset.x-k8s.io/v1alpha2",
            "JobSet",
            {
                "replicatedJobs": [
                    {"name": "leader", "template": {"spec": {"template": POD}}},
                    {"name": "workers", "template": {"spec": {"parallelism": 4, "template": POD}}},
                ]
            },
            [
                ("/spec/replicatedJobs/0/template/spec/template", 1, True),
                ("/spec/replicatedJobs/1/template/spec/template", 4, True),
            ],
        ),
        (
            "leaderworkerset.x-k8s.io/v1",
            "LeaderWorkerSet",
            {"replicas": 2, "leaderWorkerTemplate": {"size": 8, "workerTemplate": POD}},
            [("/spec/leaderWorkerTemplate/workerTemplate", 8, True)],
        ),
        (
            "kubeflow.org/v1",
            "PyTorchJob",
            {"pytorchReplicaSpecs": {"Master": {"replicas": 1, "template": POD}, "Worker": {"replicas": 7, "template": POD}}},
            [
                ("/spec/pytorchReplicaSpecs/Master/template", 1, True),
                ("/spec/pytorchReplicaSpecs/Worker/template", 7, True),
            ],
        ),
        (
            "ray.io/v1",
            "RayCluster",
            {"headGroupSpec": {"template": POD}, "workerGroupSpecs": [{"replicas": 5, "template": POD}]},
            [("/spec/headGroupSpec/template", None, True), ("/spec/workerGroupSpecs/0/template", 5, True)],
        ),
        ("ray.io/v1", "RayJob", {"rayClusterSpec": {"workerGroupSpecs": "odd"}}, []),
    ],
)
def test_every_pod_template_is_a_subject(api: str, kind: str, spec: Any, found: list[Any]) -> None:
    assert templates(api, kind, spec) == found


def test_a_key_with_a_slash_is_escaped() -> None:
    kind = WorkloadKind(group="example.com", kind="Fleet", template="/spec/*/template", replicas="/spec/*/replicas")
    spec = {"a/b": {"template": POD, "replicas": 2}}
    assert templates("example.com/v1", "Fleet", spec, kind) == [("/spec/a~1b/template", 2, False)]
