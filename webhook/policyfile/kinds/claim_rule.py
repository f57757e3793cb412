"""ClaimRule: the organisation's own rule in CEL."""

from __future__ import annotations

from typing import Any

from webhook.cel import Expression
from webhook.model.finding import Severity
from webhook.policyfile.cel_fields import CelText, Hints, compiled
from webhook.policyfile.common_spec import COMMON, header
from webhook.policyfile.field_types import OneOf
from webhook.policyfile.kind import Kind
from webhook.policyfile.record import Key, Record, Values, maybe, needed, optional
from webhook.policyfile.spot import Reported
from webhook.rulekit.claim_rules.variables import ForEach, sizes, variables
from webhook.rulekit.policies import ClaimRule

_HINTS: Hints = (
    ("reserved identifier: namespace", "CEL reserves this word: the namespace is called namespaceObject"),
    ("undeclared reference to 'alternative'", "there is an alternative only with forEach: alternative"),
    ("undeclared reference to 'request'", "there is a request only with forEach: request or forEach: alternative"),
)
_MESSAGE_HINTS: Hints = (
    *_HINTS,
    ("", """message is CEL too: text in it needs quotes of its own, as in message: '"at most one card"'"""),
)

_FOR_EACH = optional(
    "forEach",
    OneOf[ForEach](("claim", "request", "alternative")),
    "What is judged one by one. `request` is there from `request` on, `alternative` only with `alternative`.",
    "claim",
    shown="claim",
)
_WHEN = maybe("when", CelText(), "CEL giving true where the rule has something to say; everywhere without it.")
_REQUIRE = needed("require", CelText(), "CEL giving true where all is well.")
_MESSAGE = needed(
    "message", CelText(), "CEL giving the text that the author of a refused object reads. Say what to write instead."
)
_SEVERITY = optional(
    "severity",
    OneOf[Severity](("deny", "warn", "note"), (("error", "write deny"), ("enforce", "write deny"))),
    "What a finding weighs, before the mode caps it.",
    "deny",
    shown="deny",
)


def _check(values: Values) -> None:
    """Compiles everything, so that a mistake in one expression does not hide one in the next."""
    if values.given(_FOR_EACH) and not values.good(_FOR_EACH):
        return
    for key in (_WHEN, _REQUIRE, _MESSAGE):
        if values.good(key):
            try:
                _compile(values, key)
            except Reported:
                continue


def _compile(values: Values, key: Key[Any]) -> Expression:
    known = variables(values[_FOR_EACH]), sizes(values[_FOR_EACH])
    if key is _MESSAGE:
        return compiled(values.spot(key), values[key], known, "string", _MESSAGE_HINTS)
    return compiled(values.spot(key), values[key], known, "bool", _HINTS)


def _build(values: Values) -> ClaimRule:
    return ClaimRule(
        header=header(values),
        for_each=values[_FOR_EACH],
        when=_compile(values, _WHEN) if values.given(_WHEN) else None,
        require=_compile(values, _REQUIRE),
        message=_compile(values, _MESSAGE),
        severity=values[_SEVERITY],
    )


KIND: Kind[Any] = Kind(
    name="ClaimRule",
    doc="The organisation's own rule about claims and templates, in CEL.",
    spec=Record(
        name="ClaimRule spec",
        doc="The rule.",
        keys=(*COMMON, _FOR_EACH, _WHEN, _REQUIRE, _MESSAGE, _SEVERITY),
        build=_build,
        checks=_check,
        elsewhere={
            "validations": "write require: and message:",
            "expression": "write require:",
            "messageExpression": "write message: it is CEL",
            "matchConditions": "write when:",
        },
    ),
    example="""\
apiVersion: fallgate.dev/v1alpha1
kind: ClaimRule
metadata: {name: no-whole-cards-for-dev}
spec:
  mode: enforce
  match: {tiers: [dev]}
  forEach: alternative
  when: alternative.deviceClassName == "gpu.nvidia.com"
  require: alternative.allocationMode == "ExactCount" && alternative.count <= 1
  message: '"tier " + tier + " may ask for one card at most, asked " + string(alternative.count)'
""",
)
