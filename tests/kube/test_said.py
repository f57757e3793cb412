"""What a reflector says in the log."""

from __future__ import annotations

import io

from webhook.kube.discovery import Source
from webhook.kube.kinds import Kind
from webhook.kube.said import said_in
from webhook.telemetry import EventLog

NODES = Source(kind=Kind(group="", kind="Node", part="nodes"), api_version="v1", path="/api/v1/nodes", namespaced=False)


def test_what_breaks_is_mended_or_is_not_taken(log: io.BytesIO, events: EventLog) -> None:
    said = said_in(events)
    said.report(NODES, "503: overloaded")
    said.report(NODES, "")
    said.ignoring(NODES, "an object of a list has no name")
    lines = [line.split(" ", 1)[1] for line in log.getvalue().decode().splitlines()]
    assert lines == [
        "warning watch broken: kind Node, 503: overloaded",
        "info    watch up again: kind Node",
        "warning not taken: kind Node, an object of a list has no name",
    ]
