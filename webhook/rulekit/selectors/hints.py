"""What is wrong with a selector that raises an error, where it can be told, and what would help its author."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Final

from webhook.cel import Reference, Selector, Verdict
from webhook.fleet.inventory import Inventory
from webhook.fleet.matching import DeviceError, compile_for
from webhook.model.device import Attribute, Device
from webhook.model.semver import normalized_semver, parse_semver
from webhook.model.server_version import Server
from webhook.rulekit.selectors.as_amount import as_amount
from webhook.rulekit.selectors.guards import NO_KEY, guarded, kind_of, unguarded
from webhook.rulekit.selectors.mistaken_types import type_remedy
from webhook.rulekit.selectors.names import Names, names_of
from webhook.rulekit.selectors.paths import path_of, presence_of
from webhook.rulekit.selectors.steps import Steps
from webhook.rulekit.selectors.terms import texts_in

IS_CAPACITY: Final = "attribute-is-capacity"
ACCESSOR: Final = "cel-accessor-suffix"
VERSION_AS_TEXT: Final = "cel-version-as-string"

#: The keys under which slices write values: what people take for a part of the expression.
_ATTRIBUTE_KINDS: Final = frozenset({"string", "int", "bool", "version", "strings", "ints", "bools", "versions"})
_CAPACITY_KEYS: Final = frozenset({"value"})
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
#: Characters of a qualified name that is spoken of: the API server takes 63 and 32.
_LONGEST_NAME: Final = 128
#: Names that are listed.
_LISTED: Final = 12


@dataclass(frozen=True, slots=True)
class Fault:
    """A mistake that is known by name: its reason, what is wrong in one sentence, and what to write instead."""

    reason: str
    detail: str
    remedy: str


def fault_of(error: DeviceError, server: Server, steps: Steps) -> Fault | None:
    """The mistake behind an error, in the CEL of a server; None when it cannot be told."""
    compiled = compile_for(server, error.expression)
    if not isinstance(compiled, Selector):
        return None
    missing = missing_key(error)
    if missing:
        reads = [item for item in compiled.references if item.kind in ("attribute", "capacity")]
        return _accessor(error, missing, reads) or _capacity(error, missing, reads)
    return version_as_text(compiled, error.device, steps) if error.message.startswith(_NO_OVERLOAD) else None


def missing_key(error: DeviceError) -> str:
    """What was looked up in vain, "" when the error is another."""
    return error.message.removeprefix(NO_KEY) if error.message.startswith(NO_KEY) else ""


def advice(error: DeviceError, inventory: Inventory, steps: Steps) -> str:
    """What is wrong, where it is known by name, and what to write instead; never ""."""
    fault = fault_of(error, inventory.server, steps)
    return hint(error, inventory, steps) if fault is None else f"{fault.detail}: {fault.remedy}"


def hint(error: DeviceError, inventory: Inventory, steps: Steps) -> str:
    """What to write instead, for the error `error` raised on its device; never "".

    CEL in it stands behind "write", to its end, or to a guard's "&& before it".
    """
    missing = missing_key(error)
    compiled = compile_for(inventory.server, error.expression)
    selector = compiled if isinstance(compiled, Selector) else None
    if not missing:
        known = next((remedy for part, remedy in _REMEDIES if part in error.message), "")
        typed = selector is not None and error.message.startswith(_NO_OVERLOAD)
        return known or (type_remedy(selector, error.device, steps) if selector is not None and typed else "") or _USUAL_REMEDY
    device = error.device
    for domain in sorted({name.rpartition("/")[0] for name in device.attributes} | {device.driver}):
        dotted = re.search(rf"\bdevice\.attributes\.{re.escape(domain)}\.(\w+)", error.expression)
        if dotted is not None and "." in domain:
            return f"the domain is one name: write {path_of('attribute', domain, dotted[1])}"
    reads = [read for read in unguarded(selector, device, missing) if _is_short(read)] if selector is not None else []
    published = _published_elsewhere(device, reads, inventory)
    if selector is not None and published:
        return f"{published}: write {_guard(selector, reads[0], device, inventory.server, steps)}"
    nearest = _nearest(error, missing, reads)
    if nearest or selector is None or not reads:
        return nearest or f"guard it with has(), in, [?] or .?; the device publishes {_listed(_bare(device.attributes))}"
    guard = _guard(selector, reads[0], device, inventory.server, steps)
    return f"{_not_published(device, reads[0], inventory)}; to pass over such devices write {guard}"


def _is_short(read: Reference) -> bool:
    return len(read.domain) + len(read.name) <= _LONGEST_NAME


def _guard(selector: Selector, read: Reference, device: Device, server: Server, steps: Steps) -> str:
    whole = guarded(selector, read, device, server, steps) if steps.takes_text() else ""
    return whole or f"{presence_of(kind_of(read), read.domain, read.name)} && before it"


def _published_elsewhere(device: Device, reads: list[Reference], inventory: Inventory) -> str:
    """Who does publish what is missing on a device, "" when nobody is known to: then the name is wrong, not the device."""
    for read in reads[:1]:
        name = f"{read.domain}/{read.name}"
        if name in names_of(inventory, device.driver).of(kind_of(read)):
            return f"other devices of {device.driver} have {read.name}"
        if read.domain != device.driver and name in names_of(inventory, read.domain).of(kind_of(read)):
            return f"devices of {read.domain} have {read.name}, those of {device.driver} do not"
    return ""


def _nearest(error: DeviceError, missing: str, reads: list[Reference]) -> str:
    """What the device has instead: the same name elsewhere, or the name that is nearest to it."""
    device = error.device
    attributes, capacities = _domains(device.attributes), _domains(device.capacity)
    if missing in attributes:
        path = path_of("attribute", attributes[missing], missing)
        return (
            f"{missing} is an attribute of this device: write {path}"
            if any(read.kind == "capacity" for read in reads)
            else f"this device has it in another domain: write {path}"
        )
    if missing in capacities:
        return f"this device has it in another domain: write {path_of('capacity', capacities[missing], missing)}"
    near = get_close_matches(missing, attributes, n=1, cutoff=0.6)
    if near:
        return f"this device has {near[0]}: write {path_of('attribute', attributes[near[0]], near[0])}"
    near = get_close_matches(missing, capacities, n=1, cutoff=0.6)
    if not near:
        return ""
    held = (capacities[near[0]], near[0])
    remark, amount = as_amount(error.expression, reads[0], held) if reads else ("", path_of("capacity", *held))
    return f"this device has {near[0]}{', and ' if remark else ''}{remark}: write {amount}"


def _not_published(device: Device, read: Reference, inventory: Inventory) -> str:
    """What the driver publishes in the place of what is read."""
    names: Names = names_of(inventory, device.driver)
    held = device.capacity if read.kind == "capacity" else device.attributes
    if read.domain not in names.domains and read.domain != device.driver:
        listed = _listed(_bare(held, device.driver))
        return f'{device.driver} publishes nothing under "{read.domain}", and under "{device.driver}" {listed}'
    return f"no device of {device.driver} publishes {read.name}, this one has {_listed(_bare(held, read.domain))}"


def _bare(names: Iterable[str], domain: str = "") -> list[str]:
    """The bare names, of one domain or of all, sorted."""
    return sorted(name.rpartition("/")[2] for name in names if domain in ("", name.rpartition("/")[0]))


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more or "nothing"


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
            held = device.capacity if read.kind == "capacity" else device.attributes
            if f"{domain}/{name}" not in held or not re.search(
                rf"""\b{re.escape(name)}\b["'\]\s]*\.\s*{missing}\b""", error.expression
            ):
                continue
        right = path_of(kind_of(read), domain, name)
        detail = f".{missing} is how a slice writes the type of a value; in CEL a value has no such part"
        remedy = f"the first index is the domain, and the value stands for itself: write {right}"
        return Fault(ACCESSOR, detail, remedy)
    return None


def _capacity(error: DeviceError, missing: str, reads: list[Reference]) -> Fault | None:
    device = error.device
    for read in reads:
        if read.kind != "attribute" or read.name != missing:
            continue
        domains = _domains(device.capacity)
        domain = read.domain if f"{read.domain}/{missing}" in device.capacity else domains.get(missing)
        if domain is not None:
            remark, amount = as_amount(error.expression, read, (domain, missing))
            detail = f"{missing} is a capacity of this device, not an attribute"
            return Fault(IS_CAPACITY, detail, f"{remark}: write {amount}" if remark else f"write {amount}")
    return None


def version_as_text(selector: Selector, device: Device, steps: Steps) -> Fault | None:
    """The version that the selector takes for a text: with a text in its place it does (more than) raise no error."""
    before = steps.tried(selector, device)
    for read in sorted(selector.references, key=lambda item: (item.domain, item.name)):
        name = f"{read.domain}/{read.name}"
        held = device.attributes.get(name) if read.kind == "attribute" else None
        if held is None or held.kind != "version":
            continue
        for text in _texts_for(selector, held):
            outcome = steps.tried(selector, _with_text(device, name, text))
            if isinstance(outcome, Verdict) and outcome is not before:
                detail = f"{read.name} is a version ({held.value}), and the selector takes it for a text"
                return Fault(VERSION_AS_TEXT, detail, f"write {_comparison(selector.text, read)}")
    return None


def _texts_for(selector: Selector, held: Attribute) -> list[str]:
    """Texts that might stand in the place of a version: its own, and what the selector mentions."""
    return list(dict.fromkeys([str(held.value), *texts_in(selector.text)]))[:16]


def _with_text(device: Device, name: str, text: str) -> Device:
    return replace(device, attributes={**device.attributes, name: Attribute("string", text)})


def _comparison(expression: str, read: Reference) -> str:
    """`device.attributes["d"].v.compareTo(semver("1.2.3")) == 0`, with what the selector compares with."""
    value = path_of("attribute", read.domain, read.name)
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
