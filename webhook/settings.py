"""Everything that can be set about the server, read once from options and environment into frozen values.

Nothing else reads the environment. An option `drain-seconds` is `--drain-seconds` on the command line and
FALLGATE_DRAIN_SECONDS in the environment; the command line wins. OPTIONS is the whole list, with defaults and help texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal, TypeAlias

from webhook.engine.settings import EngineSettings
from webhook.errors import InputError
from webhook.model.server_version import Server, read_version

#: As a command line hands them over: None or absent means not given.
OptionValue: TypeAlias = str | bool | Sequence[str] | None

ENVIRONMENT_PREFIX = "FALLGATE_"

#: What can be read of a cluster beyond what is needed; webhook.kube.kinds says what is unknown without it.
FEATURES = ("pods", "quotas", "owners", "taint-rules", "queues")
ALL_FEATURES = ("all",)
#: Bookmarks come about once a minute, and one may be lost.
LEAST_STALE_SECONDS = 120

#: kube-apiserver sends an object and its old version; an object in etcd is about 1.5 MiB at most, a request 3 MiB.
MAX_BODY_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSettings:
    """The HTTP server. All times in seconds.

    `keep_alive_seconds` must exceed the 90 s after which kube-apiserver closes an idle connection: the client has to close
    first, because it does not repeat a POST that meets a closed connection. `read_seconds` is the time a client has for its TLS
    handshake and for sending one request. `call_seconds` is the deadline of calls that name none in `?timeout=`. Above
    `max_in_flight` calls are answered with 429, which kube-apiserver repeats.
    """

    host: str = "0.0.0.0"  # noqa: S104 - a pod listens on its own address
    port: int = 8443
    max_body_bytes: int = MAX_BODY_BYTES
    max_in_flight: int = 256
    keep_alive_seconds: int = 120
    read_seconds: float = 10.0
    call_seconds: float = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateSettings:
    """The folder with tls.crt and tls.key. With `self_signed` names a pair is issued into it when it holds no good one."""

    folder: Path
    self_signed: tuple[str, ...] = ()


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
    """How the process ends: it drains first, then waits at most `stop_seconds` for calls in flight."""

    drain_seconds: float = 8.0
    stop_seconds: int = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings of `fallgate serve`."""

    sources: SourceSettings
    certificate: CertificateSettings
    http: HttpSettings = field(default_factory=HttpSettings)
    engine: EngineSettings = field(default_factory=EngineSettings)
    log: LogSettings = field(default_factory=LogSettings)
    life: LifeSettings = field(default_factory=LifeSettings)

    @classmethod
    def from_sources(cls, options: Mapping[str, OptionValue], environ: Mapping[str, str]) -> Settings:
        """Settings from command-line options (keys as in OPTIONS) and the environment.

        Raises InputError that names everything that is wrong at once.
        """
        values = _read_all(options, environ)
        host, port = values["listen"]
        return cls(
            sources=SourceSettings(
                policies=values["policies"],
                fleet=values["fleet"],
                poll_seconds=values["poll-seconds"],
                server=_server(values["server-version"], values["feature-gates"]),
                cluster=_cluster(values),
            ),
            certificate=CertificateSettings(folder=values["certs"], self_signed=values["self-signed"]),
            http=HttpSettings(host=host, port=port, max_in_flight=values["max-in-flight"]),
            engine=EngineSettings(
                excluded_namespaces=frozenset(values["exclude-namespaces"]),
                scheduler_users=frozenset(values["scheduler-users"]),
                stance=values["stance"],
                cap="audit" if values["audit-only"] else None,
                stale_after=timedelta(seconds=values["stale-after-seconds"]),
                help=values["message-help"],
            ),
            log=LogSettings(decisions=values["decision-log"], style=values["log-format"]),
            life=LifeSettings(drain_seconds=values["drain-seconds"], stop_seconds=int(values["stop-seconds"])),
        )


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
        return self.read is _flag


def _read_all(options: Mapping[str, OptionValue], environ: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    problems = [f"--{name}: there is no such option" for name in options.keys() - {option.name for option in OPTIONS}]
    for option in OPTIONS:
        origin, written = _written(option, options, environ)
        if written is None:
            problems.append(f"--{option.name} {option.metavar} is missing: {option.help}")
            continue
        try:
            values[option.name] = option.read(written)
        except ValueError as error:
            problems.append(f"{origin}: {error}")
    if not problems:
        problems = _contradictions(values)
    if problems:
        raise InputError("\n".join(problems))
    return values


def _contradictions(values: Mapping[str, Any]) -> list[str]:
    if values["cluster"] and values["fleet"]:
        return ["--fleet and --cluster exclude each other: the facts come from a folder or from the API server"]
    if not values["cluster"] and not values["fleet"]:
        return ["neither --fleet DIR nor --cluster is given: say where the facts about the cluster come from"]
    if values["cluster"] and values["stale-after-seconds"] < LEAST_STALE_SECONDS:
        return [
            f"--stale-after-seconds {values['stale-after-seconds']:g} is too little with --cluster: a quiet watch is heard of "
            f"about once a minute; {LEAST_STALE_SECONDS} is the least"
        ]
    return []


def _cluster(values: Mapping[str, Any]) -> KubeSettings | None:
    if not values["cluster"]:
        return None
    return KubeSettings(
        kubeconfig=values["kubeconfig"],
        context=values["context"],
        namespace=values["namespace"],
        cap_configmap=values["cap-configmap"],
        features=None if values["features"] == ALL_FEATURES else frozenset(values["features"]),
        server_version=values["server-version"],
        gates=values["feature-gates"],
    )


def _written(option: Option, options: Mapping[str, OptionValue], environ: Mapping[str, str]) -> tuple[str, str | None]:
    """Where a value was written, and the value."""
    given = options.get(option.name)
    if isinstance(given, bool):
        given = "true" if given else None
    elif given is not None and not isinstance(given, str):
        given = ",".join(given) or None
    if given is not None:
        return f"--{option.name}", given
    if option.variable in environ:
        return option.variable, environ[option.variable]
    return f"--{option.name}", option.default


def _text(written: str) -> str:
    return written


def _path(written: str) -> Path:
    if not written:
        raise ValueError("the path is empty")
    return Path(written)


def _optional_path(written: str) -> Path | None:
    return Path(written) if written else None


def _features(written: str) -> tuple[str, ...]:
    names = _names(written)
    if names == ALL_FEATURES:
        return names
    unknown = [name for name in names if name not in FEATURES]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is no feature; known are {', '.join(FEATURES)}, or all")
    return names


def _names(written: str) -> tuple[str, ...]:
    return tuple(part for part in (part.strip() for part in written.split(",")) if part)


def _flag(written: str) -> bool:
    known = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False, "": False}
    if written.lower() not in known:
        raise ValueError(f"{written!r} is neither true nor false")
    return known[written.lower()]


def _seconds(written: str) -> float:
    try:
        value = float(written.removesuffix("s"))
    except ValueError:
        value = -1.0
    if not 0 <= value <= 86_400:
        raise ValueError(f"{written!r} is not a number of seconds")
    return value


def _poll_seconds(written: str) -> float:
    value = _seconds(written)
    if value < 0.05:
        raise ValueError(f"{written!r} is too often; 0.05 seconds is the least")
    return value


def _count(written: str) -> int:
    if not written.isdecimal() or int(written) < 1:
        raise ValueError(f"{written!r} is not a whole number above 0")
    return int(written)


def _address(written: str) -> tuple[str, int]:
    host, colon, port = written.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65_535:
        raise ValueError(f"{written!r} is not HOST:PORT, for instance 0.0.0.0:8443 or [::]:8443")
    return host.removeprefix("[").removesuffix("]") or "0.0.0.0", int(port)  # noqa: S104 - as a pod listens


def _one_of(*known: str) -> Callable[[str], str]:
    def read(written: str) -> str:
        if written not in known:
            raise ValueError(f"{written!r} is not one of {', '.join(known)}")
        return written

    return read


def _decision_log(written: str) -> str:
    return "" if written == "none" else written


def _version(written: str) -> tuple[int, int] | None:
    return read_version(written) if written else None


def _gates(written: str) -> dict[str, bool]:
    gates = {}
    for part in _names(written):
        gate, _, value = part.partition("=")
        if value.lower() not in ("true", "false"):
            raise ValueError(f"{part!r} is not GATE=true or GATE=false")
        gates[gate] = value.lower() == "true"
    return gates


def _server(version: tuple[int, int] | None, gates: dict[str, bool]) -> Server | None:
    if version is None and not gates:
        return None
    return Server(gates=gates) if version is None else Server(version=version, gates=gates)


#: No name may be PORT, SERVICE_HOST or SERVICE_PORT: Kubernetes sets FALLGATE_PORT and its like for a Service named fallgate.
OPTIONS: tuple[Option, ...] = (
    Option(name="policies", metavar="DIR", help="folder of policy files", read=_path),
    Option(
        name="fleet",
        metavar="DIR",
        help="folder of cluster objects, as kubectl get -o yaml prints them",
        read=_optional_path,
        default="",
    ),
    Option(
        name="cluster",
        metavar="",
        help="read the cluster from its API server, by watches, instead of --fleet",
        read=_flag,
        default="false",
    ),
    Option(
        name="kubeconfig",
        metavar="FILE",
        help="with --cluster: how to reach it; else the Pod's ServiceAccount, else the usual kubeconfig",
        read=_text,
        default="",
    ),
    Option(name="context", metavar="NAME", help="with --cluster: a context of the kubeconfig", read=_text, default=""),
    Option(
        name="namespace",
        metavar="NS",
        help="the namespace Fallgate runs in; else that of the Pod, else fallgate-system",
        read=_text,
        default="",
    ),
    Option(
        name="cap-configmap",
        metavar="NAME",
        help="with --cluster: ConfigMap of that namespace that caps all modes as soon as it is there; empty for none",
        read=_text,
        default="fallgate-cap",
    ),
    Option(
        name="features",
        metavar="LIST",
        help=f"with --cluster: what is read beyond what is needed, of {', '.join(FEATURES)}; or all, or empty for none",
        read=_features,
        default="all",
    ),
    Option(name="certs", metavar="DIR", help="folder with tls.crt and tls.key", read=_path),
    Option(
        name="self-signed",
        metavar="NAMES",
        help="issue a certificate for these DNS names and addresses into the folder when it holds no good one",
        read=_names,
        default="",
    ),
    Option(name="listen", metavar="HOST:PORT", help="address to listen on", read=_address, default="0.0.0.0:8443"),
    Option(
        name="audit-only", metavar="", help="cap every mode at audit: nothing is denied or changed", read=_flag, default="false"
    ),
    Option(
        name="stance",
        metavar="allow|deny",
        help="answer when Fallgate itself is at fault or out of time",
        read=_one_of("allow", "deny"),
        default="allow",
    ),
    Option(
        name="exclude-namespaces", metavar="NAMES", help="namespaces that are never judged", read=_names, default="kube-system"
    ),
    Option(
        name="scheduler-users",
        metavar="NAMES",
        help="users who may create the claims of extended resources",
        read=_names,
        default="system:kube-scheduler",
    ),
    Option(
        name="stale-after-seconds", metavar="SECONDS", help="facts older than this never deny", read=_seconds, default="300"
    ),
    Option(name="message-help", metavar="TEXT", help="your own line under every denial, e.g. a link", read=_text, default=""),
    Option(
        name="server-version",
        metavar="1.N",
        help="version of the API server, else the fleet folder's",
        read=_version,
        default="",
    ),
    Option(name="feature-gates", metavar="GATE=BOOL,...", help="feature gates of the API server", read=_gates, default=""),
    Option(name="poll-seconds", metavar="SECONDS", help="how often files are looked at", read=_poll_seconds, default="0.5"),
    Option(name="max-in-flight", metavar="N", help="calls at once before answering 429", read=_count, default="256"),
    Option(
        name="decision-log",
        metavar="FILE",
        help="file for decisions as JSON lines; - is standard output, or none",
        read=_decision_log,
        default="-",
    ),
    Option(
        name="log-format",
        metavar="json|text",
        help="how events are written to standard error",
        read=_one_of("json", "text"),
        default="json",
    ),
    Option(
        name="drain-seconds",
        metavar="SECONDS",
        help="on SIGTERM: not ready, still answering, for so long",
        read=_seconds,
        default="8",
    ),
    Option(
        name="stop-seconds", metavar="SECONDS", help="after the drain: time for calls in flight", read=_seconds, default="15"
    ),
)
