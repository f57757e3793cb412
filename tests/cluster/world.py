"""What a test puts into the cluster: nodes with cards, classes, namespaces. All of it is taken out again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from tests import build
from tests.cluster.controlplane import ControlPlane
from tests.cluster.kubectl import Kubectl, Raw, Said
from tests.cluster.waiting import eventually

H100, A100 = "NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-40GB"
STACK = "example.com/gpu-stack"
_RUN = re.compile(r", review [0-9a-f]{8}|@[0-9a-f]{7}\b")


class World:
    """The objects of one test file."""

    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane
        self.admin: Kubectl = plane.kubectl()
        self._made: list[tuple[str, str]] = []
        self._namespaces: list[str] = []

    def namespace(self, name: str, labels: Mapping[str, str] | None = None, *, members: Iterable[str] = ("ada",)) -> str:
        """A namespace that the members may edit, ready for pods."""
        made = build.namespace(name, {f"fallgate.dev/{key}": value for key, value in (labels or {}).items()})
        eventually(
            f"namespace {name} can be made", lambda: self.admin.create(made).fine(), within=60
        )  # a former one may be going
        self._namespaces.append(name)
        for member in members:
            self.admin("create", "rolebinding", member, "--clusterrole=workload-author", f"--user={member}", "-n", name).fine()
        if not self.plane.full:
            self.admin("create", "serviceaccount", "default", "-n", name).fine()
        eventually(
            f"ServiceAccount default of {name} is there",
            lambda: self.admin("get", "serviceaccount", "default", "-n", name).code == 0,
        )
        return name

    def node(
        self, name: str, *devices: Raw, labels: Mapping[str, str] | None = None, plugin: Mapping[str, Any] | None = None
    ) -> str:
        """A ready node with these devices in a slice of its own; `plugin` is what device plugins advertise there."""
        room = {"cpu": "64", "memory": "512Gi", "pods": "110", **(plugin or {})}
        made = build.node(name, {"kubernetes.io/hostname": name, **(labels or {})}, allocatable=room)
        made["status"]["conditions"] = [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]
        self.put(made)
        # The API server taints every new node until its kubelet reports; nobody does here.
        self.admin("patch", "node", name, "--type=merge", "-p", '{"spec":{"taints":null}}').fine()
        if devices:
            self.put(build.device_slice(name, *devices))
        return name

    def advertise(self, node: str, **resources: str) -> None:
        """What device plugins advertise on a node from now on, as the kubelet would report it; `gpu` is nvidia.com/gpu."""
        counts = ",".join(f'"nvidia.com/{key}":"{value}"' for key, value in resources.items())
        patch = f'{{"status":{{"capacity":{{{counts}}},"allocatable":{{{counts}}}}}}}'
        self.admin("patch", "node", node, "--subresource=status", "--type=merge", "-p", patch).fine()

    def device_class(self, name: str = build.NVIDIA, *selectors: str, **fields: Any) -> str:
        """A DeviceClass."""
        self.put(build.device_class(name, *selectors, **fields))
        return name

    def put(self, thing: Raw) -> None:
        """A cluster-scoped object."""
        self.admin.create(thing).fine()
        self.mine(thing["kind"], thing["metadata"]["name"])

    def mine(self, kind: str, name: str) -> None:
        """Another object to be taken out at the end."""
        self._made.append((kind, name))

    def clear(self) -> None:
        """Take everything out, last things first. Namespaces vanish in the background."""
        for name in self._namespaces:
            self.admin("delete", "deployments,statefulsets,jobs,cronjobs,daemonsets", "--all", "-n", name, "--wait=false")
            self.admin("delete", "pods", "--all", "-n", name, "--force", "--grace-period=0", "--wait=false")
            self.admin("delete", "resourceclaims", "--all", "-n", name, "--wait=false")
            self.admin("delete", "namespace", name, "--wait=false")
        for kind, name in reversed(self._made):
            self.admin("delete", kind, name, "--ignore-not-found", "--wait=false")
        if self.plane.full:
            eventually("no claim of it holds a device any more", lambda: not self._left(), within=60)

    def _left(self) -> list[str]:
        found = self.admin.items("resourceclaims", "-A")
        return [item["metadata"]["name"] for item in found if item["metadata"]["namespace"] in self._namespaces]


def h100(*names: str) -> list[Raw]:
    """H100s of 80 GB."""
    return [build.gpu(name, H100, "81559Mi", architecture="Hopper") for name in names or ("gpu-0",)]


def a100(*names: str) -> list[Raw]:
    """A100s of 40 GB."""
    return [build.gpu(name, A100, "40Gi", architecture="Ampere") for name in names or ("gpu-0", "gpu-1")]


def product(name: str) -> str:
    """A selector for cards of that product."""
    return f'device.attributes["{build.NVIDIA}"].productName == "{name}"'


def scheduled(kubectl: Kubectl, namespace: str, pod: str, *, within: float = 30.0) -> str:
    """The node that the scheduler gives the pod. Raises TooLate with what its events say."""

    def look() -> str:
        found = kubectl.get("pod", pod, "-n", namespace)
        node = found["spec"].get("nodeName", "")
        assert node, [item.get("message") for item in found.get("status", {}).get("conditions", [])]
        return str(node)

    return eventually(f"pod {namespace}/{pod} is scheduled", look, within=within)


def claim_of(kubectl: Kubectl, namespace: str, pod: str) -> Raw:
    """The claim that was generated for the only claim of a pod."""

    def look() -> Raw:
        statuses = kubectl.get("pod", pod, "-n", namespace)["status"].get("resourceClaimStatuses") or [{}]
        assert statuses[0].get("resourceClaimName"), "the pod has no generated claim yet"
        return kubectl.get("resourceclaim", statuses[0]["resourceClaimName"], "-n", namespace)

    return eventually(f"a claim is generated for pod {namespace}/{pod}", look)


def allocated(claim: Raw) -> list[tuple[str, str]]:
    """What a claim was given: (request or request/alternative, device)."""
    results = claim.get("status", {}).get("allocation", {}).get("devices", {}).get("results", [])
    return [(item["request"], item["device"]) for item in results]


def ours(said: Said) -> list[str]:
    """The warnings that are not the API server's own about old versions."""
    return [line for line in said.warnings if " is deprecated in v1." not in line]


def told(message: str) -> str:
    """A message without what differs from run to run: the review's uid and the policies' digests."""
    return _RUN.sub("", message)


def denied(text: str) -> str:
    """What Fallgate said in a refusal, without what the API server and kubectl put in front of it."""
    return told(text.partition(" denied the request: ")[2]).rstrip("\n")
