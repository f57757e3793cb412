"""A starting ShapeCatalog from the devices that are published. Pure.

Devices of one driver with the same type and product become one model. Partitions of a card become a family, named by their
profile; where the profile is said in several attributes, as AMD's AutoPartition does, each is a model of its own. Every device
fits some entry; names are a proposal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from webhook.cli.outputs.documents import as_yaml
from webhook.fleet.inventory import Inventory
from webhook.model.device import Attribute, Device
from webhook.rulekit.shapes.catalog import Catalog, in_class, slug

#: Attributes that say which product a device is, the best first; bare names of the driver's own domain.
_PRODUCT: Final = ("productName", "model", "tpuGen", "pciDevice", "pfDeviceID")
#: Of these the value alone is no name: the driver's is put in front.
_TERSE: Final = frozenset({"tpuGen", "pfDeviceID"})
_PROFILE: Final = ("profile", "partitionProfile")
#: What says it in several attributes: compute units and memory of a card that is partitioned when it is allocated.
_MODES: Final = ("computePartition", "memoryPartition")
_TYPE: Final = "type"
#: Types of devices that are a part of a card.
_PART: Final = re.compile("mig|partition")
_TOP_LEVEL: Final = re.compile(r"\.(com|io|ai|dev|org)$")
_VENDOR: Final = re.compile(r"^(nvidia|amd|intel|tesla|instinct|-)+")
#: Names of attributes that tell one device from the next, not one model.
_IDENTITY: Final = re.compile(
    r"uuid|serial|bus|root|index|minor|numa|parent|addr|mac|name$|version|ipv|guid|health|state$|alias|socket", re.IGNORECASE
)

_HEADER: Final = """\
# A starting point, made from the devices that the cluster publishes now. Names are what declarations and messages will say:
# change them as you like, and give the old ones as `aliases` once people use them. The first model that fits a device wins.
"""


@dataclass(frozen=True, slots=True, order=True)
class _Group:
    """What makes devices one model. `attribute` is the product's, "" when they have none.

    Of partitions, `profile` is the attribute that names them, or `modes` are the attributes and values that do. `order` puts
    those that more is asked of first: the selectors of the others would take them too.
    """

    driver: str
    catch_all: bool
    attribute: str
    product: str
    type: str
    order: int = 0
    profile: str = ""
    modes: tuple[tuple[str, str], ...] = ()


def suggested_catalog(inventory: Inventory, known: Catalog | None = None) -> str:
    """A policy file with a model for every device that `known` has no model for; "" when there is none."""
    devices = [device for pool in inventory.pools for device in pool.devices if not _is_known(device, inventory, known)]
    groups: dict[_Group, list[Device]] = {}
    for device in devices:
        groups.setdefault(_group_of(device), []).append(device)
    if not groups:
        return ""
    spec = {"models": list(_models(groups, inventory))}
    document = {"apiVersion": "fallgate.dev/v1alpha1", "kind": "ShapeCatalog", "metadata": {"name": "suggested"}, "spec": spec}
    return _HEADER + as_yaml(document)


def _is_known(device: Device, inventory: Inventory, known: Catalog | None) -> bool:
    return known is not None and not known.model_of(device, inventory.classes).startswith("?")


def _group_of(device: Device) -> _Group:
    kind = device.text_attribute(_TYPE)
    attribute = next((name for name in _PRODUCT if device.text_attribute(name)), "")
    profile = modes = None
    if _PART.search(kind):
        profile = next((name for name in _PROFILE if slug(device.text_attribute(name))), None)
        modes = tuple((name, value) for name in _MODES if slug(value := device.text_attribute(name)))
    return _Group(
        device.driver,
        not attribute and not kind,
        attribute,
        device.text_attribute(attribute),
        kind,
        -len(_MODES) - 1 if profile else -len(modes or ()),
        profile or "",
        () if profile else modes or (),
    )


def _models(groups: Mapping[_Group, Sequence[Device]], inventory: Inventory) -> Iterator[dict[str, Any]]:
    taken: set[str] = set()
    for group in sorted(groups):
        members = groups[group]
        everyone = [device for pool in inventory.pools_of(group.driver) for device in pool.devices]
        types = {other.type for other in groups if (other.driver, other.product) == (group.driver, group.product)}
        name = _unused(_name(group, types), group, taken)
        taken.add(name)
        model: dict[str, Any] = {"name": name, "driver": group.driver}
        device_class = _class_of(members, inventory)
        if device_class:
            model["deviceClassName"] = device_class
        model["selector"] = _selector(group, everyone)
        model["examples"] = [_example(members, group)]
        yield model


def _name(group: _Group, types: set[str]) -> str:
    product = _VENDOR.sub("", slug(group.product)).strip("-")
    if not product or product == "unknown":
        product = f"{_whole_label(group)}-{product}".strip("-")
    elif group.attribute in _TERSE:
        product = f"{_label(group)}-{product}"
    # The plainest type of a product goes without saying; others are part of the name.
    plainest = min(types, key=lambda kind: (bool(_PART.search(kind)), len(kind), kind))
    if group.type and (not group.product or group.type != plainest or _PART.search(group.type)):
        product += "-" + slug(group.type.removeprefix(plainest) or group.type)
    return product


def _label(group: _Group) -> str:
    """`tpu` for tpu.google.com"""
    return slug(group.driver.partition(".")[0])


def _whole_label(group: _Group) -> str:
    """`gpu-intel` for gpu.intel.com, `dra-cpu` for dra.cpu"""
    return slug(_TOP_LEVEL.sub("", group.driver))


def _unused(name: str, group: _Group, taken: set[str]) -> str:
    family = f"-{{{group.profile}}}" if group.profile else "".join(f"-{slug(value)}" for _, value in group.modes)
    candidates = (name, f"{_label(group)}-{name}", *(f"{name}-{number}" for number in range(2, len(taken) + 3)))
    return next(found for candidate in candidates if (found := candidate + family) not in taken)


def _class_of(members: Sequence[Device], inventory: Inventory) -> str:
    """The class that takes all of these devices, of several the one that takes the fewest others; "" when there is none."""
    fitting = [item for item in inventory.classes.values() if all(in_class(device, item.selectors) for device in members)]
    sizes = {item.name: inventory.match(item.name).count for item in fitting}
    return min(sizes, key=lambda name: (sizes[name], name), default="")


def _selector(group: _Group, everyone: Sequence[Device]) -> str:
    """Asks for the type first. Attributes that some device of the driver lacks are asked for with has(): no CEL error."""
    terms: list[str] = []
    for name, value in ((_TYPE, group.type), (group.attribute, group.product), *group.modes):
        if name and value:
            terms += _guard(name, everyone)
            terms.append(f"{_field(everyone[0], name)} == {_quoted(value)}")
    if group.profile:
        terms += _guard(group.profile, everyone)
    return " && ".join(dict.fromkeys(terms)) or f"device.driver == {_quoted(group.driver)}"


def _guard(name: str, everyone: Sequence[Device]) -> Iterator[str]:
    if not all(f"{device.driver}/{name}" in device.attributes for device in everyone):
        yield f"has({_field(everyone[0], name)})"


def _field(device: Device, name: str) -> str:
    return f'device.attributes["{device.driver}"].{name}'


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _example(members: Sequence[Device], group: _Group) -> dict[str, Any]:
    """What all devices of the group have in common, of what tells models apart; the first one's profile."""
    first = members[0]
    alike = {
        name: value
        for name, value in first.attributes.items()
        if _tells_models_apart(name, group) and all(device.attributes.get(name) == value for device in members)
    }
    for name in _PROFILE:
        held = first.attributes.get(f"{group.driver}/{name}")
        if held is not None:
            alike[f"{group.driver}/{name}"] = held
    example: dict[str, Any] = {"attributes": {_bare(name, group): _typed(alike[name]) for name in sorted(alike)}}
    memory = first.capacity.get(f"{group.driver}/memory")
    if memory:
        example["capacity"] = {"memory": {"value": memory}}
    return example


def _tells_models_apart(name: str, group: _Group) -> bool:
    domain, _, bare = name.rpartition("/")
    return bare in (_TYPE, group.attribute) or (domain == group.driver and not _IDENTITY.search(bare))


def _bare(name: str, group: _Group) -> str:
    return name.removeprefix(f"{group.driver}/")


def _typed(attribute: Attribute) -> dict[str, Any]:
    value = attribute.value
    return {attribute.kind: list(value) if isinstance(value, tuple) else value}
