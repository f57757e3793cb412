"""What is wrong with a selector that raises an error, where it can be told, and what would help its author."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Final

from webhook.cel import Reference, Selector, Verdict, compile_selector
from webhook.fleet.device_sets import MOST_STEPS
from webhook.fleet.matching import DeviceError
from webhook.model.device import Attribute, Device
from webhook.model.semver import normalized_semver, parse_semver

IS_CAPACITY: Final = "attribute-is-capacity"
ACCESSOR: Final = "cel-accessor-suffix"
VERSION_AS_TEXT: Final = "cel-version-as-string"

#: The keys under which slices write values: what people take for a part of the expression.
_ATTRIBUTE_KINDS: Final = frozenset({"string", "int", "bool", "version", "strings", "ints", "bools", "versions"})
_CAPACITY_KEYS: Final = frozenset({"value"})
_NO_KEY: Final = "no such key: "
_NO_OVERLOAD: Final = "no such overload"
#: Parts of messages that say what is wrong by themselves, and what to write instead.
_REMEDIES: Final = (
    ("quantities must match", 'write an amount as Kubernetes does: quantity("40Gi"), quantity("40G")'),
    ("Major.Minor.Patch", 'a version has three numbers: semver("8.0.0")'),
    ("could not be converted to bool", 'a selector is true or false: compare what it reads, as in == "gpu" or > 3'),
    (
        "unsupported attribute value",
        "the selector is not at fault: this server knows no attributes that are lists, and errs on every such device",
    ),
    ("index out of bounds", "guard the index with size()"),
)
_USUAL_REMEDY: Final = "compare values of one type, and guard what a device may not have with has() or .?"
#: Names that are listed.
_LISTED: Final = 12


@dataclass(frozen=True, slots=True)
class Fault:
    """A mistake that is known by name: its reason, what is wrong in one sentence, and what to write instead."""

    reason: str
    detail: str
    remedy: str


def fault_of(error: DeviceError) -> Fault | None:
    """The mistake behind an error; None when it cannot be told."""
    compiled = compile_selector(error.expression)
    if not isinstance(compiled, Selector):
        return None
    missing = missing_key(error)
    if missing:
        reads = [item for item in compiled.references if item.kind in ("attribute", "capacity")]
        return _accessor(error, missing, reads) or _capacity(error.device, missing, reads)
    return version_as_text(compiled, error.device) if error.message.startswith(_NO_OVERLOAD) else None


def missing_key(error: DeviceError) -> str:
    """What was looked up in vain, "" when the error is another."""
    return error.message.removeprefix(_NO_KEY) if error.message.startswith(_NO_KEY) else ""


def hint(error: DeviceError) -> str:
    """What to write instead, for the error `error` raised on its device; never ""."""
    missing = missing_key(error)
    if not missing:
        return next((remedy for part, remedy in _REMEDIES if part in error.message), _USUAL_REMEDY)
    device = error.device
    for domain in sorted({name.rpartition("/")[0] for name in device.attributes} | {device.driver}):
        dotted = re.search(rf"\bdevice\.attributes\.{re.escape(domain)}\.(\w+)", error.expression)
        if dotted is not None:
            return f"the domain is one name: write {_attribute(domain, dotted[1])}"
    attributes, capacities = _domains(device.attributes), _domains(device.capacity)
    compiled = compile_selector(error.expression)
    kinds = {item.kind for item in compiled.references if item.name == missing} if isinstance(compiled, Selector) else set()
    if missing in attributes and "capacity" in kinds:
        return f"{missing} is an attribute of this device: write {_attribute(attributes[missing], missing)}"
    if missing in attributes:
        return f"this device has it in another domain: write {_attribute(attributes[missing], missing)}"
    near = get_close_matches(missing, attributes, n=1, cutoff=0.6)
    if near:
        return f"this device has {near[0]}: write {_attribute(attributes[near[0]], near[0])}"
    near = get_close_matches(missing, capacities, n=1, cutoff=0.6)
    if near:
        return f"this device has {near[0]}: write {_capacity_of(capacities[near[0]], near[0])}"
    names = sorted(attributes)
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    known = ", ".join(names[:_LISTED]) + more or "nothing"
    return f"guard it with has(...) or .?{missing}; the device publishes {known}"


def _accessor(error: DeviceError, missing: str, reads: list[Reference]) -> Fault | None:
    """`device.attributes["dra.net/rdma"].bool`, `device.attributes["dra.net"].rdma.bool`: written as in the slice."""
    if missing not in _ATTRIBUTE_KINDS | _CAPACITY_KEYS:
        return None
    device = error.device
    for read in reads:
        if read.name == missing:
            owner = read.domain if "/" in read.domain else f"{device.driver}/{read.domain}"
            if "/" not in read.domain and owner not in device.attributes and owner not in device.capacity:
                continue
            domain, _, name = owner.partition("/")
        else:
            domain, name = read.domain, read.name
            if not name or not re.search(rf"""\b{re.escape(name)}\b["'\]\s]*\.\s*{missing}\b""", error.expression):
                continue
        right = _attribute(domain, name) if read.kind == "attribute" else _capacity_of(domain, name)
        detail = f".{missing} is how a slice writes the type of a value; in CEL a value has no such part"
        return Fault(ACCESSOR, detail, f"write {right}: the first index is the domain, and the value stands for itself")
    return None


def _capacity(device: Device, missing: str, reads: list[Reference]) -> Fault | None:
    for read in reads:
        if read.kind != "attribute" or read.name != missing:
            continue
        domains = _domains(device.capacity)
        domain = read.domain if f"{read.domain}/{missing}" in device.capacity else domains.get(missing)
        if domain is not None:
            detail = f"{missing} is a capacity of this device, not an attribute"
            return Fault(IS_CAPACITY, detail, f"write {_capacity_of(domain, missing)}")
    return None


def version_as_text(selector: Selector, device: Device) -> Fault | None:
    """The version that the selector takes for a text: with a text in its place it does (more than) raise no error."""
    left = MOST_STEPS
    before, taken = selector.tried(device, left)
    for read in sorted(selector.references, key=lambda item: (item.domain, item.name)):
        name = f"{read.domain}/{read.name}"
        held = device.attributes.get(name) if read.kind == "attribute" else None
        if held is None or held.kind != "version":
            continue
        for text in _texts_for(selector, held):
            left -= taken
            outcome, taken = selector.tried(_with_text(device, name, text), left)
            if isinstance(outcome, Verdict) and outcome is not before:
                detail = f"{read.name} is a version ({held.value}), and the selector takes it for a text"
                return Fault(VERSION_AS_TEXT, detail, f"write {_comparison(selector.text, read)}")
    return None


def _texts_for(selector: Selector, held: Attribute) -> list[str]:
    """Texts that might stand in the place of a version: its own, and what the selector mentions."""
    mentioned = (double or single for double, single in _TEXT.findall(selector.text))
    return list(dict.fromkeys([str(held.value), *mentioned]))[:16]


def _with_text(device: Device, name: str, text: str) -> Device:
    return replace(device, attributes={**device.attributes, name: Attribute("string", text)})


_TEXT = re.compile(r"\"([^\"\\]*)\"|'([^'\\]*)'")


def _comparison(expression: str, read: Reference) -> str:
    """`device.attributes["d"].v.compareTo(semver("1.2.3")) == 0`, with what the selector compares with."""
    value = _attribute(read.domain, read.name)
    after = re.search(rf"""\b{re.escape(read.name)}["'\]\s]*(==|!=|<=|>=|<|>)\s*["']([^"']+)["']""", expression)
    operator, text = (after[1], after[2]) if after else ("==", "1.2.3")
    return f"{value}.compareTo({_semver(text)}) {operator} 0"


def _semver(text: str) -> str:
    try:
        parse_semver(text)
    except ValueError:
        try:
            normalized_semver(text)
        except ValueError:
            return 'semver("1.2.3")'
        return f'semver("{text}", true)'
    return f'semver("{text}")'


def _domains(names: Iterable[str]) -> dict[str, str]:
    """The bare names with their domains."""
    return {name.rpartition("/")[2]: name.rpartition("/")[0] for name in names}


def _attribute(domain: str, name: str) -> str:
    return f'device.attributes["{domain}"].{name}'


def _capacity_of(domain: str, name: str) -> str:
    return f'device.capacity["{domain}"].{name}'
