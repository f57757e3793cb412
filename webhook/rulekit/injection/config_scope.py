"""Which alternatives an opaque config may follow to, and how it names them.

A config that names a request, or none, is handed to the driver for whatever alternative is taken. Most drivers then compare
`request/alternative` exactly, so a config that named the request of a plain ask has to name the alternatives of the list; and
a config on devices of another kind fails when the pod's devices are prepared (NVIDIA: "cannot apply GpuConfig to device of type
mig"), long after scheduling.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Final

from webhook.fleet.inventory import Inventory
from webhook.model.claim import Alternative, ClaimSpec, OpaqueConfig, Request
from webhook.model.tolerant import mapping, text

#: Names that one config may list (k8s.io/api resource/v1).
MAX_NAMES: Final = 32

#: What the kinds of config of a driver are for: the `type` attribute of its devices.
_TYPE_OF_KIND: Final[Mapping[tuple[str, str], str]] = {
    ("gpu.nvidia.com", "GpuConfig"): "gpu",
    ("gpu.nvidia.com", "MigDeviceConfig"): "mig",
    ("gpu.nvidia.com", "VfioDeviceConfig"): "vfio",
}


class Fit(Enum):
    """How a config of a request stands to one of its alternatives."""

    FOLLOWS = "follows"  # devices of the same class and kind as the author's own
    APART = "apart"  # another driver's devices: the config is not about them
    CANNOT = "cannot"  # the same driver's, or perhaps, and of another class or kind


def covers(scope: tuple[str, ...], request: str) -> bool:
    """Whether a config with these `requests` is for a plain request of that name. Empty means all."""
    return not scope or request in scope


def fit(config: OpaqueConfig, author: Alternative, alternative: Alternative, inventory: Inventory) -> Fit:
    """How `config`, which is for the plain ask `author`, stands to `alternative`."""
    drivers = inventory.drivers_of_class(alternative.device_class)
    if drivers and config.driver not in drivers:
        return Fit.APART
    if alternative.device_class != author.device_class or not _right_kind(config, alternative, inventory):
        return Fit.CANNOT
    return Fit.FOLLOWS


def kind_of(config: OpaqueConfig) -> str:
    """The `kind` of the driver's own configuration object, or ""."""
    return text(mapping(config.parameters).get("kind"))


def rescoped(
    scope: tuple[str, ...], request: str, follow: Iterable[str], apart: Iterable[str], spec: ClaimSpec
) -> tuple[str, ...]:
    """The names a config lists when `request` becomes a list: instead of it those of its alternatives that it may `follow`.

    When it follows none it is not about this request, and stays as it is. A config for all requests stays one unless some
    alternative is `apart`; then every other request of `spec` is spelt out, and every alternative of those that are lists.
    """
    names = tuple(f"{request}/{alternative}" for alternative in follow)
    if not names or not (scope or tuple(apart)):
        return scope
    if scope:
        replaced = [new for name in scope for new in (names if name == request else (name,))]
        return tuple(dict.fromkeys(replaced))
    return tuple(new for other in spec.requests for new in (names if other.name == request else _names(other)))


def _names(request: Request) -> tuple[str, ...]:
    return tuple(f"{request.name}/{item.name}" for item in request.alternatives) if request.prioritized else (request.name,)


def _right_kind(config: OpaqueConfig, alternative: Alternative, inventory: Inventory) -> bool:
    wanted = _TYPE_OF_KIND.get((config.driver, kind_of(config)))
    if wanted is None:
        return True
    selectors = tuple(selector.expression for selector in alternative.selectors)
    types = _types(inventory, alternative.device_class, selectors) or _types(inventory, alternative.device_class, ())
    return types <= {wanted}


def _types(inventory: Inventory, device_class: str, selectors: tuple[str, ...]) -> frozenset[str]:
    matches = inventory.match(device_class, selectors)
    return frozenset(device.text_attribute("type") for pool in matches.pools for device in pool.matched)
