"""Devices, the slices that publish them, and the classes that select them.

Attribute and capacity names are always held qualified (`<driver>/memory` for a bare `memory`): bare and qualified are one
name to the scheduler.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from webhook.model.meta import Meta
from webhook.model.semver import cached_semver

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


def _no_version(texts: Iterable[str]) -> str:
    for text in texts:
        try:
            cached_semver(text)
        except ValueError as error:
            return str(error)
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One device of a ResourceSlice.

    `capacity` maps a qualified name to quantity text. `sharable` is allowMultipleAllocations. `unreadable` says which
    attribute is a version that is none: then every selector fails on the device, whatever it reads. `listed` says the same of
    an attribute that is a list, for servers that know of none.
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
    unreadable: str = field(default="", init=False, repr=False, compare=False)
    listed: str = field(default="", init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name, attribute in self.attributes.items():
            if attribute.kind.endswith("s"):
                object.__setattr__(self, "listed", f"attribute {name}: unsupported attribute value")
            if attribute.kind == "version" or attribute.kind == "versions":
                texts = [attribute.value] if attribute.kind == "version" else attribute.value
                reason = _no_version(texts)  # type: ignore[arg-type]
                if reason:
                    object.__setattr__(self, "unreadable", f"attribute {name}: parse semantic version: {reason}")

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
