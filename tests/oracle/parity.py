"""The live comparison with Kubernetes' own libraries: `make parity`, or `python -m tests.oracle.parity`.

Random selectors on random devices, then random fleets and claims. Every run has fresh ones; PARITY_SEED repeats a run,
PARITY_EXPRESSIONS (200,000) and PARITY_CASES (20,000) say how many. Ends with 1 when something differs.
"""

from __future__ import annotations

import os
import random
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

from tests.oracle.client import Oracle, OracleMissing
from tests.oracle.expressions import devices, expressions
from tests.oracle.ours import outcomes, selector_answer, to_device

#: Differences that are shown.
_SHOWN = 20


def main() -> int:
    """Runs both comparisons; the exit status."""
    seed = int(os.environ.get("PARITY_SEED") or random.SystemRandom().randrange(2**32))
    print(f"PARITY_SEED={seed}", flush=True)
    try:
        with Oracle() as oracle:
            return int(compare_selectors(oracle, int(os.environ.get("PARITY_EXPRESSIONS", "200000")), seed) > 0)
    except OracleMissing as missing:
        print(f"no live comparison here: {missing}")
        return 2


def selector_questions(number: int, seed: int) -> Iterator[dict[str, Any]]:
    """Random selectors, each with three random devices."""
    rng = random.Random(seed + 1)
    for i, text in enumerate(expressions(number, seed)):
        yield {"id": i, "expression": text, "devices": devices(rng)}


def compare_selectors(oracle: Oracle, number: int, seed: int) -> int:
    """Compares outcomes and costs of `number` random selectors; prints counts; returns the number of differences."""
    counts: Counter[str] = Counter()
    differences = 0
    for question, judged in oracle.stream(selector_questions(number, seed)):
        ours = selector_answer(question["expression"], map(to_device, question["devices"]))
        found = list(_differing(judged, ours, counts))
        differences += bool(found)
        if found and differences <= _SHOWN:
            print(
                f"{', '.join(found)}: {question['expression']!r}\n  judge {judged}\n  ours  {ours}\n  on {question['devices']}"
            )
    print(f"selectors: {number:,} asked, {differences:,} differ")
    for name in sorted(counts):
        print(f"  {name}: {counts[name]:,}")
    return differences


def _differing(judged: dict[str, Any], ours: dict[str, Any], counts: Counter[str]) -> Iterator[str]:
    expected, actual = outcomes(judged), outcomes(ours)
    counts.update(f"judge says {outcome}" for outcome in expected)
    counts["outcomes equal"] += expected == actual
    if expected != actual:
        yield "outcome"
    if judged.get("compile") or ours.get("compile"):
        return
    counts["messages equal"] += judged["verdict"] == ours["verdict"]
    for name in ("maxCost", "cost"):
        if name in ours:
            counts[f"{name} equal"] += judged[name] == ours[name]
            if judged[name] != ours[name]:
                yield name


if __name__ == "__main__":
    sys.exit(main())
