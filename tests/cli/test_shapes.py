"""`fallgate shapes`: what the fleet offers, and a catalog made from it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.build import claim, device, device_class, device_slice, gpu, result, taint_rule
from webhook.cel import compile_selector
from webhook.cli.suggestion import suggested_catalog
from webhook.fleet.build import build_fleet
from webhook.policyfile import parse_policies
from webhook.rulekit.shapes.catalog import catalog_for

BASE = ("--policies", "policies", "--fleet", "fleet")


def test_text_lists_models_with_their_nodes(run: Any, write: Callable[..., str]) -> None:
    write(
        "fleet/more.yaml",
        device_slice("node-x", gpu("gpu-0", "NVIDIA GB200")),
        claim("held", allocated=[result("gpu-0", "node-h")]),
    )
    found = run("shapes", *BASE)
    assert (found.exit_code, found.stderr) == (0, "")
    assert found.stdout == (
        "MODEL                         DRIVER          DEVICES  ALLOCATED  TAINTED  NODES\n"
        "a100-40gb                     gpu.nvidia.com  4        -          -        node-a (4)\n"
        "h100-80gb                     gpu.nvidia.com  2        1          -        node-h (2)\n"
        "?gpu.nvidia.com/NVIDIA GB200  gpu.nvidia.com  1        -          -        node-x (1)\n"
        "1 device has no model: `fallgate shapes --suggest` proposes names\n"
    )


def test_taints_and_pools_that_give_out_nothing_are_told(run: Any, write: Callable[..., str]) -> None:
    tainted = gpu("gpu-0") | {
        "taints": [{"key": "sick", "value": "79", "effect": "NoSchedule"}, {"key": "info", "effect": "None"}]
    }
    write(
        "fleet/more.yaml",
        device_slice("node-t", tainted),
        device_slice("node-i", gpu("gpu-0"), slices=2),
        device_slice("node-d", gpu("gpu-0"), gpu("gpu-0")),
        taint_rule("maintenance", {"key": "later", "effect": "NoExecute"}, {"pool": "node-h", "device": "gpu-1"}),
    )
    lines = run("shapes", *BASE).stdout.splitlines()
    assert lines[2:] == [
        "h100-80gb  gpu.nvidia.com  5        -          2        node-d (1), node-h (2), node-i (1) and 1 more",
        "tainted h100-80gb: later:NoExecute, sick=79:NoSchedule",
        "pool node-d of gpu.nvidia.com gives out nothing: device gpu-0 is published twice",
        "pool node-i of gpu.nvidia.com gives out nothing: generation 1 has 1 of 2 slices",
    ]


def test_json_is_one_model_a_line(run: Any) -> None:
    found = [json.loads(line) for line in run("shapes", *BASE, "-o", "json").stdout.splitlines()]
    assert found[0] == {
        "model": "a100-40gb",
        "driver": "gpu.nvidia.com",
        "inCatalog": True,
        "devices": 4,
        "allocated": 0,
        "tainted": 0,
        "incomplete": 0,
        "taints": [],
        "nodes": [{"node": "node-a", "devices": 4, "allocated": 0, "tainted": 0, "incomplete": 0}],
    }


def test_a_fleet_is_needed(run: Any) -> None:
    found = run("shapes", "--policies", "policies")
    assert found.exit_code == 2
    assert found.stderr.startswith("error: there is no fleet to look at: add --fleet DIR")


def test_a_fleet_without_devices_says_so(run: Any, folder: Path) -> None:
    (folder / "none").mkdir()
    assert run("shapes", "--fleet", "none").stdout == "the fleet publishes no devices (no ResourceSlice with devices)\n"


def test_a_suggestion_passes_check_and_names_every_device(run: Any, folder: Path) -> None:
    found = run("shapes", "--fleet", "fleet", "--suggest")
    assert (found.exit_code, found.stderr) == (0, "")
    (folder / "suggested").mkdir()
    (folder / "suggested" / "catalog.yaml").write_text(found.stdout)
    assert run("check", "suggested").exit_code == 0
    offered = run("shapes", "--fleet", "fleet", "--policies", "suggested", "-o", "json").stdout.splitlines()
    assert [json.loads(line)["model"] for line in offered] == ["a100-sxm4-40gb", "h100-80gb-hbm3"]


def test_nothing_is_suggested_for_what_has_a_model(run: Any, write: Callable[..., str]) -> None:
    found = run("shapes", *BASE, "--suggest")
    assert (found.exit_code, found.stdout) == (0, "")
    assert found.stderr == "note: every published device has a model already: there is nothing to suggest\n"
    write("fleet/more.yaml", device_slice("node-x", gpu("gpu-0", "NVIDIA GB200")))
    models = yaml.safe_load(run("shapes", *BASE, "--suggest").stdout)["spec"]["models"]
    assert [model["name"] for model in models] == ["gb200"]


def suggested(*objects: Any) -> list[Any]:
    text = suggested_catalog(build_fleet(objects).inventory)
    models: list[Any] = yaml.safe_load(text)["spec"]["models"]
    return models


def test_a_suggested_model_asks_for_the_type_and_shows_a_device() -> None:
    cards = [gpu(f"gpu-{i}", uuid=f"GPU-{i}", architecture="Hopper", index=i) for i in range(2)]
    (model,) = suggested(device_slice("n", *cards), device_class())
    assert model == {
        "name": "h100-80gb-hbm3",
        "driver": "gpu.nvidia.com",
        "deviceClassName": "gpu.nvidia.com",
        "selector": 'device.attributes["gpu.nvidia.com"].type == "gpu" &&'
        ' device.attributes["gpu.nvidia.com"].productName == "NVIDIA H100 80GB HBM3"',
        "examples": [
            {
                "attributes": {
                    "architecture": {"string": "Hopper"},
                    "productName": {"string": "NVIDIA H100 80GB HBM3"},
                    "type": {"string": "gpu"},
                },
                "capacity": {"memory": {"value": "81559Mi"}},
            }
        ],
    }


def test_partitions_of_a_card_become_a_family_named_by_their_profile() -> None:
    whole = gpu("gpu-0", "NVIDIA A100-SXM4-40GB")
    parts = [
        device(f"mig-{i}", {"type": "mig", "productName": "NVIDIA A100-SXM4-40GB", "profile": profile})
        for i, profile in enumerate(("1g.5gb", "2g.10gb"))
    ]
    classes = [
        device_class("gpu.nvidia.com", 'device.attributes["gpu.nvidia.com"].type == "gpu"'),
        device_class("mig.nvidia.com", 'device.attributes["gpu.nvidia.com"].type == "mig"'),
        device_class("any.nvidia.com", 'device.driver == "gpu.nvidia.com"'),
    ]
    models = suggested(device_slice("n", whole, *parts), *classes)
    assert [(model["name"], model["deviceClassName"]) for model in models] == [
        ("a100-sxm4-40gb", "gpu.nvidia.com"),
        ("a100-sxm4-40gb-mig-{profile}", "mig.nvidia.com"),
    ]
    # A device without the attribute must not raise a CEL error where the selector is used.
    assert 'has(device.attributes["gpu.nvidia.com"].profile)' in models[1]["selector"]


@pytest.mark.parametrize(
    ("driver", "attributes", "name"),
    [
        ("tpu.google.com", {"tpuGen": "v4"}, "tpu-v4"),
        ("gaudi.intel.com", {"model": "Gaudi2"}, "gaudi2"),
        ("gpu.intel.com", {"type": "gpu", "model": "Unknown"}, "gpu-intel-unknown"),
        ("gpu.intel.com", {"type": "gpu", "model": "Flex 170"}, "flex-170"),
        ("dra.cpu", {}, "dra-cpu"),
        ("dra.net", {"type": "dummy"}, "dra-net-dummy"),
        ("gpu.amd.com", {"type": "amdgpu", "productName": "AMD_Instinct_MI300X_OAM"}, "mi300x-oam"),
    ],
)
def test_suggested_names(driver: str, attributes: dict[str, Any], name: str) -> None:
    (model,) = suggested(device_slice("n", device("d", attributes), driver=driver))
    assert model["name"] == name


def test_one_product_of_two_drivers_has_two_names() -> None:
    models = suggested(
        device_slice("n", gpu("gpu-0", "NVIDIA L4")),
        device_slice("n", gpu("gpu-0", "NVIDIA L4"), driver="shared.example.com"),
    )
    assert [model["name"] for model in models] == ["l4", "shared-l4"]


def test_every_suggested_selector_compiles_and_matches_without_errors_on_all_devices_of_its_driver() -> None:
    odd = device("odd", {"type": 'quo"te\\', "productName": "A\\B"})
    fleet = build_fleet([device_slice("n", odd, device("bare"), gpu("gpu-0"), device("x", {"model": "M"}))])
    text = suggested_catalog(fleet.inventory)
    catalog = catalog_for(parse_policies([("suggested.yaml", text.encode())]))
    devices = [item for pool in fleet.inventory.pools for item in pool.devices]
    assert not [name for name in map(catalog.model_of, devices) if name.startswith("?")]
    for model in yaml.safe_load(text)["spec"]["models"]:
        selector = compile_selector(model["selector"])
        assert not isinstance(selector, tuple)
        assert {type(selector.against(item)).__name__ for item in devices} == {"Verdict"}


def partition(name: str, product: str = "AMD_Instinct_MI300X_OAM", **attributes: str) -> Any:
    return device(name, {"type": "amdgpu-partition", "productName": product, **attributes})


def test_each_mode_of_a_card_that_is_partitioned_when_it_is_allocated_is_a_model() -> None:
    """Modes that one name stands for would let a declaration of the big ones cover the small ones."""
    devices = [
        device("spx", {"type": "amdgpu", "productName": "AMD_Instinct_MI300X_OAM", "computePartition": "spx"}),
        partition("dpx", computePartition="dpx", memoryPartition="nps2"),
        partition("cpx-1", computePartition="cpx", memoryPartition="nps1"),
        partition("cpx-4", computePartition="cpx", memoryPartition="nps4"),
        # partitioned beforehand
        partition("static", partitionProfile="cpx_nps4"),
        # of which less is said: their models come last, because the selectors take the others too
        partition("odd"),
        partition("half", computePartition="cpx"),
    ]
    fleet = build_fleet([device_slice("n", *devices, driver="gpu.amd.com"), device_class("gpu.amd.com")])
    text = suggested_catalog(fleet.inventory)
    assert [model["name"] for model in yaml.safe_load(text)["spec"]["models"]] == [
        "mi300x-oam",
        "mi300x-oam-partition-{partitionProfile}",
        "mi300x-oam-partition-cpx-nps1",
        "mi300x-oam-partition-cpx-nps4",
        "mi300x-oam-partition-dpx-nps2",
        "mi300x-oam-partition-cpx",
        "mi300x-oam-partition",
    ]
    catalog = catalog_for(parse_policies([("suggested.yaml", text.encode())]))
    assert {item.name: catalog.model_of(item, fleet.inventory.classes) for item in fleet.inventory.pools[0].devices} == {
        "spx": "mi300x-oam",
        "dpx": "mi300x-oam-partition-dpx-nps2",
        "cpx-1": "mi300x-oam-partition-cpx-nps1",
        "cpx-4": "mi300x-oam-partition-cpx-nps4",
        "static": "mi300x-oam-partition-cpx-nps4",
        "odd": "mi300x-oam-partition",
        "half": "mi300x-oam-partition-cpx",
    }
