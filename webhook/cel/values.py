"""What CEL values are at run time, and the errors that take the place of one.

bool, str, bytes, float, None, list and dict are themselves; int is CEL's int and `UInt` its uint. Values are never
changed once made. Map keys are stored as `map_key` says, because Python would take 1, 1u and true for one key.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from webhook.model.quantity import Quantity
from webhook.model.semver import Semver

INT_MIN, INT_MAX, UINT_MAX = -(2**63), 2**63 - 1, 2**64 - 1


@dataclass(frozen=True, slots=True)
class CelError:
    """A run-time error: the value that an evaluation has instead of a result."""

    message: str


class EvaluationError(Exception):
    """A CEL error on its way up to the operator that absorbs it or to the caller, who gets a `CelError`."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class AbortedError(Exception):
    """The end of an evaluation that no operator absorbs: a limit, or what panics in the scheduler's library."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def no_such_overload(detail: str = "") -> EvaluationError:
    """The error of an operation that its operands do not have."""
    return EvaluationError(f"no such overload: {detail}" if detail else "no such overload")


def limit_exceeded() -> AbortedError:
    """The end of an evaluation that takes too many steps or makes too large a value."""
    return AbortedError("operation cancelled: actual cost limit exceeded")


# A frame counts the steps that an evaluation has left in its second place; see code.py. What takes steps is given it.
STEPS = 1


def take(frame: list[Any], steps: int) -> None:
    """Take steps off what is left; the evaluation ends when there are none."""
    left = frame[STEPS] - steps
    if left < 0:
        raise limit_exceeded()
    frame[STEPS] = left


class UInt(int):
    """A CEL uint. Arithmetic on it is done by the operators, not by Python's."""

    __slots__ = ()


class DerivedQuantity(Quantity):
    """The result of add() and sub().

    The scheduler's library gives it another Go type than a parsed quantity has, and refuses it on the right of `==`.
    """

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Optional:
    """optional.of(value)"""

    value: object


class Absent:
    """The type of optional.none()."""

    __slots__ = ()

    def __str__(self) -> str:
        return "optional.none()"


NONE = Absent()


@dataclass(frozen=True, slots=True)
class TypeValue:
    """A type as a value, such as `int` or `type(1)`."""

    name: str


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """Nanoseconds since 1970 in UTC. `offset` is the zone that it was written in, in seconds, and only shows in text."""

    nanos: int
    offset: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """Nanoseconds."""

    nanos: int


@dataclass(frozen=True, slots=True)
class TypedKey:
    """A map key that is neither a string nor an int, kept apart from them by its type (and a time by its zone)."""

    kind: object
    value: object


@dataclass(frozen=True, slots=True, eq=False)
class OpaqueKey:
    """A map key that Go knows by its place in memory: only the very same value finds it again."""

    value: object

    def __eq__(self, other: object) -> bool:
        # A variable wraps what an optional value holds anew each time, and NaN is not even itself.
        if type(other) is not OpaqueKey or type(self.value) in (Optional, float):
            return False
        return self.value is other.value or (type(self.value) is DomainMap and self.value == other.value)

    def __hash__(self) -> int:
        return hash(DomainMap) if type(self.value) is DomainMap else id(self.value)


_UNHASHABLE: set[type] = {bytes, Semver}
_HASHED: set[type] = {bool, UInt, type(None), Duration, TypeValue, Absent}


def register_unhashable(python_type: type) -> None:
    """Values of a library's own class that Go cannot hash."""
    _UNHASHABLE.add(python_type)


def register_hashed(python_type: type) -> None:
    """Values of a library's own class that Go hashes by what they are, not by where they are."""
    _HASHED.add(python_type)


#: Seconds. Times with these offsets share their zone in Go; any other time has a zone of its own.
_SHARED_OFFSETS = range(-12 * 3600, 15 * 3600, 3600)


def map_key(value: object) -> object:
    """How `value` is stored as the key of a map. What Go cannot hash ends the evaluation there, and here."""
    kind = type(value)
    if kind is str or kind is int:
        return value
    if kind in _HASHED or (kind is float and value == value):
        return TypedKey(kind, value)
    if type(value) is Timestamp and value.offset in _SHARED_OFFSETS:
        return TypedKey((kind, value.offset), value)
    if kind in _UNHASHABLE:
        raise AbortedError(f"internal error: runtime error: hash of unhashable type {go_type(value)}")
    return OpaqueKey(value)


def key_value(key: object) -> object:
    """The CEL value of a stored key."""
    kind = type(key)
    if kind is TypedKey or kind is OpaqueKey:
        return key.value  # type: ignore[attr-defined]  # told by the line above
    return key


class DomainMap(dict[str, object]):
    """device.attributes and device.capacity: looking up an unknown domain finds an empty map.

    Membership, size and iteration see only the real domains.
    """

    __slots__ = ()


class DeviceMap(dict[str, object]):
    """Any other map that a device publishes: only names are looked for in it, nothing else is hashed."""

    __slots__ = ()


MAPS: frozenset[type] = frozenset({dict, DomainMap, DeviceMap})
EMPTY_DOMAIN: dict[str, object] = {}
MISSING = object()


def find(mapping: dict[object, object], key: object) -> object:
    """The value under a CEL key, or MISSING. Numbers are found across their types."""
    kind = type(key)
    if kind is str or kind is int:
        found = mapping.get(key, MISSING)
        if found is not MISSING:
            return found if type(mapping) is dict else _wrapped(found)
    if type(mapping) is DomainMap:
        return EMPTY_DOMAIN
    return MISSING if kind is str else _find_number(mapping, key)


def _wrapped(published: object) -> object:
    """What is read of a device is another value each time, which only counts where it becomes the key of a map."""
    if type(published) is list:
        return list(published)
    return DeviceMap(published) if type(published) is DeviceMap else published


def find_stored(mapping: dict[object, object], key: object) -> object:
    """The value under a key as another map stores it, or MISSING."""
    if type(key) is OpaqueKey and type(key.value) is not float and key in mapping:
        return mapping[key]
    return find(mapping, key_value(key))


def _find_number(mapping: dict[object, object], key: object) -> object:
    for alternative in _numeric_twins(key):
        found = mapping.get(alternative, MISSING)
        if found is not MISSING:
            return found
    return MISSING


def _numeric_twins(key: Any) -> Iterator[object]:
    kind = type(key)
    if kind is float:
        yield TypedKey(float, key)
        yield from _whole_twins(int(key)) if key.is_integer() else ()
    elif kind is int or kind is UInt:
        yield from _whole_twins(int(key), first=kind)
    else:
        yield map_key(key)


def _whole_twins(number: int, first: type = int) -> Iterator[object]:
    as_int = [number] if INT_MIN <= number <= INT_MAX else []
    as_uint = [TypedKey(UInt, UInt(number))] if 0 <= number <= UINT_MAX else []
    yield from (as_int + as_uint) if first is int else (as_uint + as_int)


_TYPE_NAMES: dict[type, str] = {
    bool: "bool",
    int: "int",
    UInt: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    type(None): "null_type",
    list: "list",
    dict: "map",
    DomainMap: "map",
    DeviceMap: "map",
    Optional: "optional_type",
    Absent: "optional_type",
    TypeValue: "type",
    Timestamp: "google.protobuf.Timestamp",
    Duration: "google.protobuf.Duration",
    Quantity: "kubernetes.Quantity",
    DerivedQuantity: "kubernetes.Quantity",
    Semver: "kubernetes.Semver",
}


def register_type(python_type: type, name: str) -> None:
    """Make the values of a library's own class known under a CEL type name (called while modules load)."""
    _TYPE_NAMES[python_type] = name


def type_name(value: object) -> str:
    """The name of a value's CEL type."""
    return _TYPE_NAMES.get(type(value), type(value).__name__)


_GO_TYPES: dict[type, str] = {
    bool: "types.Bool",
    int: "types.Int",
    UInt: "types.Uint",
    float: "types.Double",
    str: "types.String",
    bytes: "types.Bytes",
    type(None): "types.Null",
    Duration: "types.Duration",
    Timestamp: "types.Timestamp",
    TypeValue: "*types.Type",
    Optional: "*types.Optional",
    Absent: "*types.Optional",
    DerivedQuantity: "*cel.Quantity",
    list: "*types.baseList",
    dict: "*types.baseMap",
    DomainMap: "cel.mapper",
    DeviceMap: "*types.baseMap",
}


def go_type(value: object) -> str:
    """The name of the Go type that holds such a value in the scheduler: some messages show it."""
    return _GO_TYPES.get(type(value)) or f"cel.{type_name(value).rpartition('.')[2]}"
