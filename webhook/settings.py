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
class SourceSettings:
    """Where policies and fleet come from, and how often files are looked at. `server` overrides what the fleet folder says."""

    policies: Path
    fleet: Path
    poll_seconds: float = 0.5
    server: Server | None = None


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
    if problems:
        raise InputError("\n".join(problems))
    return values


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
    Option(name="fleet", metavar="DIR", help="folder of cluster objects, as kubectl get -o yaml prints them", read=_path),
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
