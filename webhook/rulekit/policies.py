"""The organisation's policies as data: what `policyfile` makes of the files and rules read.

Field names follow the file format (docs/policy-reference.md) in Python's spelling. Everything is frozen; CEL is compiled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from webhook.cel import Expression, Selector
from webhook.model.claim import Toleration
from webhook.model.device import Device
from webhook.model.finding import Mode, Severity
from webhook.model.labels import LabelSelector
from webhook.model.workload_kinds import WorkloadKind

Overridable = Literal["both", "raise", "lower", "none"]
NodeOwner = Literal["dra", "device-plugin", "split"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """Which reviews a policy is for. An empty field does not restrict; all given fields must hold.

    `tiers` holds values of the namespace label `fallgate.dev/tier`; "" stands for namespaces without one. `namespaces` and
    `exclude_namespaces` are globs. `device_classes` and `drivers` hold globs: at least one request of the object must fit.
    """

    namespace_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    exclude_namespaces: tuple[str, ...] = ()
    tiers: tuple[str, ...] = ()
    device_classes: tuple[str, ...] = ()
    drivers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What every rule policy has. `digest` is 7 hex digits over its canonical content; `source` is `file:line`."""

    kind: str
    name: str
    digest: str
    source: str = ""
    mode: Mode = "enforce"
    overridable: Overridable = "both"
    match: Match = field(default_factory=Match)

    @property
    def label(self) -> str:
        """`declared-fallbacks@3f2a91c`: how findings name a policy."""
        return f"{self.name}@{self.digest}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogModel:
    """A named family of devices. `name` may hold one `{attribute}`: then it names one model per value.

    `device_class` is "" when the model is not tied to a class. `examples` only name shapes that no live device can name.
    """

    name: str
    driver: str
    aliases: tuple[str, ...] = ()
    device_class: str = ""
    selector: Selector | None = None
    examples: tuple[Device, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Existing:
    """Pods of controllers created before `created_before` are judged in `mode` until `until`."""

    created_before: datetime
    mode: Mode = "warn"
    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FallbackCompatibility:
    """Which claims need a declaration of the shapes the workload runs on, and what happens without one."""

    header: Header
    requests: Literal["lists", "all"] = "lists"
    undeclared: Literal["defer", "deny"] = "defer"
    workloads: Literal["warn", "deny"] = "warn"
    on_uncertain: Literal["note", "warn", "deny"] = "warn"
    existing: Existing | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TierAlternative:
    """One alternative a tier adds: by catalog `model`, or spelt out with `device_class`.

    `count` None means the author's count; `count_factor` multiplies it (rounded up). `selectors` are CEL texts.
    """

    name: str
    model: str = ""
    device_class: str = ""
    selectors: tuple[str, ...] = ()
    count: int | None = None
    count_factor: Fraction | None = None
    allocation_mode: str = "ExactCount"
    tolerations: tuple[Toleration, ...] = ()
    capacity: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TierAsk:
    """Which plain asks get which alternatives.

    `shapes` are declaration entries (`*x h100-*`): every possible shape of the ask must be covered by one of them.
    """

    alternatives: tuple[TierAlternative, ...]
    shapes: tuple[str, ...] = ()
    device_classes: tuple[str, ...] = ()
    author: Literal["first", "last", "replace"] = "first"
    allocation_mode_all: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SkipWhen:
    """Where nothing is injected because somebody else must admit or place the pod.

    `labels` are label keys on the namespace, the pod or its controller; `local_queues`: namespaces with a Kueue LocalQueue;
    `scheduler_names`: pods of a scheduler that cannot place lists.
    """

    labels: tuple[str, ...] = ("kueue.x-k8s.io/queue-name",)
    local_queues: bool = True
    scheduler_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TierFallback:
    """The default fallback lists of one or several tiers ("" = namespaces without a tier).

    `default`: its one tier is that of all namespaces without the label (see PolicySet.default_tier).
    """

    header: Header
    tiers: tuple[str, ...]
    asks: tuple[TierAsk, ...]
    default: bool = False
    targets: frozenset[str] = frozenset({"generatedClaims", "claims"})
    skip_when: SkipWhen = field(default_factory=SkipWhen)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerOfNodes:
    """Who may hand out the devices of the nodes that match `node_selector`."""

    node_selector: LabelSelector
    owner: NodeOwner


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceOwnership:
    """A device group: one driver and the extended resource names (globs) of the same hardware; who owns it where."""

    header: Header
    driver: str
    extended_resources: tuple[str, ...]
    owners: tuple[OwnerOfNodes, ...] = ()
    default: Literal["undecided", "dra", "device-plugin"] = "undecided"
    action: Literal["steer", "deny", "warn"] = "steer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checks:
    """Which rules of the catalogue run, and with which severity. A rule or reason not named has its own.

    `rules` maps a rule id or a reason to a severity or "off". `revision` pins the rules: what newer revisions find is capped
    at audit.
    """

    header: Header
    rules: Mapping[str, Severity | Literal["off"]] = field(default_factory=dict)
    revision: tuple[int, int] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRule:
    """The organisation's own rule in CEL. `when` and `require` give true or false, `message` gives text."""

    header: Header
    for_each: Literal["claim", "request", "alternative"]
    require: Expression
    message: Expression
    when: Expression | None = None
    severity: Severity = "deny"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exemption:
    """Somebody who is let off. All given selectors must hold; empty `rules` and `policies` mean every one.

    `namespaces`, `users`, `groups` are globs. `expires` is the last instant at which it holds.
    """

    policy: str
    reason: str
    namespaces: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    pods: LabelSelector | None = None
    rules: tuple[str, ...] = ()
    policies: tuple[str, ...] = ()
    effect: Literal["allow", "warn"] = "allow"
    owner: str = ""
    expires: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeCap:
    """The panic button: caps every mode, or that of one rule, at `mode`, until `until`."""

    name: str
    mode: Mode
    rule: str = ""
    until: datetime | None = None


RulePolicy: TypeAlias = FallbackCompatibility | TierFallback | DeviceOwnership | Checks | ClaimRule


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PolicySet:
    """All policies in force, each kind in file order. `digest` is 12 hex digits over all of them.

    Compared and hashed by identity, so that what is derived from a set can be remembered: `memo` is the engine's place for it.
    """

    digest: str = ""
    catalog: tuple[CatalogModel, ...] = ()
    fallback_compatibility: tuple[FallbackCompatibility, ...] = ()
    tier_fallback: tuple[TierFallback, ...] = ()
    device_ownership: tuple[DeviceOwnership, ...] = ()
    checks: tuple[Checks, ...] = ()
    claim_rules: tuple[ClaimRule, ...] = ()
    exemptions: tuple[Exemption, ...] = ()
    mode_caps: tuple[ModeCap, ...] = ()
    workload_kinds: tuple[WorkloadKind, ...] = ()
    default_tier: str = ""
    memo: dict[Any, Any] = field(default_factory=dict, repr=False)

    @property
    def holds_anything(self) -> bool:
        """Whether any policy document is in the set: an emptied folder is no policy of anybody's."""
        return any(
            (
                self.catalog,
                self.fallback_compatibility,
                self.tier_fallback,
                self.device_ownership,
                self.checks,
                self.claim_rules,
                self.exemptions,
                self.mode_caps,
                self.workload_kinds,
            )
        )


EMPTY = PolicySet()
