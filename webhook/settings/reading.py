"""Settings from options and environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeAlias

from webhook.engine.settings import EngineSettings
from webhook.errors import InputError
from webhook.model.server_version import Server
from webhook.settings.options import OPTIONS, Option
from webhook.settings.values import (
    ALL_FEATURES,
    LEAST_STALE_SECONDS,
    CertificateSettings,
    HttpSettings,
    KubeSettings,
    LifeSettings,
    LogSettings,
    SourceSettings,
)

#: As a command line hands them over: None or absent means not given.
OptionValue: TypeAlias = str | bool | Sequence[str] | None


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
        kube = _kube(values)
        return cls(
            sources=SourceSettings(
                policies=values["policies"],
                fleet=values["fleet"],
                poll_seconds=values["poll-seconds"],
                server=_server(values["server-version"], values["feature-gates"]),
                cluster=kube if values["cluster"] else None,
            ),
            certificate=CertificateSettings(
                folder=values["certs"],
                self_signed=values["self-signed"],
                secret=values["certs-secret"],
                service=values["service"],
                names=values["dns-names"],
                configurations=values["webhook-configurations"],
                settle_seconds=values["certs-settle-seconds"],
                not_ready_before_seconds=values["not-ready-before-expiry-seconds"],
                client_ca=values["client-ca"],
                kube=kube,
            ),
            http=HttpSettings(
                host=host,
                port=port,
                max_in_flight=values["max-in-flight"],
                max_bodies_bytes=values["max-bodies-mib"],
                metrics=values["metrics-listen"],
                client_names=values["client-names"],
            ),
            engine=EngineSettings(
                excluded_namespaces=frozenset(values["exclude-namespaces"]),
                scheduler_users=frozenset(values["scheduler-users"]),
                stance=values["stance"],
                cap="audit" if values["audit-only"] else None,
                stale_after=timedelta(seconds=values["stale-after-seconds"]),
                help=values["message-help"],
            ),
            log=LogSettings(decisions=values["decision-log"], style=values["log-format"]),
            life=LifeSettings(
                drain_seconds=values["drain-seconds"], stop_seconds=int(values["stop-seconds"]), workers=values["workers"]
            ),
        )


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
    problems = []
    if values["cluster"] and values["fleet"]:
        problems.append("--fleet and --cluster exclude each other: the facts come from a folder or from the API server")
    elif not values["cluster"] and not values["fleet"]:
        problems.append("neither --fleet DIR nor --cluster is given: say where the facts about the cluster come from")
    if values["cluster"] and values["stale-after-seconds"] < LEAST_STALE_SECONDS:
        problems.append(
            f"--stale-after-seconds {values['stale-after-seconds']:g} is too little with --cluster: a quiet watch is heard of "
            f"about once a minute; {LEAST_STALE_SECONDS} is the least"
        )
    return problems + _certificate_contradictions(values)


def _certificate_contradictions(values: Mapping[str, Any]) -> list[str]:
    problems = []
    secret = values["certs-secret"]
    if secret and values["certs"]:
        problems.append("--certs and --certs-secret exclude each other: the certificate lies in a folder or in a Secret")
    if not secret and not values["certs"]:
        problems.append(
            "neither --certs DIR nor --certs-secret NAME is given: say where the certificate lies, in a folder with tls.crt "
            "and tls.key or in a Secret that Fallgate keeps itself"
        )
    if secret and values["self-signed"]:
        problems.append("--self-signed is for --certs DIR: what is in --certs-secret is issued anyway, for --service")
    missing = [f"--{name}" for name in ("service", "webhook-configurations") if secret and not values[name]]
    if missing:
        problems.append(
            f"--certs-secret needs {' and '.join(missing)}: the certificate is issued for the Service, and its authority has "
            "to be in caBundle of the webhook configurations"
        )
    if bool(values["client-ca"]) != bool(values["client-names"]):
        problems.append(
            "--client-ca and --client-names need each other: the authority says who vouches for a client, the names which "
            "client it must be, for instance the API server and not every kubelet"
        )
    return problems


def _kube(values: Mapping[str, Any]) -> KubeSettings:
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


def _server(version: tuple[int, int] | None, gates: dict[str, bool]) -> Server | None:
    if version is None and not gates:
        return None
    return Server(gates=gates) if version is None else Server(version=version, gates=gates)
