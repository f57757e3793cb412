"""What would help somebody whose selector reads something a device does not have."""

from __future__ import annotations

from difflib import get_close_matches

from webhook.fleet.matching import DeviceError

_NO_KEY = "no such key: "


def hint(error: DeviceError) -> str:
    """What to write instead, for the error `error` raised on its device; never ""."""
    missing = error.message.partition(_NO_KEY)[2].split(" ")[0].split(",")[0].strip()
    if not missing:
        return "compare values of one type, and guard what a device may not have with has() or .?"
    device = error.device
    capacities = {name.rpartition("/")[2]: name.rpartition("/")[0] for name in device.capacity}
    attributes = {name.rpartition("/")[2]: name.rpartition("/")[0] for name in device.attributes}
    if missing in capacities and "attributes" in error.expression:
        return f'{missing} is a capacity of this device: write device.capacity["{capacities[missing]}"].{missing}'
    if missing in attributes and "capacity" in error.expression:
        return f'{missing} is an attribute of this device: write device.attributes["{attributes[missing]}"].{missing}'
    near = get_close_matches(missing, attributes, n=1, cutoff=0.6) or get_close_matches(missing, capacities, n=1, cutoff=0.6)
    if near:
        kind = "attributes" if near[0] in attributes else "capacity"
        domain = (attributes | capacities)[near[0]]
        return f'this device has {near[0]}: write device.{kind}["{domain}"].{near[0]}'
    known = ", ".join(sorted(attributes)) or "nothing"
    return f"guard it with has(...) or .?{missing}; the device publishes {known}"
