"""What one CEL selector says of the devices of a fleet. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from webhook.cel import CelError, CompileProblem, Selector, Verdict
from webhook.cli.explaining import AskedDevice
from webhook.cli.hinting import MOST_STEPS, Hints
from webhook.errors import InputError
from webhook.fleet.fleet import Fleet
from webhook.fleet.matching import DeviceError, compile_all, compile_for
from webhook.model.device import Device
from webhook.rulekit.policies import PolicySet
from webhook.rulekit.selectors.missed import why_nothing_matches
from webhook.rulekit.selectors.own_domain import with_domain
from webhook.rulekit.selectors.steps import Steps
from webhook.rulekit.shapes.catalog import catalog_for


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A selector and the devices it was asked about, in the allocator's order.

    `left_out` is how many devices the class ruled out before. `max_cost` is what the API server takes it to cost at most.
    `hint` says what the devices have where the selector asks for something else, when it matches none of them; "" otherwise.
    """

    selector: Selector
    max_cost: int
    devices: tuple[AskedDevice, ...]
    left_out: int
    hint: str = ""

    def having(self, outcome: str) -> tuple[AskedDevice, ...]:
        """The devices with that outcome."""
        return tuple(device for device in self.devices if device.outcome == outcome)


def compiled(text: str, fleet: Fleet, class_name: str = "") -> Selector | tuple[CompileProblem, ...]:
    """The selector in the CEL of the fleet's server, or what it would refuse it for, with hints that name its drivers."""
    selector = compile_for(fleet.server, text)
    if not isinstance(selector, Selector):
        drivers = fleet.inventory.drivers_of_class(class_name) if class_name else ()
        return tuple(replace(item, hint=with_domain(item.hint, fleet.inventory, drivers)) for item in selector)
    return (selector.refusal,) if selector.refusal is not None else selector


def ask(selector: Selector, fleet: Fleet, policies: PolicySet, class_name: str = "") -> Asked:
    """Ask every known device, or every device that passes a class's selectors.

    Raises InputError when the fleet has no such class, or the class does not compile.
    """
    before = _class_selectors(fleet, class_name) if class_name else ()
    catalog = catalog_for(policies)
    found: list[AskedDevice] = []
    left_out = 0
    hints = Hints(fleet.inventory)
    for pool in fleet.inventory.pools:
        models = catalog.models_in(pool, fleet.inventory)
        for device in pool.devices:
            asked = _ask(device, models[device.name], before, selector, hints)
            if asked is None:
                left_out += 1
            else:
                found.append(asked)
    return Asked(
        selector=selector,
        max_cost=selector.max_cost,
        devices=tuple(found),
        left_out=left_out,
        hint=_instead(selector, fleet, found, class_name),
    )


def _instead(selector: Selector, fleet: Fleet, found: Sequence[AskedDevice], class_name: str) -> str:
    if not found or any(device.outcome != "no match" for device in found):
        return ""
    inventory = fleet.inventory
    devices = inventory.match(class_name).match if class_name else inventory.sets.everything
    return why_nothing_matches(inventory, devices, (selector.text,), Steps(MOST_STEPS))


def _class_selectors(fleet: Fleet, name: str) -> tuple[Selector, ...]:
    device_class = fleet.inventory.classes.get(name)
    if device_class is None:
        known = ", ".join(sorted(fleet.inventory.classes)) or "none"
        raise InputError(f"--class {name}: the fleet has no such DeviceClass; it has {known}")
    selectors, problems = compile_all(device_class.selectors, fleet.server)
    if problems:
        hint = with_domain(problems[0].hint, fleet.inventory)
        said = f"{problems[0].message}{f' ({hint})' if hint else ''}"
        raise InputError(f"--class {name}: a selector of the class does not compile: {said}")
    return selectors


def _ask(device: Device, model: str, before: Sequence[Selector], selector: Selector, hints: Hints) -> AskedDevice | None:
    for one in (*before, selector):
        outcome = one.against(device)
        if isinstance(outcome, CelError):
            helps = hints(DeviceError(device, outcome.message, one.text))
            return AskedDevice(
                device=device, model=model, outcome="error", error=outcome.message, selector=one.text, hint=helps
            )
        if outcome is not Verdict.MATCH:
            return AskedDevice(device=device, model=model, outcome="no match", selector=one.text) if one is selector else None
    return AskedDevice(device=device, model=model, outcome="match")


def document(asked: Asked) -> dict[str, Any]:
    """What `cel -o json` prints of a selector that compiles. Machines depend on its keys: docs/cli.md."""
    return {
        "expression": asked.selector.text,
        "problems": [],
        "maxCost": asked.max_cost,
        "match": len(asked.having("match")),
        "noMatch": len(asked.having("no match")),
        "error": len(asked.having("error")),
        "leftOut": asked.left_out,
        "devices": [
            {
                "driver": item.device.driver,
                "pool": item.device.pool,
                "name": item.device.name,
                "node": item.node,
                "model": item.model,
                "outcome": item.outcome,
                "error": item.error,
                "hint": item.hint,
            }
            for item in asked.devices
        ],
        "hint": asked.hint,
    }


def refusal_document(text: str, problems: Sequence[CompileProblem]) -> dict[str, Any]:
    """What `cel -o json` prints of a selector that does not compile: the same keys."""
    return {
        "expression": text,
        "problems": [
            {"line": item.line, "column": item.column, "message": item.message, "hint": item.hint} for item in problems
        ],
        "maxCost": 0,
        "match": 0,
        "noMatch": 0,
        "error": 0,
        "leftOut": 0,
        "devices": [],
        "hint": "",
    }


def grouped(devices: Sequence[AskedDevice]) -> Iterator[tuple[str, str, tuple[AskedDevice, ...]]]:
    """The devices by model and node, in the order of both."""
    groups: dict[tuple[str, str], list[AskedDevice]] = {}
    for item in devices:
        groups.setdefault((item.model, item.node), []).append(item)
    for (model, node), members in sorted(groups.items()):
        yield model, node, tuple(members)
