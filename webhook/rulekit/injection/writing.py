"""A plan as RFC 6902 operations on the raw object: the requests and config scopes it changes, and the record of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from webhook.model.claim import ClaimSpec
from webhook.model.finding import PatchOp
from webhook.model.pointer import join
from webhook.model.tolerant import Json, at, mapping
from webhook.rulekit.injection.candidates import entry
from webhook.rulekit.injection.plan import Injection, Plan
from webhook.rulekit.injection.provenance import (
    ABSENT,
    INJECTED,
    InjectedRequest,
    Provenance,
    RescopedConfig,
    read_provenance,
    write_provenance,
)
from webhook.rulekit.injection.requests_writing import LIST, is_flat, list_ops, plain_ask
from webhook.rulekit.patching import ANNOTATIONS, set_annotation


def plan_ops(raw: Json, spec: ClaimSpec, plan: Plan, policy: str) -> tuple[PatchOp, ...]:
    """What carries out `plan` on the object whose claim spec is `spec`; `policy` is `name@digest`. Nothing for no injection."""
    if not plan.injections:
        return ()
    flat = is_flat(raw)
    ops: list[PatchOp] = []
    for injection in plan.injections:
        request = mapping(at(raw, injection.request.pointer))
        own = plain_ask(request, flat)
        ops.extend(list_ops(injection.request.pointer, request, flat, [entry(item, own) for item in injection.entries]))
    for index, names in plan.scopes.items():
        ops.append(_scope_op(raw, spec.configs[index].pointer, names))
    value = write_provenance(_record(raw, spec, plan, policy, flat))
    return (*ops, *set_annotation(raw, INJECTED, value))


def _scope_op(raw: Json, pointer: str, names: tuple[str, ...]) -> PatchOp:
    known = "requests" in mapping(at(raw, pointer))
    return {"op": "replace" if known else "add", "path": join(pointer, "requests"), "value": list(names)}


def _record(raw: Json, spec: ClaimSpec, plan: Plan, policy: str, flat: bool) -> Provenance:
    """What was recorded before, by another policy, and what this plan adds."""
    annotations = at(raw, ANNOTATIONS)
    before = read_provenance(mapping(annotations))
    requests = [
        _recorded(injection, mapping(at(raw, injection.request.pointer)), policy, flat) for injection in plan.injections
    ]
    scopes = [_scope(index, mapping(at(raw, spec.configs[index].pointer))) for index in plan.scopes]
    if before is None:
        given = "annotations" in mapping(raw.get("metadata")) and not annotations
        return Provenance(requests=tuple(requests), configs=tuple(scopes), empty_annotations=annotations if given else ABSENT)
    return Provenance(
        requests=(*before.requests, *requests),
        configs=(*before.configs, *_new(scopes, before.configs)),
        empty_annotations=before.empty_annotations,
    )


def _new(scopes: Iterable[RescopedConfig], known: Iterable[RescopedConfig]) -> Iterable[RescopedConfig]:
    """A config that an earlier policy has changed already is recorded as its author wrote it."""
    indexes = {item.index for item in known}
    return (item for item in scopes if item.index not in indexes)


def _recorded(injection: Injection, request: Mapping[str, Any], policy: str, flat: bool) -> InjectedRequest:
    return InjectedRequest(
        name=injection.request.name,
        policy=policy,
        exactly=plain_ask(request, flat),
        author=next((item.name for item in injection.entries if item.author), None),
        added=tuple(item.name for item in injection.entries if not item.author),
        empty_list=request.get(LIST, ABSENT),
    )


def _scope(index: int, config: Mapping[str, Any]) -> RescopedConfig:
    return RescopedConfig(index=index, requests=config.get("requests", ABSENT))
