"""What there is to say about how well the cluster is known: for readiness, and for whoever asks why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from webhook.fleet.fleet import Fleet
from webhook.kube.cluster_state import ClusterState
from webhook.kube.kinds import FEATURES
from webhook.kube.reflector import Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """One thing to say. "degraded" is shown, "failed" means that nothing can be decided."""

    name: str
    state: Literal["ok", "degraded", "failed"]
    detail: str = ""


def health_of(state: ClusterState, now: datetime) -> Iterator[Health]:
    """`fleet`: whether there is one; `fleet-fresh` when its facts are old; `fleet-<feature>` for what is not known."""
    fleet = state.current()
    if fleet is None:
        yield Health(name="fleet", state="failed", detail=_waiting(state))
        return
    yield Health(name="fleet", state="ok", detail=_described(fleet))
    yield from _staleness(state, fleet, now)
    yield from _reduced(state)


def _waiting(state: ClusterState) -> str:
    if state.fault:
        return state.fault
    if state.served is None:
        return "the API server was not asked yet"
    lines = [
        f"{source.name}: {_doing(progress)}"
        for source, progress in state.progress
        if not progress.lists and (source.kind.required or progress.state != "refused")
    ]
    return "waiting for the first complete list of " + "; ".join(lines) if lines else "making the first snapshot"


def _doing(progress: Progress) -> str:
    if progress.detail:
        return progress.detail
    return f"{progress.count} so far" if progress.state == "listing" else progress.state


def _described(fleet: Fleet) -> str:
    devices = sum(len(pool.devices) for pool in fleet.inventory.pools)
    as_of = f", as of {fleet.as_of:%Y-%m-%dT%H:%M:%SZ}" if fleet.as_of else ""
    nodes, pools = len(fleet.nodes.names), len(fleet.inventory.pools)
    return f"{nodes} nodes, {devices} devices in {pools} pools, Kubernetes {fleet.server}{as_of}"


def _staleness(state: ClusterState, fleet: Fleet, now: datetime) -> Iterator[Health]:
    limit: timedelta = state.settings.stale_after
    if fleet.as_of is None or now - fleet.as_of <= limit:
        return
    oldest = [
        f"{source.name} (nothing heard for {int((now - progress.heard).total_seconds())} s{_because(progress)})"
        for source, progress in state.progress
        if progress.heard is not None and now - progress.heard > limit
    ]
    consequence = "findings that need the cluster warn instead of deny"
    yield Health(name="fleet-fresh", state="degraded", detail=f"facts are old, so {consequence}: {', '.join(oldest)}")


def _because(progress: Progress) -> str:
    return f": {progress.detail}" if progress.detail else ""


def _reduced(state: ClusterState) -> Iterator[Health]:
    off = [feature for feature in FEATURES if feature not in state.settings.features]
    for feature in off:
        yield Health(
            name=f"fleet-{feature}", state="degraded", detail=f"switched off, so that it is unknown {FEATURES[feature]}"
        )
    if state.fault:
        yield Health(name="fleet-discovery", state="degraded", detail=state.fault)
    for source, progress in state.progress:
        if source.kind.feature and progress.state in ("refused", "broken") and not _is_quiet(progress):
            name, unknown = f"fleet-{source.kind.feature}", FEATURES[source.kind.feature]
            detail = f"{source.name} cannot be read, so that it is unknown {unknown}: {progress.detail}"
            yield Health(name=name, state="degraded", detail=detail)


def _is_quiet(progress: Progress) -> bool:
    """A connection that has just broken off is taken up again: that is no news."""
    return progress.state == "broken" and progress.lists > 0
