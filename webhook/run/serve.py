"""`serve(settings)`: builds every part, runs them until the process is asked to end, and says how it went."""

from __future__ import annotations

import asyncio
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

from webhook.engine import decide, respond
from webhook.fleet.fleet import Fleet
from webhook.lifecycle import EternalTask, Life, signals_end
from webhook.rulekit.policies import PolicySet
from webhook.rules import ALL
from webhook.run.certificate import ServedCertificate
from webhook.run.cluster import CappedPolicies, ClusterSource, cluster_source
from webhook.run.gauges import watch_cluster, watch_process, watch_sources
from webhook.run.logs import build_decision_log, build_event_log
from webhook.run.reloaded import Reloaded
from webhook.run.sources import explain_policies, fleet_loader, load_policies
from webhook.server.admission import AdmissionEndpoint
from webhook.server.app import build_app
from webhook.server.judge import Engine, Judge
from webhook.server.listener import Listener, bind, build_listener
from webhook.server.ports import Condition, PolicySource
from webhook.server.probes import Metrics, Ready
from webhook.settings import Settings
from webhook.telemetry import EventLog, LineLog, Phase, PrometheusRecorder

DONE, FAULT, CANNOT_START = 0, 1, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Edges:
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


def serve(settings: Settings) -> int:
    """Run the server until SIGTERM or SIGINT.

    Gives the exit code: 0 after an orderly end, 1 when a part failed, 2 when it could not start. What is wrong with policies,
    fleet or certificate is no reason not to start: the server is not ready then, says why, and looks again.
    """
    events = build_event_log(settings.log, clock)
    try:
        edges = build_edges(settings, events)
        listening = bind(settings.http.host, settings.http.port)
    except OSError as error:
        what = error.filename or f"{settings.http.host}:{settings.http.port}"
        events.error("cannot start", why=f"{what}: {os.strerror(error.errno) if error.errno else error}")
        return CANNOT_START
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(run(settings, edges, listening))


async def run(settings: Settings, edges: Edges, listening: socket.socket) -> int:
    """Everything on one event loop, until the end. Gives the exit code."""
    life = Life()
    sources = build_sources(settings, edges)
    ready = build_ready(life, sources)
    listener = build_server(settings, edges, sources, ready, listening)
    watch_sources(edges.recorder, sources.policies, sources.fleet, clock)
    if isinstance(sources.fleet, ClusterSource):
        watch_cluster(edges.recorder, sources.fleet.state, clock)
    watch_process(edges.recorder, listener, ready, sources.certificate, edges.decisions)
    sources.certificate.look()
    host, port = listening.getsockname()[:2]
    edges.events.info("listening", host=host, port=port)
    try:
        with signals_end(life):
            await life.run(listener, build_tasks(settings, edges, sources), drain_seconds=settings.life.drain_seconds)
    except ExceptionGroup as faults:
        edges.events.error("ended by a fault", error="".join(traceback.format_exception(faults)))
        return FAULT
    finally:
        edges.decisions.close()
    edges.events.info("ended")
    return DONE


def build_edges(settings: Settings, events: EventLog) -> Edges:
    """Logs and metrics. Raises OSError when the decision log cannot be opened."""
    # Every counter would have a second series with the time it was made, which nobody here reads.
    disable_created_metrics()  # type: ignore[no-untyped-call]
    reasons = {rule.id: [reason.id for reason in rule.reasons] for rule in ALL}
    return Edges(
        recorder=PrometheusRecorder(reasons, version=version()), decisions=build_decision_log(settings.log), events=events
    )


def build_sources(settings: Settings, edges: Edges) -> Sources:
    """The folders or the cluster, and the certificate; nothing loaded yet. Raises ClusterError without a way to the cluster."""
    recorder, events, files = edges.recorder, edges.events, settings.sources
    policies = Reloaded(
        "policies", files.policies, load_policies, explain=explain_policies, recorder=recorder, events=events, clock=clock
    )
    return Sources(
        policies=policies,
        fleet=build_fleet_source(settings, edges, policies),
        certificate=ServedCertificate(settings.certificate, files.poll_seconds, recorder=recorder, events=events, clock=clock),
    )


def build_fleet_source(settings: Settings, edges: Edges, policies: Reloaded[PolicySet]) -> Reloaded[Fleet] | ClusterSource:
    """Where the facts about the cluster come from."""
    files = settings.sources
    if files.fleet is None:
        return cluster_source(settings, policies, events=edges.events, clock=clock)
    return Reloaded("fleet", files.fleet, fleet_loader(files.server), recorder=edges.recorder, events=edges.events, clock=clock)


def build_ready(life: Life, sources: Sources) -> Ready:
    """What readiness depends on."""

    def alive() -> Iterable[Condition]:
        yield Condition(name="running", state="failed" if life.ending else "ok", detail="shutting down" if life.ending else "")

    return Ready((alive, sources.policies.conditions, sources.fleet.conditions, sources.certificate.conditions))


def build_server(settings: Settings, edges: Edges, sources: Sources, ready: Ready, listening: socket.socket) -> Listener:
    """The HTTP server around the engine."""
    engine = Engine(
        decide=partial(decide, settings=settings.engine),
        respond=respond,
        fleet=sources.fleet,
        policies=in_force(sources),
        clock=clock,
        deny_when_at_fault=settings.engine.stance == "deny",
        look_up=sources.fleet.look_up if isinstance(sources.fleet, ClusterSource) else None,
    )
    judge = Judge(engine, edges.recorder, edges.decisions, edges.events)

    def endpoint(phase: Phase) -> AdmissionEndpoint:
        return AdmissionEndpoint(phase, judge, settings.http, edges.recorder, edges.events)

    app = build_app(
        mutate=endpoint("mutate"),
        validate=endpoint("validate"),
        ready=ready,
        metrics=Metrics(edges.recorder.exposition),
        recorder=edges.recorder,
    )
    return build_listener(
        app, listening, sources.certificate.context, settings.http, edges.recorder, stop_seconds=settings.life.stop_seconds
    )


def in_force(sources: Sources) -> PolicySource:
    """The policies that decisions go by: with the cluster's cap, where there is one."""
    cap = sources.fleet.cap if isinstance(sources.fleet, ClusterSource) else None
    return sources.policies if cap is None else CappedPolicies(sources.policies, cap)


def build_tasks(settings: Settings, edges: Edges, sources: Sources) -> list[EternalTask]:
    """What runs beside the server for ever."""
    poll_seconds = settings.sources.poll_seconds
    return [
        EternalTask(name="policies", run=partial(sources.policies.run, poll_seconds)),
        EternalTask(
            name="fleet",
            run=sources.fleet.run if isinstance(sources.fleet, ClusterSource) else partial(sources.fleet.run, poll_seconds),
        ),
        EternalTask(name="certificate", run=sources.certificate.run),
        EternalTask(name="decision log", run=edges.decisions.run),
    ]


def clock() -> datetime:
    """Now."""
    return datetime.now(UTC)


def version() -> str:
    """The version of the installed distribution."""
    try:
        return importlib.metadata.version("fallgate")
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
