"""values.yaml and its schema say the same, and every value is explained."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import yaml

from tests.chart.helms import CHART
from tests.chart.regenerate import value_sets

SCHEMA: dict[str, Any] = json.loads((CHART / "values.schema.json").read_text())
VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())


def parts(schema: dict[str, Any], place: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every part of the schema, with its place."""
    yield place, schema
    for name, part in schema.get("properties", {}).items():
        yield from parts(part, f"{place}.{name}".lstrip("."))
    if isinstance(schema.get("items"), dict):
        yield from parts(schema["items"], f"{place}[]")


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)


def test_the_defaults_keep_to_it() -> None:
    jsonschema.validate(VALUES, SCHEMA)


def test_so_do_the_values_of_the_golden_files() -> None:
    for values in value_sets().values():
        read = json.loads(json.dumps(dict(values), default=str))
        jsonschema.validate({**VALUES, **read}, SCHEMA)


def test_everything_is_described() -> None:
    assert [place for place, part in parts(SCHEMA) if len(part.get("description", "")) < 5] == []


def test_unknown_keys_are_refused_wherever_keys_are_ours() -> None:
    """What is handed on to Kubernetes as it is (resources, tolerations, labels) is Kubernetes' to check."""
    open_ones = [
        place for place, part in parts(SCHEMA) if part.get("type") == "object" and part.get("additionalProperties") is not False
    ]
    assert open_ones == [
        "policies.files",
        "featureGates",
        "webhook.annotations",
        "deployment.resources",
        "deployment.nodeSelector",
        "deployment.tolerations[]",
        "deployment.affinity",
        "deployment.podLabels",
        "deployment.podAnnotations",
        "service.annotations",
        "serviceAccount.annotations",
        "networkPolicy.metricsFrom[]",
        "metrics.serviceMonitor.labels",
        "metrics.dashboard.labels",
        "metrics.dashboard.annotations",
        "labels",
        "global",
    ]


def test_the_schema_has_the_keys_of_the_values() -> None:
    assert {place for place, _ in parts(SCHEMA) if place and "[" not in place} - {"global"} == set(_keys(VALUES, SCHEMA))


def _keys(values: dict[str, Any], schema: dict[str, Any], place: str = "") -> Iterator[str]:
    for key, value in values.items():
        name = f"{place}.{key}".lstrip(".")
        yield name
        part = schema["properties"][key]
        if isinstance(value, dict) and "properties" in part:
            yield from _keys(value, part, name)


def test_the_chart_and_the_program_have_one_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    pyproject = (CHART.parents[1] / "pyproject.toml").read_text()
    assert f'\nversion = "{chart["appVersion"]}"\n' in pyproject
