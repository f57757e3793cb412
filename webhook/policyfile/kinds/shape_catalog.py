"""ShapeCatalog: names for devices."""

from __future__ import annotations

import re
from typing import Any

from webhook.cel import CelError, Verdict
from webhook.model.device import Device, Reach
from webhook.model.device_reading import read_device
from webhook.policyfile.cel_fields import CelSelector
from webhook.policyfile.device_example import EXAMPLE
from webhook.policyfile.field_types import ListOf, Text
from webhook.policyfile.formats import DNS_SUBDOMAIN, DRIVER_NAME
from webhook.policyfile.kind import Kind
from webhook.policyfile.record import Record, Values, maybe, needed, optional
from webhook.policyfile.spot import Spot
from webhook.rulekit.policies import CatalogModel

_ATTRIBUTE = r"\{([a-z0-9][-a-z0-9.]*/)?[A-Za-z_][A-Za-z0-9_]*\}"
_FIRST, _REST = "[a-z0-9]", "[a-z0-9._-]*"
#: `2x`, `1-4x`, `*x` count devices in a declaration, so they cannot be names.
_COUNT = re.compile(r"([0-9]+(-[0-9]+)?)?x")


def _check_name(spot: Spot, value: str) -> None:
    if _COUNT.fullmatch(value):
        spot.error(f'{spot.shown}: "{value}" reads as a count in declarations such as "2x a100-40gb"', "choose another name")


_MODEL_NAME = Text(
    phrase="model name",
    pattern=f"{_FIRST}({_REST}{_FIRST})?|({_FIRST}{_REST})?{_ATTRIBUTE}({_REST}{_FIRST})?",
    max_length=100,
    explain="lower-case letters, digits, '-', '.' and '_'; one {attribute} stands for the value of a device's attribute",
    note=_check_name,
)

NAME = needed(
    "name",
    _MODEL_NAME,
    "What declarations and findings call the devices, for example `h100-80gb`. With one `{attribute}` in it, as in "
    "`a100-mig-{profile}`, a whole family: one model per value of the attribute, in lower case, other characters as `-`.",
)
ALIASES = optional(
    "aliases", ListOf(_MODEL_NAME, unique=True), "Other names that declarations may use, for example a former `name`.", ()
)
DRIVER = needed("driver", DRIVER_NAME, "The DRA driver that publishes the devices.")
DEVICE_CLASS = optional(
    "deviceClassName",
    DNS_SUBDOMAIN,
    "The DeviceClass by which one asks for them. The model's selector is asked only about devices of this class.",
    "",
)
SELECTOR = maybe("selector", CelSelector(), "CEL over `device` that tells these devices from others of the driver.")
EXAMPLES = optional(
    "examples",
    ListOf(EXAMPLE),
    "Devices as ResourceSlices publish them. They name shapes where no live device can: offline, or scaled to zero.",
    (),
)


def _check_model(values: Values) -> None:
    if values.good(NAME) and "{" not in values[NAME] and values.good(ALIASES):
        for index, alias in enumerate(values[ALIASES]):
            if "{" in alias:
                spot = values.spot(ALIASES)
                message = f'{spot.shown}[{index}]: "{alias}" is a family of names, "{values[NAME]}" is one model'
                spot.error(message, place=spot.item(index))
    if values.good(NAME, DRIVER, SELECTOR, EXAMPLES):
        _check_examples(values)


def _check_examples(values: Values) -> None:
    """An example must be a device of its model."""
    selector = values[SELECTOR]
    for index, example in enumerate(_devices(values)):
        outcome = selector.against(example) if selector is not None else Verdict.MATCH
        spot = values.spot(EXAMPLES)
        if isinstance(outcome, CelError):
            message = f"{spot.shown}[{index}]: the model's selector fails on this example: {outcome.message}"
            spot.error(message, place=spot.item(index))
        elif outcome is Verdict.NO_MATCH:
            message = f"{spot.shown}[{index}] is not matched by the model's own selector"
            spot.error(message, "correct one of the two", place=spot.item(index))


def _devices(values: Values) -> tuple[Device, ...]:
    return tuple(
        read_device(raw, values[DRIVER], "", f"example-{index}", Reach(all_nodes=True))
        for index, raw in enumerate(values[EXAMPLES])
    )


def _model(values: Values) -> CatalogModel:
    return CatalogModel(
        name=values[NAME],
        aliases=values[ALIASES],
        driver=values[DRIVER],
        device_class=values[DEVICE_CLASS],
        selector=values[SELECTOR],
        examples=_devices(values),
    )


_MODEL = Record(
    name="model",
    doc="A named family of devices. If two models fit a device, the first in the file wins.",
    keys=(NAME, ALIASES, DRIVER, DEVICE_CLASS, SELECTOR, EXAMPLES),
    build=_model,
    checks=_check_model,
    elsewhere={"deviceClass": "write deviceClassName:", "selectors": "write selector: with one CEL expression"},
)
MODELS = needed("models", ListOf(_MODEL, minimum=1), "The models.")


def _build(values: Values) -> tuple[CatalogModel, ...]:
    return values[MODELS]


KIND: Kind[Any] = Kind(
    name="ShapeCatalog",
    doc="Names for devices. Declarations, tier lists and findings speak of models, not of selectors.",
    spec=Record(name="ShapeCatalog spec", doc="The catalog.", keys=(MODELS,), build=_build),
    example="""\
apiVersion: fallgate.dev/v1alpha1
kind: ShapeCatalog
metadata: {name: nvidia}
spec:
  models:
  - name: h100-80gb
    driver: gpu.nvidia.com
    deviceClassName: gpu.nvidia.com
    # MIG slices and VFIO functions carry their parent's productName: say which type is meant
    selector: |-
      device.attributes["gpu.nvidia.com"].type == "gpu" &&
      device.attributes["gpu.nvidia.com"].productName.startsWith("NVIDIA H100 80GB")
    examples:
    - attributes: {type: {string: gpu}, productName: {string: NVIDIA H100 80GB HBM3}}
      capacity: {memory: {value: 81559Mi}}
  - name: a100-40gb
    aliases: [a100]
    driver: gpu.nvidia.com
    deviceClassName: gpu.nvidia.com
    selector: device.attributes["gpu.nvidia.com"].productName == "NVIDIA A100-SXM4-40GB"
  - name: a100-mig-{profile}
    driver: gpu.nvidia.com
    deviceClassName: mig.nvidia.com
    selector: device.attributes["gpu.nvidia.com"].type == "mig"
""",
)
