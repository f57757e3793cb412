"""What a ClaimRule is asked about: claims, their requests, their alternatives, and whether each keeps the rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from webhook.cel import CelError, Expression, Shared
from webhook.model.claim import Alternative, Claim, ClaimSpec, Request
from webhook.model.meta import Meta
from webhook.model.pod import Pod
from webhook.model.pointer import field_path, join
from webhook.rulekit.claim_rules.variables import (
    alternative_value,
    claim_value,
    namespace_value,
    pod_value,
    request_value,
    shapes_value,
)
from webhook.rulekit.policies import ClaimRule
from webhook.rulekit.shapes.possible import allocated_shape, alternative_shapes
from webhook.rulekit.shapes.shape import Shape
from webhook.rulekit.view import View

#: Steps, some third of a microsecond each, that the ClaimRules of a review may take together. A rule sees up to 256
#: alternatives, and 4,096 shapes of each.
MOST_STEPS: Final = 3_000_000
_STEPS_PER_SHAPE: Final = 32
_NO_STEPS: Final = CelError(f"ClaimRules take more than {MOST_STEPS:,} steps on this object")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One thing that is judged: a claim, or with it one of its requests, or with that one of its alternatives.

    `via` and `path` lead from a pod to the claim; both are empty when the claim itself is under review.
    """

    meta: Meta
    spec: ClaimSpec
    claim: Claim | None
    pod: Pod | None
    via: tuple[str, ...] = ()
    path: str = ""
    request: Request | None = None
    alternative: Alternative | None = None

    @property
    def kind(self) -> str:
        """ResourceClaim or ResourceClaimTemplate."""
        return "ResourceClaim" if self.claim is not None else "ResourceClaimTemplate"

    @property
    def place(self) -> str:
        """The field path of what is judged, in the claim or template."""
        judged = self.alternative or self.request
        return field_path(judged.pointer if judged is not None else join(self.spec.pointer, "devices"))


class Values(Mapping[str, Any]):
    """The variables of a case, each worked out when an expression reads it: shapes cost more than the rest."""

    def __init__(self, view: View, case: Case) -> None:
        self._view = view
        self._made: dict[str, Callable[[], Any]] = {
            "claim": lambda: _shared(view, "claim", case.spec, lambda: claim_value(case.kind, case.meta, case.spec)),
            "shapes": lambda: self._listed(shapes_value(_shapes(view, case))),
            "namespaceObject": lambda: _shared(view, "namespace", None, lambda: namespace_value(view.namespace.meta)),
            "tier": lambda: view.tier,
            "pod": lambda: _shared(view, "pod", case.pod, lambda: pod_value(case.pod)),
        }
        if case.request is not None:
            request = case.request
            self._made["request"] = lambda: request_value(request)
        if case.alternative is not None:
            alternative = case.alternative
            self._made["alternative"] = lambda: alternative_value(alternative)

    def __getitem__(self, name: str) -> Any:
        return self._made[name]()

    def __contains__(self, name: object) -> bool:
        return name in self._made

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)

    def evaluated(self, expression: Expression) -> object | CelError:
        """The result of an expression, or its error: one when the steps of the review are used up."""
        if not self._left:
            return _NO_STEPS
        result, steps = expression.tried(self, self._left)
        self._take(self._left if result is None else steps)
        return _NO_STEPS if result is None else result

    def _listed(self, shapes: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        self._take(_STEPS_PER_SHAPE * len(shapes))
        return shapes

    @property
    def _left(self) -> int:
        left = self._view.memo.get("steps of claim rules")
        return left if isinstance(left, int) else MOST_STEPS

    def _take(self, steps: int) -> None:
        self._view.memo["steps of claim rules"] = max(self._left - steps, 0)


def _shared(view: View, name: str, of: object, value: Callable[[], object]) -> Shared:
    """One value for all cases of a review: what is large is not made anew for each of 256 alternatives."""
    # The object is part of what is kept, so that its id cannot come to mean another.
    key = (name, id(of))
    found = view.memo.get(key)
    if not isinstance(found, tuple):
        found = view.memo[key] = (of, Shared(value()))
    shared: Shared = found[1]
    return shared


def cases(claim: Case, policy: ClaimRule) -> Iterator[Case]:
    """What the rule is asked about in a claim, by its `forEach`."""
    if policy.for_each == "claim":
        yield claim
        return
    for request in claim.spec.requests:
        if policy.for_each == "request":
            yield replace(claim, request=request)
            continue
        for alternative in request.alternatives:
            yield replace(claim, request=request, alternative=alternative)


def keeps(policy: ClaimRule, values: Values) -> bool | tuple[str, CelError]:
    """Whether a case keeps the rule, or the rule is not about it; which expression (`when`, `require`) failed, and how."""
    applies = values.evaluated(policy.when) if policy.when is not None else True
    if applies is False:
        return True
    if isinstance(applies, CelError):
        return "when", applies
    kept = values.evaluated(policy.require)
    return ("require", kept) if isinstance(kept, CelError) else kept is True


def words(policy: ClaimRule, values: Values) -> str:
    """The policy's own words; what it requires where they cannot be had."""
    said = values.evaluated(policy.message)
    words = " ".join(said.split()) if isinstance(said, str) else ""
    return words or f"required: {' '.join(policy.require.text.split())}"


def _shapes(view: View, case: Case) -> Iterator[Shape]:
    requests = (case.request,) if case.request is not None else case.spec.requests
    for request in requests:
        given = allocated_shape(view.fleet, view.policies, case.claim, request.name) if case.claim is not None else None
        if given is not None:
            yield given
            continue
        for alternative in (case.alternative,) if case.alternative is not None else request.alternatives:
            yield from alternative_shapes(view.fleet, view.policies, case.spec, request, alternative, view.feasible).shapes
