"""docs/policy-reference.md, written from the same definitions that read the files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from webhook.policyfile.common_spec import COMMON_RECORD
from webhook.policyfile.documents import METADATA_RECORD
from webhook.policyfile.field_types import FieldType, ListOf, MapOf, plural
from webhook.policyfile.json_schemas import all_records
from webhook.policyfile.kind import Kind
from webhook.policyfile.kinds import KINDS
from webhook.policyfile.record import Key, Record
from webhook.rulekit.claim_rules.variables import OBJECT_TYPES, VARIABLES, Variable

_INTRODUCTION = """\
<!-- Written from webhook/policyfile by `make docs`. Do not edit. -->

# Policy files

A policy folder holds YAML documents of `apiVersion: fallgate.dev/v1alpha1`, in one or many files. They are read by the rules
of YAML 1.2: `off`, `on`, `yes`, `no` and dates are text and need no quotes. Unknown keys are errors. Files are loaded whole or
not at all: one mistake anywhere keeps the last good set in force. `fallgate check DIR` reports every mistake with its place.
Editors check and complete policy files by `policies/schema/fallgate-policies.schema.json`; a file's first line can say where
that is:

```yaml
# yaml-language-server: $schema=../schema/fallgate-policies.schema.json
```

A *glob* is a name in which `*` stands for any characters, `?` for one and `[ab]` for one of several. A *date* (`2027-06-30`)
is a day in UTC: something that holds until then holds until the end of that day. An instant (`2027-06-30T12:00:00Z`) may stand
wherever a date may.
"""
_COMMON_INTRODUCTION = """\
FallbackCompatibility, TierFallback, DeviceOwnership, Checks and ClaimRule share these keys. Several policies of one kind may be
for one object: then the strictest says what happens.
"""
_CEL_INTRODUCTION = """\
The expressions of a ClaimRule may use these variables, and the functions of Kubernetes' CEL environment. Fields are spelt as in
`resource.k8s.io/v1`, whatever version the author of an object used; what an object does not have is empty.
"""
#: Records whose keys are listed where they are used: everything else gets a section of its own kind.
_SHARED = ("match", "label selector", "label expression", "device selector", "CEL body", "device toleration")


def policy_reference() -> str:
    """The whole page, in Markdown."""
    return "\n".join(_page()).rstrip("\n") + "\n"


def _page() -> Iterator[str]:
    yield _INTRODUCTION
    yield "| kind | what it holds |\n|---|---|"
    for kind in KINDS:
        yield f"| [{kind.name}](#{kind.name.lower()}) | {kind.doc} |"
    yield "\n## Every document\n"
    yield from _table(METADATA_RECORD, "metadata.")
    yield "\n## Every rule policy\n"
    yield _COMMON_INTRODUCTION
    yield from _table(COMMON_RECORD, "spec.")
    described: set[str] = set()
    for kind in KINDS:
        yield from _kind(kind, described)
    yield "\n## Shared parts"
    for record in _shared_records():
        yield from _section(record)
    yield from _cel_variables()


def _kind(kind: Kind[Any], described: set[str]) -> Iterator[str]:
    yield f"\n## {kind.name}\n"
    yield f"{kind.doc}\n"
    yield f"```yaml\n{kind.example}```\n"
    own = [key for key in kind.spec.keys if key not in COMMON_RECORD.keys]
    if len(own) < len(kind.spec.keys) and "overridable" in [key.name for key in kind.spec.keys]:
        yield "Besides [the keys of every rule policy](#every-rule-policy):\n"
    yield from _rows(own, "spec.")
    for record in all_records([kind.spec]):
        if record is not kind.spec and record.name not in _SHARED and record.name not in described:
            described.add(record.name)
            yield from _section(record)


def _shared_records() -> Iterator[Record[Any]]:
    return (record for record in all_records([kind.spec for kind in KINDS]) if record.name in _SHARED)


def _section(record: Record[Any]) -> Iterator[str]:
    yield f"\n### {record.name}\n"
    yield f"{record.doc}\n"
    yield from _table(record, "")


def _table(record: Record[Any], prefix: str) -> Iterator[str]:
    return _rows(record.keys, prefix)


def _rows(keys: Any, prefix: str) -> Iterator[str]:
    yield "| key | value | meaning |\n|---|---|---|"
    for key in keys:
        yield f"| `{prefix}{key.name}` | {_value(key)} | {key.doc} |"


def _value(key: Key[Any]) -> str:
    phrase = _linked(key.type)
    if key.required:
        return f"{phrase}; required"
    if key.shown is None:
        return phrase
    shown = key.shown if isinstance(key.shown, str) else json.dumps(key.shown)
    return f"{phrase}; default `{shown}`"


def _linked(value: FieldType[Any]) -> str:
    """The type's phrase; records in it lead to their section."""
    match value:
        case Record():
            return f"[{value.name}](#{_anchor(value.name)})"
        case ListOf(item=Record() as record):
            return f"list of [{plural(record.name)}](#{_anchor(record.name)})"
        case MapOf(key=key, value=Record() as record):
            return f"mapping from {plural(key.phrase)} to [{plural(record.name)}](#{_anchor(record.name)})"
        case _:
            return value.phrase


def _anchor(heading: str) -> str:
    return heading.lower().replace(" ", "-")


def _cel_variables() -> Iterator[str]:
    yield "\n## CEL in ClaimRules\n"
    yield _CEL_INTRODUCTION
    yield from _variables(VARIABLES)
    for object_type in OBJECT_TYPES:
        yield f"\n### {object_type.name}\n"
        yield from _variables(object_type.fields)


def _variables(listed: tuple[Variable, ...]) -> Iterator[str]:
    yield "| name | type | meaning |\n|---|---|---|"
    for variable in listed:
        yield f"| `{variable.name}` | `{variable.type}` | {variable.doc} |"
