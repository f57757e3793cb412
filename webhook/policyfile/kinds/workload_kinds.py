"""WorkloadKinds: controllers of custom resources that keep pod templates."""

from __future__ import annotations

from typing import Any

from webhook.model.workload_kinds import WorkloadKind
from webhook.policyfile.field_types import Flag, ListOf, Text
from webhook.policyfile.formats import DNS_SUBDOMAIN
from webhook.policyfile.kind import Kind
from webhook.policyfile.record import Record, Values, needed, optional

_POINTER = Text(
    phrase="JSON pointer",
    pattern=r"(/[^/\s]+)+",
    max_length=253,
    explain="a path such as /spec/template, in which * stands for every entry of a list or every key",
)
_KIND_NAME = Text(
    phrase="kind", pattern="[A-Z][A-Za-z0-9]*", max_length=63, explain="as in the object's kind, for example JobSet"
)
_GROUP = needed("group", DNS_SUBDOMAIN, "The API group of the custom resource, without a version.")
_NAME = needed("kind", _KIND_NAME, "Its kind.")
_TEMPLATE = needed("template", _POINTER, "Where an object keeps its pod template: what holds the pod's `metadata` and `spec`.")
_REPLICAS = optional("replicas", _POINTER, "Where it says how many pods it runs; a `*` is the same key as in `template`.", "")
_GANG = optional("gang", Flag(), "Its pods work as one: a single slower shape holds up all of them.", False)


def _workload(values: Values) -> WorkloadKind:
    return WorkloadKind(
        group=values[_GROUP],
        kind=values[_NAME],
        template=values[_TEMPLATE],
        replicas=values[_REPLICAS],
        gang=values[_GANG],
    )


_ENTRY = Record(
    name="workload kind",
    doc="A controller kind, and where it keeps a pod template. A kind with several templates has several entries.",
    keys=(_GROUP, _NAME, _TEMPLATE, _REPLICAS, _GANG),
    build=_workload,
    elsewhere={"apiVersion": "write group: without a version", "podTemplate": "write template:"},
)
_KINDS = needed("kinds", ListOf(_ENTRY, minimum=1), "The kinds.")


def _build(values: Values) -> tuple[WorkloadKind, ...]:
    return values[_KINDS]


KIND: Kind[Any] = Kind(
    name="WorkloadKinds",
    doc="Controllers of custom resources whose pod templates are judged before their pods are made. JobSet, LeaderWorkerSet, "
    "the training jobs of Kubeflow and the clusters and jobs of Ray are known without it.",
    spec=Record(name="WorkloadKinds spec", doc="The kinds.", keys=(_KINDS,), build=_build),
    example="""\
apiVersion: fallgate.dev/v1alpha1
kind: WorkloadKinds
metadata: {name: batch}
spec:
  kinds:
  - {group: batch.example.com, kind: Gang, template: /spec/roles/*/template, replicas: /spec/roles/*/size, gang: true}
""",
)
