"""Documents of an input as the admission requests they stand for. Pure: nothing is read or printed here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from webhook.errors import InputError
from webhook.fleet.build import DEFAULT_NAMESPACE
from webhook.fleet.reading import KUEUE_GROUP
from webhook.folder.manifests import FileObject
from webhook.model.review import KIND, Review, User, read_review
from webhook.model.tolerant import mapping, text
from webhook.model.workload_kinds import KNOWN_WORKLOADS, WorkloadKind
from webhook.rulekit.subject import RESOURCE_GROUP

#: group, kind, namespace, name
ObjectKey: TypeAlias = tuple[str, str, str, str]

#: Kinds that rules look up by namespace. Workloads are namespaced too.
_NAMESPACED: Final = frozenset(
    {
        (RESOURCE_GROUP, "ResourceClaim"),
        (RESOURCE_GROUP, "ResourceClaimTemplate"),
        ("", "Pod"),
        ("", "ResourceQuota"),
        (KUEUE_GROUP, "LocalQueue"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request to judge, and the document it comes from. `namespace` is "" for cluster-scoped objects."""

    document: FileObject
    review: Review
    namespace: str

    @property
    def name(self) -> str:
        """The object's name, else its generateName as written, else the request's."""
        meta = mapping(mapping(self.review.object).get("metadata"))
        return text(meta.get("name")) or text(meta.get("generateName")) or self.review.name

    @property
    def api_version(self) -> str:
        """`resource.k8s.io/v1`, `v1`"""
        return "/".join(part for part in (self.review.group, self.review.version) if part)

    @property
    def label(self) -> str:
        """`ResourceClaim team-a/gpu`"""
        name = self.name or "(no name)"
        return f"{self.review.kind} {self.namespace + '/' if self.namespace else ''}{name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How objects of manifests are sent: what an AdmissionReview would say itself.

    `old` are the old objects of an UPDATE, `stored` what the cluster holds: an object that is in neither was the same before.
    A DELETE has an old object only: the manifest.
    """

    operation: Literal["CREATE", "UPDATE", "DELETE"] = "CREATE"
    user: User = field(default_factory=User)
    namespace: str = DEFAULT_NAMESPACE
    old: Sequence[Any] = ()
    stored: Mapping[ObjectKey, Any] = field(default_factory=dict)
    workloads: tuple[WorkloadKind, ...] = KNOWN_WORKLOADS


def ask_all(documents: Sequence[FileObject], manner: Manner) -> tuple[list[Asked], list[tuple[FileObject, str]]]:
    """The requests for all documents, in their order; and the documents that are no request, with what is wrong."""
    olds = {key_of(old, manner): old for old in manner.old}
    if len(documents) == len(manner.old) == 1:
        # One old object and one new: they belong together, whatever they are called.
        olds = {key_of(documents[0].raw, manner): manner.old[0]}
    asked: list[Asked] = []
    faults: list[tuple[FileObject, str]] = []
    for document in documents:
        try:
            asked.append(_ask(document, manner, olds))
        except InputError as error:
            faults.append((document, str(error)))
    return asked, faults


def only_namespace(documents: Iterable[FileObject]) -> str:
    """The one namespace that objects and AdmissionReviews name, DEFAULT_NAMESPACE when they name none or several."""
    named = set()
    for document in documents:
        request = mapping(document.raw.get("request")) if document.raw.get("kind") == KIND else {}
        named.add(text(request.get("namespace")) or text(mapping(document.raw.get("metadata")).get("namespace")))
    named.discard("")
    return named.pop() if len(named) == 1 else DEFAULT_NAMESPACE


def user_of(name: str, groups: Iterable[str] = ()) -> User:
    """A user with the groups that the API server adds by itself (everybody, and service accounts)."""
    own = list(groups)
    match name.split(":"):
        case ["system", "serviceaccount", namespace, _]:
            own += ["system:serviceaccounts", f"system:serviceaccounts:{namespace}"]
    if name and name != "system:anonymous":
        own.append("system:authenticated")
    return User(name=name, groups=tuple(dict.fromkeys(own)))


def key_of(raw: object, manner: Manner) -> ObjectKey:
    """What names an object in a cluster."""
    body = mapping(raw)
    group, kind = text(body.get("apiVersion")).rpartition("/")[0], text(body.get("kind"))
    return (group, kind, _namespace(body, group, kind, manner), text(mapping(body.get("metadata")).get("name")))


def _ask(document: FileObject, manner: Manner, olds: Mapping[ObjectKey, Any]) -> Asked:
    raw = document.raw
    if not isinstance(raw, dict) or not text(raw.get("kind")) or not text(raw.get("apiVersion")):
        raise InputError("this is no Kubernetes object: it needs apiVersion and kind")
    if raw.get("kind") == KIND:
        review = read_review(raw)
        scope = "" if (review.group, review.kind) == ("", "Namespace") else review.namespace
        return Asked(document=document, review=review, namespace=scope)
    key = key_of(raw, manner)
    group, kind, namespace, name = key
    old = None if manner.operation == "CREATE" else raw
    if manner.operation == "UPDATE":
        old = olds.get(key, manner.stored.get(key, raw))
    review = Review(
        uid="",
        group=group,
        version=text(raw.get("apiVersion")).rpartition("/")[2],
        kind=kind,
        resource=f"{kind.lower()}{'es' if kind.endswith('s') else 's'}",
        subresource="",
        name=name,
        # The API server takes the namespace from the URL, which for one that exists holds its own name.
        namespace=name if (group, kind) == ("", "Namespace") and manner.operation != "CREATE" else namespace,
        operation=manner.operation,
        user=manner.user,
        object=None if manner.operation == "DELETE" else raw,
        old_object=old,
    )
    return Asked(document=document, review=review, namespace=namespace)


def _namespace(body: Mapping[str, Any], group: str, kind: str, manner: Manner) -> str:
    written = text(mapping(body.get("metadata")).get("namespace"))
    workloads = {(item.group, item.kind) for item in manner.workloads}
    if written or (group, kind) not in _NAMESPACED | workloads:
        return written
    return manner.namespace
