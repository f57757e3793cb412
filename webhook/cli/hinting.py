"""What would help against the errors that many devices raise: found out once for all that are alike. Pure."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from webhook.cel import Selector
from webhook.fleet.inventory import Inventory
from webhook.fleet.matching import DeviceError, compile_for
from webhook.rulekit.selectors.hints import advice
from webhook.rulekit.selectors.steps import Steps

#: Steps for the hints of one answer, and selectors that are written anew in it.
MOST_STEPS: Final = 2_000_000
_MOST_TEXTS: Final = 64


class Hints:
    """The hints of one answer."""

    def __init__(self, inventory: Inventory) -> None:
        self._inventory = inventory
        self._steps = Steps(MOST_STEPS, _MOST_TEXTS)
        self._known: dict[Hashable, str] = {}

    def __call__(self, error: DeviceError) -> str:
        """What would help against an error; never ""."""
        key = self._likeness(error)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = advice(error, self._inventory, self._steps)
        return known

    def _likeness(self, error: DeviceError) -> Hashable:
        """Equal for errors against which the same helps: hints name what a device has, and the values that are read."""
        device, compiled = error.device, compile_for(self._inventory.server, error.expression)
        reads = compiled.references if isinstance(compiled, Selector) else frozenset()
        values = frozenset(
            (name, str(device.attributes[name].value))
            for name in (f"{read.domain}/{read.name}" for read in reads)
            if name in device.attributes
        )
        names = (frozenset(device.attributes), frozenset(device.capacity))
        return (device.driver, error.message, error.expression, names, values)
