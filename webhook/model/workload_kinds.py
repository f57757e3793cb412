"""Which controllers keep a pod template, and where: the kinds Fallgate knows by itself; policies add others.

A template's place is a JSON pointer in which `*` stands for every entry of a list or every key of an object: a JobSet has as
many pod templates as it has replicated jobs, and each is judged on its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from webhook.model.pointer import join
from webhook.model.tolerant import at


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadKind:
    """Where a controller kind keeps its pod template and its number of pods.

    `template` and `replicas` are JSON pointers ("" for none), in which `*` stands for any key; a `*` in `replicas` is the same
    key as in `template`. `gang`: its pods work as one.
    """

    group: str
    kind: str
    template: str
    replicas: str = ""
    gang: bool = False


#: The controllers of Kubernetes itself.
BUILT_IN_WORKLOADS: tuple[WorkloadKind, ...] = (
    WorkloadKind(group="apps", kind="Deployment", template="/spec/template", replicas="/spec/replicas"),
    WorkloadKind(group="apps", kind="StatefulSet", template="/spec/template", replicas="/spec/replicas", gang=True),
    WorkloadKind(group="apps", kind="ReplicaSet", template="/spec/template", replicas="/spec/replicas"),
    WorkloadKind(group="apps", kind="DaemonSet", template="/spec/template"),
    WorkloadKind(group="batch", kind="Job", template="/spec/template", replicas="/spec/parallelism", gang=True),
    WorkloadKind(
        group="batch",
        kind="CronJob",
        template="/spec/jobTemplate/spec/template",
        replicas="/spec/jobTemplate/spec/parallelism",
        gang=True,
    ),
)


def _gang(group: str, kind: str, template: str, replicas: str = "") -> WorkloadKind:
    return WorkloadKind(group=group, kind=kind, template=template, replicas=replicas, gang=True)


def _ray(kind: str, cluster: str) -> tuple[WorkloadKind, ...]:
    return (
        _gang("ray.io", kind, f"{cluster}/headGroupSpec/template"),
        _gang("ray.io", kind, f"{cluster}/workerGroupSpecs/*/template", f"{cluster}/workerGroupSpecs/*/replicas"),
    )


def _training(kind: str, replicas: str) -> WorkloadKind:
    return _gang("kubeflow.org", kind, f"/spec/{replicas}/*/template", f"/spec/{replicas}/*/replicas")


#: Controllers of others that are met beside DRA drivers.
PRESET_WORKLOADS: tuple[WorkloadKind, ...] = (
    _gang(
        "jobset.x-k8s.io",
        "JobSet",
        "/spec/replicatedJobs/*/template/spec/template",
        "/spec/replicatedJobs/*/template/spec/parallelism",
    ),
    _gang(
        "leaderworkerset.x-k8s.io",
        "LeaderWorkerSet",
        "/spec/leaderWorkerTemplate/workerTemplate",
        "/spec/leaderWorkerTemplate/size",
    ),
    _gang("leaderworkerset.x-k8s.io", "LeaderWorkerSet", "/spec/leaderWorkerTemplate/leaderTemplate", "/spec/replicas"),
    _training("PyTorchJob", "pytorchReplicaSpecs"),
    _training("TFJob", "tfReplicaSpecs"),
    _training("MPIJob", "mpiReplicaSpecs"),
    *_ray("RayCluster", "/spec"),
    *_ray("RayJob", "/spec/rayClusterSpec"),
    *_ray("RayService", "/spec/rayClusterConfig"),
)

KNOWN_WORKLOADS = BUILT_IN_WORKLOADS + PRESET_WORKLOADS


def expanded(kind: WorkloadKind, raw: object) -> Iterator[WorkloadKind]:
    """One kind per pod template that `raw` really has, its pointers without `*`. A kind without `*` is given as it is."""
    if "*" not in kind.template:
        if at(raw, kind.template) is not None:
            yield kind
        return
    before, after = kind.template.split("/*", 1)
    for key in _keys(at(raw, before)):
        replicas = kind.replicas.replace("/*", join("", key), 1)
        yield from expanded(replace(kind, template=join(before, key) + after, replicas=replicas), raw)


def _keys(value: object) -> Iterator[str | int]:
    if isinstance(value, dict):
        yield from value
    elif isinstance(value, list):
        yield from range(len(value))
