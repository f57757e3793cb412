"""The pods and what stands around them: restricted, spread, limited, reachable by those who must reach them."""

from __future__ import annotations

import pytest

from tests.chart.rendered import Rendered, every, rendered
from webhook.settings import OPTIONS

running = pytest.mark.parametrize("chart", [chart for chart in every() if chart.all("Deployment")], ids=str)


@running
def test_the_pods_are_restricted(chart: Rendered) -> None:
    """Pod Security Standards, restricted, and a root file system that nobody writes."""
    pod = chart.one("Deployment")["spec"]["template"]["spec"]
    mounts_keys = any("secret" in volume for volume in pod["volumes"])
    assert pod["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": 65532,
        "runAsGroup": 65532,
        **({"fsGroup": 65532} if mounts_keys else {}),
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    (container,) = pod["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert not {"hostNetwork", "hostPID", "hostIPC", "initContainers"} & set(pod)
    assert {key for volume in pod["volumes"] for key in volume if key != "name"} <= {"configMap", "secret", "emptyDir"}
    assert not [port for port in container["ports"] if "hostPort" in port]


@running
def test_nothing_can_be_written(chart: Rendered) -> None:
    """But for the lock that several processes of one pod need."""
    pod = chart.one("Deployment")["spec"]["template"]["spec"]
    several = chart.arguments.get("workers", "1") != "1"
    writable = [mount["name"] for mount in pod["containers"][0]["volumeMounts"] if not mount.get("readOnly")]
    assert writable == (["tmp"] if several else [])
    empty = [volume["emptyDir"] for volume in pod["volumes"] if "emptyDir" in volume]
    assert empty == ([{"medium": "Memory", "sizeLimit": "1Mi"}] if several else [])


@running
def test_every_mount_has_its_volume(chart: Rendered) -> None:
    pod = chart.one("Deployment")["spec"]["template"]["spec"]
    assert {mount["name"] for mount in pod["containers"][0]["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}


@running
def test_the_program_knows_its_options(chart: Rendered) -> None:
    known = {option.name: option for option in OPTIONS}
    assert set(chart.arguments) <= set(known)
    for name, written in chart.arguments.items():
        if not known[name].is_flag:
            known[name].read(written)


@running
def test_no_secret_is_among_the_arguments_or_in_the_environment(chart: Rendered) -> None:
    (container,) = chart.one("Deployment")["spec"]["template"]["spec"]["containers"]
    assert "env" not in container
    assert "envFrom" not in container


def test_audit_is_where_a_fresh_install_begins() -> None:
    assert "audit-only" in rendered("default").arguments
    assert "audit-only" not in rendered("production").arguments


@running
def test_a_rollout_or_a_drain_leaves_somebody_to_answer(chart: Rendered) -> None:
    spec = chart.one("Deployment")["spec"]
    assert spec["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}
    budget = chart.one("PodDisruptionBudget")["spec"]
    assert budget["maxUnavailable"] == 1
    assert budget["unhealthyPodEvictionPolicy"] == "AlwaysAllow"
    options = {
        option.name: float(option.default or 0) for option in OPTIONS if option.name in ("drain-seconds", "stop-seconds")
    }
    assert spec["template"]["spec"]["terminationGracePeriodSeconds"] > sum(options.values())
    spread = {item["topologyKey"]: item["whenUnsatisfiable"] for item in spec["template"]["spec"]["topologySpreadConstraints"]}
    assert spread == {"kubernetes.io/hostname": "DoNotSchedule", "topology.kubernetes.io/zone": "ScheduleAnyway"}


@running
def test_everything_selects_the_pods_and_nothing_else(chart: Rendered) -> None:
    selected = {"app.kubernetes.io/name": "fallgate", "app.kubernetes.io/instance": "fallgate"}
    deployment = chart.one("Deployment")["spec"]
    assert deployment["selector"]["matchLabels"] == selected
    assert selected.items() <= deployment["template"]["metadata"]["labels"].items()
    assert chart.one("PodDisruptionBudget")["spec"]["selector"]["matchLabels"] == selected
    assert chart.one("Service")["spec"]["selector"] == selected
    for item in chart.all("NetworkPolicy"):
        assert item["spec"]["podSelector"]["matchLabels"] == selected
    for constraint in deployment["template"]["spec"]["topologySpreadConstraints"]:
        assert constraint["labelSelector"]["matchLabels"] == selected


def test_priority() -> None:
    assert rendered("default").one("PriorityClass")["value"] == 1_000_000  # above pods without one only
    names = {
        chart.name: chart.one("Deployment")["spec"]["template"]["spec"].get("priorityClassName")
        for chart in every()
        if chart.all("Deployment")
    }
    assert names == {"default": "fallgate", "cert-manager": "fallgate", "production": "system-cluster-critical", "least": None}
    assert rendered("production").all("PriorityClass") == rendered("least").all("PriorityClass") == []


@running
def test_resources_are_asked_for(chart: Rendered) -> None:
    (container,) = chart.one("Deployment")["spec"]["template"]["spec"]["containers"]
    assert set(container["resources"]["requests"]) == {"cpu", "memory"}
    assert set(container["resources"]["limits"]) == {"memory", "ephemeral-storage"}  # a throttled webhook is a slow API server


@running
def test_probes_ask_what_the_program_answers(chart: Rendered) -> None:
    (container,) = chart.one("Deployment")["spec"]["template"]["spec"]["containers"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert ports == {"https": 8443, "http": 8080}
    asked = {probe: container[probe]["httpGet"] for probe in ("startupProbe", "livenessProbe", "readinessProbe")}
    assert {probe: (get["path"], get["port"]) for probe, get in asked.items()} == {
        "startupProbe": ("/livez", "http"),
        "livenessProbe": ("/livez", "http"),
        "readinessProbe": ("/readyz", "http"),
    }
    assert chart.arguments["listen"].endswith(":8443")
    assert chart.arguments["metrics-listen"].endswith(":8080")


def test_the_network() -> None:
    monitoring = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}
    default = rendered("default").one("NetworkPolicy")["spec"]
    assert default["policyTypes"] == ["Ingress", "Egress"]
    assert default["ingress"] == [
        {"ports": [{"port": "https", "protocol": "TCP"}]},
        {"ports": [{"port": "http", "protocol": "TCP"}], "from": [monitoring]},
    ]
    assert default["egress"] == [{"ports": [{"port": port, "protocol": "TCP"} for port in (443, 6443, 8443, 16443)]}]
    narrow = rendered("production").one("NetworkPolicy")["spec"]
    here = [{"ipBlock": {"cidr": "10.0.0.1/32"}}]
    assert narrow["ingress"] == [
        {"ports": [{"port": "https", "protocol": "TCP"}], "from": here},
        {"ports": [{"port": "http", "protocol": "TCP"}], "from": [monitoring]},
    ]
    assert narrow["egress"] == [{"ports": [{"port": 6443, "protocol": "TCP"}], "to": here}]


def test_outside_the_cluster_nothing_runs_in_it() -> None:
    kinds = {item["kind"] for item in rendered("outside").objects}
    assert kinds == {
        "ServiceAccount",
        "ClusterRole",
        "ClusterRoleBinding",
        "Role",
        "RoleBinding",
        "ConfigMap",
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
    }


def test_what_needs_an_operator_is_off_by_default() -> None:
    kinds = {item["apiVersion"] for item in rendered("default").objects}
    assert not {version for version in kinds if "monitoring.coreos.com" in version or "cert-manager.io" in version}
    assert [item["metadata"]["name"] for item in rendered("default").all("ConfigMap")] == ["fallgate-policies"]
    assert rendered("production").one("ServiceMonitor")["spec"]["endpoints"] == [
        {"port": "metrics", "path": "/metrics", "interval": "30s"}
    ]
    assert "metrics" in [port["name"] for port in rendered("production").one("Service")["spec"]["ports"]]


@pytest.mark.parametrize("chart", every(), ids=str)
def test_everything_is_labelled_and_in_its_place(chart: Rendered) -> None:
    of_the_cluster = {
        "ClusterRole",
        "ClusterRoleBinding",
        "MutatingWebhookConfiguration",
        "PriorityClass",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "ValidatingWebhookConfiguration",
    }
    for item in chart.objects:
        meta = item["metadata"]
        assert meta["labels"]["app.kubernetes.io/instance"] == "fallgate"
        assert meta["name"].startswith("fallgate")
        assert meta.get("namespace") == (None if item["kind"] in of_the_cluster else "fallgate-system")
        if chart.name == "production":
            assert meta["labels"]["example.com/owner"] == "platform"
