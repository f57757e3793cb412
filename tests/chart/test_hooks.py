"""The webhook configurations keep what Fallgate promises never to do, whatever the values are."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tests.chart.helms import NAMESPACE, Helm, objects
from tests.chart.rendered import MUTATING, VALIDATING, Rendered, every, rendered, selects
from webhook.model.workload_kinds import BUILT_IN_WORKLOADS, PRESET_WORKLOADS

everywhere = pytest.mark.parametrize("chart", every(), ids=str)

#: What selectors on namespaces do not hold back. (Namespaces themselves are selected by their own labels.)
CLUSTER_SCOPED = {"deviceclasses", "devicetaintrules"}
SPEC_CHANGES = 'request.operation == "CREATE" || object.spec != oldObject.spec'
NOT_OF_THE_SCHEDULER = (
    '!(request.userInfo.username in ["system:kube-scheduler"] && has(object.metadata.annotations) && '
    '"resource.kubernetes.io/extended-resource-claim" in object.metadata.annotations && '
    'object.metadata.annotations["resource.kubernetes.io/extended-resource-claim"] == "true")'
)
ASKS = 'c, has(c.resources) && has(c.resources.limits) && c.resources.limits.exists(k, k.contains("/"))'
POD_ASKS = (
    "(has(object.spec.resourceClaims) && size(object.spec.resourceClaims) > 0) || "
    f"object.spec.containers.exists({ASKS}) || "
    f"(has(object.spec.initContainers) && object.spec.initContainers.exists({ASKS}))"
)


def conditions(hook: dict[str, Any]) -> dict[str, str]:
    """The matchConditions of an entry, each on one line."""
    return {item["name"]: " ".join(item["expression"].split()) for item in hook["matchConditions"]}


def resources(hook: dict[str, Any]) -> set[str]:
    """What an entry is asked about."""
    return {resource for rule in hook["rules"] for resource in rule["resources"]}


def test_what_is_hooked() -> None:
    hooked = {hook["name"]: (hook["failurePolicy"], *sorted(resources(hook))) for _, hook in rendered("production").hooks}
    assert hooked == {
        "claims.mutate.fallgate.dev": ("Ignore", "resourceclaims", "resourceclaimtemplates"),
        "pods.mutate.fallgate.dev": ("Ignore", "pods"),
        "claims.enforced.fallgate.dev": ("Fail", "resourceclaims", "resourceclaimtemplates"),
        "pods.enforced.fallgate.dev": ("Fail", "pods"),
        "claims.validate.fallgate.dev": ("Ignore", "resourceclaims", "resourceclaimtemplates"),
        "pods.validate.fallgate.dev": ("Ignore", "pods"),
        "workloads.validate.fallgate.dev": (
            "Ignore",
            "cronjobs",
            "daemonsets",
            "deployments",
            "jobs",
            "replicasets",
            "statefulsets",
        ),
        "custom-workloads.validate.fallgate.dev": ("Ignore", "gangs", "jobsets"),
        "namespaces.validate.fallgate.dev": ("Ignore", "namespaces"),
        "cluster.validate.fallgate.dev": ("Ignore", "deviceclasses", "devicetaintrules"),
    }


def test_claims_and_templates_are_always_hooked() -> None:
    """Templates for the restore: without it a manifest could not be applied again."""
    hooked = {hook["name"]: resources(hook) for _, hook in rendered("least").hooks}
    assert hooked == {
        f"claims.{where}.fallgate.dev": {"resourceclaims", "resourceclaimtemplates"}
        for where in ("mutate", "enforced", "validate")
    }


@everywhere
def test_what_all_entries_have_in_common(chart: Rendered) -> None:
    names = [hook["name"] for _, hook in chart.hooks]
    assert names == sorted(set(names), key=names.index)
    for kind, hook in chart.hooks:
        assert hook["sideEffects"] == "NoneOnDryRun"
        assert hook["matchPolicy"] == "Equivalent"
        assert hook["admissionReviewVersions"] == ["v1"]
        assert hook["timeoutSeconds"] == (2 if kind == MUTATING else 3)
        assert hook.get("reinvocationPolicy") == ("IfNeeded" if kind == MUTATING else None)
        assert "objectSelector" not in hook  # users could label their way around it
        assert all(rule["scope"] == _scope(rule["resources"]) for rule in hook["rules"])


def _scope(names: list[str]) -> str:
    return "Cluster" if set(names) <= CLUSTER_SCOPED | {"namespaces"} else "Namespaced"


@everywhere
def test_never_what_the_scheduler_makes(chart: Rendered) -> None:
    """A dead webhook must not stop binding; anybody can write the annotation, so both are asked."""
    hooks = chart.hooks_on("resourceclaims")
    assert len(hooks) == 3
    for hook in hooks:
        expression = conditions(hook)["not-of-the-scheduler"]
        if chart.name == "production":
            expression = expression.replace(',"system:serviceaccount:batch:other-scheduler"]', "]")
        assert expression == NOT_OF_THE_SCHEDULER


def test_the_program_knows_the_same_schedulers() -> None:
    assert (
        rendered("production").arguments["scheduler-users"]
        == "system:kube-scheduler,system:serviceaccount:batch:other-scheduler"
    )
    assert rendered("default").arguments["scheduler-users"] == "system:kube-scheduler"


@everywhere
def test_never_finalizers_status_metadata_deletion(chart: Rendered) -> None:
    for _, hook in chart.hooks:
        operations = {operation for rule in hook["rules"] for operation in rule["operations"]}
        assert not [name for name in resources(hook) if "/" in name or "*" in name]  # a subresource, or all of them
        if resources(hook) == {"pods"}:
            assert operations == {"CREATE"}
            assert conditions(hook) == {"asks-for-devices": POD_ASKS}
        else:
            assert operations == {"CREATE", "UPDATE"}
            assert _asked_about_changes_only(hook)


def _asked_about_changes_only(hook: dict[str, Any]) -> bool:
    said = conditions(hook)
    if resources(hook) == {"namespaces"}:
        return "label-of-ours-changes" in said
    if hook["name"] == "workloads.validate.fallgate.dev":
        return said["created-or-template-changed"] == (
            'request.operation == "CREATE" || (request.kind.kind == "CronJob" ? '
            "object.spec.jobTemplate != oldObject.spec.jobTemplate : object.spec.template != oldObject.spec.template)"
        )
    return said["created-or-spec-changed"] == SPEC_CHANGES


@everywhere
def test_never_kube_system_our_own_namespace_or_excluded_ones(chart: Rendered) -> None:
    excluded = {"kube-system", NAMESPACE, *chart.values.get("excludeNamespaces", [])}
    for _, hook in chart.hooks:
        if resources(hook) <= CLUSTER_SCOPED:
            continue
        for mode in ({}, {"fallgate.dev/mode": "enforce"}, {"fallgate.dev/mode": "audit"}):
            assert [name for name in excluded if selects(hook, {"kubernetes.io/metadata.name": name, **mode})] == []
    if chart.all("Deployment"):
        assert set(chart.arguments["exclude-namespaces"].split(",")) == excluded


MODES: tuple[dict[str, str], ...] = (
    {},
    *({"fallgate.dev/mode": mode} for mode in ("enforce", "warn", "audit", "off", "Enforce")),
)


@everywhere
@pytest.mark.parametrize("labels", MODES, ids=lambda labels: labels.get("fallgate.dev/mode", "none"))
@pytest.mark.parametrize("resource", ["resourceclaims", "resourceclaimtemplates", "pods"])
def test_every_namespace_is_in_one_of_the_two_halves(chart: Rendered, labels: dict[str, str], resource: str) -> None:
    halves = [
        hook
        for kind, hook in chart.hooks
        if kind == VALIDATING and resource in resources(hook) and selects(hook, {"kubernetes.io/metadata.name": "a", **labels})
    ]
    assert len(halves) == (1 if chart.hooks_on(resource) else 0)


@pytest.mark.parametrize(
    ("name", "labels", "fails"),
    [
        ("default", {}, False),
        ("default", {"fallgate.dev/mode": "enforce"}, False),  # capped at audit: nothing is enforced anywhere
        ("cert-manager", {"fallgate.dev/mode": "enforce"}, False),  # capped at warn
        ("outside", {}, False),
        ("outside", {"fallgate.dev/mode": "enforce"}, True),
        ("outside", {"fallgate.dev/mode": "audit"}, False),
        ("outside", {"fallgate.dev/mode": "Enforce"}, False),  # counts for nothing, as in the program
        ("production", {}, True),
        ("production", {"fallgate.dev/mode": "enforce"}, True),
        ("production", {"fallgate.dev/mode": "Enforce"}, True),
        ("production", {"fallgate.dev/mode": "warn"}, False),
        ("production", {"fallgate.dev/mode": "audit"}, False),
        ("production", {"fallgate.dev/mode": "off"}, False),
    ],
)
def test_only_where_enforced_does_a_dead_webhook_stop_anything(name: str, labels: dict[str, str], fails: bool) -> None:
    chart = rendered(name)
    failing = {
        resource
        for _, hook in chart.hooks
        if hook["failurePolicy"] == "Fail" and selects(hook, {"kubernetes.io/metadata.name": "a", **labels})
        for resource in resources(hook)
    }
    assert failing == ({"resourceclaims", "resourceclaimtemplates", "pods"} if fails else set())


@everywhere
def test_what_advises_or_is_of_the_whole_cluster_never_stops_anything(chart: Rendered) -> None:
    """Selectors on namespaces always let objects of the whole cluster through."""
    for kind, hook in chart.hooks:
        if kind == MUTATING or not resources(hook) <= {"resourceclaims", "resourceclaimtemplates", "pods"}:
            assert hook["failurePolicy"] == "Ignore"
        if resources(hook) & CLUSTER_SCOPED:
            assert resources(hook) <= CLUSTER_SCOPED


def test_conditions_do_not_depend_on_policies() -> None:
    """Policies change without the configurations: what is asked must not depend on them."""
    said: dict[str, set[tuple[tuple[str, str], ...]]] = {}
    for chart in every():
        for _, hook in chart.hooks:
            expressions = {key: text for key, text in conditions(hook).items() if key != "not-of-the-scheduler"}
            said.setdefault(hook["name"], set()).add(tuple(expressions.items()))
    assert {name: len(texts) for name, texts in said.items() if len(texts) > 1} == {}


@pytest.mark.parametrize(
    ("kubernetes", "claims", "taint_rules"),
    [
        ("1.33.13", ["v1", "v1beta2", "v1beta1"], ["v1", "v1beta2", "v1alpha3"]),
        ("1.34.4", ["v1"], ["v1", "v1beta2", "v1alpha3"]),
        ("1.36.3", ["v1"], ["v1", "v1beta2", "v1alpha3"]),
        ("1.37.2", ["v1"], ["v1"]),
        ("1.38.0", ["v1"], ["v1"]),
        ("1.34.1-gke.100", ["v1"], ["v1", "v1beta2", "v1alpha3"]),
    ],
)
def test_versions_follow_the_cluster(any_helm: Helm, kubernetes: str, claims: list[str], taint_rules: list[str]) -> None:
    made = Rendered("", {}, objects(any_helm.template({}, kubernetes=kubernetes)))
    versions = {
        resource: rule["apiVersions"] for _, hook in made.hooks for rule in hook["rules"] for resource in rule["resources"]
    }
    assert (versions["resourceclaims"], versions["deviceclasses"], versions["devicetaintrules"]) == (
        claims,
        claims,
        taint_rules,
    )


def test_every_controller_that_fallgate_knows_is_hooked() -> None:
    """Plural names are the kind's in lower case with an s."""
    hooked = {
        (rule["apiGroups"][0], resource)
        for hook in rendered("default").one(VALIDATING)["webhooks"]
        if "workloads" in hook["name"]
        for rule in hook["rules"]
        for resource in rule["resources"]
    }
    assert hooked == {(kind.group, f"{kind.kind.lower()}s") for kind in (*BUILT_IN_WORKLOADS, *PRESET_WORKLOADS)}


# Where the API server finds Fallgate.


def test_the_service_is_asked() -> None:
    chart = rendered("default")
    service = chart.one("Service")
    (port,) = [item for item in service["spec"]["ports"] if item["port"] == 443]
    assert port["targetPort"] == "https"
    for kind, hook in chart.hooks:
        path = "/mutate" if kind == MUTATING else "/validate"
        expected = {"name": service["metadata"]["name"], "namespace": NAMESPACE, "path": path, "port": 443}
        assert hook["clientConfig"] == {"service": expected}


def test_a_url_is_asked_instead() -> None:
    configs = {(kind, str(hook["clientConfig"]["url"])) for kind, hook in rendered("outside").hooks}
    base = "https://fallgate.example.com:8443/prefix"
    assert configs == {(MUTATING, f"{base}/mutate"), (VALIDATING, f"{base}/validate")}
    assert not [hook for _, hook in rendered("outside").hooks if "service" in hook["clientConfig"]]


def test_the_host_of_the_url_is_in_the_certificate() -> None:
    assert rendered("least").arguments["dns-names"] == "2001:db8::1"
    assert rendered("cert-manager").one("Certificate")["spec"]["dnsNames"] == [
        "fallgate.fallgate-system.svc",
        "fallgate.fallgate-system.svc.cluster.local",
        "fallgate.example.com",
    ]


@pytest.mark.parametrize(
    ("url", "names", "addresses"),
    [
        ("https://fallgate.example.com:8443", ["fallgate.example.com"], None),
        ("https://10.0.0.7/prefix", [], ["10.0.0.7"]),
        ("https://[2001:db8::1]:8443", [], ["2001:db8::1"]),
    ],
)
def test_cert_manager_is_told_names_and_addresses_apart(
    any_helm: Helm, url: str, names: list[str], addresses: list[str] | None
) -> None:
    values = {"certificates": {"mode": "cert-manager", "issuer": {"name": "a"}}, "webhook": {"url": url}}
    spec = Rendered("", values, objects(any_helm.template(values))).one("Certificate")["spec"]
    assert spec["dnsNames"][2:] == names
    assert spec.get("ipAddresses") == addresses


def test_where_the_trust_comes_from() -> None:
    """Ours is filled in by Fallgate, cert-manager's by cert-manager; only the organisation's own is rendered."""
    bundles = {
        name: {hook["clientConfig"].get("caBundle") for _, hook in rendered(name).hooks} for name in ("default", "cert-manager")
    }
    assert bundles == {"default": {None}, "cert-manager": {None}}
    (bundle,) = {hook["clientConfig"]["caBundle"] for _, hook in rendered("outside").hooks}
    assert bundle == "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCmJtOTBJR0VnY21WaGJDQnZibVU9Ci0tLS0tRU5EIENFUlRJRklDQVRFLS0tLS0K"
    for kind, chart in itertools.product((MUTATING, VALIDATING), every()):
        injected = chart.one(kind)["metadata"].get("annotations", {}).get("cert-manager.io/inject-ca-from")
        assert injected == (f"{NAMESPACE}/fallgate" if chart.name == "cert-manager" else None)
