"""Counted evaluations: a plan, ready to be run against many devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from webhook.cel.checked import Checked
from webhook.cel.cost.attributes import Reader
from webhook.cel.cost.meter import Meter
from webhook.cel.cost.plan import Planner
from webhook.cel.cost.steps import Machine, Step
from webhook.cel.descent import perform
from webhook.cel.device import device_map
from webhook.cel.values import STEPS, DeviceMap


class Program:
    """A planned expression. Immutable; may be used by many threads at once."""

    __slots__ = ("_plan", "_slots")

    def __init__(self, plan: Step, slots: int) -> None:
        self._plan = plan
        self._slots = slots

    def run(self, root: Any, meter: Meter) -> Any:
        """The value for `root` (what the expression is about), or its EvaluationError. AbortedError at a limit."""
        frame = [root, meter.steps, *[None] * (self._slots - 2)]
        machine = Machine(frame, meter)
        try:
            return self._plan.now(machine) if self._plan.direct else perform(self._plan.run(machine))
        finally:
            meter.steps = frame[STEPS]


def device_reader(name: str) -> Reader:
    """How the variable `device` is read: it is made of the device once for each evaluation."""

    def read(machine: Machine) -> Any:
        if name not in machine.variables:
            machine.variables[name] = device_map(machine.frame)
        return DeviceMap(machine.variables[name])  # another value each time, as in the scheduler's library

    return read


def program(checked: Checked, variable: Callable[[str], Reader]) -> Program:
    """The program of a checked tree; `variable` says how a variable is read. ExpressionError if it cannot be planned."""
    planner = Planner(checked, variable)
    return Program(planner.plan(), planner.slots)
