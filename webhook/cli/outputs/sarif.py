"""SARIF 2.1.0 (OASIS), as code hosts show it beside the lines of a change."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, Final, Literal
from urllib.parse import quote

SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"

Level = Literal["error", "warning", "note", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SarifRule:
    """A rule that results may name: its id, one sentence about it."""

    id: str
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One thing found. `line` and `column` count from 1, 0 when unknown; `logical` is a field path.

    `fingerprint` is what stays the same when lines move.
    """

    rule: str
    level: Level
    message: str
    source: str
    line: int = 0
    column: int = 0
    logical: str = ""
    fingerprint: str = ""
    properties: Mapping[str, Any] = field(default_factory=dict)


def as_sarif(results: Sequence[Result], *, rules: Iterable[SarifRule], version: str, failed: Sequence[str] = ()) -> str:
    """A log with one run. Rules that a result names and `rules` does not know are added without a text.

    `failed` says what could not be read: then the run counts as not successful.
    """
    known = {rule.id: rule for rule in rules}
    used = dict.fromkeys(result.rule for result in results)
    listed = [known.get(name, SarifRule(id=name, summary=name)) for name in sorted({*known, *used})]
    index = {rule.id: i for i, rule in enumerate(listed)}
    driver = {
        "name": "Fallgate",
        "version": version,
        "rules": [{"id": rule.id, "shortDescription": {"text": rule.summary}} for rule in listed],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(failed)],
        "results": [_result(result, index[result.rule]) for result in results],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _invocation(failed: Sequence[str]) -> dict[str, Any]:
    notes = [{"level": "error", "message": {"text": text}} for text in failed]
    return {"executionSuccessful": not failed} | ({"toolExecutionNotifications": notes} if notes else {})


def _result(result: Result, rule_index: int) -> dict[str, Any]:
    location: dict[str, Any] = {"physicalLocation": _physical(result)}
    if result.logical:
        location["logicalLocations"] = [{"fullyQualifiedName": result.logical}]
    document: dict[str, Any] = {
        "ruleId": result.rule,
        "ruleIndex": rule_index,
        "level": result.level,
        "message": {"text": result.message},
        "locations": [location],
    }
    if result.fingerprint:
        document["partialFingerprints"] = {"fallgate/v1": result.fingerprint}
    if result.properties:
        document["properties"] = dict(result.properties)
    return document


def _physical(result: Result) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": artifact_uri(result.source)}}
    if result.line > 0:
        region = {"startLine": result.line} | ({"startColumn": result.column} if result.column > 0 else {})
        place["region"] = region
    return place


def artifact_uri(source: str) -> str:
    """A file name as the URI reference that SARIF wants: relative ones stay relative, special characters are escaped."""
    path = PurePath(source)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix(), safe="/-._~!$&'()*+,;=@")
