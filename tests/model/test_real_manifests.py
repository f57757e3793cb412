"""The manifests of ten drivers read completely."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from webhook.fleet.build import build_fleet
from webhook.folder.manifests import read_manifests

MANIFESTS = Path(__file__).parents[1] / "cases" / "manifests"

#: Slices: file -> devices in its one pool.
DEVICES = {
    "amd/slice-autopartition.yaml": 5,
    "amd/slice-mi300x-2025-10.yaml": 3,
    "amd/slice-mi300x-cpx-static.yaml": 8,
    "amd/slice-mi300x-full.yaml": 8,
    "cpu/slice-grouped.yaml": 2,
    "cpu/slice-individual.yaml": 16,
    "dranet/slice-aws-efa-only.yaml": 5,
    "dranet/slice-aws-efa.yaml": 6,
    "dranet/slice-azure-gb300.yaml": 4,
    "example/slice-binding-conditions.yaml": 1,
    "example/slice-partitionable.yaml": 5,
    "example/slice-plain.yaml": 8,
    "hami/slice.yaml": 1,
    "intel/slice-gaudi.yaml": 4,
    "intel/slice-mixed.yaml": 4,
    "intel/slice-unhealthy.yaml": 2,
    "nvidia/slice-a100-40gb-full.yaml": 8,
    "nvidia/slice-a100-80gb-full.yaml": 4,
    "nvidia/slice-a100-dynamic-mig.yaml": 25,
    "nvidia/slice-a100-static-mig.yaml": 4,
    "nvidia/slice-consumable-memory.yaml": 1,
    "nvidia/slice-consumable-shares-4.yaml": 1,
    "nvidia/slice-gb200.yaml": 4,
    "nvidia/slice-gb300-azure.yaml": 4,
    "nvidia/slice-h100-80gb-full.yaml": 8,
    "nvidia/slice-h100-tainted.yaml": 2,
    "nvidia/slice-t4-azure.yaml": 1,
    "nvidia/slice-vfio-and-gpu-same-card.yaml": 2,
    "rebellions/slice.yaml": 2,
    "sriov/slice-vfs.yaml": 4,
    "tpu/slice-v4-multihost.yaml": 4,
    "tpu/slice-v6e-8.yaml": 8,
}
#: Everything else: file -> objects by kind.
OBJECTS = {
    "amd/deviceclasses.yaml": {"classes": 2},
    "amd/rct-partitions-same-parent.yaml": {"templates": 1},
    "cpu/deviceclass.yaml": {"classes": 1},
    "cpu/pod-grouped.yaml": {"claims": 1, "pods": 1},
    "dranet/deviceclasses.yaml": {"classes": 3},
    "dranet/rct-gpu-nic-aligned.yaml": {"templates": 1},
    "example/claim-opaque.yaml": {"claims": 1},
    "example/deviceclass.yaml": {"classes": 1},
    "hami/deviceclass.yaml": {"classes": 1},
    "hami/rct.yaml": {"templates": 1},
    "intel/deviceclasses.yaml": {"classes": 4},
    "intel/rct-gpu-min-memory.yaml": {"templates": 1},
    "nvidia/deviceclasses.yaml": {"classes": 3},
    "nvidia/pod-extended-resource.yaml": {"classes": 1, "pods": 1},
    "nvidia/rct-first-available.yaml": {"templates": 1},
    "nvidia/rct-gpu-by-product.yaml": {"templates": 1},
    "nvidia/rct-mig-mix-same-parent.yaml": {"templates": 1},
    "nvidia/rct-timeslicing-and-mps.yaml": {"templates": 1},
    "rebellions/deviceclass.yaml": {"classes": 1},
    "sriov/deviceclasses.yaml": {"classes": 2},
    "sriov/rct-vf.yaml": {"templates": 1},
    "tpu/deviceclass.yaml": {"classes": 1},
    "tpu/rct-all.yaml": {"templates": 1},
}


def counts(name: str) -> Counter[str]:
    """What a file holds, once it is a fleet."""
    reading = read_manifests((MANIFESTS / name).read_bytes(), name)
    assert reading.problems == ()
    fleet = build_fleet([found.raw for found in reading.objects])
    pools = fleet.inventory.pools
    assert all(pool.complete and not pool.duplicates for pool in pools)
    sizes = {
        "pools": len(pools),
        "devices": sum(len(pool.devices) for pool in pools),
        "classes": len(fleet.inventory.classes),
        "templates": len(fleet.templates),
        "claims": len(fleet.claims),
        "pods": len(fleet.pods),
    }
    return +Counter(sizes)


@pytest.mark.parametrize("name", DEVICES)
def test_a_slice_reads_with_all_its_devices(name: str) -> None:
    assert counts(name) == {"pools": 1, "devices": DEVICES[name]}


@pytest.mark.parametrize("name", OBJECTS)
def test_other_objects_read_as_what_they_are(name: str) -> None:
    assert counts(name) == OBJECTS[name]


def test_no_manifest_is_forgotten() -> None:
    assert {path.relative_to(MANIFESTS).as_posix() for path in MANIFESTS.rglob("*.yaml")} == {*DEVICES, *OBJECTS}
