"""TierFallback: the default fallback lists of a tier."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from webhook.policyfile.common_spec import MODE, OVERRIDABLE, TIERLESS_MATCH, header
from webhook.policyfile.field_types import Flag, ListOf, OneOf, OneOrMore
from webhook.policyfile.formats import DNS_SUBDOMAIN, GLOB, LABEL_KEY, LABEL_VALUE
from webhook.policyfile.kind import Kind
from webhook.policyfile.record import Record, Values, needed, optional
from webhook.policyfile.shape_entries import SHAPE_ENTRY
from webhook.policyfile.tier_alternative import ALTERNATIVE, check_names
from webhook.rulekit.policies import SkipWhen, TierAsk, TierFallback

_MAX_ALTERNATIVES = 8

_SHAPES = optional(
    "shapes",
    ListOf(SHAPE_ENTRY, minimum=1, unique=True),
    "Declaration entries, such as `*x h100-*`: every shape that the ask may be given must be covered by one of them.",
    (),
)
_CLASSES = optional("deviceClasses", ListOf(GLOB, minimum=1, unique=True), "Device classes that the ask is for, with `*`.", ())
_ALL = optional("allocationModeAll", Flag(), "Also asks with `allocationMode: All`.", False, shown=False)


def _check_ask_match(values: Values) -> None:
    if not values.given(_SHAPES) and not values.given(_CLASSES):
        hint = 'name shapes, deviceClasses or both; deviceClasses: ["*"] means every class'
        values.at.error(f"{values.at.shown} does not say which asks are meant", hint)


def _ask_match(values: Values) -> tuple[tuple[str, ...], tuple[str, ...], bool]:
    return values[_SHAPES], values[_CLASSES], values[_ALL]


_MATCH = needed(
    "match",
    Record(
        name="ask match",
        doc="Which plain asks are meant. Both given: both must hold.",
        keys=(_SHAPES, _CLASSES, _ALL),
        build=_ask_match,
        checks=_check_ask_match,
        elsewhere={"deviceClassName": "write deviceClasses: [...]", "tiers": "a TierFallback names its tiers in spec.tier"},
    ),
    "Which plain asks get the alternatives: shapes, deviceClasses, or both.",
)
_AUTHOR = optional(
    "author",
    OneOf[Literal["first", "last", "replace"]](("first", "last", "replace")),
    "Where the author's own ask goes: before the tier's alternatives, behind them, or nowhere.",
    "first",
    shown="first",
)
_ALTERNATIVES = needed(
    "alternatives",
    ListOf(
        ALTERNATIVE,
        minimum=1,
        maximum=_MAX_ALTERNATIVES,
        too_many="the Kubernetes API allows 8 entries in firstAvailable",
    ),
    "What is added, in the order in which the scheduler tries it.",
)


def _ask(values: Values) -> TierAsk:
    shapes, classes, allocation_mode_all = values[_MATCH]
    return TierAsk(
        alternatives=values[_ALTERNATIVES],
        shapes=shapes,
        device_classes=classes,
        author=values[_AUTHOR],
        allocation_mode_all=allocation_mode_all,
    )


_ASK = Record(
    name="ask",
    doc="Some plain asks and the alternatives they get. Of several that fit an ask, the first one counts.",
    keys=(_MATCH, _AUTHOR, _ALTERNATIVES),
    build=_ask,
    checks=lambda values: check_names(values.spot(_ALTERNATIVES)) if values.given(_ALTERNATIVES) else None,
)

_DEFAULT_SKIP = SkipWhen()
_LABELS = optional(
    "labels",
    ListOf(LABEL_KEY, unique=True),
    "Label keys on the namespace, the pod or its controller.",
    _DEFAULT_SKIP.labels,
    shown=list(_DEFAULT_SKIP.labels),
)
_LOCAL_QUEUES = optional(
    "localQueues", Flag(), "Namespaces that have a Kueue LocalQueue.", _DEFAULT_SKIP.local_queues, shown=True
)
_SCHEDULER_NAME = replace(DNS_SUBDOMAIN, phrase="scheduler name", explain="as in the pod's spec.schedulerName")
_SCHEDULERS = optional(
    "schedulerNames",
    ListOf(_SCHEDULER_NAME, unique=True),
    "Schedulers that cannot place lists, as in the pod's `schedulerName`.",
    (),
)
_SKIP_RECORD = Record(
    name="skip",
    doc="Where nothing is injected, because somebody else must admit or place the pod. One of them suffices.",
    keys=(_LABELS, _LOCAL_QUEUES, _SCHEDULERS),
    build=lambda values: SkipWhen(
        labels=values[_LABELS], local_queues=values[_LOCAL_QUEUES], scheduler_names=values[_SCHEDULERS]
    ),
)

TIER = needed(
    "tier",
    OneOrMore(LABEL_VALUE),
    'The value, or values, of the namespace label `fallgate.dev/tier`. `""` stands for namespaces without a tier.',
)
DEFAULT = optional(
    "default",
    Flag(),
    "Makes the tier that of all namespaces without the label, in every policy. Only one tier of a set can be it.",
    False,
    shown=False,
)
_TARGETS = optional(
    "targets",
    ListOf(OneOf(("generatedClaims", "claims", "templates")), minimum=1, unique=True),
    "What the lists go into: claims generated for pods, claims that people create, templates. A template that lives in git "
    "shows drift for ever once it was changed.",
    ("generatedClaims", "claims"),
    shown=["generatedClaims", "claims"],
)
_ASKS = needed("asks", ListOf(_ASK), "Which asks get which alternatives. May be empty where `default` is all that is meant.")
_SKIP = optional("skipWhen", _SKIP_RECORD, "Where nothing is injected. By default where Kueue admits pods.", _DEFAULT_SKIP)


def _check(values: Values) -> None:
    if values.good(TIER, DEFAULT) and values[DEFAULT]:
        _check_default(values)
    if values.good(_ASKS) and not values[_ASKS] and not values[DEFAULT]:
        values.spot(_ASKS).error(f"{values.spot(_ASKS).shown} is empty: nothing would be injected", "add an ask")


def _check_default(values: Values) -> None:
    tiers, spot = values[TIER], values.spot(DEFAULT)
    if len(tiers) > 1:
        spot.error(f"{spot.shown}: one tier can be the default, spec.tier names {len(tiers)}", "use a TierFallback of its own")
    elif tiers == ("",):
        spot.error(f'{spot.shown}: the tier "" is what namespaces without a tier already have', "remove default")


def _build(values: Values) -> TierFallback:
    return TierFallback(
        header=header(values, match=TIERLESS_MATCH),
        tiers=values[TIER],
        default=values[DEFAULT],
        asks=values[_ASKS],
        targets=frozenset(values[_TARGETS]),
        skip_when=values[_SKIP],
    )


KIND: Kind[Any] = Kind(
    name="TierFallback",
    doc="What a plain request falls back to in the namespaces of a tier. Two of them for one ask of one tier are a mistake.",
    spec=Record(
        name="TierFallback spec",
        doc="The policy.",
        keys=(MODE, OVERRIDABLE, TIERLESS_MATCH, TIER, DEFAULT, _TARGETS, _ASKS, _SKIP),
        build=_build,
        checks=_check,
        elsewhere={"tiers": "write tier: [...]", "alternatives": "alternatives belong to an entry of asks"},
    ),
    example="""\
apiVersion: fallgate.dev/v1alpha1
kind: TierFallback
metadata: {name: research-gpus}
spec:
  mode: enforce
  tier: research
  targets: [generatedClaims, claims]
  asks:
  - match: {shapes: ["*x h100-*"], deviceClasses: [gpu.nvidia.com]}
    author: first
    alternatives:
    - {name: a100-pair, model: a100-40gb, countFactor: 2}
    - name: any-big
      deviceClassName: gpu.nvidia.com
      count: 1
      selectors: [{cel: {expression: 'device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("79Gi")) >= 0'}}]
""",
)
