"""A folder with a small cluster and policies, and the command line run in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import pytest
import yaml
from click.testing import CliRunner, Result

from tests.build import NVIDIA, Raw, device_class, device_slice, gpu, namespace
from webhook.cli.app import app

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
spec: {mode: enforce, undeclared: deny}
---
apiVersion: fallgate.dev/v1alpha1
kind: TierFallback
metadata: {name: dev-gpus}
spec:
  mode: enforce
  tier: dev
  targets: [generatedClaims, claims, templates]
  asks:
  - match: {deviceClasses: [gpu.nvidia.com]}
    alternatives:
    - {name: a100-pair, deviceClassName: a100.example.com, count: 2}
---
apiVersion: fallgate.dev/v1alpha1
kind: DeviceOwnership
metadata: {name: nvidia-gpus}
spec: {mode: enforce, driver: gpu.nvidia.com, extendedResources: [nvidia.com/gpu]}
"""

CLUSTER: tuple[Raw, ...] = (
    device_class(NVIDIA),
    device_class("h100.example.com", 'device.attributes["gpu.nvidia.com"].productName.contains("H100")'),
    device_class("a100.example.com", 'device.attributes["gpu.nvidia.com"].productName.contains("A100")'),
    device_slice("node-h", gpu("gpu-0"), gpu("gpu-1")),
    device_slice("node-a", *(gpu(f"gpu-{i}", "NVIDIA A100-SXM4-40GB", "40Gi") for i in range(4))),
    namespace("team-a"),
    namespace("dev-a", {"fallgate.dev/tier": "dev"}),
)


class Run(Protocol):
    """Runs `fallgate` with these arguments."""

    def __call__(self, *args: str, stdin: str | bytes = "") -> Result: ...


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with `fleet/` and `policies/`."""
    monkeypatch.chdir(tmp_path)
    for name, text in {"fleet/cluster.yaml": yaml.safe_dump_all(CLUSTER), "policies/policy.yaml": POLICIES}.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def run(folder: Path) -> Run:
    """The command line, in that folder. A fault of our own shows as itself, not as a message."""
    return lambda *args, stdin="": CliRunner(env={"FALLGATE_DEBUG": "1"}).invoke(
        app, list(args), input=stdin, prog_name="fallgate"
    )


@pytest.fixture
def write(folder: Path) -> Callable[..., str]:
    """Writes objects into a file, as YAML documents."""

    def write(name: str, *objects: Mapping[str, Any]) -> str:
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_text(yaml.safe_dump_all(objects, sort_keys=False))
        return name

    return write
