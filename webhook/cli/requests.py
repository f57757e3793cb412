"""From options to requests and what they are judged against: what `review` and `patch` have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

from webhook.cli.asking import Asked, Manner, ask_all, key_of, only_namespace, user_of
from webhook.cli.console import complain_about, counted
from webhook.cli.inputs.cluster import Cluster, FleetOptions, read_cluster
from webhook.cli.inputs.manifests import Manifests, read_input
from webhook.cli.inputs.policies import read_policies
from webhook.cli.judging import Bench, Verdict, judge_all
from webhook.cli.namespace_labels import complain_about_labels
from webhook.engine import EngineSettings
from webhook.errors import Problem
from webhook.fleet.build import DEFAULT_NAMESPACE
from webhook.model.workload_kinds import KNOWN_WORKLOADS
from webhook.rulekit.policies import PolicySet


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOptions:
    """The options of `review` and `patch` as click hands them over."""

    files: Sequence[str]
    source: FleetOptions
    policy_paths: Sequence[str]
    packs: Sequence[str]
    operation: Literal["CREATE", "UPDATE", "DELETE"] | None
    old_paths: Sequence[str]
    user: str
    groups: Sequence[str]
    namespace: str | None
    now: datetime | None
    audit_only: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The verdicts of an input, in its order, the input, and whether some of it could not be used."""

    manifests: Manifests
    verdicts: Sequence[Verdict]

    @property
    def denied(self) -> bool:
        """Whether something was denied."""
        return any(not verdict.decision.allowed for verdict in self.verdicts)

    @property
    def faulty(self) -> bool:
        """Whether a rule crashed."""
        return any(verdict.decision.internal_error for verdict in self.verdicts)


def judged(options: RequestOptions) -> Judgement:
    """Read everything the options name and judge it. What cannot be used is reported on the standard error output.

    Raises InputError, FleetError when there is nothing to judge, or nothing to judge it by.
    """
    policies = read_policies(options.policy_paths, options.packs)
    manifests = read_input(options.files)
    cluster = read_cluster(
        options.source,
        namespace=options.namespace or only_namespace(manifests.objects),
        workloads=policies.workload_kinds,
    )
    asked, manifests = _asked(manifests, _manner(options, cluster, policies))
    complain_about(manifests.problems)
    complain_about_labels(cluster.fleet, policies)
    bench = Bench(
        fleet=cluster.fleet,
        policies=policies,
        now=options.now or datetime.now(UTC),
        settings=EngineSettings(cap="audit" if options.audit_only else None),
    )
    verdicts = judge_all(asked, bench, progress=lambda items: counted(items, "judging"))
    return Judgement(manifests=manifests, verdicts=verdicts)


def _manner(options: RequestOptions, cluster: Cluster, policies: PolicySet) -> Manner:
    old = read_input(options.old_paths) if options.old_paths else Manifests()
    complain_about(old.problems)
    manner = Manner(
        operation=options.operation or ("UPDATE" if options.old_paths else "CREATE"),
        user=user_of(options.user, options.groups),
        namespace=options.namespace or DEFAULT_NAMESPACE,
        old=tuple(found.raw for found in old.objects),
        workloads=KNOWN_WORKLOADS + policies.workload_kinds,
    )
    if manner.operation == "CREATE":
        return manner
    return replace(manner, stored={key_of(raw, manner): raw for raw in cluster.objects})


def _asked(manifests: Manifests, manner: Manner) -> tuple[Sequence[Asked], Manifests]:
    asked, faults = ask_all(manifests.objects, manner)
    problems = (Problem(message=text, source=document.source, line=document.line) for document, text in faults)
    return asked, replace(manifests, problems=(*manifests.problems, *problems))
