"""How large the variables of policies' CEL can be, so that its cost can be judged when it is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from webhook.cel import DEVICE_ATTRIBUTES, DEVICE_CAPACITY, VariableType
from webhook.cel.cost.sizes import ATTRIBUTES, CAPACITY, Declared
from webhook.cel.types import Kind

#: Devices, requests, selectors, constraints of a claim; models of a shape: k8s.io/api resource/v1 AllocationResultsMaxSize
#: and its like.
ELEMENTS: Final = 32
#: Characters of a name: RFC 1123 subdomains.
NAME: Final = 253
#: Labels or annotations that are reckoned with.
ENTRIES: Final = 64
#: Characters of a key.
KEY: Final = 317

#: Bounds of parts by their place, as in `claim.requests[].name`, where they are others than those above.
Bounds = Mapping[str, int]


def declared(place: str, type_: VariableType, bounds: Bounds) -> Declared:
    """The size of what is at `place` and of its parts."""
    if type_ == DEVICE_ATTRIBUTES and type_.fields is not None:
        return ATTRIBUTES
    if type_ == DEVICE_CAPACITY and type_.fields is not None:
        return CAPACITY
    if type_.kind is Kind.LIST:
        return Declared(bounds.get(place, ELEMENTS), element=declared(f"{place}[]", type_.params[0], bounds))
    if type_.kind is Kind.MAP:
        value = declared(f"{place}[]", type_.params[1], bounds)
        return Declared(bounds.get(place, ENTRIES), key=Declared(KEY), element=value, open=True)
    if type_.fields is not None:
        return Declared(0, {name: declared(f"{place}.{name}", inner, bounds) for name, inner in type_.fields.items()})
    return Declared(bounds.get(place, NAME))
