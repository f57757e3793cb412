"""`serve(settings)`: builds every part, runs them until the process is asked to end, and says how it went."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.metadata
import os
import socket
import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

import uvloop
from prometheus_client import disable_created_metrics

from webhook.engine import decide, respond, undecided
from webhook.errors import FallgateError
from webhook.fleet.fleet import Fleet
from webhook.kube.connecting import connect, own_namespace
from webhook.kube.store import ApiStore
from webhook.lifecycle import EternalTask, Life, ends_with, signals_end, signals_held
from webhook.rulekit.policies import PolicySet
from webhook.rules import ALL
from webhook.run.certificate import ServedCertificate
from webhook.run.cluster import USUAL_NAMESPACE, CappedPolicies, ClusterSource, cluster_source
from webhook.run.colleagues import Colleagues
from webhook.run.credentials import CertificateWriter, shared
from webhook.run.exits import CANNOT_START, DONE, FAULT
from webhook.run.gauges import watch_cluster, watch_process, watch_sources, watch_writer
from webhook.run.logs import LogLock, build_decision_log, build_event_log
from webhook.run.reloaded import Reloaded
from webhook.run.sources import explain_policies, fleet_loader, load_policies
from webhook.run.supervisor import Supervisor, Worker, say_ignored
from webhook.server.admission import AdmissionEndpoint
from webhook.server.app import build_app
from webhook.server.budget import Budget
from webhook.server.judge import Engine, Judge
from webhook.server.listener import Listener, bind, build_listener, build_plain_listener
from webhook.server.ports import Condition, PolicySource
from webhook.server.probes import Metrics, Ready
from webhook.settings import HttpSettings, Settings
from webhook.telemetry import EventLog, LineLog, Phase, PrometheusRecorder, written_out

#: How long one question about certificates to the API server may take: less than a Lease lasts.
_ASK_SECONDS = 4.0
#: Beyond drain and stop, before a worker that does not end is killed.
_LATE_SECONDS = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Telemetry:
    """What every part may use to be heard."""

    recorder: PrometheusRecorder
    decisions: LineLog
    events: EventLog


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """What is loaded while serving."""

    policies: Reloaded[PolicySet]
    fleet: Reloaded[Fleet] | ClusterSource
    certificate: ServedCertificate
    #: None where certificates are not ours to keep, or another worker keeps them.
    writer: CertificateWriter | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """What answers: the API server's calls, and probes without TLS when that is wanted."""

    calls: Listener
    probes: Listener | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sockets:
    """The sockets that are listened on: for the API server, and for probes and metrics without TLS when that is wanted."""

    calls: socket.socket
    probes: socket.socket | None

    def close(self) -> None:
        """Take no new connections."""
        self.calls.close()
        if self.probes is not None:
            self.probes.close()


def serve(settings: Settings) -> int:
    """Run the server until SIGTERM or SIGINT.

    Gives the exit code: 0 after an orderly end, 1 when a part failed, 2 when it could not start. What is wrong with policies,
    fleet or certificate is no reason not to start: the server is not ready then, says why, and looks again.
    """
    with signals_held():
        return _serve(settings)


def _serve(settings: Settings) -> int:
    workers, life = settings.life.workers, settings.life
    # One for each: decisions that wait for their reader must not hold up events, nor those the answers.
    of_events, of_decisions = (LogLock(), LogLock()) if workers > 1 else (None, None)
    events = build_event_log(settings.log, clock, of_events)
    try:
        sockets = open_sockets(settings.http)
    except OSError as error:
        events.error("cannot start", why=_os_fault(error))
        return CANNOT_START
    with contextlib.closing(sockets):
        if workers == 1:
            return work(settings, events, sockets)
        job = partial(work, settings, events, sockets, of_decisions)
        return Supervisor(job, workers, events, end_seconds=life.drain_seconds + life.stop_seconds + _LATE_SECONDS).run()


def work(
    settings: Settings, events: EventLog, sockets: Sockets, lock: LogLock | None = None, worker: Worker | None = None
) -> int:
    """Be the server, or one of its workers. Gives the exit code."""
    try:
        telemetry = build_telemetry(settings, events, lock)
    except OSError as error:
        events.error("cannot start", why=_os_fault(error))
        return CANNOT_START
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(run(settings, telemetry, sockets, worker))
    except FallgateError as error:
        if worker is None:
            raise
        events.error("cannot start", why=str(error))
        return CANNOT_START


async def run(settings: Settings, telemetry: Telemetry, sockets: Sockets, worker: Worker | None) -> int:
    """Everything on one event loop, until the end. Gives the exit code."""
    life = Life()
    # Before anything is built: also who is asked to end while it begins ends in order.
    with (
        signals_end(life, partial(say_ignored, telemetry.events)),
        ends_with(life, worker.supervisor if worker is not None else None),
    ):
        return await _run(life, settings, telemetry, sockets, worker)


async def _run(life: Life, settings: Settings, telemetry: Telemetry, sockets: Sockets, worker: Worker | None) -> int:
    sources = build_sources(settings, telemetry, worker)
    ready = build_ready(life, sources)
    colleagues = None
    if worker is not None:
        colleagues = Colleagues(worker.number, worker.status, ready.conditions, telemetry.recorder.registry.collect)
    server = build_server(settings, telemetry, sources, ready, colleagues, sockets)
    watch_sources(telemetry.recorder, sources.policies, sources.fleet, clock)
    if isinstance(sources.fleet, ClusterSource):
        watch_cluster(telemetry.recorder, sources.fleet, clock)
    watch_process(telemetry.recorder, server.calls, ready, sources.certificate, telemetry.decisions)
    if sources.writer is not None:
        watch_writer(telemetry.recorder, sources.writer)
    await sources.certificate.begin()
    if worker is None or worker.number == 0:
        host, port = sockets.calls.getsockname()[:2]
        telemetry.events.info("listening", host=host, port=port, **_probes_port(sockets))
    tasks = build_tasks(settings, telemetry, sources, server, colleagues)
    try:
        await life.run(server.calls, tasks, drain_seconds=settings.life.drain_seconds)
    except ExceptionGroup as faults:
        telemetry.events.error("ended by a fault", error="".join(traceback.format_exception(faults)))
        return FAULT
    finally:
        telemetry.decisions.close()
    telemetry.events.info("ended")
    return DONE


def open_sockets(settings: HttpSettings) -> Sockets:
    """Bind all sockets. Raises OSError that names the address."""
    calls = _bound(settings.host, settings.port)
    try:
        return Sockets(calls=calls, probes=None if settings.metrics is None else _bound(*settings.metrics))
    except OSError:
        calls.close()
        raise


def _bound(host: str, port: int) -> socket.socket:
    try:
        return bind(host, port)
    except OSError as error:
        error.filename = error.filename or f"{host}:{port}"
        raise


def _os_fault(error: OSError) -> str:
    return f"{error.filename}: {os.strerror(error.errno) if error.errno else error}"


def _probes_port(sockets: Sockets) -> dict[str, int]:
    return {} if sockets.probes is None else {"metrics_port": sockets.probes.getsockname()[1]}


def build_telemetry(settings: Settings, events: EventLog, lock: LogLock | None) -> Telemetry:
    """Logs and metrics. Raises OSError when the decision log cannot be opened."""
    # Every counter would have a second series with the time it was made, which nobody here reads.
    disable_created_metrics()  # type: ignore[no-untyped-call]
    reasons = {rule.id: [reason.id for reason in rule.reasons] for rule in ALL}
    return Telemetry(
        recorder=PrometheusRecorder(reasons, version=version()),
        decisions=build_decision_log(settings.log, lock),
        events=events,
    )


def build_sources(settings: Settings, telemetry: Telemetry, worker: Worker | None) -> Sources:
    """The folders or the cluster, and the certificate; nothing loaded yet. Raises ClusterError without a way to the cluster."""
    recorder, events, files = telemetry.recorder, telemetry.events, settings.sources
    policies = Reloaded(
        "policies", files.policies, load_policies, explain=explain_policies, recorder=recorder, events=events, clock=clock
    )
    certificate, writer = build_certificate(settings, telemetry, worker)
    fleet = build_fleet_source(settings, telemetry, policies)
    return Sources(policies=policies, fleet=fleet, certificate=certificate, writer=writer)


def build_certificate(
    settings: Settings, telemetry: Telemetry, worker: Worker | None
) -> tuple[ServedCertificate, CertificateWriter | None]:
    """The certificate, and who keeps it when that is us: of several workers, the first. Raises ClusterError as above."""
    wanted = settings.certificate
    first = worker is None or worker.number == 0
    namespace = wanted.kube.namespace or own_namespace(USUAL_NAMESPACE)
    known = None
    if wanted.secret:
        client = connect(wanted.kube.kubeconfig, wanted.kube.context)
        known = shared(wanted, namespace, ApiStore(client, seconds=_ASK_SECONDS))
    served = ServedCertificate(
        wanted,
        settings.sources.poll_seconds,
        recorder=telemetry.recorder,
        events=telemetry.events,
        clock=clock,
        namespace=namespace,
        known=known,
        may_issue=first,
    )
    if known is None or not first:
        return served, None
    return served, CertificateWriter(wanted, known, events=telemetry.events, clock=clock)


def build_fleet_source(
    settings: Settings, telemetry: Telemetry, policies: Reloaded[PolicySet]
) -> Reloaded[Fleet] | ClusterSource:
    """Where the facts about the cluster come from."""
    files = settings.sources
    if files.fleet is None:
        return cluster_source(settings, policies, recorder=telemetry.recorder, events=telemetry.events, clock=clock)
    return Reloaded(
        "fleet", files.fleet, fleet_loader(files.server), recorder=telemetry.recorder, events=telemetry.events, clock=clock
    )


def build_ready(life: Life, sources: Sources) -> Ready:
    """What readiness depends on."""

    def alive() -> Iterable[Condition]:
        yield Condition(name="running", state="failed" if life.ending else "ok", detail="shutting down" if life.ending else "")

    conditions = [alive, sources.policies.conditions, sources.fleet.conditions, sources.certificate.conditions]
    return Ready((*conditions, sources.writer.conditions) if sources.writer is not None else conditions)


def build_server(
    settings: Settings, telemetry: Telemetry, sources: Sources, ready: Ready, colleagues: Colleagues | None, sockets: Sockets
) -> Server:
    """The HTTP server around the engine. With colleagues, readiness and metrics are those of all."""
    engine = Engine(
        decide=partial(decide, settings=settings.engine),
        undecided=partial(undecided, settings=settings.engine),
        respond=respond,
        fleet=sources.fleet,
        policies=in_force(sources),
        clock=clock,
        look_up=sources.fleet.look_up if isinstance(sources.fleet, ClusterSource) else None,
    )
    judge = Judge(engine, telemetry.recorder, telemetry.decisions, telemetry.events)
    budget = Budget(settings.http.max_bodies_bytes)
    telemetry.recorder.watch("large_bodies_bytes", "Memory taken for large bodies of calls in flight.", lambda: budget.taken)

    def endpoint(phase: Phase) -> AdmissionEndpoint:
        return AdmissionEndpoint(phase, judge, settings.http, budget, telemetry.recorder, telemetry.events)

    recorder = telemetry.recorder
    if colleagues is not None:
        ready = Ready((ready.conditions, colleagues.conditions))
    metrics = Metrics(recorder.exposition if colleagues is None else partial(written_out, colleagues))
    app = build_app(mutate=endpoint("mutate"), validate=endpoint("validate"), ready=ready, metrics=metrics, recorder=recorder)
    http, context = settings.http, sources.certificate.context
    probes = None if sockets.probes is None else build_plain_listener(app.others, sockets.probes, http, recorder)
    calls = build_listener(app, sockets.calls, context, http, recorder, stop_seconds=settings.life.stop_seconds)
    return Server(calls=calls, probes=probes)


def in_force(sources: Sources) -> PolicySource:
    """The policies that decisions go by: with the cluster's cap, where there is one."""
    cap = sources.fleet.cap if isinstance(sources.fleet, ClusterSource) else None
    return sources.policies if cap is None else CappedPolicies(sources.policies, cap)


def build_tasks(
    settings: Settings, telemetry: Telemetry, sources: Sources, server: Server, colleagues: Colleagues | None
) -> list[EternalTask]:
    """What runs beside the server for ever."""
    poll_seconds = settings.sources.poll_seconds
    tasks = [
        EternalTask(name="policies", run=partial(sources.policies.run, poll_seconds)),
        EternalTask(
            name="fleet",
            run=sources.fleet.run if isinstance(sources.fleet, ClusterSource) else partial(sources.fleet.run, poll_seconds),
        ),
        EternalTask(name="certificate", run=sources.certificate.run),
        EternalTask(name="decision log", run=telemetry.decisions.run),
    ]
    if sources.writer is not None:
        tasks.append(EternalTask(name="certificate writer", run=sources.writer.run))
    if server.probes is not None:
        tasks.append(EternalTask(name="probes", run=server.probes.serve_beside))
    if colleagues is not None:
        tasks.append(EternalTask(name="colleagues", run=colleagues.run))
    return tasks


def clock() -> datetime:
    """Now."""
    return datetime.now(UTC)


def version() -> str:
    """The version of the installed distribution."""
    try:
        return importlib.metadata.version("fallgate")
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
