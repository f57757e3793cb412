"""A claim's requests as JSON: in v1's form, whatever the object's API version, and back again.

v1 and v1beta2 hold a plain ask under `exactly`, v1beta1 and v1alpha3 on the request itself; `firstAvailable` is the same
everywhere. What is recorded and compared is in v1's form; what is patched is in the object's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from webhook.model.claim_reading import ASK_KEYS, FLAT_VERSIONS
from webhook.model.finding import PatchOp
from webhook.model.pointer import join
from webhook.model.tolerant import Json, mapping, text

EXACTLY, LIST = "exactly", "firstAvailable"


def is_flat(raw: Json) -> bool:
    """Whether requests of this object carry the fields of `exactly` themselves."""
    return text(raw.get("apiVersion")) in FLAT_VERSIONS


def spec_pointer(raw: Json) -> str:
    """Where the claim's spec is: one level deeper in a template."""
    return "/spec/spec" if raw.get("kind") == "ResourceClaimTemplate" else "/spec"


def plain_ask(request: Json, flat: bool) -> dict[str, Any]:
    """The plain ask of a request, as v1 writes it under `exactly`; empty when there is none."""
    return {key: request[key] for key in request if key in ASK_KEYS} if flat else dict(mapping(request.get(EXACTLY)))


def in_v1(request: Json, flat: bool) -> dict[str, Any]:
    """The request as v1 has it: whatever a flat request holds beside its name and list is its ask, unknown fields too.

    A plain ask without any value is none: v1beta1 sends `deviceClassName: ""` beside a list.
    """
    if not flat:
        return dict(request)
    rest = {key: request[key] for key in request if key in ("name", LIST)}
    ask = {key: request[key] for key in request if key not in rest}
    return {**rest, EXACTLY: ask} if any(ask.values()) else rest


def in_version_of(request: Json, flat: bool) -> dict[str, Any]:
    """A request of v1's form as the object's version has it."""
    if not flat:
        return dict(request)
    rest = {key: value for key, value in request.items() if key != EXACTLY}
    return rest | dict(mapping(request.get(EXACTLY)))


def as_plain(request: Json, flat: bool, ask: Json) -> dict[str, Any]:
    """The request, in its own version, with `ask` (v1's form) instead of its list; what else it holds stays."""
    rest = {key: value for key, value in request.items() if key not in (EXACTLY, LIST)}
    if not flat:
        return {**rest, EXACTLY: dict(ask)}
    return {key: value for key, value in rest.items() if key not in ASK_KEYS} | dict(ask)


def list_ops(pointer: str, request: Json, flat: bool, alternatives: Iterable[Mapping[str, Any]]) -> tuple[PatchOp, ...]:
    """What turns the plain request at `pointer` into a list: its ask is taken off, in whatever form it is there."""
    fields = [key for key in request if key in ASK_KEYS] if flat else [EXACTLY]
    return (
        *({"op": "remove", "path": join(pointer, key)} for key in fields),
        {"op": "add", "path": join(pointer, LIST), "value": [dict(item) for item in alternatives]},
    )
