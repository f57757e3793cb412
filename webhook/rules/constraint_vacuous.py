"""A constraint that restricts nothing, because all devices have the same value.

Reads:    spec.devices.constraints[*].matchAttribute, the devices that the covered alternatives match
Allows:   attributes that say which card or which place (a uuid, an address, a PCIe root, a NUMA node), which may well be one
          on a small cluster; attributes whose name says that they tell the model; constraints over one device
Because:  what identified a card in one release of a driver may be its model number in the next (deviceID of gpu.amd.com): the
          constraint is always true then, and parts of different cards are handed out together
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from webhook.model.finding import Finding
from webhook.model.pointer import field_path, join
from webhook.rulekit.ownership.identity import ADDRESSES, PARENT_ADDRESSES, PARTITION_MARKS
from webhook.rulekit.ownership.text import some
from webhook.rulekit.policies import Checks
from webhook.rulekit.rule import Reason, Rule
from webhook.rulekit.selectors.constrained import Constrained, constrained
from webhook.rulekit.view import View

REASON = "constraint-vacuous"

_STANDARD: Final = "resource.kubernetes.io"
#: Bare names of attributes that tell which card, which place, or openly which kind of device.
_MEANT: Final = frozenset(
    {name.rpartition("/")[2] for name in (*ADDRESSES, *PARENT_ADDRESSES, *PARTITION_MARKS)}
    | {"uuid", "serial", "serialNumber", "numaNode", "pciRoot", "pcieRoot", "socket", "cliqueID", "placementGroupId"}
    | {"productName", "model", "family", "architecture", "brand", "type", "profile", "partitionProfile", "tpuGen", "vendor"}
    | {"computePartition", "memoryPartition", "driverVersion", "cudaDriverVersion", "cudaComputeCapability", "driver"}
)


def check(view: View, _policy: Checks) -> Iterator[Finding]:
    """One finding per matchAttribute that holds for whatever devices are chosen."""
    for found in constrained(view):
        value = _only_value(found) if found.constraint.match_attribute and not _is_meant(found.attribute) else None
        if value is not None:
            yield _finding(view, found, value)


def _is_meant(attribute: str) -> bool:
    domain, _, name = attribute.partition("/")
    return domain == _STANDARD or name in _MEANT


def _only_value(found: Constrained) -> object | None:
    """The value that all devices have, when several are asked for and several match."""
    devices = {device.key: device for request in found.requests for item in request for device in item.devices}
    asked = sum(max(item.number for item in request) for request in found.requests)
    held = [device.attributes.get(found.attribute) for device in devices.values()]
    if asked < 2 or len(held) < 2 or held[0] is None or any(other != held[0] for other in held):
        return None
    return held[0].value if not isinstance(held[0].value, tuple) else None


def _finding(view: View, found: Constrained, value: object) -> Finding:
    devices = [device for request in found.requests for item in request for device in item.devices]
    telling = sorted(
        name
        for name in frozenset.intersection(*(frozenset(device.attributes) for device in devices))
        if name.rpartition("/")[2] in {"parentUUID", "parentDeviceID", "pciBusID", "pciAddress", "parentPciAddr"}
    )
    return Finding(
        rule=RULE.id,
        reason=REASON,
        severity="warn",
        headline=f'{view.kind} "{view.meta.display_name}" has a constraint that restricts nothing',
        path=field_path(join(found.constraint.pointer, "matchAttribute")),
        detail=f"all {len({device.key for device in devices})} devices that match have {found.attribute} {value}",
        remedy=f"if one card is meant, constrain {some(telling)}"
        if telling
        else "remove it, or constrain what tells cards apart",
    )


RULE = Rule(
    id=REASON,
    policy_kind="Checks",
    subjects=frozenset({"ResourceClaim", "ResourceClaimTemplate"}),
    reasons=(Reason(id=REASON, severity="warn", summary="a constraint that all devices meet together"),),
    check=check,
)
