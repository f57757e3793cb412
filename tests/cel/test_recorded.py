"""Agreement with Kubernetes' own library: answers that it gave, recorded once (see the first line of each file)."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from webhook.cel.checker import check
from webhook.cel.closures import Compiler
from webhook.cel.cost.charges import TRACKED
from webhook.cel.cost.meter import Meter
from webhook.cel.cost.program import device_reader, program
from webhook.cel.device import DeviceRoots
from webhook.cel.dialect import Dialect, environment_of
from webhook.cel.frontend import parse
from webhook.cel.library.format import go_quoted
from webhook.cel.library.net import IpValue
from webhook.cel.library.numbers import format_plain
from webhook.cel.library.time import duration_text, timestamp_text
from webhook.cel.problems import ExpressionError
from webhook.cel.validators import validate
from webhook.cel.values import (
    NONE,
    AbortedError,
    DomainMap,
    Duration,
    EvaluationError,
    Optional,
    Timestamp,
    TypeValue,
    UInt,
    key_value,
)
from webhook.model.device import Device

Verdicts: TypeAlias = Callable[[str, Device], str]


DATA = Path(__file__).parent / "data"


def read_lines(name: str) -> list[dict[str, Any]]:
    """The recorded answers in a file of JSON lines, without the line that names the judge."""
    data = (DATA / name).read_bytes()
    text = (gzip.decompress(data) if name.endswith(".gz") else data).decode()
    rows = [json.loads(line) for line in text.split("\n") if line]
    assert rows[0]["judge"].endswith("v0.37.2")
    return rows[1:]


def spelt(value: Any) -> str:
    """A CEL value as the recorded answers spell it."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, float):
        return _spelt_float(value)
    if isinstance(value, bytes):
        return 'b"' + "".join(f"\\{byte:03o}" for byte in value) + '"'
    if isinstance(value, list):
        return f"[{', '.join(map(spelt, value))}]"
    if isinstance(value, dict | DomainMap):
        pairs = sorted((spelt(key_value(key)), spelt(item)) for key, item in value.items())
        return "{" + ", ".join(f"{key}: {item}" for key, item in pairs) + "}"
    if value is NONE or isinstance(value, Optional):
        return "optional.none()" if value is NONE else f"optional.of({spelt(value.value)})"
    return _SPELLERS.get(type(value), str)(value)


def _spelt_float(value: float) -> str:
    if math.isnan(value):
        return 'double("NaN")'
    if math.isinf(value):
        return f'double("{"-" if value < 0 else ""}Infinity")'
    text = format_plain(value)
    return text if "." in text else f"{text}.0"


_SPELLERS: dict[type, Callable[[Any], str]] = {
    str: go_quoted,
    TypeValue: lambda value: value.name,
    IpValue: lambda value: str(value.address),
    UInt: lambda value: f"{int(value)}u",
    Duration: lambda value: f'duration("{duration_text(value)}")',
    Timestamp: lambda value: f'timestamp("{timestamp_text(Timestamp(value.nanos))}")',
}


VALUES = read_lines("values-0.37.2.jsonl")


def answers(text: str, device: Device) -> list[dict[str, Any]]:
    """What we make of an expression of any type, by closures and by counted steps: {"value"}, {"error"} or {"compile"}."""
    try:
        checked = check(parse(f"dyn({text})"), environment_of(Dialect()))
        validate(checked)
        compiler = Compiler(checked, DeviceRoots())
        run = compiler.compile(checked.tree).run
        counted = program(checked, device_reader)
    except (ExpressionError, AbortedError):
        return [{"compile": True}]
    closures = _answer(lambda: run([device, 500_000, *[None] * compiler.slots]))
    if any(resolution.function.name in TRACKED for resolution in checked.calls.values()):
        closures = {}  # such selectors are always counted
    return [found for found in (closures, _answer(lambda: counted.run(device, Meter(10**9)))) if found]


def _answer(evaluate: Callable[[], Any]) -> dict[str, Any]:
    try:
        value = evaluate()
    except (EvaluationError, AbortedError) as error:
        return {"error": error.message}
    return {"error": value.message} if isinstance(value, EvaluationError) else {"value": spelt(value)}


@pytest.mark.parametrize("row", VALUES, ids=[row["expression"][:60] for row in VALUES])
def test_value(row: dict[str, Any], gpu: Device) -> None:
    expected = {kind: row[kind] for kind in ("compile", "error", "value") if kind in row}
    for actual in answers(row["expression"], gpu):
        if expected.get("error") is True and "error" in actual:  # the same outcome, in other words
            actual = {"error": True}
        assert actual == expected


def test_random_values(gpu: Device) -> None:
    wrong = []
    for row in read_lines("random-values-0.37.2.jsonl.gz"):
        for actual in answers(row["expression"], gpu):
            outcome = {"error": True} if "error" in actual else actual
            if {"expression": row["expression"], **outcome} != row:
                wrong.append((row, actual))
    assert wrong == []


def _devices(described: list[dict[str, Any]], make_device: Callable[..., Device]) -> list[Device]:
    return [
        make_device(
            one["driver"],
            sharable=one.get("allowMultipleAllocations", False),
            attributes=one["attributes"],
            capacity={name: entry["value"] for name, entry in one["capacity"].items()},
        )
        for one in described
    ]


def test_random_verdicts(make_device: Callable[..., Device], verdict: Verdicts) -> None:
    head, *rows = read_lines("random-verdicts-0.37.2.jsonl.gz")
    devices = _devices(head["devices"], make_device)
    wrong = []
    for row in rows:
        verdicts = [verdict(row["expression"], device).partition(":")[0] for device in devices]
        expected = ["compile"] * 3 if row.get("compile") else row["verdicts"]
        if verdicts != expected:
            wrong.append((row, verdicts))
    assert wrong == []


def _vendors() -> list[tuple[str, str, list[dict[str, Any]], list[str]]]:
    """vendor, selector, devices as the API has them and the verdict for each of them."""
    found, vendor, devices = [], "", []
    for row in read_lines("vendors-0.37.2.jsonl"):
        if "vendor" in row:
            vendor, devices = row["vendor"], row["devices"]
        else:
            found.append((vendor, row["expression"], devices, row["verdicts"]))
    return found


VENDORS = _vendors()


@pytest.mark.parametrize(
    ("vendor", "text", "devices", "expected"), VENDORS, ids=[f"{v}-{text[:50]}" for v, text, _, _ in VENDORS]
)
def test_selectors_of_published_manifests(
    vendor: str,
    text: str,
    devices: list[dict[str, Any]],
    expected: list[str],
    make_device: Callable[..., Device],
    verdict: Verdicts,
) -> None:
    assert [verdict(text, device) for device in _devices(devices, make_device)] == expected, vendor
