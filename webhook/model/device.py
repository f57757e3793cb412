"""Devices, the slices that publish them, and the classes that select them.

Attribute and capacity names are always held qualified (`<driver>/memory` for a bare `memory`): bare and qualified are one
name to the scheduler.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from webhook.model.meta import Meta

AttributeKind = Literal["string", "int", "bool", "version", "strings", "ints", "bools", "versions"]
AttributeValue: TypeAlias = "str | int | bool | tuple[str, ...] | tuple[int, ...] | tuple[bool, ...]"


@dataclass(frozen=True, slots=True)
class Attribute:
    """A typed attribute value. A version is kept as its text."""

    kind: AttributeKind
    value: AttributeValue


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceTaint:
    """A taint on a device, from its slice or from a DeviceTaintRule."""

    key: str
    value: str = ""
    effect: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterUse:
    """What a device consumes of one shared counter set: counter name -> quantity text."""

    counter_set: str
    counters: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """The nodes from which a device can be used: exactly one of the three is set.

    `node_selector` is the raw NodeSelector (one term).
    """

    node_name: str = ""
    all_nodes: bool = False
    node_selector: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One device of a ResourceSlice.

    `capacity` maps a qualified name to quantity text. `sharable` is allowMultipleAllocations.
    """

    driver: str
    pool: str
    name: str
    reach: Reach
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    capacity: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[DeviceTaint, ...] = ()
    consumes: tuple[CounterUse, ...] = ()
    sharable: bool = False
    binding_conditions: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str, str]:
        """driver, pool, name: what identifies a device in the cluster."""
        return (self.driver, self.pool, self.name)

    def text_attribute(self, name: str) -> str:
        """The string attribute `name` (bare = the driver's own domain), or ""."""
        attribute = self.attributes.get(name if "/" in name else f"{self.driver}/{name}")
        return attribute.value if attribute is not None and isinstance(attribute.value, str) else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterSet:
    """One shared counter set of a pool: counter name -> quantity text."""

    name: str
    counters: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceSlice:
    """A ResourceSlice. `slice_count` is pool.resourceSliceCount. `reach` is None when each device has its own."""

    meta: Meta
    driver: str
    pool: str
    generation: int
    slice_count: int
    reach: Reach | None = None
    devices: tuple[Device, ...] = ()
    counter_sets: tuple[CounterSet, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceClass:
    """A DeviceClass: its selectors in order, and the extended resource it serves ("" if none)."""

    api_version: str
    meta: Meta
    selectors: tuple[str, ...] = ()
    extended_resource_name: str = ""

    @property
    def name(self) -> str:
        """metadata.name"""
        return self.meta.name
