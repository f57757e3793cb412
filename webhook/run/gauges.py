"""Metrics that are read off the running parts whenever somebody asks for them."""

from __future__ import annotations

from webhook.engine.exemptions import ANNOUNCED_BEFORE
from webhook.rulekit.policies import PolicySet
from webhook.run.certificate import ServedCertificate
from webhook.run.reloaded import Reloaded
from webhook.run.sources import device_count, policy_count
from webhook.server.listener import Listener
from webhook.server.ports import Clock, FleetSource
from webhook.server.probes import Ready
from webhook.telemetry import LineLog, PrometheusRecorder


def watch_sources(recorder: PrometheusRecorder, policies: Reloaded[PolicySet], fleet: FleetSource, clock: Clock) -> None:
    """What is in force, what is known, and which exemptions need somebody's attention."""

    def exemptions(*, ended: bool) -> float:
        known = policies.current()
        left = [item.expires - clock() for item in known.exemptions if item.expires] if known else []
        return sum(time.total_seconds() < 0 if ended else 0 <= time.total_seconds() <= _ANNOUNCED for time in left)

    def policy_total() -> float:
        known = policies.current()
        return policy_count(known) if known else 0

    def node_total() -> float:
        known = fleet.current()
        return len(known.nodes.names) if known else 0

    def device_total() -> float:
        known = fleet.current()
        return device_count(known) if known else 0

    recorder.watch("policies", "Rule policies in force.", policy_total)
    recorder.watch("exemptions_ending", "Exemptions that end within 14 days.", lambda: exemptions(ended=False))
    recorder.watch("exemptions_ended", "Exemptions that have ended and are still in the files.", lambda: exemptions(ended=True))
    recorder.watch("fleet_nodes", "Nodes known.", node_total)
    recorder.watch("fleet_devices", "Devices known.", device_total)


def watch_process(
    recorder: PrometheusRecorder, listener: Listener, ready: Ready, certificate: ServedCertificate, decisions: LineLog
) -> None:
    """How the server itself is doing."""
    recorder.watch("ready", "1 when /readyz says yes.", lambda: float(bool(ready)))
    recorder.watch("in_flight_calls", "Calls that have begun and are not answered.", lambda: listener.in_flight)
    recorder.watch("open_connections", "Connections that are up.", lambda: listener.open_connections)
    recorder.watch("certificate_not_after_seconds", "When the served certificate ends, since 1970.", certificate.not_after)
    recorder.watch("decision_log_lines_written", "Lines of the decision log written.", lambda: decisions.written, counter=True)
    recorder.watch("decision_log_lines_dropped", "Lines of the decision log lost.", lambda: decisions.dropped, counter=True)


_ANNOUNCED = ANNOUNCED_BEFORE.total_seconds()
