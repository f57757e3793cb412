"""Our own answers to the oracle's questions, in the same form."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from webhook.cel import CelError, Outcome, Selector, compile_selector
from webhook.model.device import Device, Reach
from webhook.model.device_reading import read_device

_ANYWHERE = Reach(all_nodes=True)


def to_device(described: Mapping[str, Any]) -> Device:
    """The device that a line of JSON describes."""
    return read_device(dict(described), described["driver"], "pool", "device", _ANYWHERE)


def selector_answer(
    expression: str, devices: Iterable[Device], *, minor: int = 37, gates: Collection[str] = ()
) -> dict[str, Any]:
    """What we say of a selector: {"compile"} or {"verdict", "maxCost", "cost"}, as the oracle has it."""
    selector = compile_selector(expression, minor=minor, gates=gates)
    if not isinstance(selector, Selector):
        return {"compile": "; ".join(problem.message for problem in selector)}
    verdicts, costs = [], []
    for device in devices:
        outcome, cost = selector.cost(device)
        # The fast way and the one that counts costs have to agree.
        verdicts.append(
            _word(outcome) if outcome == selector.against(device) else f"{_word(outcome)} only when costs are counted"
        )
        costs.append(cost)
    return {"verdict": verdicts, "maxCost": selector.max_cost, "cost": costs}


def _word(outcome: Outcome) -> str:
    return f"error: {outcome.message}" if isinstance(outcome, CelError) else outcome.value


def outcomes(answer: Mapping[str, Any]) -> list[str]:
    """What of an answer has to be the same: "compile error", or match, no match or error for each device."""
    if answer.get("compile"):
        return ["compile error"]
    return [verdict.partition(":")[0] if verdict.startswith("error") else verdict for verdict in answer["verdict"]]
