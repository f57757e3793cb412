"""What a decision costs beside decoding the same review with the standard library, in this process."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import thread_time
from typing import Any

import msgspec

from bench.payloads import DEVICES_PER_NODE, POLICIES, cluster, pod_review
from bench.table import microseconds, ratio, table
from webhook.engine import decide
from webhook.fleet.build import build_fleet
from webhook.model.review import Review, read_review
from webhook.policyfile import parse_policies
from webhook.rulekit.policies import PolicySet

NODES = (10, 1_000)
#: So many different pods take turns: what one pod leaves behind must not make the next one look cheap.
PODS = 40
_PACK = Path(__file__).parent.parent / "policies" / "nvidia" / "policy.yaml"
NOW = datetime(2027, 1, 1, tzinfo=UTC)


def bench_policies() -> PolicySet:
    """The policies of the measurement: the pack of the cards' vendor, and rules of every kind that looks at pods."""
    return parse_policies([("nvidia.yaml", _PACK.read_bytes()), ("bench.yaml", POLICIES.encode())])


def measure(rounds: int) -> str:
    """The table. Every round measures everything once, so that a slow moment of the machine hits all rows."""
    bodies = [pod_review(number) for number in range(PODS)]
    reviews = [read_review(json.loads(body)) for body in bodies]
    policies = bench_policies()
    works: dict[str, tuple[Sequence[Any], Callable[[Any], object]]] = {
        "json.loads": (bodies, json.loads),
        "msgspec decode + read_review": (bodies, _read),
    }
    first: dict[str, float] = {}
    for nodes in NODES:
        works |= _decisions(nodes, reviews, policies, first)
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, (inputs, work) in works.items():
            times[name].append(_seconds(inputs, work))
    base = times["json.loads"]
    rows = [[name, microseconds(values), ratio(values, base), _first(first.get(name))] for name, values in times.items()]
    return table(
        f"Deciding about a Pod with one template ({len(bodies[0])} bytes), in one process",
        ["", "CPU us, median (middle half)", "/ json.loads", "first time, ms"],
        rows,
        [f"{rounds} interleaved rounds; {PODS} pods take turns. First time: on a new fleet, nothing remembered."],
    )


def _decisions(
    nodes: int, reviews: Sequence[Review], policies: PolicySet, first: dict[str, float]
) -> dict[str, tuple[Sequence[Any], Callable[[Any], object]]]:
    works: dict[str, tuple[Sequence[Any], Callable[[Any], object]]] = {}
    size = f"{nodes:,} nodes, {nodes * DEVICES_PER_NODE:,} devices"
    for phase in ("mutate", "validate"):
        fleet = build_fleet(cluster(nodes))

        def work(review: Review, fleet: Any = fleet, phase: Any = phase) -> object:
            return decide(review, fleet, policies, NOW, phase=phase)

        name = f"decide, {phase}, {size}"
        first[name] = _seconds(reviews[:1], work)
        works[name] = (reviews, work)
    return works


def _read(body: bytes) -> object:
    return read_review(msgspec.json.decode(body))


def _seconds(inputs: Sequence[Any], work: Callable[[Any], object]) -> float:
    """Seconds per input."""
    start = thread_time()
    for item in inputs:
        work(item)
    return (thread_time() - start) / len(inputs)


def _first(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds * 1e3:.1f}"
