"""Asking the engine in tests: manifests in, decision out, as the two webhook calls would have it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from webhook.engine import Admission, EngineSettings, admit
from webhook.fleet.build import build_fleet
from webhook.model.finding import Decision
from webhook.model.review import Review, User
from webhook.model.server_version import Server, read_version
from webhook.model.tolerant import mapping
from webhook.policyfile import parse_policies
from webhook.rulekit.policies import PolicySet

NOW = datetime(2027, 1, 1, tzinfo=UTC)

_PLURALS = {
    "ResourceClaim": "resourceclaims",
    "ResourceClaimTemplate": "resourceclaimtemplates",
    "Pod": "pods",
    "Namespace": "namespaces",
    "DeviceClass": "deviceclasses",
}
_KEY = re.compile(r"[a-z]+:( |$)")
_DIGEST = re.compile(r"@([0-9a-f]{7}\b|\.\.\.)")


def documents(path: Path) -> list[Any]:
    """The YAML documents of a file that are not empty."""
    return [item for item in yaml.safe_load_all(path.read_text()) if item is not None]


def header(path: Path) -> Mapping[str, Any]:
    """The YAML in the comment block a file begins with; nothing when the comment is prose."""
    lines = []
    for line in path.read_text().splitlines():
        if not line.startswith("#"):
            break
        lines.append(line[2:] if line.startswith("# ") else line[1:])
    if not lines or not _KEY.match(lines[0]):
        return {}
    found: Mapping[str, Any] = yaml.safe_load("\n".join(lines))
    return found


def policies_of(*paths: Path) -> PolicySet:
    """The policies of the files."""
    return parse_policies([(path.name, path.read_bytes()) for path in paths])


def server(version: str = "1.36", gates: Mapping[str, bool] | None = None) -> Server:
    """An API server of that version."""
    return Server(version=read_version(version), gates=gates or {})


def review_of(
    body: Mapping[str, Any],
    *,
    operation: str = "CREATE",
    old: Any = None,
    user: str = "tests",
    groups: Sequence[str] = (),
    namespace: str | None = None,
) -> Review:
    """The review the API server would send for `body`."""
    group, _, version = str(body.get("apiVersion", "")).rpartition("/")
    kind = str(body.get("kind", ""))
    meta = mapping(body.get("metadata"))
    return Review(
        uid="705ab4f5-0000-4000-8000-000000000000",
        group=group,
        version=version,
        kind=kind,
        resource=_PLURALS.get(kind, kind.lower() + "s"),
        subresource="",
        name=meta.get("name", ""),
        namespace=meta.get("namespace", "") if namespace is None else namespace,
        operation=operation,
        user=User(name=user, groups=tuple(groups)),
        object=body,
        old_object=old,
    )


def ask(
    body: Mapping[str, Any],
    *,
    cluster: Iterable[Any] = (),
    policies: PolicySet,
    at: Server | None = None,
    now: datetime = NOW,
    settings: EngineSettings | None = None,
    **review: Any,
) -> Admission:
    """Both calls for `body` in a cluster."""
    fleet = build_fleet(cluster, server=at or server())
    asked = review_of(body, **review)
    return admit(asked, fleet, policies, now, settings=settings or EngineSettings())


def reasons(decision: Decision) -> list[str]:
    """The reasons of all findings, sorted."""
    return sorted({item.finding.reason for item in decision.findings})


def without_digests(text: str) -> str:
    """Text with the policies' digests left out, so that a changed comment does not change every expectation."""
    return _DIGEST.sub("", text)
