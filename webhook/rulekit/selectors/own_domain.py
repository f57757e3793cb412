"""Hints of the compiler, which knows no drivers, with the domain under which the fleet's own driver publishes the name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from webhook.fleet.inventory import Inventory
from webhook.rulekit.selectors.names import names_of
from webhook.rulekit.selectors.paths import Kind, path_of

#: What stands for a driver in the compiler's hints.
_DRIVER: Final = "<driver>"
_EXAMPLE: Final = "gpu.example.com"
_PATH: Final = re.compile(
    rf'device\.(attributes|capacity)\["({re.escape(_DRIVER)}|{re.escape(_EXAMPLE)})"\]\.(\w+)'
    r'(?: ([=!]=|[<>]=?) (-?[0-9][0-9.]*)$|\.compareTo\(quantity\("([^"]*)"\)\) ([=!]=|[<>]=?) 0$|(\.\w+\())?'
)
_INT: Final = re.compile(r"-?[0-9]{1,18}")
_EITHER: Final = re.compile(r"(write \S+), or \S+ for an amount")
_KINDS: Final[dict[str, Kind]] = {"attributes": "attribute", "capacity": "capacity"}


def with_domain(hint: str, inventory: Inventory, drivers: Iterable[str] = ()) -> str:
    """The hint with a driver in the place of `<driver>`: of `drivers` (all without any) the one that publishes the name.

    What is a capacity there is written as one. As it was when there is no driver to be named.
    """
    known = sorted(drivers) or list(inventory.drivers)
    if not known or _PATH.search(hint) is None:
        return hint
    if _found(inventory, known, hint):
        hint = _EITHER.sub(r"\1", hint)
    return _PATH.sub(lambda match: _own(inventory, known, match), hint)


def _found(inventory: Inventory, drivers: Sequence[str], hint: str) -> bool:
    return any(_place(inventory, drivers, match) is not None for match in _PATH.finditer(hint))


def _own(inventory: Inventory, drivers: Sequence[str], match: re.Match[str]) -> str:
    if match[2] == _EXAMPLE and _EXAMPLE in inventory.drivers:
        return match[0]  # the author's own words
    after = match[0][match.end(3) - match.start() :]
    place = _place(inventory, drivers, match)
    if place is not None:
        return path_of(*place, match[3]) + (after if place[0] == _KINDS[match[1]] else _of_other_kind(place[0], match, after))
    # Nobody publishes it: of several drivers none is more likely than another.
    return path_of(_KINDS[match[1]], drivers[0], match[3]) + after if len(drivers) == 1 else match[0]


def _of_other_kind(kind: Kind, match: re.Match[str], after: str) -> str:
    """How that is compared: an attribute with a number, a capacity with a quantity."""
    if match[4] and kind == "capacity":
        return f'.compareTo(quantity("{match[5]}")) {match[4]} 0'
    if match[7] and _INT.fullmatch(match[6]):
        return f" {match[7]} {match[6]}"
    return after


def _place(inventory: Inventory, drivers: Sequence[str], match: re.Match[str]) -> tuple[Kind, str] | None:
    """Whether a name is an attribute or a capacity, and in which domain; the kind that was written goes first."""
    written = _KINDS[match[1]]
    other: Kind = "capacity" if written == "attribute" else "attribute"
    for kind in (written,) if _is_bound(match) else (written, other):
        for driver in drivers:
            domains = sorted(
                domain
                for domain, _, bare in (name.rpartition("/") for name in names_of(inventory, driver).of(kind))
                if bare == match[3]
            )
            if domains:
                return kind, driver if driver in domains else domains[0]
    return None


def _is_bound(match: re.Match[str]) -> bool:
    """Whether what is written behind the path can be asked of one kind only."""
    return bool(match[8] or (match[7] and not _INT.fullmatch(match[6])))
