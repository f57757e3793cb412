"""What Fallgate tells its operators: metrics, the decision log, events. Decides nothing."""

from __future__ import annotations

from webhook.telemetry.log import DecisionRecord, EventLog, LineLog
from webhook.telemetry.metrics import PrometheusRecorder, written_out
from webhook.telemetry.recorder import FAILURES, REFUSALS, SOURCES, Failure, ListRecorder, Phase, Recorder, Refusal, Source

__all__ = [
    "FAILURES",
    "REFUSALS",
    "SOURCES",
    "DecisionRecord",
    "EventLog",
    "Failure",
    "LineLog",
    "ListRecorder",
    "Phase",
    "PrometheusRecorder",
    "Recorder",
    "Refusal",
    "Source",
    "written_out",
]
