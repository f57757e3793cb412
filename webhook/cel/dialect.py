"""What selectors may say in each Kubernetes release that is supported, as the scheduler reads stored expressions.

Everything that is not named here is the same in all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cache

from webhook.cel.environment import Environment
from webhook.cel.library import FUNCTIONS, conversions, lists, regex, strings
from webhook.cel.library.table import Function
from webhook.cel.types import ANY, BOOL, DEVICE_CAPACITY, DYN, STRING, Type, map_of, object_of

OLDEST, NEWEST = 34, 37
LIST_ATTRIBUTES = "DRAListTypeAttributes"
#: The feature gates that make a difference.
DIALECT_GATES = (LIST_ATTRIBUTES,)
DEVICE = "device"


@dataclass(frozen=True, slots=True)
class Dialect:
    """A minor version of Kubernetes, and whether attributes can be lists there."""

    minor: int = NEWEST
    lists: bool = True

    @property
    def attribute(self) -> Type:
        """The type of every attribute."""
        return DYN if self.lists else ANY


def dialect_of(minor: int, gates: Collection[str] = ()) -> Dialect:
    """The dialect of a release with these feature gates on. A release that is not known counts as the nearest one."""
    known = min(max(minor, OLDEST), NEWEST)
    return Dialect(known, known == 37 or (known == 36 and LIST_ATTRIBUTES in gates))


@cache
def environment_of(dialect: Dialect) -> Environment:
    """What a selector may name."""
    device = object_of(
        "kubernetes.DRADevice",
        {
            "driver": STRING,
            "allowMultipleAllocations": BOOL,
            "attributes": map_of(map_of(dialect.attribute)),
            "capacity": DEVICE_CAPACITY,
        },
    )
    return Environment({DEVICE: device}, _functions(dialect), before_37=dialect.minor < 37)


def _as_before(newest: Function, older: Function) -> Function:
    """The older function; where it has only some of the overloads, behind the others of the newest."""
    ids = {overload.id for overload in older.overloads}
    if not ids < {overload.id for overload in newest.overloads}:
        return older
    others = (overload for overload in newest.overloads if overload.id not in ids)
    return replace(newest, overloads=(*others, *older.overloads))


def _functions(dialect: Dialect) -> Mapping[str, Function]:
    if dialect.minor == NEWEST:
        return FUNCTIONS
    older = (*conversions.OLDER, *lists.OLDER, *regex.OLDER, *strings.OLDER)
    functions = FUNCTIONS | {function.name: _as_before(FUNCTIONS[function.name], function) for function in older}
    if dialect.minor < 36:
        del functions["includes"]
    return functions
