"""The environment of a device selector: `device`, its type, and how its parts are read from a Device.

Nothing is built per device: a path such as `device.attributes["d"].x` becomes one look-up in the Device itself. Maps are
made only for expressions that look at a whole domain. Hot paths.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from webhook.cel.access import no_such_key
from webhook.cel.ast import Call, Ident, Literal, Node, Select
from webhook.cel.code import ROOT, Closure, Frame
from webhook.cel.dialect import DEVICE
from webhook.cel.values import EMPTY_DOMAIN, NONE, AbortedError, Absent, DeviceMap, DomainMap, Optional
from webhook.model.device import Attribute
from webhook.model.quantity import Quantity, cached_quantity
from webhook.model.semver import Semver, cached_semver


@dataclass(frozen=True, slots=True)
class Path:
    """Where in a device a node reaches: up to three names, and whether one was written with `?`."""

    parts: tuple[str, ...] = ()
    optional: bool = False


_LONGEST = 3

# What a name means where it stands: the device, a path that a cel.bind gave a name to, or anything else (None).
Lookup: TypeAlias = Callable[[Ident], Path | None]


def resolve(node: Node, lookup: Lookup) -> Path | None:
    """The path of a node, or None when it is none (or not known before run time)."""
    names: list[str] = []
    optional = False
    while not isinstance(node, Ident):
        step = _step(node)
        if step is None or len(names) == _LONGEST:
            return None
        node, name, is_optional = step
        names.append(name)
        optional = optional or is_optional
    start = lookup(node)
    if start is None:
        return None
    parts = (*start.parts, *reversed(names))
    if len(parts) > _LONGEST or (len(parts) > 1 and parts[0] in ("driver", "allowMultipleAllocations")):
        return None
    return Path(parts, start.optional or optional)


def _step(node: Node) -> tuple[Node, str, bool] | None:
    """operand, name and optionality of a selection or an indexing with a constant string."""
    if isinstance(node, Select):
        return node.operand, node.field, False
    if isinstance(node, Call) and node.function in ("_[_]", "_[?_]", "_?._"):
        key = node.args[1]
        if isinstance(key, Literal) and type(key.value) is str:
            return node.args[0], key.value, node.function != "_[_]"
    return None


class DeviceRoots:
    """Access to the variable `device` for the compiler."""

    def variable(self, name: str) -> Closure:
        """Code for a variable as a whole: only `dyn(device)` and the like need it."""
        return device_map

    def start(self, name: str) -> Path | None:
        """The path that a variable begins."""
        return Path() if name == DEVICE else None

    def path(self, node: Node, lookup: Lookup) -> Closure | None:
        """One look-up for a whole path."""
        path = resolve(node, lookup)
        if path is None or not path.parts:
            return None
        if isinstance(node, Select) and node.test:
            return _presence(path.parts)
        read = _reader(path.parts)
        return _optional(path.parts, read) if path.optional else read

    def alias(self, node: Node, lookup: Lookup) -> Path | None:
        """The path that a `cel.bind` gives a name to, if reading it cannot fail."""
        path = resolve(node, lookup)
        harmless = path is not None and 0 < len(path.parts) < 3 and not path.optional
        return path if harmless and not (isinstance(node, Select) and node.test) else None

    def membership(self, name: str, container: Node, lookup: Lookup) -> Closure | None:
        """`"name" in container`, without making the container."""
        path = resolve(container, lookup)
        if path is None or path.optional or path.parts[:1] not in (("attributes",), ("capacity",)):
            return None
        table = _TABLES[path.parts[0]]
        if len(path.parts) == 1:
            prefix = f"{name}/"
            return lambda frame: any(key.startswith(prefix) for key in table(frame[ROOT]))
        return _presence((*path.parts, name)) if len(path.parts) == 2 else None


def _attributes(device: Any) -> Mapping[str, Attribute]:
    return device.attributes  # type: ignore[no-any-return]


def _capacity(device: Any) -> Mapping[str, str]:
    return device.capacity  # type: ignore[no-any-return]


_TABLES: dict[str, Callable[[Any], Mapping[str, Any]]] = {"attributes": _attributes, "capacity": _capacity}


def _reader(parts: tuple[str, ...]) -> Closure:
    if parts == ("driver",):
        return lambda frame: frame[ROOT].driver
    if parts == ("allowMultipleAllocations",):
        return lambda frame: frame[ROOT].sharable
    if parts[0] not in _TABLES:  # the checker does not let such a field through
        return lambda _: _raise(parts[0])
    if len(parts) == 3 and "/" not in parts[1]:
        return _attribute(parts) if parts[0] == "attributes" else _capacity_of(parts)
    if len(parts) == 3:
        return lambda _: _raise(parts[2])
    make = attribute_map if parts[0] == "attributes" else capacity_map
    table = _TABLES[parts[0]]
    if len(parts) == 1:
        return lambda frame: make(table(frame[ROOT]))
    domain = parts[1]
    return lambda frame: make(table(frame[ROOT])).get(domain, EMPTY_DOMAIN)


def _raise(name: str) -> Any:
    raise no_such_key(name)


def _attribute(parts: tuple[str, ...]) -> Closure:
    key, name = f"{parts[1]}/{parts[2]}", parts[2]

    def run(frame: Frame) -> Any:
        attribute = frame[ROOT].attributes.get(key)
        if attribute is None:
            raise no_such_key(name)
        return attribute.value if attribute.kind in _PLAIN else attribute_value(key, attribute)

    return run


def _capacity_of(parts: tuple[str, ...]) -> Closure:
    key, name = f"{parts[1]}/{parts[2]}", parts[2]

    def run(frame: Frame) -> Any:
        text = frame[ROOT].capacity.get(key)
        if text is None:
            raise no_such_key(name)
        return capacity_value(key, text)

    return run


def _presence(parts: tuple[str, ...]) -> Closure:
    if len(parts) < 3:  # fields are always there, and so is an unknown domain's empty map
        return lambda _: True
    table, key = _TABLES[parts[0]], f"{parts[1]}/{parts[2]}"
    if "/" in parts[1]:
        return lambda _: False
    return lambda frame: key in table(frame[ROOT])


def _optional(parts: tuple[str, ...], read: Closure) -> Closure:
    present = _presence(parts)

    def run(frame: Frame) -> Optional | Absent:
        return Optional(read(frame)) if present(frame) else NONE

    return run


_PLAIN = frozenset({"string", "int", "bool"})


def attribute_value(name: str, attribute: Attribute) -> Any:
    """The CEL value of an attribute."""
    if attribute.kind in _PLAIN:
        return attribute.value
    if attribute.kind == "version":
        return _version(name, str(attribute.value))
    if attribute.kind == "versions":
        return [_version(name, str(text)) for text in attribute.value]  # type: ignore[union-attr]
    return list(attribute.value)  # type: ignore[arg-type]


def _version(name: str, text: str) -> Semver:
    try:
        return cached_semver(text)
    except ValueError as error:
        raise AbortedError(f"attribute {name}: parse semantic version: {error}") from None


def capacity_value(name: str, text: str | Quantity) -> Quantity:
    """The CEL value of a capacity."""
    if isinstance(text, Quantity):
        return text
    try:
        return _own_quantity(name, text)
    except ValueError as error:
        raise AbortedError(f"capacity {name}: {error}") from None


@lru_cache(maxsize=8192)
def _own_quantity(_name: str, text: str) -> Quantity:
    """As a key of a map Go knows a quantity by its place in memory: equal capacities of a device are two keys."""
    return copy(cached_quantity(text))


def attribute_map(attributes: Mapping[str, Attribute]) -> DomainMap:
    """domain -> id -> value of all attributes."""
    return _by_domain({name: attribute_value(name, attribute) for name, attribute in attributes.items()})


def capacity_map(capacity: Mapping[str, str | Quantity]) -> DomainMap:
    """domain -> id -> quantity of all capacities."""
    return _by_domain({name: capacity_value(name, text) for name, text in capacity.items()})


def _by_domain(values: Mapping[str, Any]) -> DomainMap:
    domains = DomainMap()
    for name, value in values.items():
        domain, _, identifier = name.partition("/")
        domains.setdefault(domain, DeviceMap())[identifier] = value  # type: ignore[index]
    return domains


def device_map(frame: Frame) -> DeviceMap:
    """The device as a value."""
    device = frame[ROOT]
    return DeviceMap(
        driver=device.driver,
        allowMultipleAllocations=device.sharable,
        attributes=attribute_map(device.attributes),
        capacity=capacity_map(device.capacity),
    )
