"""The cluster, the policies and the reviews that are measured. Everything is generated; nothing depends on a clock."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

Raw = dict[str, Any]

DEVICES_PER_NODE = 8
#: The size of a Pod's AdmissionReview as kube-apiserver sends it, managedFields included.
REVIEW_BYTES = 6_700

NAMESPACE = "research"
TEMPLATE = "h100-else-a100"
PRODUCTS = (("NVIDIA H100 80GB HBM3", "81559Mi", "Hopper"), ("NVIDIA A100-SXM4-40GB", "40960Mi", "Ampere"))

#: Together with the pack policies/nvidia, which has the catalog and the ownership of the cards.
POLICIES = """\
apiVersion: fallgate.dev/v1alpha1
kind: FallbackCompatibility
metadata: {name: declared-fallbacks}
spec: {mode: enforce, requests: lists}
---
apiVersion: fallgate.dev/v1alpha1
kind: TierFallback
metadata: {name: research-gpus}
spec:
  mode: enforce
  tier: research
  asks:
  - match: {shapes: ["*x h100-*"], deviceClasses: [gpu.nvidia.com]}
    alternatives:
    - {name: a100-pair, model: a100-40gb, countFactor: 2}
---
apiVersion: fallgate.dev/v1alpha1
kind: Checks
metadata: {name: catalogue}
spec: {mode: enforce}
"""


def cluster(nodes: int) -> Iterator[Raw]:
    """Nodes with eight devices each, half of them H100 nodes, half A100 nodes; a class, a namespace, a template."""
    for number in range(nodes):
        name = f"node-{number:04}"
        yield _node(name)
        yield _slice(name, *PRODUCTS[number % 2])
    yield {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "gpu.nvidia.com"},
        "spec": {
            "selectors": [
                {
                    "cel": {
                        "expression": 'device.driver == "gpu.nvidia.com" && device.attributes["gpu.nvidia.com"].type == "gpu"'
                    }
                }
            ]
        },
    }
    yield {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": NAMESPACE, "labels": {"fallgate.dev/tier": "research"}},
    }
    yield {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": TEMPLATE, "namespace": NAMESPACE},
        "spec": {"spec": _claim_spec()},
    }


def pod_review(number: int, size: int = REVIEW_BYTES, kind: str = "Pod") -> bytes:
    """The AdmissionReview of a new Pod with one claim from the template, filled up to `size` bytes with managedFields.

    Under another `kind` it is as long and means nothing to any rule.
    """
    name = f"trainer-{number}"
    request = {
        "uid": f"705ab4f5-0000-4000-8000-{number:012}",
        "kind": {"group": "", "version": "v1", "kind": kind},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "requestKind": {"group": "", "version": "v1", "kind": "Pod"},
        "requestResource": {"group": "", "version": "v1", "resource": "pods"},
        "name": name,
        "namespace": NAMESPACE,
        "operation": "CREATE",
        "userInfo": {
            "username": "system:serviceaccount:kube-system:replicaset-controller",
            "uid": "0b8a6f0e-0000-4000-8000-000000000000",
            "groups": ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"],
        },
        "object": _pod(name),
        "oldObject": None,
        "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
    }
    document: Raw = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}
    filling: Raw = document["request"]["object"]["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]
    missing = size - len(_encoded(document))
    fields: Raw = {}
    while missing > 0:
        key = f'k:{{"name":"VARIABLE_{len(fields):03}"}}'
        fields[key] = {".": {}, "f:name": {}, "f:value": {}}
        missing -= len(_encoded({key: fields[key]}))
    filling["f:env"] = fields
    return _encoded(document)


def _encoded(document: Raw) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


def _node(name: str) -> Raw:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "example.com/gpu-stack": "dra"}},
        "status": {"allocatable": {"cpu": "64", "memory": "512Gi", "pods": "110"}},
    }


def _slice(node: str, product: str, memory: str, architecture: str) -> Raw:
    devices = [
        {
            "name": f"gpu-{index}",
            "attributes": {
                "type": {"string": "gpu"},
                "productName": {"string": product},
                "architecture": {"string": architecture},
                "brand": {"string": "Nvidia"},
                "uuid": {"string": f"GPU-{node}-{index}"},
                "driverVersion": {"version": "570.86.15"},
                "cudaComputeCapability": {"version": "9.0.0"},
            },
            "capacity": {"memory": {"value": memory}},
        }
        for index in range(DEVICES_PER_NODE)
    ]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{node}-gpu.nvidia.com"},
        "spec": {
            "driver": "gpu.nvidia.com",
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "devices": devices,
        },
    }


def _claim_spec() -> Raw:
    def alternative(name: str, count: int, product: str) -> Raw:
        expression = f'device.attributes["gpu.nvidia.com"].productName == "{product}"'
        return {
            "name": name,
            "deviceClassName": "gpu.nvidia.com",
            "allocationMode": "ExactCount",
            "count": count,
            "selectors": [{"cel": {"expression": expression}}],
        }

    (h100, *_), (a100, *_) = PRODUCTS
    return {
        "devices": {
            "requests": [{"name": "gpu", "firstAvailable": [alternative("h100", 1, h100), alternative("a100-pair", 2, a100)]}]
        }
    }


def _pod(name: str) -> Raw:
    environment = [{"name": f"VARIABLE_{index:02}", "value": f"value of variable {index}"} for index in range(12)]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "generateName": "trainer-",
            "namespace": NAMESPACE,
            "uid": "8d9f1a52-0000-4000-8000-000000000000",
            "creationTimestamp": "2027-01-01T00:00:00Z",
            "labels": {"app": "trainer", "pod-template-hash": "6c9f7d9b8"},
            "annotations": {"fallgate.dev/compatible-shapes": "h100-80gb, 2x a100-40gb"},
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "kind": "ReplicaSet",
                    "name": "trainer-6c9f7d9b8",
                    "uid": "5a1d3f52-0000-4000-8000-000000000000",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
            "managedFields": [
                {
                    "manager": "kube-controller-manager",
                    "operation": "Update",
                    "apiVersion": "v1",
                    "time": "2027-01-01T00:00:00Z",
                    "fieldsType": "FieldsV1",
                    "fieldsV1": {"f:metadata": {"f:labels": {".": {}, "f:app": {}}}, "f:spec": {}},
                }
            ],
        },
        "spec": {
            "resourceClaims": [{"name": "accelerator", "resourceClaimTemplateName": TEMPLATE}],
            "containers": [
                {
                    "name": "trainer",
                    "image": "registry.example.com/trainer:1",
                    "command": ["python", "-m", "train"],
                    "env": environment,
                    "resources": {
                        "limits": {"cpu": "8", "memory": "64Gi"},
                        "requests": {"cpu": "8", "memory": "64Gi"},
                        "claims": [{"name": "accelerator"}],
                    },
                    "volumeMounts": [{"name": "token", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}],
                    "terminationMessagePath": "/dev/termination-log",
                    "terminationMessagePolicy": "File",
                    "imagePullPolicy": "IfNotPresent",
                }
            ],
            "volumes": [{"name": "token", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}],
            "tolerations": [_toleration("not-ready"), _toleration("unreachable")],
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst",
            "serviceAccountName": "default",
            "schedulerName": "default-scheduler",
            "priority": 0,
            "enableServiceLinks": True,
            "preemptionPolicy": "PreemptLowerPriority",
        },
        "status": {"phase": "Pending", "qosClass": "Burstable"},
    }


def _toleration(condition: str) -> Raw:
    key = f"node.kubernetes.io/{condition}"
    return {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
