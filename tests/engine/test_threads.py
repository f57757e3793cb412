"""Several threads may decide at once on one snapshot: they share memos, and each gives the answer that it would give alone."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bench.payloads import NAMESPACE, POLICIES, cluster
from tests.build import Raw, alternative, claim, exactly, first_available
from tests.harness import review_of
from webhook.engine import decide
from webhook.fleet.build import build_fleet
from webhook.model.finding import Decision
from webhook.model.review import Review
from webhook.policyfile import parse_policies
from webhook.rulekit.policies import PolicySet

NOW = datetime(2027, 1, 1, tzinfo=UTC)
ON = 'device.attributes["gpu.nvidia.com"]'
OBJECTS = tuple(cluster(40))
PACK = Path(__file__).parents[2] / "policies" / "nvidia" / "policy.yaml"


@pytest.fixture
def often() -> Iterator[None]:
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.fixture(scope="module")
def policies() -> PolicySet:
    return parse_policies([("nvidia.yaml", PACK.read_bytes()), ("bench.yaml", POLICIES.encode())])


def claims() -> Iterator[Raw]:
    for number in range(24):
        text = f'{ON}.productName != "x{number % 6}"'
        meta = {"namespace": NAMESPACE, "annotations": {"fallgate.dev/compatible-when": f"shape.count < {number % 3 + 2}"}}
        big, small = (alternative(name, "gpu.nvidia.com", text, count=count) for name, count in (("big", 2), ("small", 1)))
        yield claim(f"list-{number}", first_available("gpu", big, small), **meta)
        yield claim(f"plain-{number}", exactly("gpu", "gpu.nvidia.com", f"{ON}.nope{number % 4} == 1"), namespace=NAMESPACE)


def told(decision: Decision) -> tuple[object, ...]:
    return decision.allowed, decision.message, decision.warnings, decision.patch, decision.internal_error


@pytest.mark.usefixtures("often")
def test_threads_give_the_answers_of_one(policies: PolicySet) -> None:
    reviews = [review_of(body) for body in claims()]

    def judge(review: Review) -> tuple[object, ...]:
        return told(decide(review, shared, policies, NOW, phase="validate"))

    for _ in range(5):
        shared = build_fleet(OBJECTS)
        with ThreadPoolExecutor(6) as threads:
            together = list(threads.map(judge, reviews * 2))
        alone = build_fleet(OBJECTS)
        expected = [told(decide(review, alone, policies, NOW, phase="validate")) for review in reviews]
        assert together == expected * 2
    assert {answer[0] for answer in expected} == {True, False}
    assert {answer[-1] for answer in expected} == {""}
