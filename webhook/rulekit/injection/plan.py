"""Which requests become which lists, and which alternatives are left out of them, each for one reason."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from webhook.model.claim import ALL, Alternative, ClaimSpec, Request
from webhook.model.labels import matches_any
from webhook.rulekit.compatibility.declarations import Declaration, parse_declaration
from webhook.rulekit.injection.candidates import Candidate, candidates
from webhook.rulekit.injection.config_scope import covers
from webhook.rulekit.injection.limits import ALL_IN_LISTS_SINCE, Draft, LeftOut, left_out
from webhook.rulekit.injection.occasion import Occasion
from webhook.rulekit.policies import TierAsk
from webhook.rulekit.shapes.catalog import catalog_for
from webhook.rulekit.shapes.possible import alternative_shapes

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Injection:
    """A request and the list it becomes."""

    request: Request
    entries: tuple[Candidate, ...]

    @property
    def own(self) -> Alternative:
        """The plain ask of its author."""
        return self.request.alternatives[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a policy makes of a claim. `unchanged` are requests of which nothing but the author's ask was left.

    `scopes` maps the index of a config whose `requests` change to the names it gets.
    """

    injections: tuple[Injection, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    unchanged: tuple[Request, ...] = ()
    scopes: Mapping[int, tuple[str, ...]]


def wanted_lists(occasion: Occasion) -> tuple[tuple[Request, TierAsk], ...]:
    """The plain asks that the policy means, each with the first entry of the policy that fits it."""
    names = [request.name for request in occasion.spec.requests]
    if any(not _LABEL.fullmatch(name) for name in names) or len(set(names)) != len(names):
        # the API server will refuse the claim; records and references go by name
        return ()
    plain = (request for request in occasion.spec.requests if _may_become_a_list(occasion, request))
    found = ((request, _ask_for(occasion, request)) for request in plain)
    return tuple((request, ask) for request, ask in found if ask is not None)


def plan(occasion: Occasion, wanted: Sequence[tuple[Request, TierAsk]]) -> Plan:
    """The lists for these requests, in their order: what an earlier one takes (quota, names in a config) is taken."""
    spec = occasion.spec
    scopes: Mapping[int, tuple[str, ...]] = {i: config.requests for i, config in enumerate(spec.configs)}
    injections: list[Injection] = []
    dropped: list[LeftOut] = []
    unchanged: list[Request] = []
    lists = [(request, candidates(ask, request.alternatives[0], occasion.view.policies)) for request, ask in wanted]
    possible = tuple(item.alternative for _, listed in lists for item in listed)
    for request, listed in lists:
        draft = Draft(occasion=occasion, request=request, spec=spec, scopes=scopes, possible=possible)
        entries = _entries(draft, listed, dropped)
        if all(item.author for item in entries):
            if any(item.request is request for item in dropped):
                unchanged.append(request)
            continue
        injections.append(Injection(request=request, entries=entries))
        scopes = draft.scopes_with(entries)
        spec = draft.spec_with(entries)
    changed = {i: names for i, names in scopes.items() if names != occasion.spec.configs[i].requests}
    return Plan(injections=tuple(injections), left_out=tuple(dropped), unchanged=tuple(unchanged), scopes=changed)


def _entries(draft: Draft, listed: Sequence[Candidate], dropped: list[LeftOut]) -> tuple[Candidate, ...]:
    kept: list[Candidate] = []
    author = next((item for item in listed if item.author), None)
    for item in listed:
        if item.author:
            kept.append(item)
            continue
        others = kept if author is None or author in kept else [*kept, author]
        reason = left_out(draft, item, others)
        if reason is None:
            kept.append(item)
        else:
            dropped.append(reason)
    return tuple(kept)


def _may_become_a_list(occasion: Occasion, request: Request) -> bool:
    if request.form not in ("exactly", "flat"):
        return False
    own = request.alternatives[0]
    if own.admin_access or not own.understood or not own.device_class:
        return False
    if own.allocation_mode != ALL and own.count < 1:
        return False
    if own.allocation_mode == ALL and occasion.view.fleet.server.minor < ALL_IN_LISTS_SINCE:
        return False
    return not any(_is_strange(occasion.spec, request.name))


def _is_strange(spec: ClaimSpec, request: str) -> Iterator[bool]:
    """Whether something that is not understood is said about a request: then what a list would do to it is not known."""
    yield from (bool(item.unknown) and covers(item.requests, request) for item in spec.constraints)
    yield from ((bool(item.unknown) or not item.driver) and covers(item.requests, request) for item in spec.configs)


def _ask_for(occasion: Occasion, request: Request) -> TierAsk | None:
    own = request.alternatives[0]
    for ask in occasion.policy.asks:
        if own.allocation_mode == ALL and not ask.allocation_mode_all:
            continue
        if ask.device_classes and not matches_any(own.device_class, ask.device_classes):
            continue
        if ask.shapes and not _all_shapes_fit(occasion, request, ask.shapes):
            continue
        return ask
    return None


def _all_shapes_fit(occasion: Occasion, request: Request, patterns: tuple[str, ...]) -> bool:
    """Whether every possible shape of the plain ask is covered by one of the patterns, and all of them are known."""
    view, own = occasion.view, request.alternatives[0]
    possible = alternative_shapes(view.fleet, view.policies, occasion.authored, request, own, occasion.nodes)
    catalog = catalog_for(view.policies)
    parsed = [item for item in map(parse_declaration, patterns) if isinstance(item, Declaration)]
    entries = [entry for declaration in parsed for entry in declaration.entries]
    return not possible.uncertain and all(any(entry.covers(shape, catalog) for entry in entries) for shape in possible.shapes)
