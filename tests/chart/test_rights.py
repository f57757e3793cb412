"""What Fallgate may do in the cluster: read what its features need, and write its own certificate."""

from __future__ import annotations

from typing import Any

import pytest

from tests.chart.helms import NAMESPACE, Helm, objects
from tests.chart.rendered import Rendered, every, rendered
from webhook.kube.kinds import FEATURES, kinds_read

everywhere = pytest.mark.parametrize("chart", every(), ids=str)
#: feature of the program -> value of the chart.
VALUES = {"pods": "pods", "quotas": "quotas", "owners": "owners", "taint-rules": "taintRules", "queues": "queues"}


def granted(chart: Rendered, kind: str) -> dict[tuple[str, str, str], set[str]]:
    """(group, resource, name or "") -> verbs."""
    found: dict[tuple[str, str, str], set[str]] = {}
    for rule in chart.one(kind)["rules"]:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                for name in rule.get("resourceNames", [""]):
                    found.setdefault((group, resource, name), set()).update(rule["verbs"])
    return found


@everywhere
def test_nothing_is_granted_that_a_reviewer_would_strike_out(chart: Rendered) -> None:
    for kind in ("ClusterRole", "Role"):
        for (group, resource, name), verbs in granted(chart, kind).items():
            assert "*" not in {group, resource} | verbs
            assert verbs <= {"get", "list", "watch", "update"}
            assert "update" not in verbs or name  # writes go to one named object only
            assert resource not in ("secrets", "configmaps") or name


def test_what_is_read_of_the_cluster() -> None:
    watched = {"list", "watch"}
    fetched = {"get", *watched}
    assert granted(rendered("default"), "ClusterRole") == {
        ("resource.k8s.io", "resourceslices", ""): watched,
        ("resource.k8s.io", "deviceclasses", ""): fetched,
        ("resource.k8s.io", "resourceclaims", ""): fetched,
        ("resource.k8s.io", "resourceclaimtemplates", ""): fetched,
        ("resource.k8s.io", "devicetaintrules", ""): watched,
        ("", "nodes", ""): watched,
        ("", "namespaces", ""): fetched,
        ("", "pods", ""): fetched,
        ("", "resourcequotas", ""): watched,
        ("kueue.x-k8s.io", "localqueues", ""): watched,
        **{("apps", name, ""): fetched for name in ("deployments", "statefulsets", "replicasets", "daemonsets")},
        **{("batch", name, ""): fetched for name in ("jobs", "cronjobs")},
        ("jobset.x-k8s.io", "jobsets", ""): fetched,
        ("leaderworkerset.x-k8s.io", "leaderworkersets", ""): fetched,
        **{("kubeflow.org", name, ""): fetched for name in ("pytorchjobs", "tfjobs", "mpijobs")},
        **{("ray.io", name, ""): fetched for name in ("rayclusters", "rayjobs", "rayservices")},
        ("admissionregistration.k8s.io", "mutatingwebhookconfigurations", "fallgate"): {"get", "update"},
        ("admissionregistration.k8s.io", "validatingwebhookconfigurations", "fallgate"): {"get", "update"},
    }


def test_what_is_read_and_written_in_our_own_namespace() -> None:
    assert granted(rendered("default"), "Role") == {
        ("", "configmaps", "fallgate-cap"): {"list", "watch"},
        ("", "secrets", "fallgate-certs"): {"get", "update"},
        ("coordination.k8s.io", "leases", "fallgate-certs"): {"get", "update"},
    }
    assert {item["metadata"]["namespace"] for item in rendered("default").all("Role")} == {NAMESPACE}


def test_what_is_written_comes_with_the_release() -> None:
    """So that no right to create is needed, and nothing is left when the release goes."""
    chart = rendered("default")
    assert [item["metadata"]["name"] for kind in ("Secret", "Lease") for item in chart.all(kind)] == ["fallgate-certs"] * 2
    assert not {"data", "stringData"} & set(chart.one("Secret"))
    assert "spec" not in chart.one("Lease")


@pytest.mark.parametrize("name", ["cert-manager", "outside"])
def test_who_keeps_no_certificates_writes_nothing(name: str) -> None:
    written = [
        key for kind in ("ClusterRole", "Role") for key, verbs in granted(rendered(name), kind).items() if "update" in verbs
    ]
    assert written == []
    assert rendered(name).all("Secret") == []


def test_without_any_feature_and_without_a_cap() -> None:
    assert set(granted(rendered("least"), "ClusterRole")) == {
        ("resource.k8s.io", "resourceslices", ""),
        ("resource.k8s.io", "deviceclasses", ""),
        ("resource.k8s.io", "resourceclaims", ""),
        ("resource.k8s.io", "resourceclaimtemplates", ""),
        ("", "nodes", ""),
        ("", "namespaces", ""),
        ("admissionregistration.k8s.io", "mutatingwebhookconfigurations", "fallgate"),
        ("admissionregistration.k8s.io", "validatingwebhookconfigurations", "fallgate"),
    }
    assert ("", "configmaps", "fallgate-cap") not in granted(rendered("least"), "Role")


def test_without_anything_to_read_or_write_there_is_no_role(any_helm: Helm) -> None:
    values = {**rendered("outside").values, "capConfigMap": ""}
    made = Rendered("", values, objects(any_helm.template(values)))
    assert made.all("Role") == made.all("RoleBinding") == []
    assert made.one("ClusterRoleBinding")["roleRef"]["name"] == "fallgate"


def test_every_feature_of_the_program_can_be_switched_off() -> None:
    assert set(VALUES) == set(FEATURES)
    assert rendered("least").arguments["features"] == ""
    assert set(rendered("default").arguments["features"].split(",")) == set(FEATURES)


@pytest.mark.parametrize("feature", VALUES)
def test_what_is_granted_is_what_the_program_reads(any_helm: Helm, feature: str) -> None:
    """With one feature off, exactly its kinds are neither read nor granted."""
    values: dict[str, Any] = {"features": {VALUES[feature]: False}}
    chart = Rendered("", values, objects(any_helm.template(values)))
    read = {(kind.group, _plural(kind.kind)) for kind in kinds_read(set(FEATURES) - {feature})}
    assert {key[:2] for key, verbs in granted(chart, "ClusterRole").items() if "watch" in verbs} == read
    assert set(chart.arguments["features"].split(",")) == set(FEATURES) - {feature}


def _plural(kind: str) -> str:
    return f"{kind.lower()}es" if kind.endswith("s") else f"{kind.lower()}s"


@everywhere
def test_the_rights_go_to_our_own_account(chart: Rendered) -> None:
    account = chart.values.get("serviceAccount", {}).get("name", "fallgate")
    for kind in ("ClusterRoleBinding", "RoleBinding"):
        binding = chart.one(kind)
        assert binding["subjects"] == [{"kind": "ServiceAccount", "name": account, "namespace": NAMESPACE}]
        assert binding["roleRef"]["name"] == "fallgate"
        assert binding["roleRef"]["kind"] == kind.removesuffix("Binding")
    for item in chart.all("ServiceAccount"):
        assert item["automountServiceAccountToken"] is False


def test_the_guard_is_about_the_account_that_has_the_rights() -> None:
    """What it lets through is shown on an API server, in tests/cluster/test_guard.py."""
    chart = rendered("production")
    spec = chart.one("ValidatingAdmissionPolicy")["spec"]
    account = chart.one("ServiceAccount")["metadata"]
    (condition,) = spec["matchConditions"]
    assert condition["expression"] == f'request.userInfo.username == "system:serviceaccount:{NAMESPACE}:{account["name"]}"'
    assert spec["failurePolicy"] == "Fail"
    assert chart.one("ValidatingAdmissionPolicyBinding")["spec"] == {
        "policyName": chart.one("ValidatingAdmissionPolicy")["metadata"]["name"],
        "validationActions": ["Deny"],
    }
    assert rendered("default").all("ValidatingAdmissionPolicy") == []
