"""Checks: which rules of the catalogue run, and with another severity than their own."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

from webhook.model.finding import Severity
from webhook.policyfile.common_spec import COMMON, header
from webhook.policyfile.field_types import AnyMapping, FieldType, Json, MapOf, OneOf
from webhook.policyfile.kind import Kind
from webhook.policyfile.record import Record, Values, maybe, optional
from webhook.policyfile.rule_fields import RULE_ID, RULE_OR_REASON
from webhook.policyfile.spot import Spot, describe
from webhook.policyfile.yaml_nodes import Mapping, Scalar
from webhook.rulekit.policies import Checks

Weight = Severity | Literal["off"]


@dataclass(frozen=True, slots=True)
class _Revision:
    """`"0.4"`: two numbers with a dot. Read from the text, so that 0.10 is not 0.1."""

    parts: tuple[FieldType[Any], ...] = ()
    pattern = r"(0|[1-9][0-9]{0,3})\.(0|[1-9][0-9]{0,3})"

    @property
    def phrase(self) -> str:
        """`revision`"""
        return "revision"

    def read(self, spot: Spot) -> tuple[int, int]:
        """Major and minor."""
        node = spot.node
        if isinstance(node, Scalar) and re.fullmatch(self.pattern, node.text):
            major, minor = node.text.split(".")
            return int(major), int(minor)
        raise spot.fault(f"{spot.shown} must be a revision of the rules, it is {describe(node)}", 'write it as "0.1"')

    def schema(self) -> Json:
        """Text or a number."""
        return {"anyOf": [{"type": "string", "pattern": f"^(?:{self.pattern})$"}, {"type": "number", "minimum": 0}]}


@dataclass(frozen=True, slots=True)
class _Rules:
    """Rule ids and reasons with what becomes of them."""

    entries: MapOf[Weight]

    @property
    def phrase(self) -> str:
        """As the mapping."""
        return self.entries.phrase

    @property
    def parts(self) -> tuple[FieldType[Any], ...]:
        """The mapping."""
        return (self.entries,)

    def read(self, spot: Spot) -> dict[str, Weight]:
        """The mapping; a revision in its place gets told where it belongs."""
        if not isinstance(spot.node, Mapping):
            revision = isinstance(spot.node, Scalar) and re.fullmatch(_Revision.pattern, spot.node.text)
            written = spot.node.text if isinstance(spot.node, Scalar) else ""
            hint = f'to pin the rules write rulesRevision: "{written}"' if revision else "for example {zero-match: note}"
            raise spot.fault(f"{spot.shown} must be a {self.phrase}, it is {describe(spot.node)}", hint)
        return self.entries.read(spot)

    def schema(self) -> Json:
        """As the mapping."""
        return self.entries.schema()


_WEIGHT = OneOf[Weight](
    ("off", "note", "warn", "deny"),
    (("enforce", "write deny"), ("audit", "write note"), ("error", "write deny"), ("false", 'write "off"')),
)
_RULES = optional(
    "rules",
    _Rules(MapOf(RULE_OR_REASON, _WEIGHT)),
    "Rule id or reason -> `off`, or the severity its findings get: `note`, `warn`, `deny`. A reason goes before its rule. "
    "What is not named keeps its own severity.",
    {},
)
_REVISION = maybe(
    "rulesRevision",
    _Revision(),
    'Pins the rules: what newer revisions of them find is only recorded, so that an upgrade breaks nobody. Written as `"0.1"`.',
)
_SETTINGS = optional(
    "settings", MapOf(RULE_ID, AnyMapping()), "Rule id -> settings of that rule, where it has some (see its page).", {}
)


def _build(values: Values) -> Checks:
    return Checks(
        header=header(values),
        rules=values[_RULES],
        revision=values[_REVISION],
        settings=values[_SETTINGS],
    )


KIND: Kind[Any] = Kind(
    name="Checks",
    doc="Switches the catalogue of checks on, and says which of them run and with which severity.",
    spec=Record(
        name="Checks spec",
        doc="The policy.",
        keys=(*COMMON, _RULES, _REVISION, _SETTINGS),
        build=_build,
        elsewhere={"revision": "write rulesRevision:", "checks": "write rules: {...}"},
    ),
    example="""\
apiVersion: fallgate.dev/v1alpha1
kind: Checks
metadata: {name: catalogue}
spec:
  mode: enforce
  rules: {alternative-unbounded: warn, fallback-count-differs: off}
  rulesRevision: "0.1"
""",
)
