"""One alternative that a tier adds to a request."""

from __future__ import annotations

from webhook.model.claim import ALL, EXACT_COUNT, MAX_RESULTS
from webhook.policyfile.device_example import Quantity
from webhook.policyfile.field_types import Factor, ListOf, MapOf, OneOf, Text, WholeNumber
from webhook.policyfile.formats import ATTRIBUTE_NAME, DNS_LABEL, DNS_SUBDOMAIN
from webhook.policyfile.kubernetes_fields import DEVICE_SELECTOR, TOLERATION
from webhook.policyfile.record import Record, Values, maybe, needed, optional
from webhook.policyfile.spot import NamedPlace, Spot
from webhook.policyfile.yaml_nodes import Mapping, Scalar, Sequence
from webhook.rulekit.policies import TierAlternative

_MAX_SELECTORS = 32


def _use_model(spot: Spot, value: str) -> None:
    spot.reading.model_uses.append(NamedPlace(value, spot.place))


_MODEL_USE = Text(
    phrase="model name",
    pattern=r"[a-z0-9._-]*(\{[^{}*\s]+\}[a-z0-9._-]*)?",
    max_length=100,
    explain="the name or an alias of one model of a ShapeCatalog; a glob cannot stand here",
    note=_use_model,
)

NAME = needed("name", DNS_LABEL, "The alternative's name in the claim.")
_MODEL = optional("model", _MODEL_USE, "A model of a ShapeCatalog: class and selector come from there.", "")
_CLASS = optional("deviceClassName", DNS_SUBDOMAIN, "The device class, where the alternative is spelt out.", "")
_SELECTORS = optional(
    "selectors",
    ListOf(DEVICE_SELECTOR, maximum=_MAX_SELECTORS),
    "Device selectors, as in a ResourceClaim; with `model`, besides the model's own.",
    (),
)
_COUNT = maybe(
    "count",
    WholeNumber(minimum=1, maximum=MAX_RESULTS),
    "How many devices. Without `count` and `countFactor`, as many as the author asked for.",
)
_FACTOR = maybe("countFactor", Factor(), "How many devices for each that the author asked for, rounded up.")
_ALLOCATION_MODE = optional(
    "allocationMode",
    OneOf((EXACT_COUNT, ALL)),
    "As in a ResourceClaim.",
    EXACT_COUNT,
    shown=EXACT_COUNT,
)
_TOLERATIONS = optional("tolerations", ListOf(TOLERATION), "Device tolerations, besides those that the author's ask has.", ())
_REQUESTS = needed("requests", MapOf(ATTRIBUTE_NAME, Quantity()), "Capacity by name.")
_CAPACITY_RECORD = Record(
    name="capacity requirements",
    doc="How much of each device's capacity is needed, as in a ResourceClaim.",
    keys=(_REQUESTS,),
    build=lambda values: values[_REQUESTS],
)
_CAPACITY = optional("capacity", _CAPACITY_RECORD, "Capacity needed of each device, as in a ResourceClaim.", {})


def _check(values: Values) -> None:
    at = values.at
    if values.given(_MODEL) and values.given(_CLASS):
        spot = values.spot(_CLASS)
        spot.error(f"{at.shown} has both model and deviceClassName", "with model the class comes from the catalog: keep one")
    elif not values.given(_MODEL) and not values.given(_CLASS):
        at.error(f"{at.shown} needs model or deviceClassName", "a model of a ShapeCatalog, or a class spelt out")
    if values.given(_COUNT) and values.given(_FACTOR):
        values.spot(_FACTOR).error(f"{at.shown} has both count and countFactor", "keep one of them")
    if values.good(_ALLOCATION_MODE) and values[_ALLOCATION_MODE] == ALL:
        for key in (_COUNT, _FACTOR):
            if values.given(key):
                values.spot(key).error(f"{at.shown} has {key.name}, but allocationMode All takes every device", "remove one")


def _alternative(values: Values) -> TierAlternative:
    return TierAlternative(
        name=values[NAME],
        model=values[_MODEL],
        device_class=values[_CLASS],
        selectors=values[_SELECTORS],
        count=values[_COUNT],
        count_factor=values[_FACTOR],
        allocation_mode=values[_ALLOCATION_MODE],
        tolerations=values[_TOLERATIONS],
        capacity=values[_CAPACITY],
    )


ALTERNATIVE = Record(
    name="alternative",
    doc="One entry of the `firstAvailable` list: a model of a catalog, or class and selectors spelt out.",
    keys=(NAME, _MODEL, _CLASS, _SELECTORS, _COUNT, _FACTOR, _ALLOCATION_MODE, _TOLERATIONS, _CAPACITY),
    build=_alternative,
    checks=_check,
    elsewhere={
        "adminAccess": "the Kubernetes API has no adminAccess in firstAvailable",
        "selector": "write selectors: [{cel: {expression: ...}}]",
        "deviceClass": "write deviceClassName:",
    },
)


def check_names(alternatives: Spot) -> None:
    """Note every name that an earlier entry of the list already has, whether or not the entries could be read."""
    first: dict[str, Scalar] = {}
    if not isinstance(alternatives.node, Sequence):
        return
    for item in alternatives.node.items:
        name = item.get("name") if isinstance(item, Mapping) else None
        if not isinstance(name, Scalar):
            continue
        if name.text in first:
            line = first[name.text].place.line
            hint = f"the first is in line {line}; names are unique within a list"
            alternatives.error(f'two alternatives of {alternatives.shown} are called "{name.text}"', hint, place=name.place)
        first.setdefault(name.text, name)
