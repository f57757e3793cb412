"""The packs in policies/: they load, alone and together; their tests pass; they name every device that drivers publish."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from tests.harness import documents, policies_of
from webhook.cli.app import app
from webhook.fleet.build import build_fleet
from webhook.rulekit.shapes.catalog import UNKNOWN, catalog_for

POLICIES = Path(__file__).resolve().parents[1] / "policies"
MANIFESTS = Path(__file__).parent / "cases" / "manifests"
PACKS = ("amd", "google-tpu", "intel", "nvidia", "starter")
#: Vendor's folder of manifests -> pack.
VENDORS = {"amd": "amd", "intel": "intel", "nvidia": "nvidia", "tpu": "google-tpu"}

#: What every device of the manifests is called, slice by slice.
NAMES = {
    "amd/slice-autopartition.yaml": "mi300x, mi300x-cpx-nps1, mi300x-cpx-nps4, mi300x-dpx-nps2, radeon-rx-9070-xt",
    "amd/slice-mi300x-2025-10.yaml": "mi300x, mi300x-cpx-nps4",
    "amd/slice-mi300x-cpx-static.yaml": "mi300x-cpx-nps4",
    "amd/slice-mi300x-full.yaml": "mi300x",
    "intel/slice-gaudi.yaml": "gaudi2",
    "intel/slice-mixed.yaml": "intel-a770, intel-b580, intel-flex-170, intel-unknown",
    "intel/slice-unhealthy.yaml": "intel-flex-170",
    "nvidia/slice-a100-40gb-full.yaml": "a100-40gb",
    "nvidia/slice-a100-80gb-full.yaml": "a100-80gb",
    "nvidia/slice-a100-dynamic-mig.yaml": (
        "a100-mig-1g-10gb, a100-mig-1g-5gb, a100-mig-1g-5gb-me, a100-mig-2g-10gb, a100-mig-3g-20gb, a100-mig-4g-20gb,"
        " a100-mig-7g-40gb"
    ),
    "nvidia/slice-a100-static-mig.yaml": "a100-40gb, a100-mig-1g-5gb, a100-mig-2g-10gb, a100-mig-3g-20gb",
    "nvidia/slice-consumable-memory.yaml": "a100-40gb",
    "nvidia/slice-consumable-shares-4.yaml": "a100-40gb",
    "nvidia/slice-gb200.yaml": "gb200",
    "nvidia/slice-gb300-azure.yaml": "gb300",
    "nvidia/slice-h100-80gb-full.yaml": "h100-80gb",
    "nvidia/slice-h100-tainted.yaml": "h100-80gb",
    "nvidia/slice-t4-azure.yaml": "t4",
    "nvidia/slice-vfio-and-gpu-same-card.yaml": "a100-40gb, vfio-nvidia-a100-sxm4-40gb",
    "tpu/slice-v4-multihost.yaml": "tpu-v4",
    "tpu/slice-v6e-8.yaml": "tpu-v6e",
}


def run(*args: str) -> str:
    """What `fallgate` prints; it must end with 0."""
    result = CliRunner(env={"FALLGATE_DEBUG": "1"}).invoke(app, list(args), prog_name="fallgate")
    assert result.exit_code == 0, result.output
    return result.stdout


def named(pack: str, *files: Path) -> Iterator[tuple[str, str, str]]:
    """(pool, device, model) of every device in these files, by a pack."""
    fleet = build_fleet(item for file in files for item in documents(file))
    catalog = catalog_for(policies_of(POLICIES / pack / "policy.yaml"))
    for pool in fleet.inventory.pools:
        for device in pool.devices:
            yield pool.name, device.name, catalog.model_of(device, fleet.inventory.classes)


def test_every_folder_is_a_pack_with_tests() -> None:
    found = {path.parent.name for path in POLICIES.glob("*/policy.yaml")}
    assert found == set(PACKS) == {path.parent.name for path in POLICIES.glob("*/tests.yaml")}


@pytest.mark.parametrize("pack", PACKS)
def test_pack_is_right(pack: str) -> None:
    assert run("check", str(POLICIES / pack)).startswith("1 file: policy set ")


def test_all_packs_together_are_right() -> None:
    assert run("check", str(POLICIES)).startswith("5 files: policy set ")


@pytest.mark.parametrize("pack", [pack for pack in PACKS if pack != "starter"])
def test_starter_goes_with_every_vendor_and_caps_it(pack: str) -> None:
    policies = policies_of(POLICIES / "starter" / "policy.yaml", POLICIES / pack / "policy.yaml")
    assert [cap.mode for cap in policies.mode_caps] == ["audit"]
    assert policies.catalog
    assert policies.device_ownership
    assert policies.fallback_compatibility
    assert policies.checks


@pytest.mark.parametrize("pack", PACKS)
def test_the_packs_own_tests_pass(pack: str) -> None:
    assert run("test", str(POLICIES / pack)).endswith(" passed, 0 failed\n")


@pytest.mark.parametrize("pack", PACKS)
def test_a_pack_stands_alone(pack: str) -> None:
    """Nothing that its tests name lies outside of its folder: it can be taken as it is."""
    tests = yaml.safe_load((POLICIES / pack / "tests.yaml").read_text())
    assert [path for path in _paths(tests) if path != "." and not (POLICIES / pack / path).is_file()] == []
    assert [path for path in _paths(tests) if ".." in path] == []


def _paths(tests: dict[str, Any]) -> Iterator[str]:
    for holder in (tests, *tests["tests"]):
        yield from (item for key in ("fleet", "policies") for item in holder.get(key, ()) if isinstance(item, str))


def test_every_slice_of_the_vendors_is_asked_about() -> None:
    assert {
        path.relative_to(MANIFESTS).as_posix() for vendor in VENDORS for path in MANIFESTS.glob(f"{vendor}/slice*.yaml")
    } == set(NAMES)


@pytest.mark.parametrize("file", NAMES)
def test_every_published_device_has_a_name(file: str) -> None:
    vendor = file.partition("/")[0]
    classes = MANIFESTS.glob(f"{vendor}/deviceclass*.yaml")
    models = {model for _, _, model in named(VENDORS[vendor], *classes, MANIFESTS / file)}
    assert ", ".join(sorted(models)) == NAMES[file]
    assert not any(model.startswith(UNKNOWN) for model in models)


def test_every_nvidia_product_has_the_name_of_its_model() -> None:
    """One card a product, so that no name is another's: the fleet has the catalog's whole cards in the catalog's order."""
    catalog = policies_of(POLICIES / "nvidia" / "policy.yaml").catalog
    whole = [model.name for model in catalog if model.device_class == "gpu.nvidia.com"]
    cards = [model for _, device, model in _in_file_order() if device == "gpu-0"]
    assert cards == whole
    slices = {model.partition("-mig-")[0] for _, device, model in _in_file_order() if device != "gpu-0"}
    assert slices == {model.name.partition("-mig-")[0] for model in catalog if "-mig-" in model.name}


def _in_file_order() -> list[tuple[str, str, str]]:
    file = POLICIES / "nvidia" / "fleet" / "every-product.yaml"
    order = [item["spec"]["pool"]["name"] for item in documents(file)]
    return sorted(named("nvidia", POLICIES / "nvidia" / "fleet" / "classes.yaml", file), key=lambda row: order.index(row[0]))
