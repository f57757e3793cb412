"""Whether two claim specs are one to the API server: whatever version they are written in, before or after its defaults.

Defaults and empty fields as in k8s.io/api resource/v1 defaults: allocationMode ExactCount, count 1, toleration
operator Equal; an absent, a null and an empty field are one; quantities are compared by value. Opaque parameters and fields
that no API version known to us has are compared as they are written.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from webhook.model.claim import EXACT_COUNT
from webhook.model.quantity import parse_quantity
from webhook.model.tolerant import Json, mapping, sequence
from webhook.rulekit.injection.requests_writing import EXACTLY, LIST, in_v1, is_flat


def same_spec(one: Json, other: Json) -> bool:
    """Whether the `spec` of two claims or two templates (whole objects, any API version) is the same."""
    return _text(_normal_outer(one)) == _text(_normal_outer(other))


def same_alternative(one: Json, other: Json) -> bool:
    """Whether two entries of `firstAvailable` are the same."""
    return _text(_normal_ask(one)) == _text(_normal_ask(other))


def _text(value: object) -> str:
    # JSON text tells true from 1, which Python's == does not
    return json.dumps(value, sort_keys=True)


def _normal_outer(raw: Json) -> dict[str, Any]:
    spec, flat = mapping(raw.get("spec")), is_flat(raw)
    if raw.get("kind") != "ResourceClaimTemplate":
        return _normal_spec(spec, flat)
    return _changed(spec, {"spec": lambda inner: _normal_spec(mapping(inner), flat), "metadata": _normal_metadata})


def _normal_metadata(value: Any) -> Any:
    return _changed(mapping(value), {})


def _normal_spec(spec: Json, flat: bool) -> dict[str, Any]:
    return _changed(
        spec,
        {
            "devices": lambda devices: _changed(
                mapping(devices),
                {
                    "requests": _each(lambda request: _normal_request(request, flat)),
                    "constraints": _each(lambda constraint: _changed(constraint, {})),
                    "config": _each(lambda config: _changed(config, {})),
                },
            )
        },
    )


def _normal_request(request: Json, flat: bool) -> dict[str, Any]:
    return _changed(in_v1(request, flat), {EXACTLY: lambda ask: _normal_ask(mapping(ask)), LIST: _each(_normal_ask)})


def _normal_ask(ask: Json) -> dict[str, Any]:
    mode = ask.get("allocationMode") or EXACT_COUNT
    count = ask.get("count") or (1 if mode == EXACT_COUNT else None)
    return _changed(
        {**ask, "allocationMode": mode, "count": count},
        {"tolerations": _each(_normal_toleration), "capacity": _normal_capacity},
    )


def _normal_toleration(toleration: Json) -> dict[str, Any]:
    return _changed({**toleration, "operator": toleration.get("operator") or "Equal"}, {})


def _normal_capacity(capacity: Any) -> Any:
    return _changed(
        mapping(capacity), {"requests": lambda asked: {key: _quantity(mapping(asked)[key]) for key in mapping(asked)}}
    )


def _quantity(value: Any) -> str:
    """A quantity's value, however it is spelt."""
    try:
        quantity = parse_quantity(str(value))
    except ValueError:
        return str(value)
    digits, scale = quantity.unscaled, quantity.scale
    while digits and digits % 10 == 0:
        digits, scale = digits // 10, scale + 1
    return f"{digits}e{scale if digits else 0}"


def _each(normal: Callable[[Json], Any]) -> Callable[[Any], Any]:
    return lambda items: [normal(item) if isinstance(item, dict) else item for item in sequence(items)]


def _changed(fields: Json, changes: dict[str, Callable[[Any], Any]]) -> dict[str, Any]:
    """`fields` with some of them normalised, and without those that are empty."""
    normal = {key: changes[key](value) if key in changes else value for key, value in fields.items()}
    return {key: value for key, value in normal.items() if value is not None and value not in ("", [], {})}
