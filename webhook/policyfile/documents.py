"""The outside of every policy document: apiVersion, kind, metadata; then its spec by its kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from webhook.policyfile.digest import POLICY_DIGITS, document_digest
from webhook.policyfile.field_types import FieldType, Json, MapOf, OneOf, Text
from webhook.policyfile.formats import DNS_SUBDOMAIN, LABEL_KEY, LABEL_VALUE
from webhook.policyfile.kind import Kind
from webhook.policyfile.kinds import KINDS
from webhook.policyfile.record import Record, Values, needed, optional
from webhook.policyfile.spot import Origin, Reading, Reported, Spot, describe
from webhook.policyfile.yaml_nodes import Mapping as MappingNode
from webhook.policyfile.yaml_nodes import Node, Scalar, find

API_GROUP = "fallgate.dev"
API_VERSION = f"{API_GROUP}/v1alpha1"
BY_NAME: Mapping[str, Kind[Any]] = {kind.name: kind for kind in KINDS}


@dataclass(frozen=True, slots=True)
class Document:
    """One policy document. `value` is None when something is wrong with it; `digest` has all its hex digits."""

    kind: str
    name: str
    digest: str
    node: MappingNode
    value: Any = None


@dataclass(frozen=True, slots=True)
class _Spec:
    """The spec, read later: only its kind knows how."""

    phrase: str = "mapping"
    parts: tuple[FieldType[Any], ...] = ()

    def read(self, spot: Spot) -> Spot:
        """Where it is."""
        return spot

    def schema(self) -> Json:
        """Anything."""
        return {"type": "object"}


NAME = needed("name", DNS_SUBDOMAIN, "The policy's name, unique within its kind. Findings show it.")
_LABELS = optional("labels", MapOf(LABEL_KEY, LABEL_VALUE), "Labels, for people and tools; Fallgate does not read them.", {})
_ANNOTATIONS = optional(
    "annotations", MapOf(LABEL_KEY, Text()), "Annotations, for people and tools; Fallgate does not read them.", {}
)
METADATA_RECORD = Record(
    name="metadata",
    doc="What the policy is called.",
    keys=(NAME, _LABELS, _ANNOTATIONS),
    build=lambda values: values[NAME],
    elsewhere={"namespace": "policies have no namespace; say what they are for in spec.match"},
)
_API = needed("apiVersion", OneOf((API_VERSION,)), f"Always {API_VERSION}.")
_KIND = needed("kind", OneOf(tuple(BY_NAME)), "What the document is.")
_METADATA = needed("metadata", METADATA_RECORD, "What the policy is called.")
_SPEC = needed("spec", _Spec(), "What the policy says.")


def _keep(values: Values) -> Values:
    return values


_ENVELOPE = Record(
    name="policy",
    doc="A policy document.",
    keys=(_API, _KIND, _METADATA, _SPEC),
    build=_keep,
    elsewhere={"status": "policies are files, they have no status", "name": "write metadata: {name: ...}"},
)


def read_document(node: Node, reading: Reading) -> Document | None:
    """A document as a policy. None when it is not even known of which kind it is."""
    root = Spot(node, reading)
    if not isinstance(node, MappingNode):
        root.error(f"a policy document must be a mapping with apiVersion, kind, metadata and spec, it is {describe(node)}")
        return None
    if _is_foreign(root, node):
        return None
    kind = _kind_of(node)
    try:
        values = _ENVELOPE.read(root)
        name, broken = values[_METADATA], False
    except Reported:
        name, broken = "", True
    if kind is None:
        return None
    digest = document_digest(node)
    document = Document(kind.name, name, digest, node)
    if node.get("spec") is None:
        return document
    origin = Origin(kind.name, name, digest[:POLICY_DIGITS], node.place)
    try:
        spec = kind.spec.read(Spot(find(node, "spec"), reading, "spec", origin))
    except Reported:
        return document
    return document if broken else replace(document, value=spec)


def _is_foreign(root: Spot, node: MappingNode) -> bool:
    """Whether the document says that it is something else. Then that is noted, and nothing more."""
    written = node.get("apiVersion")
    if not isinstance(written, Scalar) or written.text == API_VERSION:
        return False
    ours = written.text.startswith(API_GROUP + "/")
    message = f'this release does not read apiVersion "{written.text}"' if ours else f'"{written.text}" is no policy document'
    root.error(message, f"policy documents have apiVersion: {API_VERSION}", place=written.place)
    return True


def _kind_of(node: MappingNode) -> Kind[Any] | None:
    written = node.get("kind")
    return BY_NAME.get(written.text) if isinstance(written, Scalar) else None
