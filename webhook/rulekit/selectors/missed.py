"""Why selectors match nothing: a term that no device passes, and what the devices have there instead.

Only what is certain is said: the term alone has to hold, and no device passes it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher, get_close_matches
from typing import Any, Final

from webhook.cel import Reference, Selector
from webhook.fleet.device_sets import Bits
from webhook.fleet.inventory import Inventory
from webhook.fleet.matching import compile_for
from webhook.model.device import Attribute
from webhook.model.quantity import Quantity, cached_quantity
from webhook.model.semver import Semver, normalized_semver
from webhook.rulekit.ownership.text import some
from webhook.rulekit.selectors.guards import kind_of
from webhook.rulekit.selectors.names import names_among
from webhook.rulekit.selectors.paths import Kind, path_of, presence_of, quoted, spellings_of
from webhook.rulekit.selectors.steps import Steps
from webhook.rulekit.selectors.terms import conjuncts, on_one_line, texts_in
from webhook.rulekit.selectors.values import devices_in, values_of

#: Terms of an alternative that are tried by themselves, and the steps of each on all devices.
_MOST_TERMS: Final = 8
_STEPS_OF_A_TERM: Final = 50_000
#: Whole numbers up to which they are listed; more are said as a range.
_LISTED_NUMBERS: Final = 4
#: Texts of a term that are compared with what is there, and their characters: a value has 64 at most.
_MOST_TEXTS, _LONGEST_TEXT = 8, 128
_BOTH: Final[tuple[Kind, ...]] = ("attribute", "capacity")
_NUMBER: Final = re.compile(r"(?<![\w.])-?\d+(?![\w.])")


@dataclass(frozen=True, slots=True)
class _Asked:
    """A term that none of the `devices` passes, and the one thing that it reads."""

    inventory: Inventory
    devices: Bits
    term: str
    read: Reference

    @property
    def name(self) -> str:
        return f"{self.read.domain}/{self.read.name}"

    @property
    def literals(self) -> list[str]:
        """The texts that what is read is compared with."""
        without = spellings_of(kind_of(self.read), self.read.domain, self.read.name).sub("", self.term)
        texts = [
            text for text in dict.fromkeys(texts_in(without)) if text and text != self.read.name and len(text) <= _LONGEST_TEXT
        ]
        return texts[:_MOST_TEXTS]


def why_nothing_matches(inventory: Inventory, devices: Bits, texts: Sequence[str], steps: Steps) -> str:
    """What these devices have where selectors that match none of them ask for something else; "" when that cannot be told.

    `devices` is a set as the fleet's sets number them. CEL in it stands behind "write", to its end.
    """
    for term in _terms(inventory, devices, texts, steps):
        reads = [read for read in term.references if read.kind in ("attribute", "capacity", "driver")]
        if len({(read.kind, read.domain, read.name) for read in reads}) == 1:
            found = _said(_Asked(inventory, devices, term.text, reads[0]), steps)
            if found:
                return found
    return ""


def _terms(inventory: Inventory, devices: Bits, texts: Sequence[str], steps: Steps) -> Iterator[Selector]:
    """The terms that none of the devices passes."""
    terms = [on_one_line(term) for text in texts for term in conjuncts(text)]
    for text in filter(None, terms[:_MOST_TERMS]):
        passing = _passing(inventory, text, steps)
        compiled = compile_for(inventory.server, text)
        if passing is not None and not passing & devices and isinstance(compiled, Selector):
            yield compiled


def _passing(inventory: Inventory, text: str, steps: Steps) -> Bits | None:
    """The devices that pass a term; None when it is none, or takes too many steps."""
    compiled = compile_for(inventory.server, text)
    if not isinstance(compiled, Selector) or compiled.refusal is not None:
        return None
    most = min(steps.left, _STEPS_OF_A_TERM)
    found = inventory.sets.of(compiled, most)
    steps.left -= min(found.steps if found is not None else most, steps.left)
    return found.match if found is not None else None


def _said(asked: _Asked, steps: Steps) -> str:
    read = asked.read
    if read.kind == "driver":
        drivers = sorted({device.driver for device in devices_in(asked.inventory, asked.devices)})
        return f"the devices are of driver {some(drivers)}" if drivers else ""
    if not asked.devices or len(asked.name) > _LONGEST_TEXT:
        return ""
    if not read.name:
        return _of_domain(asked)
    values = values_of(asked.inventory, asked.devices, kind_of(read), asked.name)
    if not values:
        return _absent(asked)
    if not values.all_:
        return ""
    if values.amounts:
        return _amounts(asked, values.amounts)
    kinds = {item.kind for item in values.attributes}
    said = _BY_KIND.get(next(iter(kinds))) if len(kinds) == 1 else None
    return said(asked, list(values.attributes), steps) if said is not None else ""


def _of_domain(asked: _Asked) -> str:
    """`"gpu.nvidia.com/productName" in device.attributes`: a name where a domain is asked for."""
    kind = kind_of(asked.read)
    names, (domain, slash, bare) = names_among(asked.inventory, asked.devices), asked.read.domain.rpartition("/")
    if asked.read.domain in names.domains:
        return ""
    held = [
        (of, *name.rpartition("/")[::2]) for of in _BOTH for name in sorted(names.of(of)) if name.rpartition("/")[2] == bare
    ]
    held.sort(key=lambda item: (item[1] != domain, item[0] != kind))
    what = "the domain and the name are two keys" if slash else f"{bare} is no domain but a name"
    if held:
        return f"{what}: write {presence_of(*held[0])}"
    return f"none of these devices has {bare} in the domain {quoted(domain)}" if slash else ""


def _absent(asked: _Asked) -> str:
    """What is guarded, and nobody has."""
    kind, bare = kind_of(asked.read), asked.read.name
    other: Kind = "attribute" if kind == "capacity" else "capacity"
    names = names_among(asked.inventory, asked.devices)
    domains = sorted(name.rpartition("/")[0] for name in names.of(other) if name.rpartition("/")[2] == bare)
    if domains:
        what = "an attribute" if other == "attribute" else "a capacity"
        return f"{bare} is {what} of these devices: write {path_of(other, domains[0], bare)}"
    own = {name.rpartition("/")[2]: name.rpartition("/")[0] for name in sorted(names.of(kind))}
    near = [bare] if bare in own else get_close_matches(bare, own, n=1, cutoff=0.6)
    nothing = f"none of these devices has {bare} in the domain {quoted(asked.read.domain)}"
    return f"{nothing}: write {path_of(kind, own[near[0]], near[0])}" if near else nothing


def _amounts(asked: _Asked, held: Iterable[str]) -> str:
    read = {text: amount for text in held if (amount := _quantity(text)) is not None}
    wanted = [amount for amount in map(_quantity, asked.literals) if amount is not None]
    return _ordered(asked, sorted(read, key=lambda text: (read[text], text)), read, wanted) if read else ""


def _versions(asked: _Asked, held: list[Attribute], _steps: Steps) -> str:
    read = {text: version for text in (str(item.value) for item in held) if (version := _semver(text)) is not None}
    wanted = [version for version in map(_semver, asked.literals) if version is not None]
    return _ordered(asked, sorted(read, key=lambda text: (read[text], text)), read, wanted) if read else ""


def _ordered(asked: _Asked, held: list[str], read: Mapping[str, Any], wanted: Sequence[Any]) -> str:
    """What has an order: the largest when more is wanted, the smallest when less; `held` is sorted."""
    least, most = held[0], held[-1]
    if len(held) > 1 and wanted and read[most] < min(wanted):
        return f"{_of_devices(asked)} at most {most}"
    if len(held) > 1 and wanted and max(wanted) < read[least]:
        return f"{_of_devices(asked)} at least {least}"
    return f"{_of_devices(asked)} {some(held)}"


def _numbers(asked: _Asked, held: list[Attribute], _steps: Steps) -> str:
    numbers = sorted(item.value for item in held if isinstance(item.value, int))
    if len(numbers) > _LISTED_NUMBERS:
        return f"{_of_devices(asked)} between {numbers[0]} and {numbers[-1]}"
    wanted = [int(text) for text in _NUMBER.findall(asked.term)]
    nearest = sorted(numbers, key=lambda number: abs(number - wanted[-1])) if wanted else numbers
    return f"{_of_devices(asked)} {some(map(str, nearest))}"


def _truths(asked: _Asked, held: list[Attribute], _steps: Steps) -> str:
    return f"{_of_devices(asked)} {some(sorted(str(item.value).lower() for item in held))}"


def _texts(asked: _Asked, held: list[Attribute], steps: Steps) -> str:
    """The nearest values, and the term with what is right, if there is one that some device passes."""
    values = sorted(str(item.value) for item in held)
    literals = asked.literals
    ranked = sorted(values, key=lambda value: -max((_likeness(text, value) for text in literals), default=0.0))
    right = (
        next((text for text in _rewritten(asked, ranked) if _is_passed(asked, text, steps)), "") if steps.takes_text() else ""
    )
    return f"{_of_devices(asked)} {some(map(quoted, ranked))}" + (f": write {right}" if right else "")


def _likeness(wanted: str, value: str) -> float:
    wanted, value = wanted.casefold(), value.casefold()
    return 2.0 if wanted == value else 1.0 if wanted in value else SequenceMatcher(None, wanted, value).ratio()


def _rewritten(asked: _Asked, values: Sequence[str]) -> Iterator[str]:
    """The term with a text as a device has it: in its capitals, as part of a longer one, or spelt rightly."""
    path = path_of("attribute", asked.read.domain, asked.read.name)
    for literal in asked.literals:
        for value in values[:_MOST_TERMS]:
            at = value.casefold().find(literal.casefold())
            part = value[at : at + len(literal)] if at >= 0 else ""
            if part.casefold() == literal.casefold() != "" and part != literal:
                yield _with(asked.term, literal, part)
            if part and len(part) < len(value):
                spelling = spellings_of("attribute", asked.read.domain, asked.read.name)
                if re.fullmatch(rf"{spelling.pattern}==\s*[\"']{re.escape(literal)}[\"']", asked.term):
                    yield f"{path}.contains({quoted(part)})"
        near = get_close_matches(literal, values, n=1, cutoff=0.75)
        if near:
            yield _with(asked.term, literal, near[0])


def _with(term: str, literal: str, right: str) -> str:
    return re.sub(rf"([\"']){re.escape(literal)}\1", lambda _: quoted(right), term)


def _is_passed(asked: _Asked, term: str, steps: Steps) -> bool:
    passing = _passing(asked.inventory, term, steps)
    return passing is not None and bool(passing & asked.devices)


def _of_devices(asked: _Asked) -> str:
    return f"{asked.read.name} of these devices is"


def _semver(text: str) -> Semver | None:
    try:
        return normalized_semver(text)
    except ValueError:
        return None


def _quantity(text: str) -> Quantity | None:
    try:
        return cached_quantity(text)
    except ValueError:
        return None


_BY_KIND: Final[dict[str, Callable[[_Asked, list[Attribute], Steps], str]]] = {
    "string": _texts,
    "int": _numbers,
    "bool": _truths,
    "version": _versions,
}
