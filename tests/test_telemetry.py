"""Metrics and log lines, as their readers see them."""

from __future__ import annotations

import asyncio
import io
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from webhook.model.finding import Decision, Finding, Judged
from webhook.model.review import Review, User
from webhook.telemetry import FAILURES, REFUSALS, EventLog, LineLog, ListRecorder, PrometheusRecorder

NOW = datetime(2027, 1, 1, 12, 0, 0, tzinfo=UTC)


def review(kind: str = "Pod", operation: Any = "CREATE") -> Review:
    return Review(
        uid="u",
        group="",
        version="v1",
        kind=kind,
        resource="",
        subresource="",
        name="trainer-7",
        namespace="team-a",
        operation=operation,
        user=User(name="ada"),
        object=None,
        old_object=None,
    )


def metrics(recorder: PrometheusRecorder) -> dict[str, float]:
    lines = recorder.exposition("")[0].decode().splitlines()
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if not line.startswith("#"))}


def reviews(outcome: str, kind: str = "Pod", phase: str = "validate") -> str:
    return f'fallgate_admission_reviews_total{{kind="{kind}",operation="CREATE",outcome="{outcome}",phase="{phase}"}}'


JUDGED = Judged(
    finding=Finding(rule="device-ownership", reason="double-booking", severity="deny", detail="", policy="p@1"),
    mode="audit",
    effect="note",
)


def test_likely_series_are_there_before_anything_happens() -> None:
    found = metrics(PrometheusRecorder({}, version="1.2"))
    assert found[reviews("denied")] == 0
    assert found[reviews("patched", "ResourceClaim", "mutate")] == 0
    assert found['fallgate_admission_review_duration_seconds_count{phase="mutate"}'] == 0
    assert {f'fallgate_http_refusals_total{{reason="{why}"}}' for why in REFUSALS} <= found.keys()
    assert {f'fallgate_internal_errors_total{{where="{where}"}}' for where in FAILURES} <= found.keys()
    assert found['fallgate_source_good{source="policies"}'] == 0
    assert found['fallgate_build_info{version="1.2"}'] == 1
    assert found["process_resident_memory_bytes"] > 0


@pytest.mark.parametrize(
    ("decision", "outcome"),
    [
        (Decision(allowed=True), "allowed"),
        (Decision(allowed=True, warnings=("w",)), "warned"),
        (Decision(allowed=True, warnings=("w",), patch=({"op": "remove", "path": "/a"},)), "patched"),
        (Decision(allowed=False), "denied"),
        (Decision(allowed=True, internal_error="x"), "internal-error"),
        (Decision(allowed=False, internal_error="x"), "internal-error"),
    ],
)
def test_outcome(decision: Decision, outcome: str) -> None:
    recorder = PrometheusRecorder({})
    recorder.decided("validate", review(), decision, 0.002)
    found = metrics(recorder)
    assert found[reviews(outcome)] == 1
    assert found['fallgate_admission_review_duration_seconds_bucket{le="0.001",phase="validate"}'] == 0
    assert found['fallgate_admission_review_duration_seconds_bucket{le="0.0025",phase="validate"}'] == 1


def test_labels_come_from_closed_sets() -> None:
    recorder = PrometheusRecorder({"device-ownership": ["double-booking"]})
    unknown = Judged(finding=Finding(rule="x", reason="y", severity="warn", detail=""), mode="warn", effect="warn")
    strange = Judged(
        finding=Finding(rule="device-ownership", reason="y", severity="warn", detail=""), mode="warn", effect="warn"
    )
    recorder.decided("validate", review("Trainer"), Decision(allowed=True, findings=(JUDGED, unknown, strange)), 0)
    found = metrics(recorder)
    assert found[reviews("allowed", "other")] == 1
    assert {name: value for name, value in found.items() if name.startswith("fallgate_findings_total")} == {
        'fallgate_findings_total{effect="note",mode="audit",reason="double-booking",rule="device-ownership"}': 1,
        'fallgate_findings_total{effect="warn",mode="warn",reason="other",rule="other"}': 1,
        'fallgate_findings_total{effect="warn",mode="warn",reason="other",rule="device-ownership"}': 1,
    }
    text = recorder.exposition("")[0].decode()
    assert [name for name in ("trainer-7", "team-a", "ada", "p@1", "Trainer") if name in text] == []


def test_sources() -> None:
    recorder = PrometheusRecorder({})
    recorder.loaded("policies", NOW)
    recorder.rejected("policies")
    found = metrics(recorder)
    assert found['fallgate_source_good{source="policies"}'] == 0
    assert found['fallgate_source_loaded_timestamp_seconds{source="policies"}'] == NOW.timestamp()
    assert found['fallgate_source_loads_total{result="good",source="policies"}'] == 1
    assert found['fallgate_source_loads_total{result="bad",source="policies"}'] == 1
    recorder.loaded("policies", NOW)
    assert metrics(recorder)['fallgate_source_good{source="policies"}'] == 1


def test_refusals_and_failures() -> None:
    recorder = PrometheusRecorder({})
    recorder.refused("json")
    recorder.failed("rule")
    found = metrics(recorder)
    assert found['fallgate_http_refusals_total{reason="json"}'] == 1
    assert found['fallgate_internal_errors_total{where="rule"}'] == 1


def test_watched_gauge_is_read_when_asked() -> None:
    recorder, value = PrometheusRecorder({}), [1.0]
    recorder.watch("fleet_nodes", "Nodes known.", lambda: value[0])
    recorder.watch("lines", "Lines.", lambda: value[0], counter=True)
    value[0] = 5.0
    found = metrics(recorder)
    assert found["fallgate_fleet_nodes"] == 5
    assert found["fallgate_lines_total"] == 5


def test_list_recorder() -> None:
    recorder, decision = ListRecorder(), Decision(allowed=True)
    recorder.decided("mutate", review(), decision, 0)
    recorder.refused("json")
    recorder.failed("rule")
    recorder.loaded("fleet", NOW)
    recorder.rejected("fleet")
    assert recorder.decisions == [("mutate", review(), decision)]
    assert (recorder.refusals, recorder.failures, recorder.loads) == (["json"], ["rule"], [("fleet", True), ("fleet", False)])


class BrokenSink(io.BytesIO):
    def write(self, data: Any) -> int:
        raise BrokenPipeError


async def test_lines_are_written_by_the_task() -> None:
    sink = io.BytesIO()
    log = LineLog(sink)
    log.write({"a": 1})
    log.write({"b": "ä"})
    assert sink.getvalue() == b""
    task = asyncio.create_task(log.run())
    async with asyncio.timeout(5):
        while not sink.getvalue():
            await asyncio.sleep(0.01)
    task.cancel()
    assert sink.getvalue().decode() == '{"a":1}\n{"b":"ä"}\n'
    assert (log.written, log.dropped) == (2, 0)


def test_what_is_left_is_written_at_the_end() -> None:
    sink = io.BytesIO()
    log = LineLog(sink)
    log.write({"a": 1})
    log.close()
    log.close()
    assert sink.getvalue() == b'{"a":1}\n'


def test_too_many_lines_are_dropped_and_counted() -> None:
    sink = io.BytesIO()
    log = LineLog(sink, most_waiting=2)
    for number in range(5):
        log.write(number)
    log.close()
    assert (sink.getvalue(), log.written, log.dropped) == (b"0\n1\n", 2, 3)


def test_sink_that_is_gone_costs_lines_only() -> None:
    log = LineLog(BrokenSink())
    log.write(1)
    log.close()
    assert (log.written, log.dropped) == (0, 1)


def test_no_sink() -> None:
    log = LineLog(None)
    log.write(1)
    log.close()
    assert (log.written, log.dropped) == (0, 0)


def test_events_as_json() -> None:
    sink = io.BytesIO()
    log = EventLog(sink, lambda: NOW)
    log.info("listening", port=8443)
    log.warning("late", uid="u")
    log.error("broken", why=ValueError("x"))
    assert [json.loads(line) for line in sink.getvalue().splitlines()] == [
        {"time": "2027-01-01T12:00:00Z", "level": "info", "event": "listening", "port": 8443},
        {"time": "2027-01-01T12:00:00Z", "level": "warning", "event": "late", "uid": "u"},
        {"time": "2027-01-01T12:00:00Z", "level": "error", "event": "broken", "why": "x"},
    ]


def test_events_as_text() -> None:
    sink = io.BytesIO()
    log = EventLog(sink, lambda: NOW, style="text")
    log.info("ended")
    log.info("fleet loaded", what="10 nodes")
    log.error("policies not loaded", in_force="8 policies", why="a.yaml:1:2: no\n  ^\x1b[31m")
    log.warning("late", uid="\x1b[31m")
    assert sink.getvalue().decode() == (
        "12:00:00 info    ended\n"
        "12:00:00 info    fleet loaded: 10 nodes\n"
        "12:00:00 error   policies not loaded: in_force 8 policies\n"
        "a.yaml:1:2: no\n"
        "  ^\\x1b[31m\n"
        "12:00:00 warning late: uid \\x1b[31m\n"
    )


def test_event_sink_that_is_gone() -> None:
    EventLog(BrokenSink(), lambda: NOW).info("listening")
