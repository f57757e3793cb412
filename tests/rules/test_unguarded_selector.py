"""The words of unguarded-selector: notes go to the audit annotation and the log, where no manifest shows them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness import ask, documents, policies_of, server

FOLDER = Path(__file__).parent / "unguarded-selector"


@pytest.mark.parametrize(
    ("name", "detail", "remedy"),
    [
        (
            "decided-before-it",
            "it reads profile without a guard, and 2 of 3 devices of the class do not publish it, such as gpu-0 of pool "
            "node-a: only the rest of the selector keeps it from an error there",
            'write device.attributes["gpu.example.com"].type == "part" && has(device.attributes["gpu.example.com"].profile)'
            ' && device.attributes["gpu.example.com"].profile == "1g"',
        ),
        (
            "capacity",
            "it reads memory without a guard, and 1 of 3 devices of the class does not publish it, such as part-0 of pool "
            "node-a: only the rest of the selector keeps it from an error there",
            'write device.attributes["gpu.example.com"].type == "gpu" && has(device.capacity["gpu.example.com"].memory)'
            ' && device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) >= 0',
        ),
    ],
)
def test_words(name: str, detail: str, remedy: str) -> None:
    answer = ask(
        documents(FOLDER / "fail" / f"{name}.yaml")[-1],
        cluster=documents(FOLDER / "cluster.yaml"),
        policies=policies_of(FOLDER / "policy.yaml"),
        at=server("1.36", None),
    )
    (judged,) = answer.decision.findings
    assert (judged.effect, judged.finding.headline) == ("note", 'ResourceClaim "c" has a selector that is near an error')
    assert judged.finding.path == "spec.devices.requests[0].exactly.selectors[0].cel.expression"
    assert (judged.finding.detail, judged.finding.remedy) == (detail, remedy)
