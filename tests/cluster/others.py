"""Kinds of other projects that Fallgate knows. There are only their definitions: nothing acts on their objects."""

from __future__ import annotations

from tests.cluster.kubectl import Raw

#: group -> version, kinds.
_KINDS = {
    "kueue.x-k8s.io": ("v1beta1", ("LocalQueue",)),
    "jobset.x-k8s.io": ("v1alpha2", ("JobSet",)),
    "leaderworkerset.x-k8s.io": ("v1", ("LeaderWorkerSet",)),
    "kubeflow.org": ("v1", ("PyTorchJob", "TFJob", "MPIJob")),
    "ray.io": ("v1", ("RayCluster", "RayJob", "RayService")),
}


def definitions() -> list[Raw]:
    """The CustomResourceDefinitions, which let any spec pass."""
    return [_definition(group, version, kind) for group, (version, kinds) in _KINDS.items() for kind in kinds]


def _definition(group: str, version: str, kind: str) -> Raw:
    plural = kind.lower() + "s"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{plural}.{group}",
            # Their groups are of the projects of Kubernetes, whose definitions carry a note of who has approved them.
            "annotations": {"api-approved.kubernetes.io": "unapproved, of a test"},
        },
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()},
            "versions": [{"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }
