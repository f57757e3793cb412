"""Names of rules and reasons in policy files: only those that exist, or that the catalogue keeps for later ones."""

from __future__ import annotations

from webhook.policyfile.field_types import Text
from webhook.policyfile.spot import Spot, choice_hint, meant_hint

_FORM = "[a-z][a-z0-9-]*"
_EXPLAIN = "lower-case letters, digits and '-', for example fallback-compatibility"


def _check_rule(spot: Spot, value: str) -> None:
    names = spot.reading.rules
    if value in names.ids:
        return
    if value in names.reserved:
        _warn_reserved(spot, value)
    elif value in names.reasons:
        raise spot.fault(f'"{value}" is a reason, a rule is meant here', choice_hint(value, sorted(names.ids)))
    else:
        raise spot.fault(f'there is no rule "{value}"', choice_hint(value, sorted(names.ids)))


def _check_rule_or_reason(spot: Spot, value: str) -> None:
    names = spot.reading.rules
    if value in names.reported:
        return
    if value in names.reserved:
        _warn_reserved(spot, value)
        return
    raise spot.fault(f'there is no rule or reason "{value}"', meant_hint(value, names.all))


def _warn_reserved(spot: Spot, value: str) -> None:
    spot.warn(f'this release does not look for "{value}" yet: naming it has no effect')


RULE_ID = Text(phrase="rule id", pattern=_FORM, max_length=100, explain=_EXPLAIN, note=_check_rule)
RULE_OR_REASON = Text(phrase="rule id or reason", pattern=_FORM, max_length=100, explain=_EXPLAIN, note=_check_rule_or_reason)
