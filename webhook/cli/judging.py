"""Judges the requests of one input so that its objects see each other, as `kubectl apply -f` would leave them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from webhook.cli.asking import Asked
from webhook.engine import DEFAULTS, EngineSettings, admit
from webhook.engine.boundary import not_judged, passes_by
from webhook.errors import PatchError
from webhook.fleet.build import with_objects
from webhook.fleet.fleet import Fleet
from webhook.model.finding import Decision, PatchOp
from webhook.model.json_patch import apply_patch
from webhook.model.tolerant import mapping, text
from webhook.rulekit.policies import PolicySet
from webhook.rulekit.subject import read_subjects
from webhook.rulekit.view import POD_CLAIM_ANNOTATION


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What was decided of a request.

    `stored` is the object as the cluster would keep it (before the API's own defaults), `wished` what it would be if the
    changes that a mode holds back were made too. `remark` says why no rule was asked, or "".
    """

    asked: Asked
    decision: Decision
    stored: Any
    wished: Any
    remark: str = ""

    @property
    def word(self) -> str:
        """`deny`, `mutate`, `warn` or `allow`: the whole decision in a word."""
        if not self.decision.allowed:
            return "deny"
        if self.decision.patch:
            return "mutate"
        return "warn" if self.decision.warnings else "allow"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What requests are judged against."""

    fleet: Fleet
    policies: PolicySet
    now: datetime
    settings: EngineSettings = DEFAULTS


def judge_all(
    asked: Sequence[Asked], bench: Bench, *, progress: Callable[[Sequence[Asked]], Iterable[Asked]] = iter
) -> list[Verdict]:
    """A verdict for each request, in their order.

    Templates and claims are judged before the pods that use them, pods before the claims that are generated for them, so that
    each sees the others as they would be stored. A denied object stays visible: one run shall tell everything.
    """
    order = sorted(range(len(asked)), key=lambda i: _rank(asked[i]))
    fleet = with_objects(bench.fleet, (body for item in asked if (body := applied(item, item.review.object)) is not None))
    verdicts: dict[int, Verdict] = {}
    changed: list[Any] = []
    rank = 0
    for i, item in zip(order, progress([asked[i] for i in order]), strict=True):
        if changed and _rank(item) > rank:
            fleet = with_objects(fleet, changed)
            changed = []
        rank = _rank(item)
        verdict = _judge(item, fleet, bench)
        verdicts[i] = verdict
        if verdict.stored is not item.review.object:
            changed.append(applied(item, verdict.stored))
    return [verdicts[i] for i in range(len(asked))]


def applied(item: Asked, body: Any) -> Any:
    """`body` as the fleet shall see it: in its namespace; None for what no apply would leave there.

    A pod that was in no cluster yet (it has no phase) holds nothing, also when it names its node.
    """
    review = item.review
    if not isinstance(body, dict) or review.subresource or review.operation not in ("CREATE", "UPDATE"):
        return None
    meta = mapping(body.get("metadata"))
    if item.namespace and not text(meta.get("namespace")):
        body = {**body, "metadata": {**meta, "namespace": item.namespace}}
    spec = mapping(body.get("spec"))
    if (review.group, review.kind) == ("", "Pod") and "nodeName" in spec and not mapping(body.get("status")).get("phase"):
        body = {**body, "spec": {key: value for key, value in spec.items() if key != "nodeName"}}
    return body


def _judge(item: Asked, fleet: Fleet, bench: Bench) -> Verdict:
    admission = admit(item.review, fleet, bench.policies, bench.now, settings=bench.settings)
    return Verdict(
        asked=item,
        decision=admission.decision,
        stored=admission.object,
        wished=wished(admission.object, admission.decision.would_patch),
        remark=_remark(item, bench),
    )


def wished(stored: Any, held_back: Sequence[PatchOp]) -> Any:
    """`stored` with the changes that modes hold back; itself when there are none, or when they do not fit together."""
    try:
        return apply_patch(stored, held_back) if held_back else stored
    except PatchError:
        # They are for the object with the changes in force, and those are not made in what is refused.
        return stored


def _remark(item: Asked, bench: Bench) -> str:
    review, settings = item.review, bench.settings
    passed = passes_by(review, settings)
    if passed:
        return passed
    subjects = read_subjects(review.group, review.kind, review.object, bench.policies.workload_kinds)
    reasons = [not_judged(review, subject, settings) for subject in subjects]
    return "" if "" in reasons else next(iter(reasons), "no rule reads this kind")


def _rank(item: Asked) -> int:
    review = item.review
    if review.kind == "ResourceClaim":
        annotations = mapping(mapping(mapping(review.object).get("metadata")).get("annotations"))
        return 2 if POD_CLAIM_ANNOTATION in annotations else 0
    return 0 if review.group == "resource.k8s.io" else 1
