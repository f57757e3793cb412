"""Options and environment as settings, and what is said when they are wrong."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from webhook.errors import InputError
from webhook.model.server_version import Server
from webhook.settings import OPTIONS, KubeSettings, OptionValue, Settings

NEEDED: dict[str, OptionValue] = {"policies": "p", "fleet": "f", "certs": "c"}


def settings(environ: dict[str, str] | None = None, **options: OptionValue) -> Settings:
    return Settings.from_sources(NEEDED | {name.replace("_", "-"): value for name, value in options.items()}, environ or {})


def complaint(environ: dict[str, str] | None = None, **options: OptionValue) -> str:
    with pytest.raises(InputError) as refused:
        settings(environ, **options)
    return str(refused.value)


def test_defaults() -> None:
    found = settings()
    assert (found.sources.policies, found.sources.fleet, found.certificate.folder) == (Path("p"), Path("f"), Path("c"))
    assert (found.http.host, found.http.port, found.http.max_in_flight) == ("0.0.0.0", 8443, 256)
    assert found.http.max_body_bytes == 8 * 1024 * 1024
    assert found.http.max_bodies_bytes == 32 * 1024 * 1024
    assert found.http.keep_alive_seconds == 120
    assert (found.life.drain_seconds, found.life.stop_seconds) == (8.0, 15)
    assert (found.log.decisions, found.log.style) == ("-", "json")
    assert found.certificate.self_signed == ()
    assert found.sources.server is None
    engine = found.engine
    assert (engine.cap, engine.stance, engine.help) == (None, "allow", "")
    assert engine.excluded_namespaces == frozenset({"kube-system"})
    assert engine.scheduler_users == frozenset({"system:kube-scheduler"})
    assert engine.stale_after == timedelta(minutes=5)


@pytest.mark.parametrize(
    ("option", "written", "read", "value"),
    [
        ("listen", "127.0.0.1:0", lambda s: (s.http.host, s.http.port), ("127.0.0.1", 0)),
        ("listen", "[::]:8443", lambda s: (s.http.host, s.http.port), ("::", 8443)),
        ("listen", ":9443", lambda s: (s.http.host, s.http.port), ("0.0.0.0", 9443)),
        ("audit_only", True, lambda s: s.engine.cap, "audit"),
        ("audit_only", False, lambda s: s.engine.cap, None),
        ("stance", "deny", lambda s: s.engine.stance, "deny"),
        (
            "exclude_namespaces",
            ("kube-system", "fallgate"),
            lambda s: s.engine.excluded_namespaces,
            {"kube-system", "fallgate"},
        ),
        ("exclude_namespaces", "a, b,", lambda s: s.engine.excluded_namespaces, {"a", "b"}),
        ("exclude_namespaces", "", lambda s: s.engine.excluded_namespaces, set()),
        ("scheduler_users", "mine", lambda s: s.engine.scheduler_users, {"mine"}),
        ("stale_after_seconds", "60", lambda s: s.engine.stale_after, timedelta(minutes=1)),
        ("message_help", "ask us", lambda s: s.engine.help, "ask us"),
        ("server_version", "v1.36.3", lambda s: s.sources.server, Server(version=(1, 36))),
        ("feature_gates", "DRADeviceTaints=false", lambda s: s.sources.server, Server(gates={"DRADeviceTaints": False})),
        ("self_signed", "localhost,127.0.0.1", lambda s: s.certificate.self_signed, ("localhost", "127.0.0.1")),
        ("poll_seconds", "0.5s", lambda s: s.sources.poll_seconds, 0.5),
        ("max_in_flight", "7", lambda s: s.http.max_in_flight, 7),
        ("max_bodies_mib", "8", lambda s: s.http.max_bodies_bytes, 8 * 1024 * 1024),
        ("decision_log", "none", lambda s: s.log.decisions, ""),
        ("decision_log", "d.log", lambda s: s.log.decisions, "d.log"),
        ("log_format", "text", lambda s: s.log.style, "text"),
        ("dns_names", "a.example.com, 10.0.0.1", lambda s: s.certificate.names, ("a.example.com", "10.0.0.1")),
        ("service", "fallgate", lambda s: s.certificate.service, "fallgate"),
        ("not_ready_before_expiry_seconds", "60", lambda s: s.certificate.not_ready_before_seconds, 60.0),
        ("metrics_listen", "127.0.0.1:8080", lambda s: s.http.metrics, ("127.0.0.1", 8080)),
        ("metrics_listen", "", lambda s: s.http.metrics, None),
        ("workers", "2", lambda s: s.life.workers, 2),
        ("drain_seconds", "0", lambda s: s.life.drain_seconds, 0.0),
        ("stop_seconds", "3", lambda s: s.life.stop_seconds, 3),
    ],
)
def test_option(option: str, written: OptionValue, read: Any, value: object) -> None:
    assert read(settings(**{option: written})) == value


def test_environment() -> None:
    assert settings({"FALLGATE_DRAIN_SECONDS": "3"}).life.drain_seconds == 3
    assert settings({"FALLGATE_AUDIT_ONLY": "true"}).engine.cap == "audit"


def test_command_line_wins() -> None:
    assert settings({"FALLGATE_DRAIN_SECONDS": "3"}, drain_seconds="4").life.drain_seconds == 4
    assert settings({"FALLGATE_DRAIN_SECONDS": "3"}, drain_seconds=None).life.drain_seconds == 3
    assert settings({"FALLGATE_AUDIT_ONLY": "true"}, audit_only=False).engine.cap == "audit"


def test_what_kubernetes_sets_for_a_service_named_fallgate_means_nothing() -> None:
    service = {"FALLGATE_PORT": "tcp://10.0.0.1:443", "FALLGATE_SERVICE_HOST": "10.0.0.1", "FALLGATE_SERVICE_PORT": "443"}
    assert settings(service) == settings()
    assert not service.keys() & {option.variable for option in OPTIONS}


@pytest.mark.parametrize(
    ("option", "written", "said"),
    [
        ("listen", "8443", "--listen: '8443' is not HOST:PORT, for instance 0.0.0.0:8443 or [::]:8443"),
        ("listen", "a:99999", "--listen: 'a:99999' is not HOST:PORT, for instance 0.0.0.0:8443 or [::]:8443"),
        ("stance", "maybe", "--stance: 'maybe' is not one of allow, deny"),
        ("drain_seconds", "soon", "--drain-seconds: 'soon' is not a number of seconds"),
        ("drain_seconds", "-1", "--drain-seconds: '-1' is not a number of seconds"),
        ("drain_seconds", "nan", "--drain-seconds: 'nan' is not a number of seconds"),
        ("poll_seconds", "0", "--poll-seconds: '0' is too often; 0.05 seconds is the least"),
        ("max_in_flight", "0", "--max-in-flight: '0' is not a whole number above 0"),
        ("max_in_flight", "1.5", "--max-in-flight: '1.5' is not a whole number above 0"),
        (
            "max_bodies_mib",
            "7",
            "--max-bodies-mib: '7' is not a whole number of MiB from 8 up: a single body may have 8 MiB",
        ),
        (
            "max_bodies_mib",
            "lots",
            "--max-bodies-mib: 'lots' is not a whole number of MiB from 8 up: a single body may have 8 MiB",
        ),
        ("server_version", "new", "--server-version: 'new' is no Kubernetes version; write it as 1.36"),
        ("feature_gates", "A=on", "--feature-gates: 'A=on' is not GATE=true or GATE=false"),
        ("audit_only", "perhaps", "--audit-only: 'perhaps' is neither true nor false"),
        ("policies", "", "--policies: the path is empty"),
        ("workers", "0", "--workers: '0' is not a whole number above 0"),
        ("metrics_listen", "8080", "--metrics-listen: '8080' is not HOST:PORT, for instance 0.0.0.0:8443 or [::]:8443"),
        (
            "certs",
            "",
            "neither --certs DIR nor --certs-secret NAME is given: say where the certificate lies, in a folder with tls.crt "
            "and tls.key or in a Secret that Fallgate keeps itself",
        ),
        (
            "certs_secret",
            "s",
            "--certs and --certs-secret exclude each other: the certificate lies in a folder or in a Secret\n"
            "--certs-secret needs --service and --webhook-configurations: the certificate is issued for the Service, and its "
            "authority has to be in caBundle of the webhook configurations",
        ),
        (
            "client_names",
            "kube-apiserver",
            "--client-ca and --client-names need each other: the authority says who vouches for a client, the names which "
            "client it must be, for instance the API server and not every kubelet",
        ),
        ("fleets", "x", "--fleets: there is no such option"),
    ],
)
def test_mistake(option: str, written: str, said: str) -> None:
    assert complaint(**{option: written}) == said


def test_mistake_in_the_environment_names_the_variable() -> None:
    assert complaint({"FALLGATE_STANCE": "x"}) == "FALLGATE_STANCE: 'x' is not one of allow, deny"


def test_all_mistakes_at_once() -> None:
    with pytest.raises(InputError) as refused:
        Settings.from_sources({"stance": "x"}, {})
    assert str(refused.value).splitlines() == [
        "--policies DIR is missing: folder of policy files",
        "--stance: 'x' is not one of allow, deny",
    ]


def test_certificate_in_a_secret() -> None:
    found = settings(certs="", certs_secret="s", service="f", webhook_configurations="w", namespace="n").certificate
    assert (found.folder, found.secret, found.service, found.configurations) == (None, "s", "f", "w")
    assert (found.settle_seconds, found.kube.namespace) == (60.0, "n")
    said = complaint(certs="", certs_secret="s", service="f", webhook_configurations="w", self_signed="a")
    assert said == "--self-signed is for --certs DIR: what is in --certs-secret is issued anyway, for --service"


def test_clients_are_verified_by_authority_and_name() -> None:
    found = settings(client_ca="ca.crt", client_names="kube-apiserver,proxy")
    assert (found.certificate.client_ca, found.http.client_names) == (Path("ca.crt"), ("kube-apiserver", "proxy"))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"cluster": "true", "fleet": "f"},
            "--fleet and --cluster exclude each other: the facts come from a folder or from the API server",
        ),
        ({}, "neither --fleet DIR nor --cluster is given: say where the facts about the cluster come from"),
        (
            {"cluster": "true", "stale-after-seconds": "60"},
            "--stale-after-seconds 60 is too little with --cluster: a quiet watch is heard of about once a minute; "
            "120 is the least",
        ),
        (
            {"cluster": "true", "features": "pods,nodes"},
            "--features: 'nodes' is no feature; known are pods, quotas, owners, taint-rules, queues, or all",
        ),
    ],
)
def test_mistakes_about_where_the_facts_come_from(options: dict[str, str], said: str) -> None:
    with pytest.raises(InputError) as refused:
        Settings.from_sources({"policies": "p", "certs": "c", **options}, {})
    assert str(refused.value) == said


def test_a_cluster_to_read() -> None:
    given = {"policies": "p", "certs": "c", "cluster": "true", "features": "pods,owners", "feature-gates": "A=true"}
    sources = Settings.from_sources(given, {"FALLGATE_NAMESPACE": "guard", "FALLGATE_CAP_CONFIGMAP": ""}).sources
    assert sources.fleet is None
    assert sources.cluster == KubeSettings(
        namespace="guard", cap_configmap="", features=frozenset({"pods", "owners"}), gates={"A": True}
    )
    assert Settings.from_sources({"policies": "p", "certs": "c", "fleet": "f"}, {}).sources.cluster is None


def test_flags_are_known_to_be_flags() -> None:
    assert [option.name for option in OPTIONS if option.is_flag] == ["cluster", "audit-only"]


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_every_default_can_be_read(option: Any) -> None:
    assert option.default is None or option.read(option.default) is not NotImplemented
    assert option.help
