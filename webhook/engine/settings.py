"""How the engine is set up: what it never judges, how it answers its own faults, what caps every mode."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from webhook.model.finding import Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """Settings of the decision itself.

    `excluded_namespaces`: never touched (the webhook configuration excludes them too). `scheduler_users`: who may create the
    special claims of extended resources. `stance`: what is answered when a rule crashes. `cap`: caps every mode (`--audit-only`
    and the ConfigMap `fallgate-cap`), None for no cap. `stale_after`: facts older than this never deny. `help`: the
    organisation's line under every denial.
    """

    excluded_namespaces: frozenset[str] = frozenset({"kube-system"})
    scheduler_users: frozenset[str] = frozenset({"system:kube-scheduler"})
    stance: Literal["allow", "deny"] = "allow"
    cap: Mode | None = None
    stale_after: timedelta = timedelta(minutes=5)
    help: str = ""


DEFAULTS = EngineSettings()
