"""Dumps without the names of people's things."""

from __future__ import annotations

import json
from typing import Any

from tests.build import (
    NVIDIA,
    claim,
    device_class,
    device_slice,
    exactly,
    gpu,
    namespace,
    node,
    owned_by,
    pod,
    result,
    template,
)
from webhook.cli.anonymising import anonymised

OBJECTS: list[dict[str, Any]] = [
    node("dgx-17.acme.example", {"kubernetes.io/hostname": "dgx-17.acme.example", "pool": "h100"}),
    node("dgx-18.acme.example"),
    device_slice("dgx-17.acme.example", gpu("gpu-0", uuid="GPU-4404041a"), gpu("gpu-1", uuid="GPU-1aa10000")),
    device_class(),
    namespace("nvidia", {"fallgate.dev/tier": "research", "cost-centre": "4711"}, uid="ns-uid"),
    template(
        "secret-project",
        exactly("gpu", NVIDIA, 'device.attributes["gpu.nvidia.com"].uuid == "GPU-4404041a"'),
        namespace="nvidia",
        annotations={"fallgate.dev/compatible-shapes": "secret-project: gpu"},
    ),
    pod(
        "secret-project-0",
        namespace="nvidia",
        templates={"gpu": "secret-project"},
        nodeName="dgx-17.acme.example",
        meta={"uid": "pod-uid", "ownerReferences": owned_by("Job", "secret-project", "job-uid", "batch/v1")},
    ),
    claim(
        "secret-project-0-gpu-x7x7x",
        namespace="nvidia",
        ownerReferences=owned_by("Pod", "secret-project-0", "pod-uid"),
        allocated=[result("gpu-0", pool="dgx-17.acme.example")],
    ),
]


def by_kind() -> dict[str, dict[str, Any]]:
    """The anonymised objects by kind; of nodes the first."""
    found: dict[str, dict[str, Any]] = {}
    for raw in anonymised(OBJECTS):
        found.setdefault(raw["kind"], raw)
    return found


def test_no_name_is_left() -> None:
    said = str(anonymised(OBJECTS))
    for name in ("acme", "secret", "4711", "GPU-4404041a", "GPU-1aa10000", "pod-uid", "job-uid", "ns-uid"):
        assert name not in said


def test_the_same_name_is_the_same_everywhere() -> None:
    found = by_kind()
    where = found["Node"]["metadata"]["name"]
    assert where == "node-1"
    assert found["Node"]["metadata"]["labels"] == {"kubernetes.io/hostname": where, "pool": "h100"}
    assert found["ResourceSlice"]["spec"]["nodeName"] == found["ResourceSlice"]["spec"]["pool"]["name"] == where
    assert found["Pod"]["spec"]["nodeName"] == where
    [allocated] = found["ResourceClaim"]["status"]["allocation"]["devices"]["results"]
    assert allocated == {"request": "gpu", "driver": NVIDIA, "pool": where, "device": "gpu-0"}
    assert found["Pod"]["spec"]["resourceClaims"] == [
        {"name": "gpu", "resourceClaimTemplateName": found["ResourceClaimTemplate"]["metadata"]["name"]}
    ]
    assert found["ResourceClaim"]["metadata"]["ownerReferences"][0]["uid"] == found["Pod"]["metadata"]["uid"]
    assert found["ResourceClaim"]["metadata"]["ownerReferences"][0]["name"] == found["Pod"]["metadata"]["name"]


def test_what_policies_speak_of_stays() -> None:
    found = by_kind()
    assert found["DeviceClass"] == device_class()
    assert found["Namespace"]["metadata"]["labels"] == {"fallgate.dev/tier": "research"}
    [card, _] = found["ResourceSlice"]["spec"]["devices"]
    assert found["ResourceSlice"]["spec"]["driver"] == "gpu.nvidia.com"
    assert card["attributes"]["productName"] == {"string": "NVIDIA H100 80GB HBM3"}
    [request] = found["ResourceClaimTemplate"]["spec"]["spec"]["devices"]["requests"]
    assert request["exactly"]["deviceClassName"] == "gpu.nvidia.com"
    serial = card["attributes"]["uuid"]["string"]
    assert request["exactly"]["selectors"] == [
        {"cel": {"expression": f'device.attributes["gpu.nvidia.com"].uuid == "{serial}"'}}
    ]


def test_the_order_of_names_is_the_same() -> None:
    nodes = [raw["metadata"]["name"] for raw in anonymised([node("b"), node("c"), node("a")])]
    assert nodes == ["node-2", "node-3", "node-1"]
    many = [raw["metadata"]["name"] for raw in anonymised([node(f"n{i:02}") for i in range(12)])]
    assert many == sorted(many)


def test_namespaces_that_everybody_has_keep_their_names() -> None:
    [raw] = anonymised([namespace("kube-system")])
    assert raw["metadata"]["name"] == "kube-system"


def test_what_is_only_spoken_of_has_other_names_too() -> None:
    """A pod that has finished, objects that are gone, the short name of a machine."""
    machine = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "gpu17.acme.corp", "labels": {"kubernetes.io/hostname": "gpu17"}},
    }
    owned = {
        "kind": "ResourceClaim",
        "metadata": {"name": "c", "namespace": "default", "generateName": "llama-gpu-"},
        "status": {
            "reservedFor": [{"resource": "pods", "name": "llama-pod", "uid": "uid-of-llama"}],
            "allocation": {
                "devices": {
                    "results": [{"pool": "gpu18.acme.corp", "device": "gpu-0", "driver": "gpu.nvidia.com", "request": "r"}]
                },
                "nodeSelector": {
                    "nodeSelectorTerms": [
                        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["gpu18.acme.corp"]}]}
                    ]
                },
            },
        },
    }
    user = {
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default"},
        "spec": {
            "resourceClaims": [
                {"name": "a", "resourceClaimTemplateName": "llama-template"},
                {"name": "b", "resourceClaimName": "llama-b"},
            ]
        },
        "status": {"resourceClaimStatuses": [{"name": "a", "resourceClaimName": "llama-a"}]},
    }
    found = anonymised([machine, owned, user])
    assert [word for word in ("llama", "gpu17", "gpu18", "acme") if word in json.dumps(found)] == []
    assert found[0]["metadata"]["labels"] == {"kubernetes.io/hostname": "host-1"}
    allocation = found[1]["status"]["allocation"]
    assert (
        allocation["devices"]["results"][0]["pool"]
        == allocation["nodeSelector"]["nodeSelectorTerms"][0]["matchFields"][0]["values"][0]
        == "node-2"
    )
