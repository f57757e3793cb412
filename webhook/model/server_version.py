"""The API server's minor version and feature gates: what it serves, drops and breaks.

Defaults per release are those of kubernetes/kubernetes pkg/features/kube_features.go.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

#: Gate -> the minor version from which it is on by default.
GATES_ON_SINCE: Mapping[str, int] = {
    "DynamicResourceAllocation": 34,
    "DRAAdminAccess": 34,
    "DRAResourceClaimDeviceStatus": 33,
    "DRAPrioritizedList": 34,
    "DRAPartitionableDevices": 36,
    "DRADeviceTaints": 36,
    "DRADeviceTaintRules": 37,
    "DRAExtendedResource": 36,
    "DRAConsumableCapacity": 36,
    "DRADeviceBindingConditions": 36,
}
#: Gates that cannot be switched off any more from a minor version on.
GATES_LOCKED_SINCE: Mapping[str, int] = {
    "DynamicResourceAllocation": 35,
    "DRAAdminAccess": 36,
    "DRAPrioritizedList": 37,
    "DRAExtendedResource": 37,
    "DRAResourceClaimDeviceStatus": 37,
}
#: The version assumed when nobody says one: the newest whose behaviour this release was checked against.
NEWEST_KNOWN = (1, 37)

_VERSION = re.compile(r"v?([0-9]{1,3})\.([0-9]{1,3})(?:\+|[.+-][0-9A-Za-z.+-]*)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A Kubernetes API server. `gates` are explicit settings; all others have the release's default."""

    version: tuple[int, int] = NEWEST_KNOWN
    gates: Mapping[str, bool] = field(default_factory=dict)

    @property
    def minor(self) -> int:
        """36 for 1.36."""
        return self.version[1]

    def enabled(self, gate: str) -> bool:
        """Whether a DRA feature gate is on."""
        if self.minor >= GATES_LOCKED_SINCE.get(gate, 10_000):
            return True
        if gate in self.gates:
            return self.gates[gate]
        return self.minor >= GATES_ON_SINCE.get(gate, 10_000)

    @property
    def prioritized_lists(self) -> bool:
        """Whether `firstAvailable` survives (gate DRAPrioritizedList)."""
        return self.enabled("DRAPrioritizedList")

    @property
    def extended_resources(self) -> bool:
        """Whether a DeviceClass can serve an extended resource (gate DRAExtendedResource)."""
        return self.enabled("DRAExtendedResource")

    def __str__(self) -> str:
        return f"{self.version[0]}.{self.version[1]}"


#: The newest release that is known, with its gates as they are by default.
NEWEST: Final = Server()


def read_version(written: str) -> tuple[int, int]:
    """`1.36`, `v1.36.3` or `1.36+` as (1, 36).

    Raises ValueError when it is none of these.
    """
    found = _VERSION.fullmatch(written.strip())
    if not found:
        raise ValueError(f"{written!r} is no Kubernetes version; write it as 1.36")
    return int(found[1]), int(found[2])
