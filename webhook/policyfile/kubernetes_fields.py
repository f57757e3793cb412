"""Parts of the Kubernetes API that policy files use as they are: label selectors, tolerations, CEL selectors, devices."""

from __future__ import annotations

from webhook.model.claim import Toleration
from webhook.model.labels import LabelExpression, LabelOperator, LabelSelector
from webhook.policyfile.cel_fields import CelSelectorText
from webhook.policyfile.field_types import ListOf, MapOf, OneOf
from webhook.policyfile.formats import LABEL_KEY, LABEL_VALUE
from webhook.policyfile.record import Record, Values, needed, optional

_KEY = needed("key", LABEL_KEY, "The label's key.")
_OPERATOR = needed(
    "operator",
    OneOf[LabelOperator](("In", "NotIn", "Exists", "DoesNotExist")),
    "How the label is compared. `NotIn` and `DoesNotExist` also hold for an object without the label.",
)
_VALUES = optional("values", ListOf(LABEL_VALUE, unique=True), "The values, for `In` and `NotIn`.", ())


def _check_expression(values: Values) -> None:
    if not values.good(_OPERATOR):
        return
    operator = values[_OPERATOR]
    spot = values.spot(_VALUES)
    if operator in ("In", "NotIn") and not values.given(_VALUES):
        spot.error(f'{spot.shown} lacks "values"', f"{operator} compares with one or several values", place=spot.place)
    elif operator in ("In", "NotIn") and values.good(_VALUES) and not values[_VALUES]:
        spot.error(f"{spot.shown} must hold a value for {operator}")
    elif operator in ("Exists", "DoesNotExist") and values.given(_VALUES):
        spot.error(f"{spot.shown} has no meaning for {operator}", "remove it, or use In or NotIn")


_EXPRESSION = Record(
    name="label expression",
    doc="One condition on a label.",
    keys=(_KEY, _OPERATOR, _VALUES),
    build=lambda values: LabelExpression(key=values[_KEY], operator=values[_OPERATOR], values=values[_VALUES]),
    checks=_check_expression,
)

_MATCH_LABELS = optional("matchLabels", MapOf(LABEL_KEY, LABEL_VALUE), "Labels that must be there, with their values.", {})
_MATCH_EXPRESSIONS = optional("matchExpressions", ListOf(_EXPRESSION), "Conditions that must hold.", ())

LABEL_SELECTOR = Record(
    name="label selector",
    doc="As everywhere in Kubernetes: all of `matchLabels` and `matchExpressions` must hold; `{}` matches everything.",
    keys=(_MATCH_LABELS, _MATCH_EXPRESSIONS),
    build=lambda values: LabelSelector(match_labels=values[_MATCH_LABELS], match_expressions=values[_MATCH_EXPRESSIONS]),
)

_EXPRESSION_TEXT = needed("expression", CelSelectorText(), "CEL over `device`, giving true or false.")
_CEL_BODY = Record(
    name="CEL body", doc="A CEL expression.", keys=(_EXPRESSION_TEXT,), build=lambda values: values[_EXPRESSION_TEXT]
)
_CEL = needed("cel", _CEL_BODY, "The expression, as {expression: ...}.")
DEVICE_SELECTOR = Record(
    name="device selector",
    doc="A device selector, as in a ResourceClaim.",
    keys=(_CEL,),
    build=lambda values: values[_CEL],
    elsewhere={"expression": "write cel: {expression: ...}"},
)

_TOLERATION_KEY = optional("key", LABEL_KEY, "The taint's key; without one, every key (then the operator is `Exists`).", "")
_TOLERATION_OPERATOR = optional(
    "operator", OneOf(("Equal", "Exists")), "`Exists` tolerates every value.", "Equal", shown="Equal"
)
_TOLERATION_VALUE = optional("value", LABEL_VALUE, "The taint's value, for `Equal`.", "")
_TOLERATION_EFFECT = optional("effect", OneOf(("NoSchedule", "NoExecute")), "Only this effect; without one, all effects.", "")


def _check_toleration(values: Values) -> None:
    spot = values.at
    exists = values.good(_TOLERATION_OPERATOR) and values[_TOLERATION_OPERATOR] == "Exists"
    if exists and values.given(_TOLERATION_VALUE):
        values.spot(_TOLERATION_VALUE).error(f"{spot.shown} has a value, which Exists does not compare", "remove the value")
    if not exists and not values.given(_TOLERATION_KEY):
        hint = "to tolerate every taint write {operator: Exists}; Equal without a key tolerates every taint that has no value"
        spot.error(f'{spot.shown} lacks "key"', hint)


TOLERATION = Record(
    name="device toleration",
    doc="A toleration of device taints, as in a ResourceClaim.",
    keys=(_TOLERATION_KEY, _TOLERATION_OPERATOR, _TOLERATION_VALUE, _TOLERATION_EFFECT),
    build=lambda values: Toleration(
        key=values[_TOLERATION_KEY],
        operator=values[_TOLERATION_OPERATOR],
        value=values[_TOLERATION_VALUE],
        effect=values[_TOLERATION_EFFECT],
    ),
    checks=_check_toleration,
)
