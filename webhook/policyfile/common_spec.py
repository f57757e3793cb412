"""What every rule policy shares: mode, overridable, match."""

from __future__ import annotations

from typing import Any

from webhook.model.finding import Mode
from webhook.policyfile.field_types import ListOf, OneOf
from webhook.policyfile.formats import GLOB, LABEL_VALUE
from webhook.policyfile.kubernetes_fields import LABEL_SELECTOR
from webhook.policyfile.record import Key, Record, Values, maybe, optional
from webhook.rulekit.policies import Header, Match, Overridable

_MODE_OFF = (("off", "use audit, or remove the policy"), ("dryrun", "write audit"), ("deny", "write enforce"))

MODE = optional(
    "mode",
    OneOf[Mode](("enforce", "warn", "audit"), _MODE_OFF),
    "What findings come to: `enforce` lets them deny and mutations be returned, `warn` shows them and changes nothing, "
    "`audit` only records them.",
    "enforce",
    shown="enforce",
)
_OVERRIDABLE_DOC = (
    "What the namespace labels `fallgate.dev/mode` and `fallgate.dev/mode.<rule-id>` may do: `raise` and `lower` the mode, "
    "`both`, or `none`."
)


def overridable(default: Overridable) -> Key[Overridable]:
    """The key `overridable` with a kind's default."""
    words = OneOf[Overridable](("both", "raise", "lower", "none"))
    return optional("overridable", words, _OVERRIDABLE_DOC, default, shown=default)


OVERRIDABLE = overridable("both")

_SELECTOR = maybe("namespaceSelector", LABEL_SELECTOR, "Labels of the namespace.")
_NAMESPACES = optional("namespaces", ListOf(GLOB, unique=True), "Names of namespaces, with `*`.", ())
_EXCLUDED = optional("excludeNamespaces", ListOf(GLOB, unique=True), "Namespaces that the policy is not for, with `*`.", ())
_TIERS = optional(
    "tiers",
    ListOf(LABEL_VALUE, unique=True),
    'Values of the namespace label `fallgate.dev/tier`; `""` stands for namespaces without a tier.',
    (),
)
_CLASSES = optional(
    "deviceClasses", ListOf(GLOB, unique=True), "Device classes, with `*`: at least one request must ask for one of them.", ()
)
_DRIVERS = optional(
    "drivers", ListOf(GLOB, unique=True), "Drivers, with `*`: at least one request must ask for devices of one of them.", ()
)
_MATCH_DOC = "Which objects the policy is for. A key that is absent does not restrict; all given ones must hold."
_SINGULAR = {
    "tier": "write tiers: [...]",
    "namespace": "write namespaces: [...]",
    "deviceClassName": "write deviceClasses: [...]",
    "driver": "write drivers: [...]",
}


def _match(values: Values) -> Match:
    return Match(
        namespace_selector=values[_SELECTOR],
        namespaces=values[_NAMESPACES],
        exclude_namespaces=values[_EXCLUDED],
        tiers=values[_TIERS],
        device_classes=values[_CLASSES],
        drivers=values[_DRIVERS],
    )


_MATCH_RECORD = Record(
    name="match",
    doc=_MATCH_DOC,
    keys=(_SELECTOR, _NAMESPACES, _EXCLUDED, _TIERS, _CLASSES, _DRIVERS),
    build=_match,
    elsewhere=_SINGULAR,
)
_TIERLESS_RECORD = Record(
    name="match without tiers",
    doc=_MATCH_DOC,
    keys=(_SELECTOR, _NAMESPACES, _EXCLUDED, _CLASSES, _DRIVERS),
    build=_match,
    elsewhere={**_SINGULAR, "tiers": "a TierFallback names its tiers in spec.tier", "tier": "write spec.tier"},
)

MATCH = optional("match", _MATCH_RECORD, "Which objects the policy is for; all of them without it.", Match())
TIERLESS_MATCH = optional("match", _TIERLESS_RECORD, "Which objects the policy is for, besides `tier`.", Match())

COMMON: tuple[Key[Any], ...] = (MODE, OVERRIDABLE, MATCH)
#: The shared keys as a record, for the reference. No document has it by itself.
COMMON_RECORD = Record(name="rule policy", doc="Every rule policy.", keys=COMMON, build=lambda values: values)


def header(values: Values, *, match: Key[Match] = MATCH, overridable: Key[Overridable] = OVERRIDABLE) -> Header:
    """The header of the policy whose spec was read."""
    origin = values.origin
    return Header(
        kind=origin.kind,
        name=origin.name,
        digest=origin.digest,
        source=str(origin.place) if origin.place is not None else "",
        mode=values[MODE],
        overridable=values[overridable],
        match=values[match],
    )
