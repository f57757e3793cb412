"""The cluster that commands work against: fleet folders or an API server, its version, feature gates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from webhook.cel import DIALECT_GATES
from webhook.cli.console import complain, complain_about, counting, steps
from webhook.errors import Problem
from webhook.fleet.build import build_fleet
from webhook.fleet.fleet import Fleet
from webhook.folder.fleet_folder import FolderReading, read_fleet_folder
from webhook.model.server_version import GATES_ON_SINCE, NEWEST_KNOWN, Server
from webhook.model.workload_kinds import WorkloadKind

if TYPE_CHECKING:
    from webhook.kube.listing import Listing

NO_FLEET: Final = (
    "there is no fleet to look at: add --fleet DIR, a folder of what `kubectl get -o yaml` prints, or --cluster to ask the "
    "current cluster"
)


_GATES: Final = frozenset({*GATES_ON_SINCE, *DIALECT_GATES})


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetOptions:
    """Where the facts about the cluster come from, as the options say: folders, or with `live` an API server."""

    paths: tuple[str, ...] = ()
    server_version: tuple[int, int] | None = None
    gates: Mapping[str, bool] = field(default_factory=dict)
    live: bool = False
    kubeconfig: str = ""
    context: str = ""

    @property
    def named(self) -> bool:
        """Whether there is any."""
        return self.live or bool(self.paths)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """A fleet, and the raw objects it was built from, later ones last."""

    fleet: Fleet
    objects: tuple[Mapping[str, Any], ...] = field(default=())


def read_cluster(options: FleetOptions, *, namespace: str = "default", workloads: Iterable[WorkloadKind] = ()) -> Cluster:
    """The fleet of all folders and files together, later ones winning, or that of the API server, as it is now.

    What cannot be used is reported and left out. `workloads` are the controllers that policies add to those Fallgate knows.
    Raises FleetError for a path that does not exist or cannot be looked into, ClusterError for a server that cannot be asked.
    """
    warn_of_options(options)
    if options.live:
        return _read_live(options, workloads)
    if not options.paths:
        complain("no fleet is named: nothing is known of the cluster but what the input holds", label="note")
    readings = []
    for path in options.paths:
        with counting(f"reading {path}", "objects") as progress:
            readings.append(read_fleet_folder(Path(path), progress=progress))
    # A fleet with a broken file is still the best there is: it is said, and counts.
    complain_about(_as_warning(problem) for reading in readings for problem in reading.problems)
    objects = tuple(found.raw for reading in readings for found in reading.objects)
    fleet = build_fleet(
        objects,
        server=_server(readings, options.server_version, options.gates),
        namespace=namespace,
        observed={kind for reading in readings for kind in reading.listed_kinds},
    )
    return Cluster(fleet=fleet, objects=objects)


def server_of(options: FleetOptions) -> Server:
    """The server that the options alone name, the newest known one where they name none."""
    warn_of_options(options)
    return Server(version=options.server_version or NEWEST_KNOWN, gates=dict(options.gates))


def warn_of_options(options: FleetOptions) -> None:
    """Say which gates nothing knows, and that a version is newer than what is known."""
    for gate in options.gates:
        _warn_unknown(gate)
    version = options.server_version
    if version is not None and version > NEWEST_KNOWN:
        newest, given = ".".join(map(str, NEWEST_KNOWN)), ".".join(map(str, version))
        complain(
            f"--server-version {given}: {newest} is the newest that is known; what {given} does is taken from it",
            label="warning",
        )


def _read_live(options: FleetOptions, workloads: Iterable[WorkloadKind]) -> Cluster:
    listing = read_listing(options.kubeconfig, options.context, workloads)
    objects = tuple(raw for listed in listing.lists for raw in listed.objects)
    fleet = build_fleet(
        objects,
        server=Server(version=options.server_version or listing.served.version, gates=dict(options.gates)),
        observed={listed.source.kind.kind for listed in listing.lists},
    )
    return Cluster(fleet=fleet, objects=objects)


def read_listing(kubeconfig: str, context: str, workloads: Iterable[WorkloadKind] = ()) -> Listing:
    """What there is in a cluster, with its progress on a terminal; what could not be read is reported. Raises ClusterError."""
    # Only commands that ask a cluster pay for loading its client.
    from webhook.kube.connecting import connect
    from webhook.kube.listing import list_cluster

    client = connect(kubeconfig, context, prefer_pod=False)
    with steps(f"reading {client.where}") as tell:
        listing = list_cluster(client, workloads=workloads, tell=tell)
    for unknown in listing.unknown:
        complain(unknown, label="warning")
    return listing


def _server(readings: Sequence[FolderReading], version: tuple[int, int] | None, gates: Mapping[str, bool]) -> Server:
    told = next((reading.server for reading in reversed(readings) if reading.server is not None), None)
    base = told if told is not None and version in (None, told.version) else Server()
    return Server(version=version or base.version, gates={**base.gates, **gates})


def _as_warning(problem: Problem) -> Problem:
    return Problem(
        message=f"the fleet: {problem.message}",
        source=problem.source,
        line=problem.line,
        hint=problem.hint,
        warning=True,
    )


def _warn_unknown(gate: str) -> None:
    if gate in _GATES:
        return
    near = get_close_matches(gate, _GATES, n=1)
    meant = f"; did you mean {near[0]}?" if near else ""
    complain(f"--feature-gates: no rule knows the gate {gate}: it changes nothing{meant}", label="warning")
