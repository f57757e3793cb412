"""Metrics of several processes as one."""

from __future__ import annotations

import math

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.registry import Collector

from webhook.telemetry import written_out
from webhook.telemetry.merging import Family, as_metrics, families_of, growing, merged


def gauge(name: str, value: float, **labels: str) -> Family:
    return Family(name, "", "gauge", [(name, labels, value)])


def value(families: list[Family], name: str) -> float:
    (found,) = [sample[2] for family in families for sample in family.samples if sample[0] == name]
    return found


def process(calls: int, seconds: float) -> list[Family]:
    registry = CollectorRegistry()
    counter = Counter("calls", "Calls.", ("kind",), registry=registry)
    counter.labels("a").inc(calls)
    if calls > 2:
        counter.labels("b").inc()
    Histogram("took_seconds", "Time.", buckets=(1, 2), registry=registry).observe(seconds)
    Gauge("fallgate_ready", "Ready.", registry=registry).set(calls > 2)
    return families_of(registry.collect())


class Fixed(Collector):
    def __init__(self, families: list[Family]) -> None:
        self.families = families

    def collect(self) -> object:
        return as_metrics(self.families)


def test_counters_and_histograms_are_added_up() -> None:
    text = written_out(Fixed(merged([process(2, 0.5), process(3, 1.5)])), "")[0].decode()
    lines = [line for line in text.splitlines() if not line.startswith("#") and "_created" not in line]
    assert lines == [
        'calls_total{kind="a"} 5.0',
        'calls_total{kind="b"} 1.0',
        'took_seconds_bucket{le="1.0"} 1.0',
        'took_seconds_bucket{le="2.0"} 2.0',
        'took_seconds_bucket{le="+Inf"} 2.0',
        "took_seconds_count 2.0",
        "took_seconds_sum 2.0",
        "fallgate_ready 0.0",
    ]
    assert "# HELP calls_total Calls." in text
    assert "# TYPE took_seconds histogram" in text


def test_one_process_is_as_it_is() -> None:
    only = process(2, 0.5)
    assert merged([only]) == only


def test_gauges() -> None:
    def both(name: str, first: float, second: float) -> float:
        return value(merged([[gauge(name, first)], [gauge(name, second)]]), name)

    assert both("fallgate_in_flight_calls", 2, 3) == 5
    assert both("fallgate_large_bodies_bytes", 20_000_000, 0) == 20_000_000
    assert both("process_resident_memory_bytes", 2, 3) == 5
    assert both("fallgate_ready", 1, 0) == 0
    assert both("fallgate_certificate_not_after_seconds", 7, 9) == 7
    assert math.isnan(both("fallgate_certificate_not_after_seconds", 7, math.nan))
    assert both("fallgate_watch_last_heard_seconds", 7, 9) == 9


def test_labels_are_kept_apart() -> None:
    families = merged([[gauge("g", 1, kind="a")], [gauge("g", 2, kind="b")], [gauge("g", 0, kind="a")]])
    assert families == [Family("g", "", "gauge", [("g", {"kind": "a"}, 0), ("g", {"kind": "b"}, 2)])]


def test_what_is_inherited_only_grows() -> None:
    assert [family.name for family in growing(process(1, 1))] == ["calls", "took_seconds"]
