"""The object under review as typed data, and whether there is anything in it to judge."""

from __future__ import annotations

from typing import Any, TypeAlias

from webhook.model.claim import Claim, ClaimTemplate
from webhook.model.claim_reading import read_claim, read_claim_template
from webhook.model.cluster import Namespace
from webhook.model.cluster_reading import read_namespace
from webhook.model.device import DeviceClass
from webhook.model.device_reading import read_class
from webhook.model.pod import Pod, Workload
from webhook.model.pod_reading import read_pod, read_workload
from webhook.model.workload_kinds import KNOWN_WORKLOADS, WorkloadKind, expanded

Subject: TypeAlias = Claim | ClaimTemplate | Pod | Workload | Namespace | DeviceClass

RESOURCE_GROUP = "resource.k8s.io"


def read_subjects(group: str, kind: str, raw: Any, more: tuple[WorkloadKind, ...] = ()) -> tuple[Subject, ...]:
    """`raw` as what its group and kind say it is; nothing for kinds that no rule reads.

    A controller with several pod templates is several subjects, one per template. `more` are controller kinds beside the known.
    """
    match group, kind:
        case "resource.k8s.io", "ResourceClaim":
            return (read_claim(raw),)
        case "resource.k8s.io", "ResourceClaimTemplate":
            return (read_claim_template(raw),)
        case "resource.k8s.io", "DeviceClass":
            return (read_class(raw),)
        case "", "Pod":
            return (read_pod(raw),)
        case "", "Namespace":
            return (read_namespace(raw),)
    known = [workload for workload in KNOWN_WORKLOADS + more if (workload.group, workload.kind) == (group, kind)]
    return tuple(read_workload(raw, found) for workload in known for found in expanded(workload, raw))


def read_subject(group: str, kind: str, raw: Any, more: tuple[WorkloadKind, ...] = ()) -> Subject | None:
    """The first, and for all but some controllers the only, subject of `raw`."""
    return next(iter(read_subjects(group, kind, raw, more)), None)


def subject_kind(subject: Subject) -> str:
    """The SubjectKind of a subject."""
    match subject:
        case Claim():
            return "ResourceClaim"
        case ClaimTemplate():
            return "ResourceClaimTemplate"
        case Pod():
            return "Pod"
        case Workload():
            return "Workload"
        case Namespace():
            return "Namespace"
        case _:
            return "DeviceClass"
