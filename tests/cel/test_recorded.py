"""Agreement with Kubernetes' own library: answers that it gave, recorded once (see the first line of each file)."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.oracle.values import answers
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


VALUES = read_lines("values-0.37.2.jsonl")


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
