"""What an API server is and serves: its version, and where each kind is found.

Feature gates cannot be asked for: they are a setting (`--feature-gates`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from webhook.errors import ApiError, ClusterError
from webhook.fleet.reading import RESOURCE_GROUP
from webhook.kube.client import Client
from webhook.kube.kinds import Kind
from webhook.model.server_version import read_version
from webhook.model.tolerant import flag, mapping, sequence, text

_NOT_FOUND = 404
#: API groups whose kinds people name without the group.
_PLAIN_GROUPS = frozenset({"", "apps", "batch", RESOURCE_GROUP})


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where the objects of a kind are. `path` is that of all of them, or of those of one namespace (`within`)."""

    kind: Kind
    api_version: str
    path: str
    namespaced: bool = True

    @property
    def name(self) -> str:
        """`ResourceSlice`, `JobSet.jobset.x-k8s.io`: as people name a kind, and as metrics label it."""
        return self.kind.kind if self.kind.group in _PLAIN_GROUPS else f"{self.kind.kind}.{self.kind.group}"

    def path_of(self, namespace: str, name: str) -> str:
        """The path of one object."""
        prefix, _, resource = self.path.rpartition("/")
        within = f"/namespaces/{namespace}" if self.namespaced else ""
        return f"{prefix}{within}/{resource}/{name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What was found. `resource_versions` are the versions of resource.k8s.io; `missing` are kinds the server does not have."""

    version: tuple[int, int]
    git_version: str
    resource_versions: tuple[str, ...]
    sources: tuple[Source, ...]
    missing: tuple[Kind, ...] = field(default=())


def discover(client: Client, kinds: Iterable[Kind]) -> Served:
    """Ask the server where these kinds are. Raises ClusterError, also for a version that cannot be read."""
    said = client.get("/version")
    git_version = text(said.get("gitVersion"))
    try:
        version = read_version(git_version)
    except ValueError as fault:
        raise ClusterError(f"GET /version: {fault}") from fault
    groups = _groups(client.get("/apis"))
    places = _Places(client, groups)
    found = [(kind, places.source_of(kind)) for kind in kinds]
    return Served(
        version=version,
        git_version=git_version,
        resource_versions=groups.get(RESOURCE_GROUP, ()),
        sources=tuple(source for _, source in found if source is not None),
        missing=tuple(kind for kind, source in found if source is None),
    )


def _groups(said: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
    """API group -> its versions, the server's preferred one first."""
    groups: dict[str, tuple[str, ...]] = {"": ("v1",)}
    for group in map(mapping, sequence(said.get("groups"))):
        versions = [text(mapping(item).get("version")) for item in sequence(group.get("versions"))]
        preferred = text(mapping(group.get("preferredVersion")).get("version"))
        groups[text(group.get("name"))] = tuple(dict.fromkeys(filter(None, (preferred, *versions))))
    return groups


@dataclass(slots=True)
class _Places:
    """Asks for the resources of each group and version at most once."""

    client: Client
    groups: Mapping[str, tuple[str, ...]]
    known: dict[tuple[str, str], Mapping[str, tuple[str, bool]]] = field(default_factory=dict)

    def source_of(self, kind: Kind) -> Source | None:
        served = self.groups.get(kind.group, ())
        for version in [version for version in kind.versions or served[:1] if version in served]:
            if (kind.group, version) not in self.known:
                self.known[kind.group, version] = self._resources(kind.group, version)
            place = self.known[kind.group, version].get(kind.kind)
            if place is not None:
                resource, namespaced = place
                root = _root(kind.group, version)
                api_version = f"{kind.group}/{version}" if kind.group else version
                return Source(kind=kind, api_version=api_version, path=f"{root}/{resource}", namespaced=namespaced)
        return None

    def _resources(self, group: str, version: str) -> Mapping[str, tuple[str, bool]]:
        """Kind -> resource, and whether it is namespaced."""
        try:
            said = self.client.get(_root(group, version))
        except ApiError as fault:
            if fault.status == _NOT_FOUND:
                return {}
            raise
        resources = [item for item in map(mapping, sequence(said.get("resources"))) if "/" not in text(item.get("name"))]
        return {text(item.get("kind")): (text(item.get("name")), flag(item.get("namespaced"))) for item in resources}


def _root(group: str, version: str) -> str:
    return f"/apis/{group}/{version}" if group else f"/api/{version}"
