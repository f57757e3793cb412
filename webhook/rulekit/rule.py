"""What a rule is. One rule = one file in `webhook/rules/`, one line in `webhook.rules.ALL`, one folder in `tests/rules/`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from webhook.model.finding import Finding, PatchOp, Severity
from webhook.rulekit.view import View

#: The two calls of an admission: mutating webhooks run first, in sequence; validating ones see the final object.
Phase = Literal["mutate", "validate"]
PolicyKind = Literal["FallbackCompatibility", "TierFallback", "DeviceOwnership", "Checks", "ClaimRule"]
#: What a rule can be asked about. "Workload" stands for every controller with a pod template.
SubjectKind = Literal["ResourceClaim", "ResourceClaimTemplate", "Pod", "Workload", "Namespace", "DeviceClass"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """One kind of fault a rule can find: its stable id, its own severity and the rules revision that introduced it."""

    id: str
    severity: Severity
    summary: str
    since: tuple[int, int] = (0, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutation:
    """What a rule would change: RFC 6902 operations on the raw object, and what it has to say about them.

    Findings may be there without operations (an alternative left out, nothing left to inject).
    """

    ops: tuple[PatchOp, ...] = ()
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule. `check(view, policy)` yields findings; `mutate(view, policy)` proposes a change.

    `policy` is an instance of the policy kind that switched the rule on. Both are pure functions of their arguments.
    A rule is asked on CREATE only, and about a Workload, Namespace or DeviceClass also when what it reads has changed.
    `alike_for_pods`: of a pod under review the rule reads nothing but what `rulekit.likeness` compares, so that it is not asked
    again about the like of a pod it had nothing to say about.
    `changes_for` is the reason for which `mutate` changes objects: an exemption from it holds the change back.
    `reads_fleet` is False for rules that decide from the object, its namespace and the server's version alone: only those may
    deny when the facts about the cluster are stale.
    """

    id: str
    policy_kind: PolicyKind
    subjects: frozenset[SubjectKind]
    reasons: tuple[Reason, ...]
    check: Callable[[View, Any], Iterable[Finding]]
    phases: frozenset[Phase] = field(default_factory=lambda: frozenset({"validate"}))
    mutate: Callable[[View, Any], Mutation] | None = None
    changes_for: str = ""
    reads_fleet: bool = True
    alike_for_pods: bool = False

    def reason(self, reason_id: str) -> Reason:
        """The reason with that id. Raises KeyError when the rule does not declare it."""
        for reason in self.reasons:
            if reason.id == reason_id:
                return reason
        raise KeyError(reason_id)
