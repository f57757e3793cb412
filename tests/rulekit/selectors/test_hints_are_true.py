"""What hints offer, on the published manifests of ten drivers: it compiles, and raises no error where it is offered."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.build import fleet_of
from webhook.cel import MATCH, CelError, Selector
from webhook.fleet.fleet import Fleet
from webhook.fleet.matching import DeviceError, compile_for
from webhook.model.device import Device
from webhook.rulekit.selectors.hints import advice
from webhook.rulekit.selectors.missed import why_nothing_matches
from webhook.rulekit.selectors.own_domain import with_domain
from webhook.rulekit.selectors.steps import Steps

MANIFESTS = Path(__file__).parents[2] / "cases" / "manifests"
VENDORS = sorted(path.name for path in MANIFESTS.iterdir() if path.is_dir())
SELECTORS = 400

#: What people write about a value, wrongly or rightly.
TESTS = (
    ' == "H100"',
    ' == "Gpu"',
    '.contains("h100")',
    '.startsWith("NVIDIA")',
    '.lowerAscii().matches("^.*a100.*$")',
    " == 3",
    " > 1",
    " == true",
    "",
    ' in ["gpu", "MIG"]',
    '.compareTo(quantity("41Gi")) >= 0',
    '.isLessThan(quantity("1"))',
    '.compareTo(semver("999.0.0")) >= 0',
    '.exists(x, x == "a")',
    ' == "1.2.3"',
    '.string == "x"',
    " != 7 + 1",
    " > 40",
    ' == "40Gi"',
    ' =~ "H100"',
    '.matches("*H100*")',
    ' == quantity("40Gi")',
    ' >= semver("1.2.3")',
)
FORMS = (
    "{a}",
    "{a}",
    "{a} && {b}",
    "{b} && {a}",
    "{a} || {b}",
    "({a} || {b}) && {c}",
    "!({a})",
    "({a} && {b}) || ({c})",
    "has({p}) && ({a} || {b})",
    "[1, 2].exists(i, i == 2 && {a})",
    'cel.bind(v, {p}, v == "x" || {a})',
    "{a} ? {b} : {c}",
)


def fleet(vendor: str) -> Fleet:
    found = [item for path in sorted((MANIFESTS / vendor).glob("*.yaml")) for item in yaml.safe_load_all(path.read_text())]
    kinds = {"ResourceSlice", "DeviceClass"}
    return fleet_of(*(item for item in found if item and item["kind"] in kinds), server="1.37")


def path(chance: random.Random, devices: list[Device]) -> str:
    """Something that a device has, or nearly."""
    device = chance.choice(devices)
    kind, names = chance.choice([("attributes", list(device.attributes)), ("capacity", list(device.capacity))])
    domain, _, name = chance.choice(names or ["gpu.example.com/model"]).partition("/")
    slip = chance.randrange(8)
    if slip == 0:
        name = name[1:] or "x"
    elif slip == 1:
        domain = domain.partition(".")[2] or domain
    elif slip == 2:
        kind = "capacity" if kind == "attributes" else "attributes"
    elif slip == 3:
        name = "colour"
    elif slip == 4:
        return chance.choice([f'device.{kind}["{name}"]', f"device.{kind}.{name}", f"device.{name}"])
    elif slip == 5:
        return chance.choice([f'device.{kind}["{domain}"].?{name}', f'device.{kind}["{domain}"][?"{name}"]'])
    return f'device.{kind}["{domain}"].{name}' if chance.random() < 0.8 else f"device.{kind}['{domain}']['{name}']"


def selectors(vendor: str, devices: list[Device]) -> Iterator[str]:
    chance = random.Random(f"hints of {vendor}")  # the same every time
    for _ in range(SELECTORS):
        terms = {name: path(chance, devices) + chance.choice(TESTS) for name in "abc"}
        yield chance.choice(FORMS).format(p=path(chance, devices), **terms)


def offered(hint: str) -> str:
    """The CEL in a hint: behind "write", to its end or to what it is put before."""
    return hint.partition("write ")[2].removesuffix(" && before it")


def is_cel(at: Fleet, text: str) -> bool:
    """Whether a text compiles: as a selector, or as a value in one."""
    return any(isinstance(compile_for(at.server, whole), Selector) for whole in (text, f"dyn({text}) == dyn(1)"))


@pytest.mark.parametrize("vendor", VENDORS)
def test_hints_against_errors(vendor: str) -> None:
    at = fleet(vendor)
    devices = [device for pool in at.inventory.pools for device in pool.devices]
    said = 0
    for text in selectors(vendor, devices):
        compiled = compile_for(at.server, text)
        if not isinstance(compiled, Selector):
            continue
        raised = {
            (device.driver, outcome.message): (device, outcome)
            for device in devices
            if isinstance(outcome := compiled.against(device), CelError)
        }
        for device, outcome in raised.values():
            hint = advice(DeviceError(device, outcome.message, text), at.inventory, Steps())
            assert hint, text
            cel = offered(hint)
            if not cel or cel.startswith("an amount"):
                continue
            said += 1
            assert is_cel(at, cel), (text, hint)
            whole = compile_for(at.server, cel)
            if isinstance(whole, Selector) and (" && " in cel or cel.startswith("has(")):
                assert not isinstance(whole.against(device), CelError), (text, hint)
            if not isinstance(whole, Selector) or not isinstance(whole.against(device), CelError):
                continue
            # A bare value is no selector; reading it raises no error of its own.
            assert "could not be converted to bool" in str(whole.against(device)), (text, hint, whole.against(device))
    assert said > 20


@pytest.mark.parametrize("vendor", VENDORS)
def test_hints_where_nothing_matches(vendor: str) -> None:
    at = fleet(vendor)
    devices = [device for pool in at.inventory.pools for device in pool.devices]
    said = 0
    for text in selectors(vendor, devices):
        compiled = compile_for(at.server, text)
        if not isinstance(compiled, Selector) or any(compiled.against(device) is MATCH for device in devices):
            continue
        hint = why_nothing_matches(at.inventory, at.inventory.sets.everything, (text,), Steps())
        said += bool(hint)
        assert not offered(hint) or is_cel(at, offered(hint)), (text, hint)
    assert said > 5


@pytest.mark.parametrize("vendor", VENDORS)
def test_hints_against_compile_errors(vendor: str) -> None:
    at = fleet(vendor)
    devices = [device for pool in at.inventory.pools for device in pool.devices]
    said = 0
    for text in selectors(vendor, devices):
        compiled = compile_for(at.server, text)
        for problem in compiled if isinstance(compiled, tuple) else ():
            hint = with_domain(problem.hint, at.inventory)
            if re.search(r"write (?:device\.|has\(|![a-z]|semver|quantity)", hint) and ", or " not in hint:
                said += 1
                assert is_cel(at, offered(hint)), (text, hint)
    assert said > 5
