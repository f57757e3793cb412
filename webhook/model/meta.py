"""ObjectMeta and object references, as far as rules read them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from webhook.model.tolerant import Json, flag, mapping, sequence, string_map, text


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerReference:
    """One entry of metadata.ownerReferences."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Meta:
    """The parts of metadata that rules read. Odd values read as absent."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    owners: tuple[OwnerReference, ...] = ()
    creation_timestamp: str = ""

    @property
    def controller(self) -> OwnerReference | None:
        """The owner with `controller: true`, if there is one."""
        return next((owner for owner in self.owners if owner.controller), None)

    @property
    def display_name(self) -> str:
        """The name, or the generateName with a `*` for the part the API server will add."""
        return self.name or (self.generate_name + "*" if self.generate_name else "(no name)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectRef:
    """What names an object: kind, namespace ("" for cluster-scoped) and name.

    `uid` is that of the one object that is meant, "" where any of that name will do. `api_version` is the kind's, where it is
    not one that Fallgate always reads (an owner's: `apps/v1`).
    """

    kind: str
    namespace: str
    name: str
    uid: str = ""
    api_version: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace + '/' if self.namespace else ''}{self.name}"


def read_meta(raw: object) -> Meta:
    """`metadata` of any object, given the whole object."""
    body = mapping(mapping(raw).get("metadata"))
    owners = tuple([_owner(mapping(item)) for item in sequence(body.get("ownerReferences"))])
    return Meta(
        name=text(body.get("name")),
        generate_name=text(body.get("generateName")),
        namespace=text(body.get("namespace")),
        uid=text(body.get("uid")),
        labels=string_map(body.get("labels")),
        annotations=string_map(body.get("annotations")),
        owners=owners,
        creation_timestamp=text(body.get("creationTimestamp")),
    )


def _owner(raw: Json) -> OwnerReference:
    return OwnerReference(
        api_version=text(raw.get("apiVersion")),
        kind=text(raw.get("kind")),
        name=text(raw.get("name")),
        uid=text(raw.get("uid")),
        controller=flag(raw.get("controller")),
    )
