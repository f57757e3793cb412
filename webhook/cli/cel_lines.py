"""Questions about selectors as JSON lines, and their answers: one line in, one line out, in the same order. Pure.

{"id", "expression", "devices": [{"driver", "allowMultipleAllocations", "attributes", "capacity"}]}
{"id", "compile", "maxCost", "verdict": ["match" | "no match" | "error: ..."], "cost": [...]}

With hints an answer that has an error has "hints" too: for each verdict, or for the compile error, what to write instead.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from webhook.cel import CelError, CompileProblem, Outcome, Selector
from webhook.cli.hinting import Hints
from webhook.fleet.inventory import Inventory
from webhook.fleet.matching import DeviceError, compile_for
from webhook.fleet.pool import Pool, make_pool
from webhook.model.device import Device, Reach, ResourceSlice
from webhook.model.device_reading import read_device
from webhook.model.meta import Meta
from webhook.model.server_version import Server
from webhook.rulekit.selectors.own_domain import with_domain

_ANYWHERE: Final = Reach(all_nodes=True)
_NEWEST: Final = Server()
_KINDS: Final[Mapping[str, type]] = {"string": str, "int": int, "bool": bool, "version": str}


class _MalformedError(Exception):
    """A line is no question; the text says why."""


def answer(line: bytes, server: Server = _NEWEST, *, hints: bool = False) -> dict[str, Any]:
    """The answer to one line, in the CEL of a server; with `hints` also what would help against errors.

    Never raises: a line that is no question is answered by {"id", "error"}.
    """
    said: Any = None
    try:
        said = json.loads(line)
        return _answer(said, server, hints=hints)
    except _MalformedError as error:
        return {"id": said.get("id") if isinstance(said, dict) else None, "error": str(error)}
    except RecursionError:
        return {"id": None, "error": "the line is JSON nested too deeply"}
    except ValueError as error:
        return {"id": None, "error": f"the line is not JSON: {error}"}


def _answer(said: Any, server: Server, *, hints: bool) -> dict[str, Any]:
    if not isinstance(said, dict):
        raise _MalformedError("a question is a JSON object")
    text, described = said.get("expression"), said.get("devices", [])
    if not isinstance(text, str):
        raise _MalformedError("expression must be a string")
    if not isinstance(described, list):
        raise _MalformedError("devices must be a list")
    devices = [_device(item, f"devices[{i}]") for i, item in enumerate(described)]
    found: dict[str, Any] = {"id": said.get("id")}
    selector = compile_for(server, text)
    if not isinstance(selector, Selector):
        found |= {"compile": "; ".join(problem.message for problem in selector), "maxCost": 0, "verdict": [], "cost": []}
        return found | _hints(_against_problems(selector, devices, server) if hints else ())
    outcomes = [selector.against(device) for device in devices]
    found |= {
        "maxCost": selector.max_cost,
        "verdict": [_verdict(outcome) for outcome in outcomes],
        "cost": [selector.cost(device)[1] for device in devices],
    }
    return found | _hints(_against_errors(text, devices, outcomes, server) if hints else ())


def _verdict(outcome: Outcome) -> str:
    return f"error: {outcome.message}" if isinstance(outcome, CelError) else outcome.value


def _hints(found: Sequence[str]) -> dict[str, list[str]]:
    return {"hints": list(found)} if any(found) else {}


def _against_problems(problems: Sequence[CompileProblem], devices: Sequence[Device], server: Server) -> list[str]:
    inventory = _inventory(devices, server)
    return [with_domain(problem.hint, inventory) for problem in problems]


def _against_errors(text: str, devices: Sequence[Device], outcomes: Sequence[Outcome], server: Server) -> list[str]:
    """For each device what would help, "" where there is no error. The devices of a question are all that there are."""
    if not any(isinstance(outcome, CelError) for outcome in outcomes):
        return []
    helping = Hints(_inventory(devices, server))
    return [
        helping(DeviceError(device, outcome.message, text)) if isinstance(outcome, CelError) else ""
        for device, outcome in zip(devices, outcomes, strict=True)
    ]


def _inventory(devices: Sequence[Device], server: Server) -> Inventory:
    """The devices of a question as those of a fleet."""
    drivers: dict[str, list[Device]] = {}
    for number, device in enumerate(devices):
        drivers.setdefault(device.driver, []).append(replace(device, name=str(number)))
    return Inventory((_pool(driver, found) for driver, found in drivers.items()), {}, server)


def _pool(driver: str, devices: Sequence[Device]) -> Pool:
    meta = Meta(name=driver)
    return make_pool([ResourceSlice(meta=meta, driver=driver, pool="", generation=1, slice_count=1, devices=tuple(devices))])


def _device(described: Any, where: str) -> Device:
    if not isinstance(described, dict):
        raise _MalformedError(f"{where} must be an object")
    driver = described.get("driver")
    if not isinstance(driver, str):
        raise _MalformedError(f"{where}.driver must be a string")
    # What Go writes for a map or pointer that is not set.
    given = {key: value for key, value in described.items() if value is not None}
    if not isinstance(given.get("allowMultipleAllocations", False), bool):
        raise _MalformedError(f"{where}.allowMultipleAllocations must be true or false")
    for part in ("attributes", "capacity"):
        if not isinstance(given.get(part, {}), dict):
            raise _MalformedError(f"{where}.{part} must be an object")
    device = read_device(given, driver, "", "", _ANYWHERE)
    for name, value in given.get("attributes", {}).items():
        if not _is_attribute(value):
            raise _MalformedError(f'{where}.attributes[{name}] must have one value of a known type, as in {{"int": 1}}')
    for name in given.get("capacity", {}):
        if (name if "/" in name else f"{driver}/{name}") not in device.capacity:
            raise _MalformedError(f'{where}.capacity[{name}] must be as in {{"value": "40Gi"}}')
    return device


def _is_attribute(value: Any) -> bool:
    if not isinstance(value, dict) or len(value) != 1:
        return False
    ((kind, held),) = value.items()
    one = _KINDS.get(kind.removesuffix("s"))
    if one is None:
        return False
    items = held if kind.endswith("s") else [held]
    return isinstance(items, list) and all(type(item) is one for item in items)
