"""Which kinds are read of a cluster, for what, and what is unknown without them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from webhook.fleet.reading import KUEUE_GROUP, RESOURCE_GROUP
from webhook.model.workload_kinds import BUILT_IN_WORKLOADS, PRESET_WORKLOADS, WorkloadKind

#: Where objects of a kind go: a field of webhook.fleet.changes.Changes; `caps` are no part of a fleet.
Part: TypeAlias = Literal[
    "slices",
    "classes",
    "taint_rules",
    "nodes",
    "namespaces",
    "quotas",
    "claims",
    "templates",
    "pods",
    "controllers",
    "local_queues",
    "caps",
]

#: resource.k8s.io versions that Fallgate understands, the best first. A server that has further ones has one of these too.
RESOURCE_VERSIONS: Final = ("v1", "v1beta2", "v1beta1", "v1alpha3")

#: What can be left out, and what is then unknown.
FEATURES: Final[Mapping[str, str]] = {
    "pods": "what device-plugin pods hold, and which pod a generated claim is for",
    "quotas": "whether a quota leaves room for what is injected",
    "owners": "what the controllers above a pod declare",
    "taint-rules": "which devices a DeviceTaintRule takes away",
    "queues": "in which namespaces Kueue admits workloads",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind to list and watch.

    `feature` is "" for a required kind, else a key of FEATURES. `versions` are those to choose from,
    the best first; empty for whichever the server prefers. `metadata_only`: nothing but metadata is asked for. `query` narrows
    down which objects.
    """

    group: str
    kind: str
    part: Part
    feature: str = ""
    versions: tuple[str, ...] = ("v1",)
    metadata_only: bool = False
    query: Mapping[str, str] = field(default_factory=dict)

    @property
    def required(self) -> bool:
        """Whether nothing is decided before it was listed."""
        return not self.feature


#: A pod that has finished holds nothing, and clusters keep very many of them.
_NOT_FINISHED: Final = {"fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"}

READ: Final[tuple[Kind, ...]] = (
    Kind(group=RESOURCE_GROUP, kind="ResourceSlice", part="slices", versions=RESOURCE_VERSIONS),
    Kind(group=RESOURCE_GROUP, kind="DeviceClass", part="classes", versions=RESOURCE_VERSIONS),
    Kind(group=RESOURCE_GROUP, kind="ResourceClaimTemplate", part="templates", versions=RESOURCE_VERSIONS),
    Kind(group=RESOURCE_GROUP, kind="ResourceClaim", part="claims", versions=RESOURCE_VERSIONS),
    Kind(group="", kind="Node", part="nodes"),
    Kind(group="", kind="Namespace", part="namespaces", metadata_only=True),
    Kind(group="", kind="ResourceQuota", part="quotas", feature="quotas"),
    Kind(group="", kind="Pod", part="pods", feature="pods", query=_NOT_FINISHED),
    Kind(group=RESOURCE_GROUP, kind="DeviceTaintRule", part="taint_rules", feature="taint-rules", versions=RESOURCE_VERSIONS),
    Kind(group=KUEUE_GROUP, kind="LocalQueue", part="local_queues", feature="queues", versions=(), metadata_only=True),
)


def kinds_read(features: Collection[str], workloads: Iterable[WorkloadKind] = ()) -> tuple[Kind, ...]:
    """The kinds to read with these features. `workloads` are the controllers that policies add to those Fallgate knows."""
    return (
        *(kind for kind in READ if kind.required or kind.feature in features),
        *(_owners(workloads) if "owners" in features else ()),
    )


def _owners(workloads: Iterable[WorkloadKind]) -> Iterator[Kind]:
    """The controllers that can be above a pod. Their objects are read for what their metadata says."""
    named = dict.fromkeys((item.group, item.kind) for item in (*BUILT_IN_WORKLOADS, *PRESET_WORKLOADS, *workloads))
    for group, kind in named:
        yield Kind(group=group, kind=kind, part="controllers", feature="owners", versions=(), metadata_only=True)
