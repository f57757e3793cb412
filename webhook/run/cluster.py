"""The cluster as a source of facts for the server: connected, read by watches, and its health told to readiness."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Iterator
from dataclasses import replace

from webhook.fleet.fleet import Fleet
from webhook.kube.cap import CapWatch
from webhook.kube.cluster_state import ClusterSettings, ClusterState
from webhook.kube.connecting import connect, own_namespace
from webhook.kube.discovery import Source
from webhook.kube.health import Health, health_of
from webhook.kube.kinds import FEATURES
from webhook.kube.lookups import Lookups
from webhook.kube.reflector import Progress
from webhook.rulekit.policies import ModeCap, PolicySet
from webhook.server.ports import Clock, Condition, PolicySource
from webhook.settings import Settings
from webhook.telemetry import EventLog, Recorder

#: Where the chart installs by default.
USUAL_NAMESPACE = "fallgate-system"
#: Seconds between two looks at how well the cluster is known.
_LOOK = 1.0


class ClusterSource:
    """A FleetSource that reads an API server, and the cap in it."""

    def __init__(self, state: ClusterState, cap: CapWatch | None, recorder: Recorder, clock: Clock) -> None:
        self.state = state
        self.cap = cap
        self.look_up = Lookups(state)
        self._recorder = recorder
        self._clock = clock
        self._good: bool | None = None  # as last told to the recorder

    @property
    def progress(self) -> tuple[tuple[Source, Progress], ...]:
        """How the watch of each kind is doing, that of the cap (ConfigMap) included."""
        return self.state.progress if self.cap is None else (*self.state.progress, self.cap.progress)

    def current(self) -> Fleet | None:
        """The newest snapshot, None before the first complete one."""
        return self.state.current()

    def conditions(self) -> Iterable[Condition]:
        """How well the cluster is known, and whether a cap holds."""
        yield from map(_condition, health_of(self.state, self._clock()))
        if self.cap is not None:
            yield from map(_condition, self.cap.health())

    async def run(self) -> None:
        """Read the cluster until cancelled."""
        self.state.start()
        if self.cap is not None:
            threading.Thread(target=self.cap.run, name="cluster cap", daemon=True).start()
        try:
            while True:
                self._record()
                await asyncio.sleep(_LOOK)
        finally:
            self.state.stop()
            self.look_up.close()
            if self.cap is not None:
                self.cap.stop()

    def _record(self) -> None:
        """Tell the recorder when the facts have become good, or too old to be: it counts the changes."""
        said = {item.name for item in health_of(self.state, self._clock()) if item.state != "failed"}
        good = "fleet" in said and "fleet-fresh" not in said
        if good is self._good or (self._good is None and not good):
            return
        self._good = good
        if good:
            self._recorder.loaded("fleet", self._clock())
        else:
            self._recorder.rejected("fleet")


class CappedPolicies:
    """A PolicySource whose set has the caps of a CapWatch laid over it."""

    def __init__(self, policies: PolicySource, cap: CapWatch) -> None:
        self._policies = policies
        self._cap = cap
        self._made: tuple[PolicySet, tuple[ModeCap, ...], PolicySet] | None = None

    def current(self) -> PolicySet | None:
        """The set in force with the caps that hold now. The same object as long as neither changes: memos hang on it."""
        policies, caps = self._policies.current(), self._cap.caps
        if policies is None or not caps:
            return policies
        if self._made is None or self._made[0] is not policies or self._made[1] is not caps:
            self._made = (policies, caps, replace(policies, mode_caps=(*policies.mode_caps, *caps), memo={}))
        return self._made[2]

    def conditions(self) -> Iterator[Condition]:
        """How the policies are doing."""
        yield from self._policies.conditions()


def cluster_source(
    settings: Settings, policies: PolicySource, *, recorder: Recorder, events: EventLog, clock: Clock
) -> ClusterSource:
    """The source that the settings ask for; nothing is read yet. Raises ClusterError when there is no configuration for it."""
    kube = settings.sources.cluster
    assert kube is not None
    client = connect(kube.kubeconfig, kube.context)
    state = ClusterState(
        client,
        ClusterSettings(
            features=frozenset(FEATURES) if kube.features is None else kube.features,
            server_version=kube.server_version,
            gates=kube.gates,
            stale_after=settings.engine.stale_after,
        ),
        events=events,
        clock=clock,
        workloads=lambda: current.workload_kinds if (current := policies.current()) is not None else (),
    )
    namespace = kube.namespace or own_namespace(USUAL_NAMESPACE)
    cap = None
    if kube.cap_configmap:
        stale_after = settings.engine.stale_after
        cap = CapWatch(client, namespace, kube.cap_configmap, events=events, clock=clock, stale_after=stale_after)
    return ClusterSource(state, cap, recorder, clock)


def _condition(item: Health) -> Condition:
    return Condition(name=item.name, state=item.state, detail=item.detail)
