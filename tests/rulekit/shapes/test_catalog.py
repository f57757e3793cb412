"""What devices are called, and what the names in declarations mean."""

from __future__ import annotations

import pytest

from tests.build import (
    NVIDIA,
    catalog,
    device,
    device_class,
    device_slice,
    example,
    fleet_of,
    gpu,
    model,
    product,
)
from webhook.fleet.inventory import Inventory
from webhook.model.device import Device
from webhook.rulekit.policies import CatalogModel, PolicySet
from webhook.rulekit.shapes.catalog import Catalog, catalog_for, in_class, slug

MIG = model(
    "a100-mig-{profile}",
    f'device.attributes["{NVIDIA}"].type == "mig"',
    device_class="mig.nvidia.com",
    aliases=["slice-{profile}", "any-slice"],
)
A100 = product("a100-40gb", "NVIDIA A100", aliases=["a100"])


def mig(**attributes: object) -> Device:
    return example(device("d", {"type": "mig", "productName": "NVIDIA A100", **attributes}))


def whole(name: str = "NVIDIA A100") -> Device:
    return example(device("d", {"type": "gpu", "productName": name}))


def named(device: Device, *models: CatalogModel) -> str:
    return catalog_for(catalog(*models)).model_of(device)


def test_the_first_model_that_fits_names_a_device() -> None:
    assert named(whole(), model("any"), A100) == "any"
    assert named(whole(), A100, model("any")) == "a100-40gb"


def test_a_model_is_for_devices_of_its_driver() -> None:
    assert named(whole(), model("other", driver="gpu.amd.com"), A100) == "a100-40gb"


def test_a_selector_that_raises_an_error_does_not_fit() -> None:
    assert named(whole(), model("broken", f'device.attributes["{NVIDIA}"].nope == "x"'), A100) == "a100-40gb"


def test_a_device_of_no_model_is_called_by_driver_and_product() -> None:
    assert named(whole("NVIDIA H200"), A100) == "?gpu.nvidia.com/NVIDIA H200"
    assert named(example(device("d", {"model": "Flex 170"}), "gpu.intel.com")) == "?gpu.intel.com/Flex 170"
    assert named(example(device("d", {"productName": " "}), "x.example.com")) == "?x.example.com/unknown"
    assert named(example(device("d"), "x.example.com")) == "?x.example.com/unknown"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("1g.5gb", "a100-mig-1g-5gb"),
        ("Data  Center Flex/170 ", "a100-mig-data-center-flex-170"),
        (7, "a100-mig-7"),
        (True, "a100-mig-true"),
        ({"version": "1.2.3"}, "a100-mig-1-2-3"),
        (["a", "b"], "?gpu.nvidia.com/NVIDIA A100"),
        ("...", "?gpu.nvidia.com/NVIDIA A100"),
    ],
)
def test_a_family_is_named_by_an_attribute(value: object, expected: str) -> None:
    assert named(mig(profile=value), MIG) == expected


def test_a_device_without_the_attribute_is_not_of_the_family() -> None:
    assert named(mig(), MIG, model("rest")) == "rest"


def test_a_family_may_name_its_attribute_with_the_domain() -> None:
    numa = example(device("d", {"dra.net/numaNode": 1}))
    assert named(numa, model("near-{dra.net/numaNode}-node")) == "near-1-node"


def test_a_model_with_a_class_is_asked_about_devices_of_that_class_only() -> None:
    classes = fleet_of(device_class("mig.nvidia.com", f'device.attributes["{NVIDIA}"].type == "mig"')).inventory.classes
    broad = model("a100-mig-{profile}", device_class="mig.nvidia.com")
    names = catalog_for(catalog(broad, A100))
    assert (
        names.model_of(example(device("d", {"type": "gpu", "productName": "NVIDIA A100", "profile": "x"})), classes)
        == "a100-40gb"
    )
    assert names.model_of(mig(profile="1g"), classes) == "a100-mig-1g"
    assert names.model_of(mig(profile="1g")) == "a100-mig-1g"


def test_a_class_selector_that_fails_in_any_way_does_not_hold() -> None:
    assert in_class(whole(), ())
    assert in_class(whole(), (f'device.driver == "{NVIDIA}"', "true"))
    assert not in_class(whole(), ("true", "false"))
    assert not in_class(whole(), ("this does not compile",))
    assert not in_class(whole(), (f'device.attributes["{NVIDIA}"].nope == 1',))


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        ("a100-40gb", "a100-40gb", True),
        ("a100", "a100-40gb", True),
        ("a100-80gb", "a100-40gb", False),
        ("a100-*", "a100-40gb", True),
        ("a10?", "a100-40gb", True),
        ("h100-*", "a100-40gb", False),
        ("A100-40GB", "a100-40gb", False),
        ("a100-mig-1g-5gb", "a100-mig-1g-5gb", True),
        ("a100-mig-1g.5gb", "a100-mig-1g-5gb", True),
        ("a100-mig-1G.*", "a100-mig-1g-5gb", True),
        ("a100-mig-2g.10gb", "a100-mig-1g-5gb", False),
        ("slice-1g-5gb", "a100-mig-1g-5gb", True),
        ("slice-2g-10gb", "a100-mig-1g-5gb", False),
        ("any-slice", "a100-mig-1g-5gb", True),
        ("*", "a100-40gb", True),
        ("*", "?gpu.nvidia.com/NVIDIA H200", False),
        ("?*", "?gpu.nvidia.com/NVIDIA H200", True),
        ("?gpu.nvidia.com/NVIDIA*", "?gpu.nvidia.com/NVIDIA H200", True),
        ("?gpu.amd.com/*", "?gpu.nvidia.com/NVIDIA H200", False),
        ("?100-40gb", "a100-40gb", False),
        ("a100", "h100-80gb", False),
        ("slice-1g-5gb", "h100-mig-1g-5gb", False),
        ("inner", "n-1-node", True),
        ("inner", "m-1-node", False),
        ("inner", "n-1-rack", False),
        ("inner", "n-node", False),
        ("a100-mig-", "a100-mig-", True),
        ("any-slice", "a100-mig-", False),
    ],
)
def test_what_a_pattern_means(pattern: str, name: str, expected: bool) -> None:
    names = Catalog((A100, MIG, model("n-{x}-node", aliases=["inner"])))
    assert names.fits(pattern, name) is expected
    assert names.fits(pattern, name) is expected


def test_answers_about_patterns_are_bounded() -> None:
    names = Catalog((A100,))
    for i in range(10_000):
        names.fits(f"x{i}", "a100-40gb")
    assert len(names._fitting) <= 8192


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("a100-40gb", True),
        ("a100", True),
        ("a100-mig-*", True),
        ("a100-mig-7g", True),
        ("a100-mig-7G.80gb", True),
        ("a100-mig-", False),
        ("A100", False),
        ("slice-7g", True),
        ("a1*", True),
        ("*-7g", True),
        ("h100-80gb", False),
        ("h*", False),
        ("?anything/*", True),
    ],
)
def test_what_a_catalog_knows(pattern: str, expected: bool) -> None:
    assert Catalog((A100, MIG)).knows(pattern) is expected


def test_suggestions_are_the_nearest_names() -> None:
    names = Catalog((A100, product("a100-80gb", "x"), product("h100-80gb", "y"), product("t4", "z")))
    assert names.suggest("A100-40G") == ("a100-40gb", "a100-80gb", "h100-80gb")
    assert names.suggest("mi300x") == ()


def test_a_catalog_is_kept_as_long_as_its_models_are_the_same() -> None:
    one = catalog(A100)
    assert catalog_for(one) is catalog_for(one)
    assert catalog_for(PolicySet(catalog=one.catalog)) is catalog_for(one)
    assert catalog_for(catalog(A100)) is not catalog_for(one)
    kept = [catalog(A100) for _ in range(20)]
    assert [catalog_for(item).models for item in kept] == [item.catalog for item in kept]


def test_the_models_of_a_pool_are_remembered_for_one_catalog_and_one_set_of_classes() -> None:
    fleet = fleet_of(device_slice("n1", gpu("g", "NVIDIA A100")), device_class())
    pool, names = fleet.inventory.pools[0], catalog_for(catalog(A100))
    first = names.models_in(pool, fleet.inventory)
    assert first == {"g": "a100-40gb"}
    assert names.models_in(pool, fleet.inventory) is first
    assert catalog_for(catalog(model("other"))).models_in(pool, fleet.inventory) == {"g": "other"}
    assert names.models_in(pool, fleet.inventory) is not first
    of_class = catalog_for(catalog(model("m", device_class=NVIDIA)))
    assert of_class.models_in(pool, fleet.inventory) == {"g": "m"}
    strict = Inventory([pool], fleet_of(device_class(NVIDIA, "false")).inventory.classes)
    assert of_class.models_in(pool, strict) == {"g": "?gpu.nvidia.com/NVIDIA A100"}


@pytest.mark.parametrize(("value", "expected"), [("Flex 170", "flex-170"), ("--A__b--", "a-b"), (12, "12"), ("", "")])
def test_slugs(value: object, expected: str) -> None:
    assert slug(value) == expected
