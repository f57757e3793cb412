"""A shape as CEL sees it: the variable `shape` of compatible-when."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from webhook.cel.types import DEVICE_ATTRIBUTES, DEVICE_CAPACITY, INT, STRING, VariableType, list_of, object_of
from webhook.model.device import Device
from webhook.model.quantity import Quantity, cached_quantity
from webhook.rulekit.cel_sizes import declared

#: One device of a shape.
DEVICE: Final[VariableType] = object_of(
    "fallgate.ShapeDevice",
    {"driver": STRING, "model": STRING, "attributes": DEVICE_ATTRIBUTES, "capacity": DEVICE_CAPACITY},
)
#: `models` and `drivers` have each name once, sorted; `capacity` is that of all devices summed.
SHAPE: Final[VariableType] = object_of(
    "fallgate.Shape",
    {
        "count": INT,
        "models": list_of(STRING),
        "drivers": list_of(STRING),
        "devices": list_of(DEVICE),
        "capacity": DEVICE_CAPACITY,
    },
)
VARIABLES: Final[Mapping[str, VariableType]] = {"shape": SHAPE}
SIZES: Final = {"shape": declared("shape", SHAPE, {})}


def shape_value(devices: Sequence[tuple[str, Device]]) -> Mapping[str, object]:
    """The value of `shape` for devices with their models."""
    return {
        "count": len(devices),
        "models": sorted({model for model, _ in devices}),
        "drivers": sorted({device.driver for _, device in devices}),
        "devices": [
            {"driver": device.driver, "model": model, "attributes": device.attributes, "capacity": device.capacity}
            for model, device in devices
        ],
        "capacity": _summed(device for _, device in devices),
    }


def _summed(devices: Iterable[Device]) -> Mapping[str, str]:
    total: dict[str, Quantity] = {}
    for device in devices:
        for name, text in device.capacity.items():
            try:
                amount = cached_quantity(text)
            except ValueError:
                continue
            total[name] = total[name] + amount if name in total else amount
    return {name: str(amount) for name, amount in total.items()}
