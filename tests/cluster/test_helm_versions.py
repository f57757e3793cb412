"""A release of its own by Helm 3 and by Helm 4: upgrades keep what Fallgate has written, an uninstall takes the hooks first."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.chart.helms import CHART, IMAGE, built
from tests.cluster.binaries import ProgramMissing
from tests.cluster.controlplane import ControlPlane
from tests.cluster.kubectl import Raw, Tool
from tests.cluster.sites import Site

RELEASE, NAMESPACE, NAME = "second", "second-system", "second-fallgate"
HOOKS = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
#: Nobody listens there: nothing of this release is ever answered, and nothing waits for it but what it enforces.
NOBODY = {"webhook": {"url": "https://127.0.0.1:9"}}
EVERYTHING = (
    "deployments,services,serviceaccounts,configmaps,secrets,leases,roles,rolebindings,poddisruptionbudgets,networkpolicies",
    f"clusterroles,clusterrolebindings,priorityclasses,{','.join(HOOKS)}",
)


@pytest.fixture(scope="module", params=["3", "4"])
def helm(site: Site, request: pytest.FixtureRequest) -> Iterator[Tool]:
    """Helm of that major version, as the administrator."""
    try:
        paths = {helm.major: helm.path for helm in built()}
    except ProgramMissing as missing:
        pytest.skip(str(missing))
    made = Tool(Path(paths[request.param]), site.plane.folder / "admin.kubeconfig", site.plane.folder)
    yield made
    made("uninstall", RELEASE, "-n", NAMESPACE)
    site.plane.kubectl()("delete", "namespace", NAMESPACE, "--wait=true")


@pytest.fixture(scope="module")
def installed(site: Site, helm: Tool) -> ControlPlane:
    """Installed, with certificates as Fallgate writes them."""
    upgrade(helm, NOBODY)
    admin = site.plane.kubectl()
    bundle = base64.b64encode((site.plane.authority).read_bytes()).decode()
    for kind in HOOKS:
        found = admin.get(kind, NAME)
        for hook in found["webhooks"]:
            hook["clientConfig"]["caBundle"] = bundle
        admin("replace", "-f", "-", stdin=found).fine()
    secret = admin.get("secret", f"{NAME}-certs", "-n", NAMESPACE)
    admin("replace", "-f", "-", stdin={**secret, "data": {"tls.crt": "Y2VydGlmaWNhdGU="}}).fine()
    return site.plane


def upgrade(helm: Tool, values: Raw) -> None:
    """`helm upgrade --install` with these values."""
    text = yaml.safe_dump({**IMAGE, **values})
    helm("upgrade", "--install", RELEASE, str(CHART), "-n", NAMESPACE, "--create-namespace", "-f", "-", stdin=text).fine()


def hooks(plane: ControlPlane) -> list[Raw]:
    """Every entry of both configurations."""
    return [hook for kind in HOOKS for hook in plane.kubectl().get(kind, NAME)["webhooks"]]


def test_an_upgrade_keeps_certificates(installed: ControlPlane, helm: Tool) -> None:
    upgrade(helm, {**NOBODY, "mode": "enforce", "policies": {"packs": ["starter"]}, "messages": {"help": "ask us"}})
    assert [hook["name"] for hook in hooks(installed) if not hook["clientConfig"].get("caBundle")] == []
    assert "Fail" in {hook["failurePolicy"] for hook in hooks(installed)}
    assert installed.kubectl().get("secret", f"{NAME}-certs", "-n", NAMESPACE)["data"] == {"tls.crt": "Y2VydGlmaWNhdGU="}


def test_an_uninstall_takes_the_hooks_first_and_leaves_nothing(installed: ControlPlane, helm: Tool) -> None:
    before = len(list(installed.audited()))
    helm("uninstall", RELEASE, "-n", NAMESPACE).fine()
    deleted = [
        (event["objectRef"]["resource"], event["objectRef"].get("name"))
        for event in list(installed.audited())[before:]
        if event["verb"] == "delete" and event["user"]["username"] == "admin" and event["responseStatus"]["code"] == 200
    ]
    gone = [resource for resource, name in deleted if name in (NAME, f"{NAME}-certs")]
    last_hook = max(index for index, resource in enumerate(gone) if resource in HOOKS)
    assert set(gone[: last_hook + 1]) == set(HOOKS)
    assert {"services", "deployments", "clusterroles", "secrets"} <= set(gone[last_hook + 1 :])
    assert left(installed) == []


def left(plane: ControlPlane) -> list[str]:
    """What is still there of the release, by its label."""
    said = [
        plane.kubectl()("get", kinds, "-A", "-l", f"app.kubernetes.io/instance={RELEASE}", "-o", "json").fine()
        for kinds in EVERYTHING
    ]
    found = [item for answer in said for item in json.loads(answer.out)["items"]]
    return [f"{item['kind']} {item['metadata']['name']}" for item in found]
