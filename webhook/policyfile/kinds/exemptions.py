"""Exemptions: who is let off what, why, and until when."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from webhook.policyfile.field_types import ListOf, OneOf
from webhook.policyfile.formats import DNS_SUBDOMAIN, GLOB, SENTENCE, USER_GLOB
from webhook.policyfile.instants import Instant
from webhook.policyfile.kind import Kind
from webhook.policyfile.kubernetes_fields import LABEL_SELECTOR
from webhook.policyfile.record import Record, Values, maybe, needed, optional
from webhook.policyfile.rule_fields import RULE_OR_REASON
from webhook.policyfile.spot import NamedPlace, Spot
from webhook.rulekit.policies import Exemption


def _use_policy(spot: Spot, value: str) -> None:
    spot.reading.policy_uses.append(NamedPlace(value, spot.place))


_POLICY_NAME = replace(DNS_SUBDOMAIN, phrase="policy name", explain="the metadata.name of a policy", note=_use_policy)
_NAMESPACES = optional("namespaces", ListOf(GLOB, minimum=1, unique=True), "Namespaces, with `*`.", ())
_USERS = optional("users", ListOf(USER_GLOB, minimum=1, unique=True), "Users who send the request, with `*`.", ())
_GROUPS = optional("groups", ListOf(USER_GLOB, minimum=1, unique=True), "Groups of the user, with `*`: one suffices.", ())
_PODS = maybe("pods", LABEL_SELECTOR, "Labels of the pod, or of the pod template.")
_RULES = optional("rules", ListOf(RULE_OR_REASON, minimum=1, unique=True), "Rule ids or reasons; every rule without it.", ())
_POLICIES = optional(
    "policies", ListOf(_POLICY_NAME, minimum=1, unique=True), "Names of policies; every policy without it.", ()
)
_EFFECT = optional(
    "effect",
    OneOf[Literal["allow", "warn"]](("allow", "warn")),
    "`allow` lets the object pass and records it, `warn` turns denials into warnings.",
    "allow",
    shown="allow",
)
_REASON = needed("reason", SENTENCE, "Why, for whoever reads it in a year.")
_OWNER = optional("owner", SENTENCE, "Whom to ask.", "")
_EXPIRES = maybe(
    "expires",
    Instant(end_of_day=True),
    "Until when. A date means the end of that day, in UTC. From 14 days before, warnings announce it.",
)
_WHO = (_NAMESPACES, _USERS, _GROUPS, _PODS)


def _check(values: Values) -> None:
    if not any(values.given(key) for key in _WHO):
        hint = 'name namespaces, users, groups or pods; namespaces: ["*"] means everybody'
        values.at.error(f"{values.at.shown} does not say who is exempt", hint)


def _exemption(values: Values) -> Exemption:
    return Exemption(
        policy=values.origin.name,
        reason=values[_REASON],
        namespaces=values[_NAMESPACES],
        users=values[_USERS],
        groups=values[_GROUPS],
        pods=values[_PODS],
        rules=values[_RULES],
        policies=values[_POLICIES],
        effect=values[_EFFECT],
        owner=values[_OWNER],
        expires=values[_EXPIRES],
    )


_EXEMPTION = Record(
    name="exemption",
    doc="Somebody who is let off. All of namespaces, users, groups and pods that are given must hold.",
    keys=(*_WHO, _RULES, _POLICIES, _EFFECT, _REASON, _OWNER, _EXPIRES),
    build=_exemption,
    checks=_check,
    elsewhere={"until": "write expires:", "podSelector": "write pods: {matchLabels: {...}}", "rule": "write rules: [...]"},
)
_EXEMPTIONS = needed("exemptions", ListOf(_EXEMPTION, minimum=1), "The exemptions.")


def _build(values: Values) -> tuple[Exemption, ...]:
    return values[_EXEMPTIONS]


KIND: Kind[Any] = Kind(
    name="Exemptions",
    doc="Who is let off which rules, why, and until when.",
    spec=Record(name="Exemptions spec", doc="The exemptions.", keys=(_EXEMPTIONS,), build=_build),
    example="""\
apiVersion: fallgate.dev/v1alpha1
kind: Exemptions
metadata: {name: platform}
spec:
  exemptions:
  - namespaces: [gpu-operator]
    rules: [device-ownership]
    reason: the operator's own validator pods ask both ways
    owner: platform-team@example.com
    expires: 2027-06-30
""",
)
