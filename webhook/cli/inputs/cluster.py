"""The cluster that commands work against: fleet folders, the server's version, feature gates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from webhook.cli.console import complain, complain_about, counting
from webhook.errors import Problem
from webhook.fleet.build import build_fleet
from webhook.fleet.fleet import Fleet
from webhook.folder.fleet_folder import FolderReading, read_fleet_folder
from webhook.model.server_version import GATES_ON_SINCE, Server


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """A fleet, and the raw objects it was built from, later ones last."""

    fleet: Fleet
    objects: tuple[Mapping[str, Any], ...] = field(default=())


def read_cluster(
    paths: Sequence[str], *, version: tuple[int, int] | None, gates: Mapping[str, bool], namespace: str = "default"
) -> Cluster:
    """The fleet of all folders and files together; later ones win. What cannot be used is reported and left out.

    Raises FleetError for a path that does not exist or cannot be looked into.
    """
    for gate in gates:
        _warn_unknown(gate)
    if not paths:
        complain("no fleet is named: nothing is known of the cluster but what the input holds", label="note")
    readings = []
    for path in paths:
        with counting(f"reading {path}", "objects") as progress:
            readings.append(read_fleet_folder(Path(path), progress=progress))
    # A fleet with a broken file is still the best there is: it is said, and counts.
    complain_about(_as_warning(problem) for reading in readings for problem in reading.problems)
    objects = tuple(found.raw for reading in readings for found in reading.objects)
    fleet = build_fleet(
        objects,
        server=_server(readings, version, gates),
        namespace=namespace,
        observed={kind for reading in readings for kind in reading.listed_kinds},
    )
    return Cluster(fleet=fleet, objects=objects)


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
    if gate in GATES_ON_SINCE:
        return
    near = get_close_matches(gate, GATES_ON_SINCE, n=1)
    meant = f"; did you mean {near[0]}?" if near else ""
    complain(f"--feature-gates: no rule knows the gate {gate}: it changes nothing{meant}", label="warning")
