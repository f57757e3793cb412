"""A real server on the loopback for tests: TLS, the production listener, and a decider that answers what a test wants."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import ssl
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

import httpx

from certs.folder import AUTHORITY, CERTIFICATE, KEY, issue_into
from certs.reload import Reloader, from_files
from tests.real_clock import real_now
from webhook.engine import EngineSettings, respond, undecided
from webhook.fleet.build import build_fleet
from webhook.fleet.fleet import Fleet
from webhook.model.finding import Decision
from webhook.model.meta import ObjectRef
from webhook.model.review import Review
from webhook.rulekit.policies import PolicySet
from webhook.server.admission import AdmissionEndpoint
from webhook.server.app import Application, build_app
from webhook.server.budget import Budget
from webhook.server.judge import Engine, Judge
from webhook.server.listener import Listener, bind, build_listener
from webhook.server.ports import Condition, Lookup
from webhook.server.probes import Metrics, Ready
from webhook.settings import HttpSettings
from webhook.telemetry import EventLog, LineLog, ListRecorder, Phase, PrometheusRecorder

T = TypeVar("T")

NOW = datetime(2027, 1, 1, tzinfo=UTC)
UID = "705ab4f5-0000-4000-8000-000000000000"


def review_body(**request: Any) -> dict[str, Any]:
    """An AdmissionReview of a ResourceClaim; `request` adds to it or replaces parts."""
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": UID,
            "kind": {"group": "resource.k8s.io", "version": "v1", "kind": "ResourceClaim"},
            "resource": {"group": "resource.k8s.io", "version": "v1", "resource": "resourceclaims"},
            "name": "one-gpu",
            "namespace": "team-a",
            "operation": "CREATE",
            "userInfo": {"username": "ada", "groups": ["system:authenticated"]},
            "object": {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "one-gpu"}},
            **request,
        },
    }


@dataclass(slots=True)
class FixedDecider:
    """Gives one decision, or raises, and remembers what it was asked."""

    decision: Decision = field(default_factory=lambda: Decision(allowed=True))
    error: Exception | None = None
    asked: list[tuple[Review, Phase]] = field(default_factory=list)

    def __call__(
        self,
        review: Review,
        fleet: Fleet,
        policies: PolicySet,
        now: datetime,
        *,
        phase: Phase,
        absent: frozenset[ObjectRef] = frozenset(),
    ) -> Decision:
        self.asked.append((review, phase))
        if self.error is not None:
            raise self.error
        return self.decision


@dataclass(slots=True)
class FixedSource(Generic[T]):
    """A source that does not change."""

    value: T | None
    listed: tuple[Condition, ...] = ()

    def current(self) -> T | None:
        return self.value

    def conditions(self) -> Iterable[Condition]:
        return self.listed


@dataclass(slots=True, kw_only=True)
class Parts:
    """Everything behind the HTTP server, each part replaceable by a test."""

    decider: Callable[..., Decision] = field(default_factory=FixedDecider)
    fleet: FixedSource[Fleet] = field(default_factory=lambda: FixedSource(build_fleet([])))
    policies: FixedSource[PolicySet] = field(default_factory=lambda: FixedSource(PolicySet(digest="3f2a91c0d4e1")))
    http: HttpSettings = field(default_factory=HttpSettings)
    deny_when_at_fault: bool = False
    look_up: Lookup | None = None
    recorder: ListRecorder = field(default_factory=ListRecorder)
    decisions: io.BytesIO = field(default_factory=io.BytesIO)
    events: io.BytesIO = field(default_factory=io.BytesIO)

    def __post_init__(self) -> None:
        self.budget = Budget(self.http.max_bodies_bytes)
        self._lines = LineLog(self.decisions)

    budget: Budget = field(init=False)
    _lines: LineLog = field(init=False)

    def app(self) -> Application:
        """The ASGI application over these parts."""
        engine = Engine(
            decide=self.decider,
            undecided=partial(undecided, settings=EngineSettings(stance="deny" if self.deny_when_at_fault else "allow")),
            respond=respond,
            fleet=self.fleet,
            policies=self.policies,
            clock=lambda: NOW,
            look_up=self.look_up,
        )
        events = EventLog(self.events, lambda: NOW)
        judge = Judge(engine, self.recorder, self._lines, events)

        def endpoint(phase: Phase) -> AdmissionEndpoint:
            return AdmissionEndpoint(phase, judge, self.http, self.budget, self.recorder, events)

        return build_app(
            mutate=endpoint("mutate"),
            validate=endpoint("validate"),
            ready=Ready((self.policies.conditions, self.fleet.conditions)),
            metrics=Metrics(PrometheusRecorder({}).exposition),
            recorder=self.recorder,
        )

    def decision_lines(self) -> list[dict[str, Any]]:
        """What the decision log holds."""
        self._lines.close()
        return [json.loads(line) for line in self.decisions.getvalue().splitlines()]

    def event_lines(self) -> list[dict[str, Any]]:
        """What the event log holds."""
        return [json.loads(line) for line in self.events.getvalue().splitlines()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A server that is up."""

    parts: Parts
    listener: Listener
    port: int
    trust: ssl.SSLContext
    client: httpx.AsyncClient

    async def validate(self, body: Any = None, path: str = "/validate", **options: Any) -> httpx.Response:
        """POST a review (or bytes) to /validate, or another path."""
        content = body if isinstance(body, bytes) else json.dumps(review_body() if body is None else body).encode()
        headers = {"content-type": "application/json", **options.pop("headers", {})}
        return await self.client.post(path, content=content, headers=headers, **options)

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A bare TLS connection."""
        return await asyncio.open_connection("127.0.0.1", self.port, ssl=self.trust)


def trust_of(folder: Path) -> ssl.SSLContext:
    """A client's TLS context that trusts a folder's authority."""
    return ssl.create_default_context(cafile=str(folder / AUTHORITY))


@contextlib.asynccontextmanager
async def serving(folder: Path, parts: Parts | None = None, *, stop_seconds: int = 5) -> AsyncIterator[Served]:
    """A server with a certificate of its own in `folder`."""
    if not (folder / CERTIFICATE).exists():
        issue_into(folder, ["localhost", "127.0.0.1"], now=real_now())
    reloader = Reloader(from_files(folder / CERTIFICATE, folder / KEY))
    assert reloader.poll(real_now()).kind == "swapped"
    async with serving_with(reloader, trust_of(folder), parts or Parts(), stop_seconds=stop_seconds) as served:
        yield served


@contextlib.asynccontextmanager
async def serving_with(
    reloader: Reloader, trust: ssl.SSLContext, parts: Parts, *, stop_seconds: int = 5
) -> AsyncIterator[Served]:
    """A server whose certificate is what `reloader` serves."""
    listening = bind("127.0.0.1", 0)
    port: int = listening.getsockname()[1]
    listener = build_listener(parts.app(), listening, reloader.context, parts.http, parts.recorder, stop_seconds=stop_seconds)
    running = asyncio.create_task(listener.serve())
    try:
        async with httpx.AsyncClient(base_url=f"https://localhost:{port}", verify=trust) as client:
            yield Served(parts=parts, listener=listener, port=port, trust=trust, client=client)
    finally:
        listener.stop()
        await running
