"""A control plane on loopback addresses: etcd, kube-apiserver, and if wanted the scheduler and the controllers.

Nothing is faked in it. What is missing are machines: a node is an object, and its pods are scheduled but never run.
"""

from __future__ import annotations

import contextlib
import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import trustme
import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.cluster.binaries import Programs
from tests.cluster.kubectl import Kubectl, Tool
from tests.cluster.others import definitions
from tests.cluster.processes import Process, free_port
from tests.cluster.waiting import eventually

#: user -> groups. Only the administrator may do everything; whoever else is here is somebody whom a webhook has to tell apart.
_PEOPLE = {
    "admin": ("admin", "system:masters"),
    "scheduler": ("system:kube-scheduler", ""),
    "controllers": ("system:kube-controller-manager", ""),
    "ada": ("ada", "research"),
}
#: What whoever writes workloads may do in a namespace. (The role `edit` is filled by a controller, which is not always here.)
_AUTHOR = """
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: workload-author}
rules:
- apiGroups: ["", apps, batch, resource.k8s.io]
  resources:
  - pods
  - deployments
  - deployments/scale
  - replicasets
  - statefulsets
  - daemonsets
  - jobs
  - cronjobs
  - resourceclaims
  - resourceclaimtemplates
  verbs: ["*"]
- apiGroups: [kueue.x-k8s.io, jobset.x-k8s.io]
  resources: [localqueues, jobsets]
  verbs: ["*"]
- apiGroups: ["", events.k8s.io]
  resources: [events, namespaces]
  verbs: [get, list, watch]
"""
_AUDIT = """
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: None, users: ["system:apiserver", "system:kube-controller-manager", "system:kube-scheduler"]}
- {level: Metadata}
"""


class ControlPlane:
    """A running control plane of one release. `start` makes one."""

    def __init__(self, programs: Programs, folder: Path) -> None:
        self.programs, self.folder, self.full = programs, folder, programs.full
        self.port = free_port()
        self.processes: list[Process] = []
        self._etcd_port = free_port()
        self._stack = ExitStack()
        folder.mkdir(parents=True, exist_ok=True)
        self.audit_log = folder / "audit.jsonl"

    @property
    def address(self) -> str:
        """The API server's URL."""
        return f"https://127.0.0.1:{self.port}"

    @property
    def authority(self) -> Path:
        """The certificate of the authority by which clients know the API server."""
        return self.folder / "ca.crt"

    def kubectl(self, person: str = "admin") -> Kubectl:
        """kubectl as that person: admin, ada, scheduler or controllers."""
        return Kubectl(self.programs.path("kubectl"), self.folder / f"{person}.kubeconfig", self.folder)

    def helm(self) -> Tool:
        """helm as the administrator."""
        return Tool(self.programs.path("helm"), self.folder / "admin.kubeconfig", self.folder)

    def kubeconfig(self, name: str, token: str, *, port: int = 0) -> Path:
        """Writes NAME.kubeconfig for whoever has the token; `port` is where the API server is reached, if not at its own."""
        path = self.folder / f"{name}.kubeconfig"
        cluster = {"server": f"https://127.0.0.1:{port or self.port}", "certificate-authority": str(self.authority)}
        document: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "here", "cluster": cluster}],
            "users": [{"name": name, "user": {"token": token}}],
            "contexts": [{"name": "here", "context": {"cluster": "here", "user": name}}],
            "current-context": "here",
        }
        path.touch(mode=0o600)
        path.write_text(yaml.safe_dump(document))
        return path

    def rest(self, person: str, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """One call of the API as a client library makes it: status and the object answered."""
        headers = {"Authorization": f"Bearer token-{person}", "Content-Type": "application/json"}
        sent = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(f"{self.address}{path}", data=sent, method=method, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=40, context=self._trust) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def audited(self) -> Iterator[dict[str, Any]]:
        """The API server's audit log, one event for each request that it answered."""
        for line in self.audit_log.read_text().splitlines():
            with contextlib.suppress(ValueError):  # the last line may be half written
                yield json.loads(line)

    def start_api_server(self) -> None:
        """Start the API server, and wait until it is ready."""
        self.api_server = self._run("kube-apiserver", self._api_server_options())
        eventually(f"kube-apiserver {self.programs.version} is ready", self._ready, within=60)

    def restart_api_server(self, between: float = 0.0) -> None:
        """End it as a crash would, and start it again."""
        self.api_server.kill()
        eventually("nobody listens where the API server was", lambda: not self._answers(), within=10)
        self.start_api_server()

    def start_rest(self) -> None:
        """The scheduler and the controllers."""
        self._run(
            "kube-scheduler",
            [
                f"--kubeconfig={self.folder / 'scheduler.kubeconfig'}",
                "--leader-elect=false",
                "--bind-address=127.0.0.1",
                f"--secure-port={free_port()}",
                f"--cert-dir={self.folder / 'scheduler'}",
                "--pod-max-in-unschedulable-pods-duration=5s",
            ],
        )
        self._run(
            "kube-controller-manager",
            [
                f"--kubeconfig={self.folder / 'controllers.kubeconfig'}",
                "--leader-elect=false",
                "--bind-address=127.0.0.1",
                f"--secure-port={free_port()}",
                f"--cert-dir={self.folder / 'controllers'}",
                "--use-service-account-credentials=true",
                f"--service-account-private-key-file={self.folder / 'sa.key'}",
                f"--root-ca-file={self.authority}",
                "--controllers=*,-node-ipam-controller,-node-lifecycle-controller",
            ],
        )

    def stop(self) -> None:
        """End every process."""
        self._stack.close()

    def check(self) -> None:
        """Raises RuntimeError when a process has died."""
        for process in self.processes:
            process.check()

    def logs(self) -> Iterator[tuple[str, str]]:
        """Name and end of the log of each process."""
        for process in self.processes:
            yield process.name, process.tail(25)

    def prepare(self) -> None:
        """Keys, tokens, and etcd."""
        key = ec.generate_private_key(ec.SECP256R1())
        pem = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
        )
        (self.folder / "sa.key").write_bytes(pem)
        authority = trustme.CA()
        authority.cert_pem.write_to_path(self.authority)
        authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(self.folder / "apiserver.pem")
        self._trust = ssl.create_default_context(cafile=str(self.authority))
        (self.folder / "audit.yaml").write_text(_AUDIT)
        rows = [f'token-{person},{user},{user},"{groups}"' for person, (user, groups) in _PEOPLE.items()]
        (self.folder / "tokens.csv").write_text("\n".join(rows) + "\n")
        for person in _PEOPLE:
            self.kubeconfig(person, f"token-{person}")
        self._run("etcd", self._etcd_options())

    def _run(self, name: str, options: list[str]) -> Process:
        process = Process(name, [str(self.programs.path(name)), *options], self.folder / f"{name}.log")
        self._stack.push(process)
        self.processes = [other for other in self.processes if other.name != name] + [process]
        return process

    def _etcd_options(self) -> list[str]:
        client, peer = f"http://127.0.0.1:{self._etcd_port}", f"http://127.0.0.1:{free_port()}"
        return [
            "--name=only",
            f"--data-dir={self.folder / 'etcd'}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=only={peer}",
            "--unsafe-no-fsync",
            "--log-level=warn",
        ]

    def _api_server_options(self) -> list[str]:
        key = self.folder / "sa.key"
        return [
            f"--etcd-servers=http://127.0.0.1:{self._etcd_port}",
            "--bind-address=127.0.0.1",
            f"--secure-port={self.port}",
            f"--tls-cert-file={self.folder / 'apiserver.pem'}",
            f"--tls-private-key-file={self.folder / 'apiserver.pem'}",
            "--endpoint-reconciler-type=none",  # it would refuse to publish a loopback address
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-signing-key-file={key}",
            f"--service-account-key-file={key}",
            f"--token-auth-file={self.folder / 'tokens.csv'}",
            "--authorization-mode=RBAC",
            "--service-cluster-ip-range=10.96.0.0/24",
            "--runtime-config=resource.k8s.io/v1beta1=true,resource.k8s.io/v1beta2=true",
            f"--audit-policy-file={self.folder / 'audit.yaml'}",
            f"--audit-log-path={self.audit_log}",
        ]

    def _ready(self) -> bool:
        self.check()
        return self._answers()

    def _answers(self) -> bool:
        request = urllib.request.Request(f"{self.address}/readyz", headers={"Authorization": "Bearer token-admin"})
        try:
            with urllib.request.urlopen(request, timeout=2, context=self._trust) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False


@contextmanager
def control_plane(programs: Programs, folder: Path) -> Iterator[ControlPlane]:
    """A running control plane; only etcd and the API server unless `programs.full`. Nothing of it is left afterwards."""
    made = ControlPlane(programs, folder)
    try:
        made.prepare()
        made.start_api_server()
        if made.full:
            made.start_rest()
        made.kubectl().apply(_AUTHOR).fine()
        made.kubectl().create(definitions()).fine()
        yield made
    finally:
        made.stop()
