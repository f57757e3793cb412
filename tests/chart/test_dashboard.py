"""The dashboard asks for metrics that there are."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.chart.helms import CHART
from tests.chart.rendered import rendered
from webhook.telemetry import PrometheusRecorder

TEXT = (CHART / "dashboards" / "fallgate.json").read_text()
DASHBOARD: dict[str, Any] = json.loads(TEXT)
PANELS: list[dict[str, Any]] = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
EXPRESSIONS = [target["expr"] for panel in PANELS for target in panel["targets"]]
#: Made from a running server's parts (webhook/run/gauges.py).
OF_THE_RUN = {
    "fallgate_ready",
    "fallgate_policies",
    "fallgate_fleet_devices",
    "fallgate_fleet_nodes",
    "fallgate_certificate_not_after_seconds",
    "fallgate_in_flight_calls",
    "fallgate_open_connections",
    "fallgate_exemptions_ending",
    "fallgate_exemptions_ended",
    "fallgate_watch_last_heard_seconds",
    "fallgate_watch_events_total",
    "fallgate_watch_errors_total",
}


def test_every_metric_is_there() -> None:
    body, _ = PrometheusRecorder({}).exposition("")
    exposed = set(re.findall(r"^# TYPE (\S+) ", body.decode(), re.MULTILINE))
    gauges = (CHART.parents[1] / "webhook" / "run" / "gauges.py").read_text()
    watched = set(re.findall(r'recorder\.watch(?:_each)?\(\s*"(\w+)"', gauges))
    assert {name.removeprefix("fallgate_").removesuffix("_total") for name in OF_THE_RUN} <= watched
    asked = {name for text in EXPRESSIONS for name in re.findall(r"\b(?:fallgate|process)_\w+", text)}
    families = {re.sub(r"_bucket$", "", name) for name in asked}
    assert families - exposed - OF_THE_RUN == set()


def test_every_label_is_there() -> None:
    body, _ = PrometheusRecorder({"a": ["b"]}).exposition("")
    known = {"le", "pod", "namespace", *re.findall(r'[{,](\w+)="', body.decode()), "rule", "effect", "mode"}
    used = {
        name.strip()
        for text in EXPRESSIONS
        for names in re.findall(r"\b(?:by|on) \(([^)]*)\)", text)
        for name in names.split(",")
    }
    assert used <= known


def test_panels_do_not_overlap_and_have_their_own_ids() -> None:
    squares = [
        (column, row)
        for panel in DASHBOARD["panels"]
        for at in [panel["gridPos"]]
        for column in range(at["x"], at["x"] + at["w"])
        for row in range(at["y"], at["y"] + at["h"])
    ]
    assert len(squares) == len(set(squares))
    assert max(column for column, _ in squares) < 24
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(ids) == len(set(ids))


def test_every_panel_says_what_it_shows() -> None:
    assert [panel["title"] for panel in PANELS if not panel["description"].endswith((".", "?"))] == []


def test_it_is_for_any_prometheus_and_any_namespace() -> None:
    assert [item["name"] for item in DASHBOARD["templating"]["list"]] == ["datasource", "namespace"]
    assert {panel["datasource"]["uid"] for panel in PANELS} == {"${datasource}"}
    assert [text for text in EXPRESSIONS if 'namespace=~"$namespace"' not in text] == []


def test_the_chart_hands_it_to_grafana() -> None:
    (made,) = [item for item in rendered("cert-manager").all("ConfigMap") if item["metadata"]["name"] == "fallgate-dashboard"]
    assert made["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert json.loads(made["data"]["fallgate.json"]) == DASHBOARD
