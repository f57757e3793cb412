"""Selectors that pin one physical device: by a uuid, an address, a serial number, its place in the node.

It is found out by asking: would the device that matches still match with another value there?
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from webhook.cel import Verdict
from webhook.fleet.inventory import Inventory
from webhook.fleet.matching import compile_all
from webhook.fleet.memo import remembered
from webhook.model.device import Attribute, Device

#: Bare names, in lower case, of attributes that no two devices of a node share.
_TELLING: Final = frozenset(
    {
        "uuid",
        "pcibusid",
        "pciebusid",
        "pciaddress",
        "pciaddr",
        "serial",
        "serialnumber",
        "macaddress",
        "mac",
        "index",
        "minor",
        "cardindex",
        "renderindex",
    }
)


@dataclass(frozen=True, slots=True)
class Pin:
    """What a selector pins: the attribute (qualified) with its value, and how many devices of the cluster have it."""

    attribute: str
    value: str
    devices: int


def pin_of(inventory: Inventory, class_name: str, texts: tuple[str, ...]) -> Pin | None:
    """What selectors pin; None when several devices of one node match, when devices are shared, or when nothing matches.

    Remembered on the inventory.
    """
    return remembered(inventory.memo, ("pin", class_name, texts), lambda: _pin_of(inventory, class_name, texts))


def _pin_of(inventory: Inventory, class_name: str, texts: tuple[str, ...]) -> Pin | None:
    pools = [pool.matched for pool in inventory.match(class_name, texts).pools if pool.matched]
    if not pools or any(len(matched) > 1 or matched[0].sharable for matched in pools):
        return None
    device = pools[0][0]
    selectors, _ = compile_all(texts, inventory.server)
    read = {f"{item.domain}/{item.name}" for one in selectors for item in one.references}
    for name in sorted(read & device.attributes.keys()):
        other = _with_another(device, name)
        if _tells(name) and not all(selector.against(other) is Verdict.MATCH for selector in selectors):
            return Pin(name, str(device.attributes[name].value), len(pools))
    return None


def _tells(attribute: str) -> bool:
    return attribute.rpartition("/")[2].lower() in _TELLING


def _with_another(device: Device, name: str) -> Device:
    held = device.attributes[name]
    value = held.value + 1_000_003 if isinstance(held.value, int) else f"not {held.value}"
    return replace(device, attributes={**device.attributes, name: Attribute(held.kind, value)})
