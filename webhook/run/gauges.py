"""Metrics that are read off the running parts whenever somebody asks for them."""

from __future__ import annotations

from collections.abc import Callable

from webhook.engine.exemptions import ANNOUNCED_BEFORE
from webhook.kube.reflector import Progress
from webhook.rulekit.policies import PolicySet
from webhook.run.certificate import ServedCertificate
from webhook.run.cluster import ClusterSource
from webhook.run.credentials import CertificateWriter
from webhook.run.reloaded import Reloaded
from webhook.run.sources import device_count, policy_count
from webhook.server.listener import Listener
from webhook.server.ports import Clock, FleetSource
from webhook.server.probes import Ready
from webhook.telemetry import LineLog, PrometheusRecorder
from webhook.telemetry.metrics import Sample


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


def watch_cluster(recorder: PrometheusRecorder, cluster: ClusterSource, clock: Clock) -> None:
    """How the watches of the cluster are doing, kind by kind."""

    def each(value: Callable[[Progress], float | None]) -> Callable[[], list[Sample]]:
        return lambda: [
            ((source.name,), number) for source, progress in cluster.progress if (number := value(progress)) is not None
        ]

    def silence(progress: Progress) -> float | None:
        return (clock() - progress.heard).total_seconds() if progress.heard is not None else None

    kind = ("kind",)
    recorder.watch_each(
        "watch_last_heard_seconds", "Seconds since everything of a kind was known to be seen.", kind, each(silence)
    )
    recorder.watch_each(
        "watch_up", "1 while a watch is up, 0 while it is not.", kind, each(lambda progress: progress.state == "watching")
    )
    recorder.watch_each("watch_objects", "Objects in the last list.", kind, each(lambda progress: progress.count))
    recorder.watch_each("watch_lists", "Complete lists.", kind, each(lambda progress: progress.lists), counter=True)
    recorder.watch_each("watch_events", "Events.", kind, each(lambda progress: progress.events), counter=True)
    recorder.watch_each(
        "watch_errors",
        "Lists and watches that failed or broke off.",
        kind,
        each(lambda progress: progress.errors),
        counter=True,
    )
    recorder.watch_each(
        "watch_ignored",
        "Objects without a name, and events without an object.",
        kind,
        each(lambda progress: progress.ignored),
        counter=True,
    )
    recorder.watch("fleet_snapshots", "Snapshots of the cluster made.", lambda: cluster.state.snapshots, counter=True)


def watch_writer(recorder: PrometheusRecorder, writer: CertificateWriter) -> None:
    """Who of the replicas keeps the certificates."""
    recorder.watch(
        "certificate_writer", "1 in the replica that keeps the Secret and caBundle right.", lambda: float(writer.writes)
    )


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
