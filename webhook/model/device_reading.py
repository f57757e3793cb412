"""JSON -> ResourceSlice, DeviceClass, in every API version. Never raises on odd input: an odd device is left out."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from webhook.model.device import (
    Attribute,
    AttributeKind,
    AttributeValue,
    CounterSet,
    CounterUse,
    Device,
    DeviceClass,
    DeviceTaint,
    Reach,
    ResourceSlice,
)
from webhook.model.meta import read_meta
from webhook.model.tolerant import Json, flag, integer, mapping, quantity_text, sequence, string_tuple, text

#: Names and values that are one object wherever they come up: thousands of devices say the same, and what is compared by
#: identity first is found sooner. Those that no two devices share come and go.
_SHARED: Final = 4_096


def read_slice(raw: object) -> ResourceSlice:
    """A ResourceSlice. Devices of v1alpha3 and v1beta1 sit one level deeper (`basic`), v1alpha3 capacities are plain."""
    body = mapping(raw)
    spec = mapping(body.get("spec"))
    pool = mapping(spec.get("pool"))
    driver, pool_name = text(spec.get("driver")), text(pool.get("name"))
    outer = _read_reach(spec)
    per_device = flag(spec.get("perDeviceNodeSelection"))
    devices = []
    for item in map(mapping, sequence(spec.get("devices"))):
        inner = mapping(item.get("basic")) or item
        name = text(item.get("name"))
        reach = _read_reach(inner) if per_device else outer
        if name:
            devices.append(read_device(inner, driver, pool_name, name, reach))
    return ResourceSlice(
        meta=read_meta(body),
        driver=driver,
        pool=pool_name,
        generation=integer(pool.get("generation")),
        slice_count=integer(pool.get("resourceSliceCount"), 1),
        reach=None if per_device else outer,
        devices=tuple(devices),
        counter_sets=tuple(
            CounterSet(name=text(item.get("name")), counters=_read_counters(item.get("counters")))
            for item in map(mapping, sequence(spec.get("sharedCounters")))
        ),
    )


def read_device(raw: Json, driver: str, pool: str, name: str, reach: Reach) -> Device:
    """One device's own fields, given what its slice says of it."""
    return Device(
        driver=driver,
        pool=pool,
        name=name,
        reach=reach,
        attributes=read_attributes(raw.get("attributes"), driver),
        capacity=read_capacity(raw.get("capacity"), driver),
        taints=tuple(read_taint(mapping(item)) for item in sequence(raw.get("taints"))),
        consumes=tuple(
            CounterUse(counter_set=text(item.get("counterSet")), counters=_read_counters(item.get("counters")))
            for item in map(mapping, sequence(raw.get("consumesCounters")))
        ),
        sharable=flag(raw.get("allowMultipleAllocations")),
        binding_conditions=string_tuple(raw.get("bindingConditions")),
    )


def read_class(raw: object) -> DeviceClass:
    """A DeviceClass of any API version."""
    body = mapping(raw)
    spec = mapping(body.get("spec"))
    return DeviceClass(
        api_version=text(body.get("apiVersion")),
        meta=read_meta(body),
        selectors=tuple(text(mapping(mapping(item).get("cel")).get("expression")) for item in sequence(spec.get("selectors"))),
        extended_resource_name=text(spec.get("extendedResourceName")),
    )


def read_attributes(raw: object, driver: str) -> Mapping[str, Attribute]:
    """Attributes by qualified name. A value of no known type is left out."""
    found = {}
    for name, value in mapping(raw).items():
        attribute = _read_attribute(value)
        if attribute is not None:
            found[_qualified(name, driver)] = attribute
    return found


def read_capacity(raw: object, driver: str) -> Mapping[str, str]:
    """Capacities by qualified name, as quantity text. v1alpha3 writes the quantity itself, later versions {value: ...}."""
    found = {}
    for name, value in mapping(raw).items():
        quantity = quantity_text(value.get("value") if isinstance(value, dict) else value)
        if quantity:
            found[_qualified(name, driver)] = _amount(quantity)
    return found


def read_taint(raw: Json) -> DeviceTaint:
    """A device taint."""
    return DeviceTaint(key=text(raw.get("key")), value=text(raw.get("value")), effect=text(raw.get("effect")))


@lru_cache(maxsize=_SHARED)
def _qualified(name: str, driver: str) -> str:
    return name if "/" in name else f"{driver}/{name}"


@lru_cache(maxsize=_SHARED)
def _amount(quantity: str) -> str:
    return quantity


@lru_cache(maxsize=_SHARED, typed=True)
def _attribute(kind: AttributeKind, value: AttributeValue) -> Attribute:
    return Attribute(kind, value)


def _read_attribute(raw: Any) -> Attribute | None:
    for kind, value in mapping(raw).items():
        match kind, value:
            case "string" | "version", str():
                return _attribute(kind, value)
            case "bool", bool():
                return _attribute(kind, value)
            case "int", int() if not isinstance(value, bool):
                return _attribute(kind, value)
            case "strings" | "versions", list():
                return _attribute(kind, tuple(item for item in value if isinstance(item, str)))
            case "bools", list():
                return _attribute(kind, tuple(item for item in value if isinstance(item, bool)))
            case "ints", list():
                return _attribute(kind, tuple(item for item in value if isinstance(item, int) and not isinstance(item, bool)))
    return None


def _read_counters(raw: object) -> Mapping[str, str]:
    found = {name: quantity_text(mapping(value).get("value")) for name, value in mapping(raw).items()}
    return {name: quantity for name, quantity in found.items() if quantity}


def _read_reach(raw: Json) -> Reach:
    selector = raw.get("nodeSelector")
    return Reach(
        node_name=text(raw.get("nodeName")),
        all_nodes=flag(raw.get("allNodes")),
        node_selector=selector if isinstance(selector, dict) else None,
    )
