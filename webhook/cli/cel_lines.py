"""Questions about selectors as JSON lines, and their answers: one line in, one line out, in the same order. Pure.

{"id", "expression", "devices": [{"driver", "allowMultipleAllocations", "attributes", "capacity"}]}
{"id", "compile", "maxCost", "verdict": ["match" | "no match" | "error: ..."], "cost": [...]}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from webhook.cel import CelError, Selector
from webhook.fleet.matching import compile_for
from webhook.model.device import Device, Reach
from webhook.model.device_reading import read_device
from webhook.model.server_version import Server

_ANYWHERE: Final = Reach(all_nodes=True)
_NEWEST: Final = Server()
_KINDS: Final[Mapping[str, type]] = {"string": str, "int": int, "bool": bool, "version": str}


class _MalformedError(Exception):
    """A line is no question; the text says why."""


def answer(line: bytes, server: Server = _NEWEST) -> dict[str, Any]:
    """The answer to one line, in the CEL of a server.

    Never raises: a line that is no question is answered by {"id", "error"}.
    """
    said: Any = None
    try:
        said = json.loads(line)
        return _answer(said, server)
    except _MalformedError as error:
        return {"id": said.get("id") if isinstance(said, dict) else None, "error": str(error)}
    except RecursionError:
        return {"id": None, "error": "the line is JSON nested too deeply"}
    except ValueError as error:
        return {"id": None, "error": f"the line is not JSON: {error}"}


def _answer(said: Any, server: Server) -> dict[str, Any]:
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
        return found | {"compile": "; ".join(problem.message for problem in selector), "maxCost": 0, "verdict": [], "cost": []}
    return found | {
        "maxCost": selector.max_cost,
        "verdict": [_verdict(selector, device) for device in devices],
        "cost": [selector.cost(device)[1] for device in devices],
    }


def _verdict(selector: Selector, device: Device) -> str:
    outcome = selector.against(device)
    return f"error: {outcome.message}" if isinstance(outcome, CelError) else outcome.value


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
