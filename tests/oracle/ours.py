"""Our own answers to the oracle's questions, in the same form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from webhook.cel import CelError, Selector, compile_selector
from webhook.model.device import Device, Reach
from webhook.model.device_reading import read_device

_ANYWHERE = Reach(all_nodes=True)


def to_device(described: Mapping[str, Any]) -> Device:
    """The device that a line of JSON describes."""
    return read_device(dict(described), described["driver"], "pool", "device", _ANYWHERE)


def selector_answer(expression: str, devices: Iterable[Device]) -> dict[str, Any]:
    """What we say of a selector: {"compile"} or {"verdict", "maxCost", "cost"}; costs are left out where we have none."""
    selector = compile_selector(expression)
    if not isinstance(selector, Selector):
        return {"compile": "; ".join(problem.message for problem in selector)}
    verdicts = []
    for device in devices:
        outcome = selector.against(device)
        verdicts.append(f"error: {outcome.message}" if isinstance(outcome, CelError) else outcome.value)
    return {"verdict": verdicts}


def outcomes(answer: Mapping[str, Any]) -> list[str]:
    """What of an answer has to be the same: "compile error", or match, no match or error for each device."""
    if answer.get("compile"):
        return ["compile error"]
    return [verdict.partition(":")[0] for verdict in answer["verdict"]]
