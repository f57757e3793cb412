"""Devices and helpers for the tests of CEL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from webhook.cel import CelError, Selector, compile_selector
from webhook.model.device import Attribute, Device, Reach


def make_device(
    driver: str = "gpu.example.com",
    *,
    sharable: bool = False,
    attributes: Mapping[str, Mapping[str, Any]] | None = None,
    capacity: Mapping[str, str] | None = None,
) -> Device:
    """A device from attributes as the API spells them: {name: {"string": "x"}}. Bare names belong to the driver."""

    def qualified(name: str) -> str:
        return name if "/" in name else f"{driver}/{name}"

    def attribute(spelt: Mapping[str, Any]) -> Attribute:
        ((kind, value),) = spelt.items()
        return Attribute(kind, tuple(value) if isinstance(value, list) else value)

    return Device(
        driver=driver,
        pool="pool",
        name="device",
        reach=Reach(all_nodes=True),
        sharable=sharable,
        attributes={qualified(name): attribute(spelt) for name, spelt in (attributes or {}).items()},
        capacity={qualified(name): text for name, text in (capacity or {}).items()},
    )


def verdict(text: str, device: Device) -> str:
    """ "match", "no match", "error: ..." or "compile: ..."."""
    selector = compile_selector(text)
    if not isinstance(selector, Selector):
        return "compile: " + "; ".join(problem.message for problem in selector)
    outcome = selector.against(device)
    return f"error: {outcome.message}" if isinstance(outcome, CelError) else outcome.value


@pytest.fixture(name="make_device")
def _make_device() -> Callable[..., Device]:
    return make_device


@pytest.fixture(name="verdict")
def _verdict() -> Callable[[str, Device], str]:
    return verdict


@pytest.fixture
def gpu() -> Device:
    """A device with one attribute of every kind."""
    return make_device(
        attributes={
            "productName": {"string": "NVIDIA H100 80GB HBM3"},
            "index": {"int": 3},
            "zero": {"int": 0},
            "healthy": {"bool": True},
            "cudaComputeCapability": {"version": "9.0.0"},
            "modes": {"strings": ["a", "b"]},
            "links": {"ints": [1, 2, 5]},
            "flags": {"bools": [True, False]},
            "firmware": {"versions": ["1.2.3", "1.10.0"]},
            "resource.kubernetes.io/pcieRoot": {"string": "pci0000:00"},
        },
        capacity={"memory": "80Gi"},
    )
