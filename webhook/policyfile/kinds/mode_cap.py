"""ModeCap: the panic button as a file."""

from __future__ import annotations

from typing import Any

from webhook.model.finding import Mode
from webhook.policyfile.field_types import OneOf
from webhook.policyfile.instants import Instant
from webhook.policyfile.kind import Kind
from webhook.policyfile.record import Record, Values, maybe, needed, optional
from webhook.policyfile.rule_fields import RULE_ID
from webhook.rulekit.policies import ModeCap

_MODE = needed(
    "mode",
    OneOf[Mode](("audit", "warn"), (("off", "write audit: everything is then allowed, and recorded"),)),
    "The highest mode that is left: `audit` denies nothing and changes nothing, `warn` also shows findings.",
)
_RULE = optional("rule", RULE_ID, "Only this rule; every rule without it.", "")
_UNTIL = maybe("until", Instant(end_of_day=True), "Until when. A date means the end of that day, in UTC.")


def _build(values: Values) -> ModeCap:
    return ModeCap(name=values.origin.name, mode=values[_MODE], rule=values[_RULE], until=values[_UNTIL])


KIND: Kind[Any] = Kind(
    name="ModeCap",
    doc="Caps the modes of all policies, or of one rule, for a while.",
    spec=Record(
        name="ModeCap spec",
        doc="The cap.",
        keys=(_MODE, _RULE, _UNTIL),
        build=_build,
        elsewhere={"rules": "write rule: with one id; a second ModeCap caps a second rule", "expires": "write until:"},
    ),
    example="""\
apiVersion: fallgate.dev/v1alpha1
kind: ModeCap
metadata: {name: quiet-weekend}
spec:
  mode: warn
  rule: device-ownership
  until: 2027-03-01
""",
)
