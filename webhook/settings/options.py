"""All options of `fallgate serve`, with their defaults and help texts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from webhook.settings.values import FEATURES
from webhook.settings.written import (
    address,
    bodies_mib,
    count,
    decision_log,
    features,
    flag,
    gates,
    names,
    one_of,
    optional_address,
    optional_path,
    path,
    poll_seconds,
    seconds,
    text,
    version,
)

ENVIRONMENT_PREFIX = "FALLGATE_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One thing that can be set. `default` is None for what must be given. `read` raises ValueError with a text for people."""

    name: str
    metavar: str
    help: str
    read: Callable[[str], Any]
    default: str | None = None

    @property
    def variable(self) -> str:
        """The environment variable: FALLGATE_DRAIN_SECONDS for `drain-seconds`."""
        return ENVIRONMENT_PREFIX + self.name.replace("-", "_").upper()

    @property
    def is_flag(self) -> bool:
        """Whether it is given without a value on the command line."""
        return self.read is flag


#: No name may be PORT, SERVICE_HOST or SERVICE_PORT: Kubernetes sets FALLGATE_PORT and its like for a Service named fallgate.
OPTIONS: tuple[Option, ...] = (
    Option(name="policies", metavar="DIR", help="folder of policy files", read=path),
    Option(
        name="fleet",
        metavar="DIR",
        help="folder of cluster objects, as kubectl get -o yaml prints them",
        read=optional_path,
        default="",
    ),
    Option(
        name="cluster",
        metavar="",
        help="read the cluster from its API server, by watches, instead of --fleet",
        read=flag,
        default="false",
    ),
    Option(
        name="kubeconfig",
        metavar="FILE",
        help="with --cluster: how to reach it; else the Pod's ServiceAccount, else the usual kubeconfig",
        read=text,
        default="",
    ),
    Option(name="context", metavar="NAME", help="with --cluster: a context of the kubeconfig", read=text, default=""),
    Option(
        name="namespace",
        metavar="NS",
        help="the namespace Fallgate runs in; else that of the Pod, else fallgate-system",
        read=text,
        default="",
    ),
    Option(
        name="cap-configmap",
        metavar="NAME",
        help="with --cluster: ConfigMap of that namespace that caps all modes as soon as it is there; empty for none",
        read=text,
        default="fallgate-cap",
    ),
    Option(
        name="features",
        metavar="LIST",
        help=f"with --cluster: what is read beyond what is needed, of {', '.join(FEATURES)}; or all, or empty for none",
        read=features,
        default="all",
    ),
    Option(name="certs", metavar="DIR", help="folder with tls.crt and tls.key", read=optional_path, default=""),
    Option(
        name="certs-secret",
        metavar="NAME",
        help="instead of --certs: keep authority and certificate in this Secret, and caBundle right",
        read=text,
        default="",
    ),
    Option(
        name="certs-settle-seconds",
        metavar="SECONDS",
        help="with --certs-secret: how long a new authority is in caBundle before it signs",
        read=seconds,
        default="60",
    ),
    Option(
        name="service",
        metavar="NAME",
        help="the Service by which the API server calls us: a certificate must be for its DNS names",
        read=text,
        default="",
    ),
    Option(
        name="dns-names",
        metavar="LIST",
        help="further DNS names and IP addresses that a certificate must be for",
        read=names,
        default="",
    ),
    Option(
        name="webhook-configurations",
        metavar="NAME",
        help="with --certs-secret: the mutating and the validating configuration whose caBundle is kept right",
        read=text,
        default="",
    ),
    Option(
        name="not-ready-before-expiry-seconds",
        metavar="SECONDS",
        help="not ready when the certificate ends sooner",
        read=seconds,
        default="3600",
    ),
    Option(
        name="client-ca",
        metavar="FILE",
        help="authorities that vouch for clients; who shows no certificate of theirs gets 403, but for probes",
        read=optional_path,
        default="",
    ),
    Option(
        name="client-names",
        metavar="LIST",
        help="with --client-ca: common names or DNS names of clients that may call",
        read=names,
        default="",
    ),
    Option(
        name="self-signed",
        metavar="NAMES",
        help="issue a certificate for these DNS names and addresses into the folder when it holds no good one",
        read=names,
        default="",
    ),
    Option(name="listen", metavar="HOST:PORT", help="address to listen on", read=address, default="0.0.0.0:8443"),
    Option(
        name="metrics-listen",
        metavar="HOST:PORT",
        help="serve probes and metrics over plain HTTP as well, at this address",
        read=optional_address,
        default="",
    ),
    Option(
        name="workers",
        metavar="N",
        help="processes that answer calls; metrics and readiness are those of all",
        read=count,
        default="1",
    ),
    Option(
        name="audit-only", metavar="", help="cap every mode at audit: nothing is denied or changed", read=flag, default="false"
    ),
    Option(
        name="stance",
        metavar="allow|deny",
        help="answer when Fallgate itself is at fault or out of time",
        read=one_of("allow", "deny"),
        default="allow",
    ),
    Option(
        name="exclude-namespaces", metavar="NAMES", help="namespaces that are never judged", read=names, default="kube-system"
    ),
    Option(
        name="scheduler-users",
        metavar="NAMES",
        help="users who may create the claims of extended resources",
        read=names,
        default="system:kube-scheduler",
    ),
    Option(name="stale-after-seconds", metavar="SECONDS", help="facts older than this never deny", read=seconds, default="300"),
    Option(name="message-help", metavar="TEXT", help="your own line under every denial, e.g. a link", read=text, default=""),
    Option(
        name="server-version",
        metavar="1.N",
        help="version of the API server, else the fleet folder's",
        read=version,
        default="",
    ),
    Option(name="feature-gates", metavar="GATE=BOOL,...", help="feature gates of the API server", read=gates, default=""),
    Option(name="poll-seconds", metavar="SECONDS", help="how often files are looked at", read=poll_seconds, default="0.5"),
    Option(name="max-in-flight", metavar="N", help="calls at once before answering 429", read=count, default="256"),
    Option(
        name="max-bodies-mib",
        metavar="MIB",
        help="memory for large bodies of calls at once before answering 429",
        read=bodies_mib,
        default="32",
    ),
    Option(
        name="decision-log",
        metavar="FILE",
        help="file for decisions as JSON lines; - is standard output, or none",
        read=decision_log,
        default="-",
    ),
    Option(
        name="log-format",
        metavar="json|text",
        help="how events are written to standard error",
        read=one_of("json", "text"),
        default="json",
    ),
    Option(
        name="drain-seconds",
        metavar="SECONDS",
        help="on SIGTERM: not ready, still answering, for so long",
        read=seconds,
        default="8",
    ),
    Option(
        name="stop-seconds", metavar="SECONDS", help="after the drain: time for calls in flight", read=seconds, default="15"
    ),
)
