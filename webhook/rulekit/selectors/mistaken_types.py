"""A value that a selector takes for one of another type: found out by asking, with a value of that type in its place."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from webhook.cel import CelError, Selector
from webhook.model.device import Attribute, Device
from webhook.rulekit.selectors.guards import kind_of
from webhook.rulekit.selectors.paths import path_of, quoted
from webhook.rulekit.selectors.steps import Steps

#: The CEL types that values of slices have, in words, and what they are compared with.
_TYPES: Final = {
    "string": ("string", "a string", 'a text in quotes, as in == "..."'),
    "int": ("int", "an int", "a whole number without quotes, as in == 1"),
    "bool": ("bool", "a bool", "nothing: it says true or false itself"),
    "version": ("kubernetes.Semver", "a version", 'another one, as in .compareTo(semver("1.2.3")) >= 0'),
}
_TRIED: Final = {
    "string": Attribute("string", ""),
    "int": Attribute("int", 0),
    "bool": Attribute("bool", True),
    "kubernetes.Semver": Attribute("version", "1.2.3"),
}


def type_remedy(selector: Selector, device: Device, steps: Steps) -> str:
    """What the one attribute is that the selector takes for another type; "" when that cannot be told."""
    for read in sorted(selector.references, key=lambda item: (item.domain, item.name)):
        name = f"{read.domain}/{read.name}"
        held = device.attributes.get(name) if kind_of(read) == "attribute" else None
        if held is None:
            continue
        for type_ in sorted(read.types & _TRIED.keys()):
            other = replace(device, attributes={**device.attributes, name: _TRIED[type_]})
            outcome = steps.tried(selector, other)
            if _TRIED[type_].kind != held.kind and outcome is not None and not isinstance(outcome, CelError):
                return _remedy(path_of("attribute", read.domain, read.name), read.name, held)
    return ""


def _remedy(path: str, name: str, held: Attribute) -> str:
    if isinstance(held.value, tuple | list):
        return f"{name} is a list on this device: ask for one of its values: write {_asked(path, held)}"
    if held.kind == "bool":
        return f"{name} is a bool on this device ({str(held.value).lower()}): write {path}"
    _, article, compared = _TYPES[held.kind]
    return f"{name} is {article} on this device ({held.value}): compare it with {compared}"


def _asked(path: str, held: Attribute) -> str:
    first = held.value[0] if isinstance(held.value, tuple | list) and held.value else ""
    asked = {
        "strings": f"x == {quoted(str(first))}",
        "ints": f"x == {first or 0}",
        "bools": "x",
        "versions": f"x.compareTo(semver({quoted(str(first or '1.2.3'))})) == 0",
    }[held.kind]
    return f"{path}.exists(x, {asked})"
