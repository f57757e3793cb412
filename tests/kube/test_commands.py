"""The commands that ask a cluster: --cluster, and dump."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from tests.build import (
    NVIDIA,
    alternative,
    device_class,
    device_slice,
    first_available,
    gpu,
    namespace,
    node,
    pod,
    template,
)
from tests.kube.api_server import ApiServer
from webhook.cli.app import app
from webhook.folder.fleet_folder import read_fleet_folder

A100 = "NVIDIA A100-SXM4-40GB"
POLICIES = """\
apiVersion: fallgate.dev/v1alpha1
kind: ShapeCatalog
metadata: {name: cards}
spec:
  models:
  - name: h100-80gb
    driver: gpu.nvidia.com
    selector: device.attributes["gpu.nvidia.com"].productName == "NVIDIA H100 80GB HBM3"
  - name: a100-40gb
    driver: gpu.nvidia.com
    selector: device.attributes["gpu.nvidia.com"].productName == "NVIDIA A100-SXM4-40GB"
---
apiVersion: fallgate.dev/v1alpha1
kind: FallbackCompatibility
metadata: {name: declared-fallbacks}
spec: {mode: enforce}
---
apiVersion: fallgate.dev/v1alpha1
kind: DeviceOwnership
metadata: {name: cards}
spec:
  mode: enforce
  driver: gpu.nvidia.com
  extendedResources: [nvidia.com/gpu]
"""


@pytest.fixture
def run(server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Runs a command in a folder with policies and a kubeconfig, against a cluster with two kinds of cards."""
    for number, product in enumerate(("NVIDIA H100 80GB HBM3", A100)):
        server.put(node(f"node-{number}", allocatable={"nvidia.com/gpu": "2"}))
        server.put(device_slice(f"node-{number}", gpu("gpu-0", product), gpu("gpu-1", product)))
    server.put(device_class())
    server.put(namespace("team-a"))
    choice = first_available("gpu", alternative("h100", NVIDIA), alternative("pair", NVIDIA, count=2))
    server.put(template("either", choice))
    config: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "here", "cluster": {"server": server.url}}],
        "users": [{"name": "me", "user": {"token": "good"}}],
        "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
        "current-context": "here",
    }
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(config))
    (tmp_path / "policies.yaml").write_text(POLICIES)
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments: str, given: str = "") -> Result:
        return CliRunner().invoke(app, list(arguments), input=given)

    return invoke


LIVE = ("--cluster", "--kubeconfig", "kubeconfig", "--policies", "policies.yaml")


def test_shapes(run: Callable[..., Result]) -> None:
    result = run("shapes", *LIVE)
    assert result.exit_code == 0, result.stderr
    assert [line.split() for line in result.stdout.splitlines()] == [
        ["MODEL", "DRIVER", "DEVICES", "ALLOCATED", "TAINTED", "NODES"],
        ["a100-40gb", "gpu.nvidia.com", "2", "-", "-", "node-1", "(2)"],
        ["h100-80gb", "gpu.nvidia.com", "2", "-", "-", "node-0", "(2)"],
    ]
    assert result.stderr == ""


def test_review_sees_the_templates_of_the_cluster(run: Callable[..., Result]) -> None:
    manifest = yaml.safe_dump(pod("trainer", templates={"gpu": "either"}))
    result = run("review", "-", *LIVE, given=manifest)
    assert result.exit_code == 1, result.output
    assert "fallback-compatibility" in result.stdout


def test_explain_and_overlap(run: Callable[..., Result]) -> None:
    explained = run("explain", "-", *LIVE, given=yaml.safe_dump(pod("trainer", templates={"gpu": "either"})))
    assert explained.exit_code == 0, explained.output
    assert "2x a100-40gb" in explained.stdout
    overlapping = run("overlap", *LIVE)
    assert overlapping.exit_code == 1, overlapping.output
    assert "node-0" in overlapping.stdout


def test_a_kind_that_may_not_be_read_is_told(run: Callable[..., Result], server: ApiServer) -> None:
    server.refusing["pods"] = 403
    result = run("shapes", *LIVE)
    assert result.exit_code == 0
    assert result.stderr == (
        "warning: Pod cannot be read, so that it is unknown what device-plugin pods hold, and which pod a generated claim is "
        "for: GET /api/v1/pods: 403: pods is refused\n"
    )
    server.refusing["nodes"] = 403
    result = run("shapes", *LIVE)
    assert result.exit_code == 2
    assert result.stderr == (
        "error: GET /api/v1/nodes: 403: nodes is refused\n"
        "This reads devices, classes, claims, templates, nodes and namespaces of the whole cluster, and your account may not. "
        "Have a ClusterRoleBinding made for it to the ClusterRole fallgate-reader (docs/cluster.md has its YAML), or use "
        "--fleet with a folder that somebody who may has written with fallgate dump\n"
    )


def test_options_that_exclude_each_other(run: Callable[..., Result]) -> None:
    both = run("shapes", *LIVE, "--fleet", ".")
    assert both.exit_code == 2
    assert "--fleet and --cluster exclude each other" in both.stderr
    without = run("shapes", "--context", "here")
    assert without.exit_code == 2
    assert "--kubeconfig and --context are for --cluster" in without.stderr


def test_a_dump_is_a_fleet(run: Callable[..., Result], tmp_path: Path) -> None:
    result = run("dump", "fleet", "--kubeconfig", "kubeconfig", "--feature-gates", "DRAConsumableCapacity=false")
    assert result.exit_code == 0, result.stderr
    assert result.stderr == "note: 7 objects of Kubernetes v1.36.3 are in fleet\n"
    reading = read_fleet_folder(tmp_path / "fleet")
    assert reading.problems == ()
    assert reading.server is not None
    assert str(reading.server) == "1.36"
    assert reading.server.gates == {"DRAConsumableCapacity": False}
    assert {"Pod", "ResourceClaim", "ReplicaSet", "Node"} <= reading.listed_kinds
    assert "managedFields" not in (tmp_path / "fleet" / "nodes.json").read_text()
    live, dumped = (
        run("shapes", *LIVE, "-o", "json"),
        run("shapes", "--fleet", "fleet", "--policies", "policies.yaml", "-o", "json"),
    )
    assert dumped.stdout == live.stdout


def test_a_dump_goes_into_a_new_folder_only(run: Callable[..., Result], tmp_path: Path) -> None:
    result = run("dump", ".", "--kubeconfig", "kubeconfig")
    assert result.exit_code == 2
    assert result.stderr == ("error: .: this folder is not empty; objects of another time would be mixed with those of now\n")


def test_an_anonymous_dump_gives_the_same_answers(run: Callable[..., Result], tmp_path: Path) -> None:
    assert run("dump", "fleet", "--kubeconfig", "kubeconfig", "--anonymise").exit_code == 0
    text = "".join(path.read_text() for path in (tmp_path / "fleet").iterdir())
    assert "team-a" not in text
    assert "either" not in text
    document = json.loads(run("shapes", "--fleet", "fleet", "--policies", "policies.yaml", "-o", "json").stdout.splitlines()[0])
    assert document["model"] == "a100-40gb"
