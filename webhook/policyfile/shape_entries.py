"""Declaration entries in policy files: `*x h100-*`, in the notation in which workloads declare their shapes."""

from __future__ import annotations

from webhook.policyfile.field_types import Text
from webhook.policyfile.scalar_places import place_in
from webhook.policyfile.spot import NamedPlace, Spot
from webhook.policyfile.yaml_nodes import Scalar
from webhook.rulekit.compatibility.declarations import DeclarationProblem, parse_declaration


def _check_entry(spot: Spot, value: str) -> None:
    parsed = parse_declaration(value)
    if isinstance(parsed, DeclarationProblem):
        place = spot.place
        if isinstance(spot.node, Scalar):
            lines = [line.replace("\t", " ") for line in value.splitlines()]
            line = lines.index(parsed.line) + 1 if parsed.line in lines else 1
            place = place_in(spot.node, line, parsed.column)
        raise spot.fault(
            f"{spot.shown}: {parsed.message}", 'write it as in a declaration, for example "*x h100-*"', place=place
        )
    if len(parsed.entries) > 1:
        raise spot.fault(f"{spot.shown} holds {len(parsed.entries)} entries", "make each of them an item of the list")
    entry = parsed.entries[0]
    if entry.pod_claim or entry.request:
        written = ":" if entry.request else "/"
        raise spot.fault(f"{spot.shown} names a claim or request before the {written}", "only COUNT x MODEL has a meaning here")
    spot.reading.shape_uses.extend(NamedPlace(part.pattern, spot.place) for part in entry.parts)


SHAPE_ENTRY = Text(phrase="declaration entry", note=_check_entry)
