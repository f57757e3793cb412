"""Which alternatives a config follows to, and the names it then lists."""

from __future__ import annotations

from typing import Any

import pytest

from tests.build import (
    NVIDIA,
    alternative,
    claim,
    device,
    device_class,
    device_slice,
    exactly,
    first_available,
    fleet_of,
    gpu,
)
from webhook.model.claim import Alternative, OpaqueConfig
from webhook.model.claim_reading import read_claim
from webhook.rulekit.injection.config_scope import Fit, covers, fit, kind_of, rescoped

MIG, ANY, AMD, EMPTY = "mig.nvidia.com", "any.nvidia.com", "gpu.amd.com", "empty.example.com"
TYPE = 'device.attributes["gpu.nvidia.com"].type == '

FLEET = fleet_of(
    device_class(NVIDIA, f'device.driver == "gpu.nvidia.com" && {TYPE}"gpu"'),
    device_class(MIG, f'device.driver == "gpu.nvidia.com" && {TYPE}"mig"'),
    device_class(ANY, 'device.driver == "gpu.nvidia.com"'),
    device_class(AMD),
    device_class(EMPTY, "false"),
    device_slice("node-1", gpu("gpu-0"), device("mig-0", {"type": "mig"})),
    device_slice("node-2", device("card-0"), driver=AMD),
)


def config(kind: str = "Settings", driver: str = NVIDIA, **fields: Any) -> OpaqueConfig:
    return OpaqueConfig(requests=(), pointer="", driver=driver, parameters={"kind": kind}, **fields)


def ask(device_class: str = NVIDIA, *selectors: str) -> Alternative:
    return read_claim(claim("c", exactly("r", device_class, *selectors))).spec.requests[0].alternatives[0]


@pytest.mark.parametrize(
    ("held", "author", "other", "expected"),
    [
        # in general: the class decides
        (config(), ask(), ask(), Fit.FOLLOWS),
        (config(), ask(), ask(NVIDIA, f"{TYPE}'gpu'"), Fit.FOLLOWS),
        (config(), ask(), ask(MIG), Fit.CANNOT),
        (config(), ask(MIG), ask(ANY), Fit.CANNOT),
        (config(), ask(), ask(AMD), Fit.APART),
        (config(driver=AMD), ask(), ask(AMD), Fit.CANNOT),
        (config(driver=AMD), ask(), ask(), Fit.APART),
        # a class of which no driver is known might be any driver's
        (config(), ask(), ask(EMPTY), Fit.CANNOT),
        (config(), ask(EMPTY), ask(EMPTY), Fit.FOLLOWS),
        # NVIDIA: the kind of config goes with the type of device
        (config("GpuConfig"), ask(), ask(), Fit.FOLLOWS),
        (config("MigDeviceConfig"), ask(), ask(), Fit.CANNOT),
        (config("MigDeviceConfig"), ask(MIG), ask(MIG), Fit.FOLLOWS),
        (config("VfioDeviceConfig"), ask(), ask(), Fit.CANNOT),
        (config("GpuConfig"), ask(ANY), ask(ANY), Fit.CANNOT),
        (config("GpuConfig"), ask(ANY), ask(ANY, f'{TYPE}"gpu"'), Fit.FOLLOWS),
        (config("GpuConfig"), ask(ANY), ask(ANY, f'{TYPE}"mig"'), Fit.CANNOT),
        # nothing there now: the type of what the class has
        (config("GpuConfig"), ask(), ask(NVIDIA, "false"), Fit.FOLLOWS),
        (config("GpuConfig"), ask(ANY), ask(ANY, "false"), Fit.CANNOT),
        # the kind of another driver's config is its own business
        (config("MigDeviceConfig", AMD), ask(AMD), ask(AMD), Fit.FOLLOWS),
    ],
)
def test_fit(held: OpaqueConfig, author: Alternative, other: Alternative, expected: Fit) -> None:
    assert fit(held, author, other, FLEET.inventory) is expected


def test_kind_of() -> None:
    assert kind_of(config("GpuConfig")) == "GpuConfig"
    assert kind_of(OpaqueConfig(requests=(), pointer="", parameters="text")) == ""


@pytest.mark.parametrize(
    ("scope", "covered"), [((), True), (("gpu",), True), (("nic", "gpu"), True), (("nic",), False), (("gpu/a",), False)]
)
def test_covers(scope: tuple[str, ...], covered: bool) -> None:
    assert covers(scope, "gpu") is covered


SPEC = read_claim(claim("c", exactly("gpu"), exactly("nic"), first_available("acc", alternative("x"), alternative("y")))).spec


@pytest.mark.parametrize(
    ("scope", "follow", "apart", "expected"),
    [
        (("gpu",), ["a", "b"], [], ("gpu/a", "gpu/b")),
        (("nic", "gpu", "acc"), ["a", "b"], ["c"], ("nic", "gpu/a", "gpu/b", "acc")),
        (("gpu", "gpu/a"), ["a"], [], ("gpu/a",)),
        # about nothing in the list: never a smaller scope, an empty one would mean all
        (("gpu",), [], ["c"], ("gpu",)),
        (("nic", "gpu"), [], ["c"], ("nic", "gpu")),
        ((), [], ["c"], ()),
        # for all requests, and every alternative may follow: still for all
        ((), ["a", "b"], [], ()),
        # for all requests, but not for that alternative: everything is spelt out
        ((), ["a"], ["c"], ("gpu/a", "nic", "acc/x", "acc/y")),
    ],
)
def test_rescoped(scope: tuple[str, ...], follow: list[str], apart: list[str], expected: tuple[str, ...]) -> None:
    assert rescoped(scope, "gpu", follow, apart, SPEC) == expected
