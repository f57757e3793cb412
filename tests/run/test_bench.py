"""The measurements run; what they measure is of the size they name. Figures are not tested."""

from __future__ import annotations

import json

from bench import deciding
from bench.payloads import DEVICES_PER_NODE, REVIEW_BYTES, cluster, pod_review
from webhook.engine import decide
from webhook.fleet.build import build_fleet
from webhook.model.review import read_review
from webhook.server.envelope import decode_review


def test_reviews_have_the_size_that_is_named() -> None:
    assert 0 <= len(pod_review(1)) - REVIEW_BYTES < 100
    assert len(pod_review(1)) == len(pod_review(2))
    assert json.loads(pod_review(1)) != json.loads(pod_review(2))


def test_cluster() -> None:
    fleet = build_fleet(cluster(3))
    assert len(fleet.nodes.names) == 3
    assert sum(len(pool.devices) for pool in fleet.inventory.pools) == 3 * DEVICES_PER_NODE


def test_what_is_measured_is_the_whole_decision() -> None:
    declared = pod_review(1)
    undeclared = declared.replace(b"fallgate.dev/compatible-shapes", b"example.com/else")
    for body, reasons in ((declared, set()), (undeclared, {"shape-undeclared"})):
        review = read_review(decode_review(body))
        decision = decide(review, build_fleet(cluster(2)), deciding.bench_policies(), deciding.NOW, phase="validate")
        assert {judged.finding.reason for judged in decision.findings} == reasons
        assert decision.internal_error == ""


def test_table() -> None:
    lines = deciding.measure(2).splitlines()
    assert lines[0] == "Deciding about a Pod with one template (6705 bytes), in one process"
    assert [line.split("  ")[0] for line in lines[4:10]] == [
        "json.loads",
        "msgspec decode + read_review",
        "decide, mutate, 10 nodes, 80 devices",
        "decide, validate, 10 nodes, 80 devices",
        "decide, mutate, 1,000 nodes, 8,000 devices",
        "decide, validate, 1,000 nodes, 8,000 devices",
    ]
