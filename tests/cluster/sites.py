"""A control plane with Fallgate installed on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.cluster.binaries import Programs
from tests.cluster.controlplane import ControlPlane, control_plane
from tests.cluster.fallgate import Fallgate
from tests.cluster.front import Front
from tests.cluster.installation import NAMESPACE, Installation
from tests.cluster.waiting import eventually

POLICIES = Path(__file__).parent / "policies"
Values = dict[str, Any]


class Site:
    """One release of Kubernetes, the chart installed on it, and one replica that runs."""

    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane
        self._files = {path.name: path.read_text() for path in sorted(POLICIES.glob("*.yaml"))}
        self.front = Front(lambda: self.installation.ready())
        self.installation = Installation(plane, plane.folder / "fallgate", f"https://127.0.0.1:{self.front.port}")
        self.values: Values = {}

    @property
    def fallgate(self) -> Fallgate:
        """The replica that was started last."""
        return self.installation.replicas[-1]

    def open(self) -> None:
        """Install, start and wait."""
        self.install()
        self.start()

    def reopen(self) -> None:
        """Install anew after an uninstall."""
        self.installation.stop()
        if self.plane.full:
            gone = self.plane.kubectl()
            eventually("the namespace is gone", lambda: gone("get", "namespace", NAMESPACE).code != 0, within=60)
        self.open()

    def close(self) -> None:
        """End what `open` and tests have started."""
        self.installation.stop()
        self.front.close()

    def install(self, **changes: Any) -> None:
        """The chart with the suite's values and these changes."""
        self.values = {
            "mode": "enforce",
            "policies": {"packs": [], "files": self._files},
            "excludeNamespaces": ["left-out"],
            "webhook": {"url": self.installation.url},
            **changes,
        }
        self.installation.install(self.values)

    @contextmanager
    def policies(self, **changes: Callable[[str], str]) -> Iterator[None]:
        """While it lasts the policy files of these names are changed; "lists" is policies/lists.yaml."""
        former = self._files
        texts = {
            name: changes[name.removesuffix(".yaml")](text) if name.removesuffix(".yaml") in changes else text
            for name, text in former.items()
        }
        self._rule({name: text for name, text in texts.items() if text})
        try:
            yield
        finally:
            self._rule(former)

    @contextmanager
    def capped(self, mode: str) -> Iterator[None]:
        """While it lasts the ConfigMap fallgate-cap is there, which caps every mode."""
        admin = self.plane.kubectl()
        admin("create", "configmap", "fallgate-cap", "-n", NAMESPACE, f"--from-literal=mode={mode}").fine()
        try:
            eventually("the cap holds", lambda: "cap degraded" in self.fallgate.conditions(), within=5)
            yield
        finally:
            admin("delete", "configmap", "fallgate-cap", "-n", NAMESPACE).fine()
            eventually("the cap is gone", lambda: "cap ok" in self.fallgate.conditions(), within=5)

    def _rule(self, files: Mapping[str, str]) -> None:
        if files == self._files:
            return
        since = self._loaded()
        self._files = dict(files)
        self.install()
        eventually("the changed policies are in force", lambda: self._loaded() > since)

    def _loaded(self) -> float:
        return self.fallgate.metric("fallgate_source_loaded_timestamp_seconds", source="policies")

    @contextmanager
    def nobody_there(self) -> Iterator[None]:
        """While it lasts Fallgate does not run."""
        former = self.fallgate
        former.process.kill()
        eventually("the Service has no replica", lambda: not self.front.has_some())
        try:
            yield
        finally:
            self.start()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """While it lasts Fallgate does not run, and nobody is told."""
        self.fallgate.process.pause()
        try:
            yield
        finally:
            self.fallgate.process.resume()

    def start(self, *more: str, through: int = 0, alone: bool = False) -> None:
        """A replica that answers; with `alone` in the place of those that were there. The rest: see Installation.start."""
        former = list(self.installation.replicas) if alone else []
        self.installation.start(*more, through=through)
        self.fallgate.wait_until_ready()
        for replica in former:
            replica.process.kill()
        eventually("the Service has a replica", self.front.has_some)

    def decisions(self) -> list[dict[str, Any]]:
        """Everything that was decided."""
        return [decision for replica in self.installation.replicas for decision in replica.decisions()]

    def settle(self) -> None:
        """Wait until Fallgate knows the nodes and devices that are in the cluster."""
        admin = self.plane.kubectl()
        nodes = len(admin.items("nodes"))
        devices = sum(len(item["spec"].get("devices") or []) for item in admin.items("resourceslices"))

        def look() -> bool:
            known = [int(self.fallgate.metric(f"fallgate_fleet_{what}")) for what in ("nodes", "devices")]
            assert known == [nodes, devices], f"nodes and devices known: {known}; there are {[nodes, devices]}"
            return True

        eventually("Fallgate knows the cluster", look)

    def logs(self) -> Iterator[tuple[str, str]]:
        """Name and end of each log."""
        yield from self.plane.logs()
        for replica in self.installation.replicas:
            yield replica.name, replica.process.tail()


@contextmanager
def open_site(version: str, folder: Path) -> Iterator[Site]:
    """A site of that release. Nothing of it runs afterwards. Raises ProgramMissing."""
    with control_plane(Programs(version), folder) as plane:
        made = Site(plane)
        try:
            made.open()
            yield made
        finally:
            made.close()
