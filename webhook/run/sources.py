"""What is in the policy folder and in the fleet folder, as values to swap."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from webhook.errors import FallgateError, InputError, PolicyErrors, Problem
from webhook.fleet.build import build_fleet
from webhook.fleet.fleet import Fleet
from webhook.folder.fleet_folder import read_fleet_folder
from webhook.folder.policy_files import read_policy_files
from webhook.model.server_version import Server
from webhook.policyfile import parse_policies_with_warnings, render_problem
from webhook.rulekit.policies import PolicySet
from webhook.run.reloaded import Loaded


def load_policies(path: Path) -> Loaded[PolicySet]:
    """The policy set of a folder. Raises PolicyErrors with every mistake, InputError when a file cannot be read."""
    files = read_policy_files(path)
    policies, warnings = parse_policies_with_warnings(files)
    if not policies.holds_anything:
        where = "in these files" if files else "file in this folder"
        raise InputError(f"{path}: there is no policy {where}: nothing would be enforced")
    count = policy_count(policies)
    return Loaded(
        value=policies,
        description=f"{count} {'policy' if count == 1 else 'policies'}, digest {policies.digest}",
        warnings=_rendered(warnings),
    )


def explain_policies(error: FallgateError) -> str:
    """All mistakes of a policy set, each with its place and a caret."""
    return "\n".join(_rendered(error.problems)) if isinstance(error, PolicyErrors) else str(error)


def fleet_loader(server: Server | None) -> Callable[[Path], Loaded[Fleet]]:
    """What reads a fleet folder; `server` overrides the API server that the folder names."""

    def load(path: Path) -> Loaded[Fleet]:
        reading = read_fleet_folder(path)
        fleet = build_fleet(
            (found.raw for found in reading.objects),
            server=server or reading.server or Server(),
            observed=reading.listed_kinds,
        )
        return Loaded(
            value=fleet,
            description=_described(fleet),
            warnings=_rendered(problem for problem in reading.problems if problem.warning),
            doubt="\n".join(_rendered(problem for problem in reading.problems if not problem.warning))
            or ("" if reading.objects else f"{path}: there is no object in these files"),
        )

    return load


def policy_count(policies: PolicySet) -> int:
    """How many rule policies are in force."""
    kinds = (
        policies.fallback_compatibility,
        policies.tier_fallback,
        policies.device_ownership,
        policies.checks,
        policies.claim_rules,
    )
    return sum(len(kind) for kind in kinds)


def device_count(fleet: Fleet) -> int:
    """How many devices are known."""
    return sum(len(pool.devices) for pool in fleet.inventory.pools)


def _described(fleet: Fleet) -> str:
    nodes, pools = len(fleet.nodes.names), len(fleet.inventory.pools)
    return f"{nodes} nodes, {device_count(fleet)} devices in {pools} pools, Kubernetes {fleet.server}"


def _rendered(problems: Iterable[Problem]) -> tuple[str, ...]:
    return tuple(render_problem(problem) for problem in problems)
