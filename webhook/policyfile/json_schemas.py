"""The policy format as JSON Schema (draft 7, which editors know best), from the same definitions that read the files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from webhook.policyfile.documents import API_VERSION, METADATA_RECORD
from webhook.policyfile.field_types import FieldType
from webhook.policyfile.kinds import KINDS
from webhook.policyfile.record import Record

SCHEMA_ID = "https://fallgate.dev/schemas/fallgate-policies.schema.json"


def json_schema() -> dict[str, Any]:
    """The schema of one policy document of any kind."""
    records = [METADATA_RECORD, *(kind.spec for kind in KINDS)]
    definitions = {record.schema_name: record.definition() for record in all_records(records)}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": SCHEMA_ID,
        "title": f"Fallgate policies ({API_VERSION})",
        "type": "object",
        "additionalProperties": False,
        "required": ["apiVersion", "kind", "metadata", "spec"],
        "properties": {
            "apiVersion": {"const": API_VERSION},
            "kind": {"enum": [kind.name for kind in KINDS]},
            "metadata": METADATA_RECORD.schema(),
            "spec": {"type": "object"},
        },
        "allOf": [
            {
                "if": {"properties": {"kind": {"const": kind.name}}, "required": ["kind"]},
                "then": {"properties": {"spec": kind.spec.schema()}},
            }
            for kind in KINDS
        ],
        "definitions": {name: definitions[name] for name in sorted(definitions)},
    }


def all_records(start: list[Record[Any]]) -> Iterator[Record[Any]]:
    """The records and all records within them, each once, in the order in which one meets them."""
    seen: dict[int, FieldType[Any]] = {}
    waiting: list[FieldType[Any]] = list(start)
    while waiting:
        here = waiting.pop(0)
        if id(here) in seen:
            continue
        seen[id(here)] = here  # kept alive, so that no other object gets its id
        if isinstance(here, Record):
            yield here
        waiting = [*here.parts, *waiting]
