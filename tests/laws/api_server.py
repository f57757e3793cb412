"""What the API server does to claims and templates, for tests: defaults, conversion between versions, validation.

Written from dra-facts (k8s.io/api resource/v1, pkg/apis/resource/validation) and from none of our own code: it is what our
patches have to live with.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

Raw = dict[str, Any]

VERSIONS = ("v1", "v1beta2", "v1beta1", "v1alpha3")
_FLAT = ("v1beta1", "v1alpha3")
_EMPTY: tuple[Any, ...] = (None, "", 0, [], {})
_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


def version_of(raw: Raw) -> str:
    """`v1beta1` of `resource.k8s.io/v1beta1`."""
    return str(raw["apiVersion"]).rpartition("/")[2]


def devices_of(raw: Raw) -> Raw:
    """spec.devices of a claim, spec.spec.devices of a template."""
    spec = raw["spec"]
    devices: Raw = (spec["spec"] if raw["kind"] == "ResourceClaimTemplate" else spec)["devices"]
    return devices


def defaulted(raw: Raw) -> Raw:
    """The object with the API's defaults, as webhooks see it and as it is stored."""
    done = deepcopy(raw)
    flat = version_of(raw) in _FLAT
    for request in devices_of(done)["requests"]:
        plain = request if flat else request.get("exactly")
        if plain and (not flat or plain.get("deviceClassName")):
            _default(plain)
        for alternative in request.get("firstAvailable") or []:
            _default(alternative)
        if flat:
            # no omitempty on this field of v1beta1
            request.setdefault("deviceClassName", "")
    for entry in [*(devices_of(done).get("constraints") or []), *(devices_of(done).get("config") or [])]:
        _omit_empty(entry)
    return done


def _omit_empty(fields: Raw) -> None:
    for key in [key for key, value in fields.items() if value is not False and value in _EMPTY]:
        del fields[key]


def _default(ask: Raw) -> None:
    _omit_empty(ask)
    ask["allocationMode"] = ask.get("allocationMode") or "ExactCount"
    if ask["allocationMode"] == "ExactCount" and not ask.get("count"):
        ask["count"] = 1
    for toleration in ask.get("tolerations") or []:
        toleration["operator"] = toleration.get("operator") or "Equal"


def converted(raw: Raw, version: str) -> Raw:
    """The object in another API version."""
    done = deepcopy(raw)
    done["apiVersion"] = f"resource.k8s.io/{version}"
    was_flat, flat = version_of(raw) in _FLAT, version in _FLAT
    if was_flat != flat:
        devices = devices_of(done)
        devices["requests"] = [_flattened(item) if flat else _nested(item) for item in devices["requests"]]
    return done


def _flattened(request: Raw) -> Raw:
    rest = {key: value for key, value in request.items() if key != "exactly"}
    return {"deviceClassName": "", **rest, **request.get("exactly", {})}


def _nested(request: Raw) -> Raw:
    rest = {key: request[key] for key in ("name", "firstAvailable") if key in request}
    ask = {key: value for key, value in request.items() if key not in rest and (value is False or value not in _EMPTY)}
    return {**rest, "exactly": ask} if ask else rest


def problems(raw: Raw) -> list[str]:
    """What the API server would refuse, or what could never be allocated."""
    return list(_problems(converted(defaulted(raw), "v1")))


def _problems(raw: Raw) -> Iterator[str]:
    devices = devices_of(raw)
    requests = devices["requests"]
    names = [request.get("name", "") for request in requests]
    if len(requests) > 32 or len(set(names)) != len(names):
        yield "requests: too many, or a name twice"
    references = set(names)
    for request in requests:
        yield from _request_problems(request)
        references |= {f"{request.get('name')}/{item.get('name')}" for item in request.get("firstAvailable") or []}
    for kind in ("constraints", "config"):
        entries = devices.get(kind) or []
        if len(entries) > 32:
            yield f"{kind}: too many"
        for i, item in enumerate(entries):
            named = item.get("requests") or []
            if len(named) > 32 or len(set(named)) != len(named):
                yield f"{kind}[{i}].requests: too many, or one twice"
            yield from (f"{kind}[{i}].requests: {name} does not exist" for name in named if name not in references)


def _request_problems(request: Raw) -> Iterator[str]:
    name, listed = request.get("name", ""), request.get("firstAvailable") or []
    if not _DNS_LABEL.fullmatch(name):
        yield f"request {name!r} is no DNS label"
    if ("exactly" in request) == bool(listed):
        yield f"request {name}: exactly one of exactly and firstAvailable"
    if len(listed) > 8:
        yield f"request {name}: {len(listed)} alternatives"
    names = [item.get("name", "") for item in listed]
    if len(set(names)) != len(names) or not all(map(_DNS_LABEL.fullmatch, names)):
        yield f"request {name}: alternatives {names}"
    for ask in [*listed, *([request["exactly"]] if "exactly" in request else [])]:
        yield from (f"request {name}: {problem}" for problem in _ask_problems(ask, "exactly" in request))


def _ask_problems(ask: Raw, plain: bool) -> Iterator[str]:
    if not ask.get("deviceClassName"):
        yield "no deviceClassName"
    if ask["allocationMode"] == "ExactCount" and ask.get("count", 0) < 1:
        yield "count below 1"
    if ask["allocationMode"] == "All" and ask.get("count"):
        yield "a count beside All"
    if ask["allocationMode"] not in ("ExactCount", "All"):
        yield "an unknown allocationMode"
    if not plain and "adminAccess" in ask:
        yield "adminAccess in a list"
    if len(ask.get("selectors") or []) > 32 or any("cel" not in item for item in ask.get("selectors") or []):
        yield "selectors"
