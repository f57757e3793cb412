"""The chart, installed with helm, and its pods: processes that get what the Deployment says, as a kubelet would give it.

The Deployment's own pods cannot run, since there are no machines. What stands in for them takes the arguments, the mounted
ConfigMaps and the ServiceAccount's token from the cluster, and is otherwise `fallgate` as it is.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.cluster.controlplane import ControlPlane
from tests.cluster.fallgate import Fallgate
from tests.cluster.kubectl import Raw, Said
from tests.cluster.processes import free_port

CHART = Path(__file__).parents[2] / "charts" / "fallgate"
RELEASE, NAMESPACE = "fallgate", "fallgate-system"
IMAGE = {"image": {"repository": "registry.example.com/fallgate"}}


class Installation:
    """A release of the chart. `url` is where the API server reaches it."""

    def __init__(self, plane: ControlPlane, folder: Path, url: str) -> None:
        self.plane, self.folder, self.url = plane, folder, url
        self.replicas: list[Fallgate] = []
        self.aside: list[Fallgate] = []
        self._made = 0
        folder.mkdir(parents=True, exist_ok=True)

    def install(self, values: Mapping[str, Any]) -> Said:
        """`helm upgrade --install` with these values; what is mounted follows, as the kubelet sees to it."""
        path = self.folder / "values.yaml"
        path.write_text(yaml.safe_dump({**IMAGE, **values}, sort_keys=False))
        said = self.plane.helm()(
            "upgrade", "--install", RELEASE, str(CHART), "-n", NAMESPACE, "--create-namespace", "-f", str(path), seconds=120
        ).fine()
        for replica in self.replicas:
            self._mount(replica.folder)
        return said

    def uninstall(self) -> Said:
        """`helm uninstall`; then no kubelet is there to end the Deployment's pods."""
        said = self.plane.helm()("uninstall", RELEASE, "-n", NAMESPACE, seconds=120)
        self.plane.kubectl()("delete", "pods", "--all", "-n", NAMESPACE, "--force", "--grace-period=0")
        return said

    def start(self, *more: str, through: int = 0, aside: bool = False) -> Fallgate:
        """One more replica. `more` are options after those of the Deployment; `through` is a port by which it reaches the API
        server instead of the API server's own; `aside` it gets no calls."""
        self._made += 1
        name = f"fallgate-{self._made}"
        folder = self.folder / name
        folder.mkdir(parents=True)
        self._mount(folder)
        options = [self._here(argument, folder) for argument in self._container()["args"][1:]]
        options = [option for option in options if not option.startswith(("--listen=", "--metrics-listen=", "--decision-log="))]
        options += [f"--kubeconfig={self._kubeconfig(name, through)}", *more]
        made = Fallgate(name, free_port(), folder, options, {"TMPDIR": str(folder)})
        (self.aside if aside else self.replicas).append(made)
        return made

    def stop(self) -> None:
        """Kill what is left of the replicas."""
        for replica in (*self.replicas, *self.aside):
            replica.process.kill()

    def ready(self) -> list[int]:
        """The ports of the replicas that are ready, as the endpoints of the Service would be."""
        return [replica.port for replica in list(self.replicas) if replica.process.running() and replica.is_ready()]

    def _pod(self) -> Raw:
        deployment = self.plane.kubectl().get("deployment", RELEASE, "-n", NAMESPACE)
        spec: Raw = deployment["spec"]["template"]["spec"]
        return spec

    def _container(self) -> Raw:
        container: Raw = self._pod()["containers"][0]
        return container

    def _kubeconfig(self, name: str, through: int) -> Path:
        account = self._pod()["serviceAccountName"]
        token = self.plane.kubectl()("create", "token", account, "-n", NAMESPACE, "--duration=12h").fine().out.strip()
        return self.plane.kubeconfig(name, token, port=through)

    @staticmethod
    def _here(argument: str, folder: Path) -> str:
        """An argument, with the container's paths where they are on this machine."""
        return argument.replace("=/etc/fallgate/", f"={folder}/etc/fallgate/")

    def _mount(self, folder: Path) -> None:
        """ConfigMap volumes as kubelet writes them: a folder of their own behind the link ..data, swapped at once."""
        spec = self._pod()
        maps = {item["name"]: item["configMap"]["name"] for item in spec["volumes"] if "configMap" in item}
        for mount in self._container()["volumeMounts"]:
            if mount["name"] not in maps:
                continue
            data = self.plane.kubectl().get("configmap", maps[mount["name"]], "-n", NAMESPACE).get("data", {})
            _write_volume(folder / mount["mountPath"].lstrip("/"), data)


def _write_volume(folder: Path, data: Mapping[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    link = folder / "..data"
    former = link.resolve() if link.is_symlink() else None
    if former and {path.name: path.read_text() for path in former.iterdir()} == dict(data):
        return
    count = int(former.name.rpartition("_")[2]) + 1 if former else 0
    new = folder / f"..version_{count}"
    new.mkdir()
    for name, text in data.items():
        (new / name).write_text(text)
    (folder / "..new").symlink_to(new.name)
    (folder / "..new").replace(link)
    for name in data:
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(f"..data/{name}")
    for path in folder.iterdir():
        if path.is_symlink() and path.name != "..data" and path.name not in data:
            path.unlink()
    if former:
        shutil.rmtree(former)
