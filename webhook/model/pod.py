"""Pods and the pod templates inside workload controllers.

`pointer` is the JSON pointer of the object that holds the pod's `metadata` and `spec`: "" for a Pod, `/spec/template` for a
Deployment, `/spec/jobTemplate/spec/template` for a CronJob.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from webhook.model.meta import Meta

#: An init container with restartPolicy Always is a sidecar: it holds its devices as long as the containers do.
ContainerKind = Literal["init", "sidecar", "container"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PodClaim:
    """One entry of spec.resourceClaims.

    Both names are "" when the entry refers to something we do not know (`clusterResourceClaimTemplateName`, ...): then it
    cannot be judged.
    """

    name: str
    pointer: str
    claim_name: str = ""
    template_name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerClaim:
    """One entry of a container's resources.claims. Empty `request` means all requests of the claim."""

    name: str
    pointer: str
    request: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """A container's device asks. `extended` maps a resource name with a `/` in it to its amount (limits, else requests)."""

    name: str
    kind: ContainerKind
    pointer: str
    claims: tuple[ContainerClaim, ...] = ()
    extended: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeToleration:
    """A pod's toleration of node taints, defaults applied."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """A pod, or a pod template (then `meta` is the template's metadata).

    `required_terms` are the raw nodeSelectorTerms of required node affinity, None when there is no required affinity.
    `phase` is status.phase. `extended_by_dra` are the extended resources that a claim of the scheduler's serves
    (status.extendedResourceClaimStatus).
    """

    meta: Meta
    pointer: str = ""
    node_name: str = ""
    node_selector: Mapping[str, str] = field(default_factory=dict)
    required_terms: tuple[Mapping[str, Any], ...] | None = None
    tolerations: tuple[NodeToleration, ...] = ()
    scheduler_name: str = ""
    scheduling_group: str = ""
    claims: tuple[PodClaim, ...] = ()
    containers: tuple[Container, ...] = ()
    phase: str = ""
    extended_by_dra: frozenset[str] = frozenset()

    @property
    def extended(self) -> Mapping[str, int]:
        """All extended resources asked by any container, summed."""
        total: dict[str, int] = {}
        for container in self.containers:
            for name, amount in container.extended.items():
                total[name] = total.get(name, 0) + amount
        return total


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A controller with a pod template.

    `replicas` is how many pods run at a time (None where the kind does not say: DaemonSet). `gang`: its pods work as one
    (StatefulSet, parallel Job), so that a single slower shape holds up all of them.
    """

    api_version: str
    kind: str
    meta: Meta
    pod: Pod
    replicas: int | None
    gang: bool
