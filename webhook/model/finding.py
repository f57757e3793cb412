"""What a rule says, and what is decided of it.

A Finding is a rule's own view, before modes. A Judged finding has the mode applied. A Decision is all of a review's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from webhook.model.meta import ObjectRef

Severity = Literal["note", "warn", "deny"]
Mode = Literal["off", "audit", "warn", "enforce"]

SEVERITIES: tuple[Severity, ...] = ("note", "warn", "deny")
MODES: tuple[Mode, ...] = ("off", "audit", "warn", "enforce")

#: One RFC 6902 operation: {"op", "path", "value"}.
PatchOp = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing a rule has to say about the reviewed object.

    `reason` is the stable id of the kind of fault; `detail` names the offending values, in one sentence without its place.
    `path` is the field path in the reviewed object. `via` says, outermost first, how one gets from there to where the fault
    is written (`spec.resourceClaims[0] "gpu" -> ResourceClaimTemplate one-gpu`), `place` the path there.
    `headline` is what the whole denial starts with: one per rule and object. `remedy` is what to do, ready to be pasted.
    `policy` is `name@hash`, "" for rules that no policy file switched on.
    """

    rule: str
    reason: str
    severity: Severity
    detail: str
    path: str = ""
    headline: str = ""
    via: tuple[str, ...] = ()
    place: str = ""
    remedy: str = ""
    policy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A finding with the mode that applies to it and what it comes to: its own severity, capped by the mode.

    `effect` is "deny", "warn" or "note"; "note" goes to audit annotations and the decision log only.
    """

    finding: Finding
    mode: Mode
    effect: Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What is answered to a review. Nothing in it depends on the request uid.

    `patch` is returned, `would_patch` is what mutations in audit or warn mode would have added to it.
    `wanted` are objects that were not known and may matter: the edge may look them up once and ask again.
    `help` is the organisation's own line, shown under a denial.
    `internal_error` is set when a rule crashed and the configured stance answered.
    """

    allowed: bool
    code: int = 200
    message: str = ""
    findings: tuple[Judged, ...] = ()
    warnings: tuple[str, ...] = ()
    patch: tuple[PatchOp, ...] = ()
    would_patch: tuple[PatchOp, ...] = ()
    audit_annotations: Mapping[str, str] = field(default_factory=dict)
    wanted: tuple[ObjectRef, ...] = ()
    help: str = ""
    internal_error: str = ""
