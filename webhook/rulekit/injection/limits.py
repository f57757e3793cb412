"""Why an alternative is left out of a list: what would make the whole pod unschedulable, unpayable or fail behind our back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from webhook.model.claim import ALL, MAX_ALTERNATIVES, MAX_RESULTS, Alternative, ClaimSpec, Request
from webhook.model.pointer import field_path
from webhook.rulekit.injection.candidates import Candidate, same_ask
from webhook.rulekit.injection.claim_rules import broken_rule
from webhook.rulekit.injection.compatibility import brought_upon_others, declaration_needed, undeclared
from webhook.rulekit.injection.config_scope import MAX_NAMES, Fit, covers, fit, kind_of, rescoped
from webhook.rulekit.injection.occasion import Occasion
from webhook.rulekit.injection.ownership import double_booked
from webhook.rulekit.injection.quota import charges, shortage

#: The first minor version whose allocator handles `All` inside a list (kubernetes issues 131660, 137347).
ALL_IN_LISTS_SINCE: Final = 36


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """An alternative that is not added to the list of `request`: `why`, and what to do about it ("" if nothing)."""

    request: Request
    candidate: Candidate
    why: str
    remedy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A request that is being turned into a list. `spec` and `scopes` hold what requests before it have become.

    `possible` is everything that may be injected into the claim, whatever of it is left out.
    """

    occasion: Occasion
    request: Request
    spec: ClaimSpec
    scopes: Mapping[int, tuple[str, ...]]
    possible: tuple[Alternative, ...] = ()

    @property
    def own(self) -> Alternative:
        """The author's plain ask."""
        return self.request.alternatives[0]

    def spec_with(self, entries: Sequence[Candidate]) -> ClaimSpec:
        """The claim's spec when the request has these entries."""
        listed = replace(self.request, form="list", alternatives=tuple(item.alternative for item in entries))
        return replace(self.spec, requests=tuple(listed if item is self.request else item for item in self.spec.requests))

    def scopes_with(self, entries: Sequence[Candidate]) -> Mapping[int, tuple[str, ...]]:
        """The names each config lists when the request has these entries.

        They follow unless they are apart: what cannot follow is left out, and whether the author's config suits the author's
        own ask is not ours to say.
        """
        inventory, scopes = self.occasion.view.fleet.inventory, dict(self.scopes)
        for i, config in enumerate(self.spec.configs):
            if covers(scopes[i], self.request.name):
                fits = {item.name: fit(config, self.own, item.alternative, inventory) for item in entries}
                follow = [name for name, how in fits.items() if how is not Fit.APART]
                apart = [name for name, how in fits.items() if how is Fit.APART]
                scopes[i] = rescoped(scopes[i], self.request.name, follow, apart, self.spec)
        return scopes


def left_out(draft: Draft, item: Candidate, others: Sequence[Candidate]) -> LeftOut | None:
    """Why `item` cannot join `others` in the list, or None. The first reason counts; cheap questions come first."""
    for reason in _REASONS:
        why, remedy = reason(draft, item, others)
        if why:
            return LeftOut(request=draft.request, candidate=item, why=why, remedy=remedy)
    return None


#: Why an alternative is left out, "" when there is nothing against it; and what to do about it, "" when nothing helps.
_Verdict: TypeAlias = tuple[str, str]
_FINE: Final = ("", "")


def _unmade(draft: Draft, item: Candidate, _: Sequence[Candidate]) -> _Verdict:
    return item.problem, f"correct TierFallback {draft.occasion.policy.header.name}"


def _missing_class(draft: Draft, item: Candidate, _: Sequence[Candidate]) -> _Verdict:
    view, name = draft.occasion.view, item.alternative.device_class
    ref = view.missing_class(name)
    if ref is None or not ("DeviceClass" in view.fleet.observed or ref in view.absent):
        return _FINE
    return f"DeviceClass {name} does not exist, and one missing class keeps the whole pod from being scheduled", ""


def _duplicate(_: Draft, item: Candidate, others: Sequence[Candidate]) -> _Verdict:
    same = next((other for other in others if same_ask(other.alternative, item.alternative)), None)
    return (f'it asks for the same as "{same.name}"', "") if same is not None else _FINE


def _dropped_by_server(draft: Draft, item: Candidate, _: Sequence[Candidate]) -> _Verdict:
    server = draft.occasion.view.fleet.server
    if item.alternative.allocation_mode == ALL and server.minor < ALL_IN_LISTS_SINCE:
        return (
            f"allocationMode All inside a list is not handled right before Kubernetes 1.{ALL_IN_LISTS_SINCE} ({server} here)",
            "",
        )
    for field, written, gate in (
        ("capacity request", bool(item.alternative.capacity), "DRAConsumableCapacity"),
        ("tolerations", bool(item.tolerations), "DRADeviceTaints"),
    ):
        if written and not server.enabled(gate):
            return f"this API server ({server}) would drop its {field}: feature gate {gate} is off", ""
    return _FINE


def _too_many(draft: Draft, item: Candidate, others: Sequence[Candidate]) -> _Verdict:
    if len(others) >= MAX_ALTERNATIVES:
        return f"a list has at most {MAX_ALTERNATIVES} alternatives", ""
    # what the author wrote counts, not what was injected meanwhile: asked twice, the answer is the same
    rest = sum(_fewest(other) for other in draft.occasion.authored.requests if other.name != draft.request.name)
    devices = rest + max(item.alternative.count, 1)
    if devices > MAX_RESULTS:
        return f"with it the claim would need at least {devices} devices, and a claim can be given {MAX_RESULTS}", ""
    return _FINE


def _fewest(request: Request) -> int:
    return min((max(alternative.count, 1) for alternative in request.alternatives), default=0)


def _cel_error(draft: Draft, item: Candidate, _: Sequence[Candidate]) -> _Verdict:
    selectors = tuple(selector.expression for selector in item.alternative.selectors)
    matches = draft.occasion.view.fleet.inventory.match(item.alternative.device_class, selectors)
    if matches.problems:
        return f"a selector does not compile: {matches.problems[0].message}", ""
    if matches.too_costly:
        return matches.too_costly, ""
    error = matches.first_error()
    if error is None:
        return _FINE
    device = f"{error.device.name} of pool {error.device.pool} ({error.device.driver})"
    return (
        f"a selector raises a CEL error on device {device}, where the scheduler would give up on the pod: {error.message}",
        f"guard the attribute with has(...) in {error.expression}",
    )


def _config(draft: Draft, item: Candidate, others: Sequence[Candidate]) -> _Verdict:
    before, after = draft.scopes_with(others), draft.scopes_with([*others, item])
    for i, config in enumerate(draft.spec.configs):
        if not covers(draft.scopes[i], draft.request.name):
            continue
        place = field_path(config.pointer)
        if fit(config, draft.own, item.alternative, draft.occasion.view.fleet.inventory) is Fit.CANNOT:
            what = f"{kind_of(config) or 'config'} of {config.driver}"
            return f"{place} ({what}) is for the request, and cannot be meant for {item.label} too", ""
        if len(after[i]) > max(MAX_NAMES, len(before[i])):
            return f"{place} would have to name {len(after[i])} requests, and it can name {MAX_NAMES}", ""
    return _FINE


def _unpayable(draft: Draft, item: Candidate, others: Sequence[Candidate]) -> _Verdict:
    view = draft.occasion.view
    quotas = view.fleet.quotas.get(view.namespace_name, ())
    before, after = (charges(draft.spec_with(entries).requests, view.fleet) for entries in (others, [*others, item]))
    short = shortage(before, after, quotas)
    if short is None:
        return _FINE
    return (
        f"quota {short.quota} cannot pay it: with it the claim is charged {short.needed} for {short.key}, "
        f"of which {short.left} of {short.hard} are left",
        "",
    )


def _ruled_out(draft: Draft, item: Candidate, others: Sequence[Candidate]) -> _Verdict:
    return broken_rule(draft.occasion, draft.spec, draft.spec_with([*others, item])), ""


def _undeclared(draft: Draft, item: Candidate, _: Sequence[Candidate]) -> _Verdict:
    if not declaration_needed(draft.occasion.view, draft.possible):
        return _FINE
    found = undeclared(draft.occasion, draft.request, item.alternative)
    return found if found[0] else brought_upon_others(draft.occasion, draft.spec, item.alternative)


def _double_booked(draft: Draft, item: Candidate, others: Sequence[Candidate]) -> _Verdict:
    beside = tuple(other.alternative for other in others)
    return double_booked(draft.occasion, draft.spec, draft.request, beside, item.alternative, draft.possible), ""


_REASONS: Final = (
    _unmade,
    _missing_class,
    _duplicate,
    _dropped_by_server,
    _too_many,
    _cel_error,
    _config,
    _unpayable,
    _double_booked,
    _ruled_out,
    _undeclared,
)
