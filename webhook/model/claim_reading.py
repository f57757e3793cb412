"""JSON -> Claim, ClaimTemplate, in every API version (v1, v1beta2, v1beta1, v1alpha3). Never raises on odd input."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from webhook.model.claim import (
    ALL,
    EXACT_COUNT,
    AllocatedDevice,
    Alternative,
    Claim,
    ClaimSpec,
    ClaimTemplate,
    Constraint,
    OpaqueConfig,
    Request,
    RequestForm,
    SelectorText,
    Toleration,
)
from webhook.model.meta import read_meta
from webhook.model.pointer import join
from webhook.model.tolerant import Json, flag, integer, mapping, quantity_text, sequence, string_map, string_tuple, text

#: API versions whose requests carry the fields of `exactly` themselves.
FLAT_VERSIONS = frozenset({"resource.k8s.io/v1beta1", "resource.k8s.io/v1alpha3"})

#: The fields of `exactly`; a flat request carries them itself.
ASK_KEYS = frozenset({"deviceClassName", "selectors", "allocationMode", "count", "adminAccess", "tolerations", "capacity"})
_ALTERNATIVE_KEYS = (ASK_KEYS - {"adminAccess"}) | {"name"}
_FLAT_REQUEST_KEYS = ASK_KEYS | {"name", "firstAvailable"}
# In v1 and v1beta2 the server drops the flat fields of a request: they mean nothing, and are not unknown either.
_REQUEST_KEYS = _FLAT_REQUEST_KEYS | {"exactly"}
_CONSTRAINT_KEYS = frozenset({"requests", "matchAttribute", "distinctAttribute"})
_CONFIG_KEYS = frozenset({"requests", "opaque"})


def read_claim(raw: object) -> Claim:
    """A ResourceClaim of any API version."""
    body = mapping(raw)
    status = mapping(body.get("status"))
    api_version = text(body.get("apiVersion"))
    return Claim(
        api_version=api_version,
        meta=read_meta(body),
        spec=read_claim_spec(body.get("spec"), "/spec", api_version),
        allocation=_read_allocation(status.get("allocation")),
    )


def read_claim_template(raw: object) -> ClaimTemplate:
    """A ResourceClaimTemplate of any API version."""
    body = mapping(raw)
    outer = mapping(body.get("spec"))
    claim_meta = mapping(outer.get("metadata"))
    api_version = text(body.get("apiVersion"))
    return ClaimTemplate(
        api_version=api_version,
        meta=read_meta(body),
        spec=read_claim_spec(outer.get("spec"), "/spec/spec", api_version),
        claim_annotations=string_map(claim_meta.get("annotations")),
    )


def read_claim_spec(raw: object, pointer: str, api_version: str) -> ClaimSpec:
    """A claim's spec found at `pointer` of an object of `api_version`."""
    devices = mapping(mapping(raw).get("devices"))
    base = join(pointer, "devices")
    flat = api_version in FLAT_VERSIONS
    return ClaimSpec(
        pointer=pointer,
        requests=tuple(
            _read_request(mapping(item), join(base, "requests", i), flat)
            for i, item in enumerate(sequence(devices.get("requests")))
        ),
        constraints=tuple(
            _read_constraint(mapping(item), join(base, "constraints", i))
            for i, item in enumerate(sequence(devices.get("constraints")))
        ),
        configs=tuple(
            _read_config(mapping(item), join(base, "config", i)) for i, item in enumerate(sequence(devices.get("config")))
        ),
    )


def _read_request(raw: Json, pointer: str, flat: bool) -> Request:
    listed = tuple(
        _read_alternative(mapping(item), join(pointer, "firstAvailable", i), _ALTERNATIVE_KEYS)
        for i, item in enumerate(sequence(raw.get("firstAvailable")))
    )
    asked = _read_plain_ask(raw, pointer, flat)
    form: RequestForm
    if listed and asked:
        form = "both"
    elif listed:
        form = "list"
    elif asked:
        form = "flat" if flat else "exactly"
    else:
        form = "none"
    alternatives = (*((asked,) if asked else ()), *listed)
    # What a key of the request itself might mean holds for whatever alternative is taken.
    strange = tuple(sorted(raw.keys() - (_FLAT_REQUEST_KEYS if flat else _REQUEST_KEYS)))
    if strange:
        alternatives = tuple(replace(item, unknown=(*item.unknown, *strange)) for item in alternatives)
    return Request(name=text(raw.get("name")), pointer=pointer, form=form, alternatives=alternatives)


def _read_plain_ask(raw: Json, pointer: str, flat: bool) -> Alternative | None:
    if not flat:
        exactly = raw.get("exactly")
        return _read_alternative(exactly, join(pointer, "exactly"), ASK_KEYS) if isinstance(exactly, dict) else None
    # v1beta1 sends `deviceClassName: ""` beside firstAvailable: what counts is a value, not the key.
    if not any(raw.get(key) for key in ASK_KEYS):
        return None
    return _read_alternative({key: raw[key] for key in ASK_KEYS if key in raw}, pointer, ASK_KEYS)


def _read_alternative(raw: Json, pointer: str, known: frozenset[str]) -> Alternative:
    mode = text(raw.get("allocationMode")) or EXACT_COUNT
    count = integer(raw.get("count"))
    return Alternative(
        name=text(raw.get("name")),
        device_class=text(raw.get("deviceClassName")),
        pointer=pointer,
        selectors=tuple(
            SelectorText(
                expression=text(mapping(mapping(item).get("cel")).get("expression")),
                pointer=join(pointer, "selectors", i, "cel", "expression"),
            )
            for i, item in enumerate(sequence(raw.get("selectors")))
        ),
        allocation_mode=mode,
        count=(count or 1) if mode == EXACT_COUNT else (0 if mode == ALL else count),
        admin_access=flag(raw.get("adminAccess")),
        tolerations=tuple(_read_toleration(mapping(item)) for item in sequence(raw.get("tolerations"))),
        capacity=_read_capacity(raw.get("capacity")),
        unknown=tuple(sorted(raw.keys() - known)),
    )


def _read_toleration(raw: Json) -> Toleration:
    return Toleration(
        key=text(raw.get("key")),
        operator=text(raw.get("operator")) or "Equal",
        value=text(raw.get("value")),
        effect=text(raw.get("effect")),
        seconds=integer(raw["tolerationSeconds"]) if raw.get("tolerationSeconds") is not None else None,
    )


def _read_capacity(raw: object) -> dict[str, str]:
    requests = mapping(mapping(raw).get("requests"))
    return {key: quantity_text(value) for key, value in requests.items() if quantity_text(value)}


def _read_constraint(raw: Json, pointer: str) -> Constraint:
    return Constraint(
        requests=string_tuple(raw.get("requests")),
        pointer=pointer,
        match_attribute=text(raw.get("matchAttribute")),
        distinct_attribute=text(raw.get("distinctAttribute")),
        unknown=tuple(sorted(raw.keys() - _CONSTRAINT_KEYS)),
    )


def _read_config(raw: Json, pointer: str) -> OpaqueConfig:
    opaque = mapping(raw.get("opaque"))
    return OpaqueConfig(
        requests=string_tuple(raw.get("requests")),
        pointer=pointer,
        driver=text(opaque.get("driver")),
        parameters=opaque.get("parameters"),
        unknown=tuple(sorted(raw.keys() - _CONFIG_KEYS)),
    )


def _read_allocation(raw: Any) -> tuple[AllocatedDevice, ...] | None:
    if not isinstance(raw, dict):
        return None
    return tuple(
        AllocatedDevice(
            request=text(item.get("request")),
            driver=text(item.get("driver")),
            pool=text(item.get("pool")),
            device=text(item.get("device")),
            admin_access=flag(item.get("adminAccess")),
        )
        for item in map(mapping, sequence(mapping(raw.get("devices")).get("results")))
    )
