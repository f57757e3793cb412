"""A selector with the guard that it lacks: the whole text, to be pasted in its place."""

from __future__ import annotations

from typing import Final

from webhook.cel import CelError, Reference, Selector
from webhook.fleet.matching import compile_for
from webhook.model.device import Device
from webhook.model.server_version import Server
from webhook.rulekit.selectors.paths import Kind, presence_of, spellings_of
from webhook.rulekit.selectors.steps import Steps
from webhook.rulekit.selectors.terms import on_one_line, starts_of_terms

NO_KEY: Final = "no such key: "
#: Characters of a selector that is written out in a message.
_LONGEST: Final = 300
#: Guards that are put into one selector.
_MOST: Final = 4


def kind_of(read: Reference) -> Kind:
    """What is read, an attribute or a capacity."""
    return "capacity" if read.kind == "capacity" else "attribute"


def unguarded(selector: Selector, device: Device, name: str = "") -> list[Reference]:
    """What a selector reads unguarded and the device does not have, or only what is called `name`; in the order of names."""
    found = [
        read
        for read in selector.references
        if read.kind in ("attribute", "capacity") and read.name and not read.guarded and name in ("", read.name)
        if f"{read.domain}/{read.name}" not in (device.capacity if read.kind == "capacity" else device.attributes)
    ]
    return sorted(found, key=lambda read: (read.domain, read.name, read.kind))


def guarded(selector: Selector, read: Reference, device: Device, server: Server, steps: Steps) -> str:
    """The text of the selector with guards, so that it raises no error on the device; "" when it cannot be made, or is long.

    The guard stands before the term that reads what is missing: the others mean what they meant.
    """
    current, wanted = selector, read
    for _ in range(_MOST):
        text = _with_guard(current.text, wanted)
        compiled = compile_for(server, text) if text else None
        outcome = steps.tried(compiled, device) if isinstance(compiled, Selector) else None
        if outcome is None or not isinstance(compiled, Selector) or compiled.refusal is not None:
            return ""
        if not isinstance(outcome, CelError):
            return text
        missing = unguarded(compiled, device, outcome.message.removeprefix(NO_KEY))
        if not outcome.message.startswith(NO_KEY) or not missing:
            return ""
        current, wanted = compiled, missing[0]
    return ""


def _with_guard(text: str, read: Reference) -> str:
    """`has(x) && ` before every term that reads x; "" when the places cannot be told, or it would be long."""
    text = on_one_line(text)
    if not text or len(text) > _LONGEST:
        return ""
    kind = kind_of(read)
    guard = f"{presence_of(kind, read.domain, read.name)} && "
    # A guard that is there already is no term to be guarded.
    places = [
        found.start()
        for found in spellings_of(kind, read.domain, read.name).finditer(text)
        if not text[: found.start()].rstrip().endswith("has(")
    ]
    starts = starts_of_terms(text, places)
    if not starts or len(text) + len(guard) * len(starts) > _LONGEST:
        return ""
    for start in sorted(starts, reverse=True):
        text = text[:start] + guard + text[start:]
    return text
