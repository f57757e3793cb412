"""The cluster read once, as raw objects with what is read of them: for commands that answer and end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from webhook.errors import ApiError, ClusterError
from webhook.kube.client import JSON, METADATA_LIST, Client
from webhook.kube.discovery import Served, Source, discover
from webhook.kube.kinds import FEATURES, kinds_read
from webhook.kube.reading import has_name, key_of
from webhook.kube.stripping import asks_for_devices, stripped
from webhook.model.tolerant import Json, mapping, sequence, text
from webhook.model.workload_kinds import WorkloadKind

PAGE = 500
#: Five million objects. The largest clusters have some hundred thousand pods, and a server may send pages that are not full.
MOST_PAGES = 10_000
_FORBIDDEN = 403
_REFUSED = (_FORBIDDEN, 404)
_RIGHTS = (
    "This reads devices, classes, claims, templates, nodes and namespaces of the whole cluster, and your account may not. "
    "Have a ClusterRoleBinding made for it to the ClusterRole fallgate-reader (docs/cluster.md has its YAML), or use --fleet "
    "with a folder that somebody who may has written with fallgate dump"
)

#: Called with what is being listed, and how many objects were seen so far.
Tell: TypeAlias = Callable[[str, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """All objects of a kind that are read, without what is not."""

    source: Source
    objects: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A cluster at about one instant. `unknown` says of kinds that could not be listed what is unknown without them."""

    served: Served
    lists: tuple[Listed, ...]
    unknown: tuple[str, ...] = ()


def list_cluster(client: Client, *, workloads: Iterable[WorkloadKind] = (), tell: Tell = lambda what, count: None) -> Listing:
    """Everything Fallgate reads of a cluster.

    Raises ClusterError when the server cannot be asked, or does not serve or refuses a required kind.
    """
    served = discover(client, kinds_read(FEATURES, workloads))
    lacking = [kind.kind for kind in served.missing if kind.required]
    if lacking:
        raise ClusterError(f"{client.where} ({served.git_version}) does not serve {', '.join(lacking)}")
    lists: list[Listed] = []
    unknown: list[str] = []
    for source in served.sources:
        try:
            lists.append(_listed(client, source, tell))
        except ApiError as fault:
            if source.kind.required and fault.status == _FORBIDDEN:
                raise ClusterError(f"{fault}\n{_RIGHTS}") from fault
            if source.kind.required or fault.status not in _REFUSED:
                raise
            unknown.append(f"{source.name} cannot be read, so that it is unknown {FEATURES[source.kind.feature]}: {fault}")
    return Listing(served=served, lists=tuple(lists), unknown=tuple(unknown))


def _listed(client: Client, source: Source, tell: Tell) -> Listed:
    kept: list[dict[str, Any]] = []
    seen = 0
    tell(source.name, seen)
    for page in pages(client, source):
        for raw in map(mapping, sequence(page.get("items"))):
            seen += 1
            # What has no name cannot be told from others: as the server does, it is passed over.
            if has_name(key_of(raw, source.kind.part)) and (source.kind.part != "pods" or asks_for_devices(raw)):
                kept.append(stripped(raw, source.kind.kind, source.api_version))
        tell(source.name, seen)
    return Listed(source=source, objects=tuple(kept))


def pages(client: Client, source: Source) -> Iterator[Json]:
    """A list in pages, all of one instant.

    Raises ApiError with 410 when they took so long that the server forgot it, ClusterError when they do not end: a server or
    a proxy in front of it that does not understand `continue` would be asked for ever, and its objects kept.
    """
    query: dict[str, str | int] = {**source.kind.query, "limit": PAGE}
    accept = f"{METADATA_LIST},{JSON}" if source.kind.metadata_only else JSON
    for _ in range(MOST_PAGES):
        page = client.get(source.path, query, accept=accept)
        following = text(mapping(page.get("metadata")).get("continue"))
        if following and following == query.get("continue"):
            raise ClusterError(f"GET {source.path}: the list does not end: the same continue token came with two pages")
        yield page
        if not following:
            return
        query["continue"] = following
    raise ClusterError(f"GET {source.path}: the list does not end: there are more than {MOST_PAGES} pages of {PAGE}")
