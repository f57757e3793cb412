"""The settings of each part, as frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from webhook.model.server_version import Server

#: What can be read of a cluster beyond what is needed; webhook.kube.kinds says what is unknown without it.
FEATURES = ("pods", "quotas", "owners", "taint-rules", "queues")
ALL_FEATURES = ("all",)
#: Bookmarks come about once a minute, and one may be lost.
LEAST_STALE_SECONDS = 120

#: kube-apiserver sends an object and its old version; an object in etcd is about 1.5 MiB at most, a request 3 MiB.
MAX_BODY_BYTES = 8 * 1024 * 1024
#: With it 256 calls of the largest bodies at once stay below 512 MiB: see docs/operations.md, "Memory".
MAX_BODIES_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSettings:
    """The HTTP server. All times in seconds.

    `keep_alive_seconds` must exceed the 90 s after which kube-apiserver closes an idle connection: the client has to close
    first, because it does not repeat a POST that meets a closed connection. `read_seconds` is the time a client has for its TLS
    handshake and for sending one request. `call_seconds` is the deadline of calls that name none in `?timeout=`. Above
    `max_in_flight` calls are answered with 429, which kube-apiserver repeats; so are large bodies above `max_bodies_bytes` of
    them at once (webhook.server.budget). `metrics` is an address for probes and metrics
    over plain HTTP. With `client_names`, only clients with a certificate for one of them get more than probes over TLS.
    """

    host: str = "0.0.0.0"  # noqa: S104 - a pod listens on its own address
    port: int = 8443
    max_body_bytes: int = MAX_BODY_BYTES
    max_bodies_bytes: int = MAX_BODIES_BYTES
    max_in_flight: int = 256
    keep_alive_seconds: int = 120
    read_seconds: float = 10.0
    call_seconds: float = 10.0
    metrics: tuple[str, int] | None = None
    client_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeSettings:
    """The API server to read the cluster from, and as whom: see webhook.kube.connecting.

    `namespace` is ours ("" for that of the Pod we run in), `cap_configmap` the ConfigMap in it that caps all modes ("" for
    none), `features` what is read beyond what is needed: keys of webhook.kube.kinds.FEATURES, None for all.
    """

    kubeconfig: str = ""
    context: str = ""
    namespace: str = ""
    cap_configmap: str = "fallgate-cap"
    features: frozenset[str] | None = None
    server_version: tuple[int, int] | None = None
    gates: Mapping[str, bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateSettings:
    """Where the certificate comes from: tls.crt and tls.key in `folder`, or a Secret that the replicas keep themselves.

    With `self_signed` names a pair is issued into the folder when it holds no good one. `service` and `names` are what the API
    server calls us: a certificate for others is not taken. In the namespace of `kube`, `configurations` are kept right when the
    pair is in `secret`; a new authority signs nothing before it has been in every caBundle for `settle_seconds`. `client_ca` is
    a file with the authorities of clients.
    """

    folder: Path | None = None
    self_signed: tuple[str, ...] = ()
    secret: str = ""
    service: str = ""
    names: tuple[str, ...] = ()
    configurations: str = ""
    settle_seconds: float = 60.0
    not_ready_before_seconds: float = 3600.0
    client_ca: Path | None = None
    kube: KubeSettings = field(default_factory=KubeSettings)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSettings:
    """Where policies and fleet come from, and how often files are looked at. `server` overrides what the fleet folder says.

    The fleet comes from a folder or, with `cluster`, from an API server.
    """

    policies: Path
    fleet: Path | None
    poll_seconds: float = 0.5
    server: Server | None = None
    cluster: KubeSettings | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings:
    """`decisions` is a file, "-" for standard output, "" for none. `style` is that of events, on standard error."""

    decisions: str = "-"
    style: Literal["json", "text"] = "json"


@dataclass(frozen=True, slots=True, kw_only=True)
class LifeSettings:
    """How many processes answer, and how they end: drained first, then at most `stop_seconds` for calls in flight."""

    drain_seconds: float = 8.0
    stop_seconds: int = 15
    workers: int = 1
