"""What an expression may name: variables with their types, functions, and the names of types.

The names of types are the same everywhere; the variables make the difference between a selector and a policy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from webhook.cel.cost.sizes import DECLARED, Declared
from webhook.cel.library import FUNCTIONS
from webhook.cel.library.table import Function
from webhook.cel.messages import MESSAGES, NEVER_MADE, Message, unknown
from webhook.cel.types import (
    BOOL,
    BYTES,
    CIDR,
    DOUBLE,
    DURATION,
    DYN,
    EMPTY,
    INT,
    IP,
    NULL,
    STRING,
    TIMESTAMP,
    TYPE,
    UINT,
    Kind,
    Type,
    list_of,
    map_of,
    optional_of,
)

_TYPES = (BOOL, BYTES, DOUBLE, DURATION, INT, NULL, STRING, TIMESTAMP, TYPE, UINT, IP, CIDR, EMPTY)

TYPE_NAMES: Mapping[str, Type] = {type_.name: type_ for type_ in _TYPES} | {
    "list": list_of(DYN),
    "map": map_of(DYN, key=DYN),
    "optional_type": optional_of(DYN),
}


@dataclass(frozen=True, slots=True)
class Environment:
    """One set of variables on top of the common functions.

    `before_37`: the library of Kubernetes 1.34 to 1.36, where `or` and `orValue` give back what is no optional value, a
    name with a dot in front may be that of a local variable, and some costs are others. `sizes`: how large the variables
    and their parts can be.
    """

    variables: Mapping[str, Type]
    functions: Mapping[str, Function] = field(default_factory=lambda: FUNCTIONS)
    before_37: bool = False
    sizes: Mapping[str, Declared] = field(default_factory=lambda: DECLARED)

    def message(self, name: str) -> Message | None:
        """The kind of message literal that a name stands for, if it stands for one."""
        for type_ in self.variables.values():
            if type_.kind is Kind.STRUCT and type_.fields is not None and type_.name == name:
                return unknown(name, type_.fields, type_)
        if name == "list" and self.before_37:
            return None
        return MESSAGES.get(name) or NEVER_MADE.get(name)
