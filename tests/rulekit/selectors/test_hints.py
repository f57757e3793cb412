"""What helps the author of a selector that raises an error."""

from __future__ import annotations

import pytest

from tests.build import device, device_slice, example, fleet_of
from webhook.cel import CelError, Selector
from webhook.fleet.fleet import Fleet
from webhook.fleet.matching import DeviceError, compile_for
from webhook.model.device import Device, Reach
from webhook.rulekit.selectors.hints import advice, fault_of, hint
from webhook.rulekit.selectors.steps import Steps

USUAL = "compare values of one type, and guard what a device may not have with has() or .?"
GPU, NIC = 'device.attributes["gpu.example.com"]', 'device.attributes["nic.example.com"]'
MEMORY = 'device.capacity["gpu.example.com"].memory'


def fleet(server: str = "1.37") -> Fleet:
    """Two sorts of cards, and a network card."""
    big = device(
        "gpu-0",
        {"model": "big", "index": 0, "ecc": True, "firmware": {"version": "1.2.3"}, "other.example.com/rack": "r1"},
        {"memory": "80Gi"},
    )
    part = device("part-0", {"model": "big", "profile": "small"}, {"memory": "10Gi"})
    return fleet_of(
        device_slice("node-a", big, part, driver="gpu.example.com"),
        device_slice("node-a", device("nic-0", {"name": "eth0", "lanes": [1, 2]}), driver="nic.example.com"),
        server=server,
    )


def raised(text: str, name: str, at: Fleet) -> DeviceError:
    """The error that a selector raises on a device."""
    (found,) = (item for pool in at.inventory.pools for item in pool.devices if item.name == name)
    compiled = compile_for(at.server, text)
    assert isinstance(compiled, Selector), compiled
    outcome = compiled.against(found)
    assert isinstance(outcome, CelError)
    return DeviceError(found, outcome.message, text)


TABLE = [
    # Names.
    (f'{GPU}.modell == "big"', "gpu-0", f"this device has model: write {GPU}.model"),
    (
        f"{GPU}.memry > 1",
        "gpu-0",
        f'this device has memory, and 1 has no unit (with one: quantity("1Gi")): write {MEMORY}.compareTo(quantity("1")) > 0',
    ),
    (f"{GPU}.memry + 1 > 1", "gpu-0", f"this device has memory: write {MEMORY}"),
    # An amount: the whole comparison, where it is a simple one.
    *(
        (text, "gpu-0", f"memory is a capacity of this device, not an attribute{remark}: write {MEMORY}{compared}")
        for text, remark, compared in (
            (
                f"{GPU}.memory > 40",
                ': 40 has no unit (with one: quantity("40Gi"))',
                '.compareTo(quantity("40")) > 0',
            ),
            (
                f"true && (40.5 <= {GPU}['memory'])",
                ': 40.5 has no unit (with one: quantity("40.5Gi"))',
                '.compareTo(quantity("40.5")) >= 0',
            ),
            (f'{GPU}.memory == "40Gi"', "", '.compareTo(quantity("40Gi")) == 0'),
            (f"{GPU}.memory < 42949672960", "", '.compareTo(quantity("42949672960")) < 0'),
            (f'{GPU}.memory == "big"', "", ""),
            (f"{GPU}.memory > 40 + 1", "", ""),
            (f"1 + {GPU}.memory > 40", "", ""),
            (f'{GPU}.memory.compareTo(quantity("40Gi")) > 0', "", ""),
        )
    ),
    (
        'device.capacity["gpu.example.com"].index.isGreaterThan(quantity("1"))',
        "gpu-0",
        f"index is an attribute of this device: write {GPU}.index",
    ),
    # Domains.
    ('device.attributes["gpu"].model == "big"', "gpu-0", f"this device has it in another domain: write {GPU}.model"),
    (
        'device.capacity["gpu"].memory.isGreaterThan(quantity("1"))',
        "gpu-0",
        f"this device has it in another domain: write {MEMORY}",
    ),
    (
        'device.attributes["gpu"].colour == "red"',
        "part-0",
        'gpu.example.com publishes nothing under "gpu", and under "gpu.example.com" model, profile; to pass over such devices'
        ' write has(device.attributes["gpu"].colour) && device.attributes["gpu"].colour == "red"',
    ),
    (
        'device.attributes["other.example.com"].row == "red"',
        "gpu-0",
        "no device of gpu.example.com publishes row, this one has rack; to pass over such devices write"
        ' has(device.attributes["other.example.com"].row) && device.attributes["other.example.com"].row == "red"',
    ),
    # Guards.
    (
        f'{GPU}.profile == "small"',
        "gpu-0",
        f'other devices of gpu.example.com have profile: write has({GPU}.profile) && {GPU}.profile == "small"',
    ),
    (
        f'{GPU}.model == "big" && {GPU}["profile"] == "small"',
        "gpu-0",
        "other devices of gpu.example.com have profile: write"
        f' {GPU}.model == "big" && has({GPU}.profile) && {GPU}["profile"] == "small"',
    ),
    (
        f'{GPU}.profile == "small" || {GPU}.profile == "large" && {GPU}.model == "big"',
        "gpu-0",
        f'other devices of gpu.example.com have profile: write has({GPU}.profile) && {GPU}.profile == "small" ||'
        f' has({GPU}.profile) && {GPU}.profile == "large" && {GPU}.model == "big"',
    ),
    (
        f'{GPU}.model == "big" &&\n  {GPU}.profile == "small"\n',
        "gpu-0",
        "other devices of gpu.example.com have profile: write"
        f' {GPU}.model == "big" && has({GPU}.profile) && {GPU}.profile == "small"',
    ),
    (
        f'{GPU}.model == "small"',
        "nic-0",
        "devices of gpu.example.com have model, those of nic.example.com do not: write"
        f' has({GPU}.model) && {GPU}.model == "small"',
    ),
    (
        f'{GPU}.colour == "red" && {GPU}.size == 3',
        "gpu-0",
        "no device of gpu.example.com publishes colour, this one has ecc, firmware, index, model;"
        f' to pass over such devices write has({GPU}.colour) && {GPU}.colour == "red" && {GPU}.size == 3',
    ),
    (
        f'{GPU}.profile == "small" ? true : false',
        "gpu-0",
        f"other devices of gpu.example.com have profile: write has({GPU}.profile) && before it",
    ),
    (
        f'cel.bind(x, {GPU}, x.profile == "small")',
        "gpu-0",
        f"other devices of gpu.example.com have profile: write has({GPU}.profile) && before it",
    ),
    ('{"a": 1}["b"] == 2', "part-0", "guard it with has(), in, [?] or .?; the device publishes model, profile"),
    # Types.
    (f"{GPU}.ecc > 1", "gpu-0", f"ecc is a bool on this device (true): write {GPU}.ecc"),
    (
        f"{GPU}.model > 1",
        "gpu-0",
        'model is a string on this device (big): compare it with a text in quotes, as in == "..."',
    ),
    (
        f'{GPU}.index.contains("0")',
        "gpu-0",
        "index is an int on this device (0): compare it with a whole number without quotes, as in == 1",
    ),
    (
        f"{GPU}.firmware > 1",
        "gpu-0",
        'firmware is a version on this device (1.2.3): compare it with another one, as in .compareTo(semver("1.2.3")) >= 0',
    ),
    (
        f"{NIC}.lanes > 1",
        "nic-0",
        f"lanes is a list on this device: ask for one of its values: write {NIC}.lanes.exists(x, x == 1)",
    ),
    (f"[{GPU}.ecc][0] > 1", "gpu-0", USUAL),
    (
        f'{GPU}.firmware == "1.2.3"',
        "gpu-0",
        "firmware is a version (1.2.3), and the selector takes it for a text:"
        f' write {GPU}.firmware.compareTo(semver("1.2.3")) == 0',
    ),
]


@pytest.mark.parametrize(("text", "name", "expected"), TABLE)
def test_what_helps(text: str, name: str, expected: str) -> None:
    at = fleet()
    assert advice(raised(text, name, at), at.inventory, Steps()) == expected


@pytest.mark.parametrize(("text", "name", "expected"), [row for row in TABLE if " && " in row[2] and "before it" not in row[2]])
def test_a_guarded_selector_raises_no_error(text: str, name: str, expected: str) -> None:
    at = fleet()
    device = raised(text, name, at).device
    compiled = compile_for(at.server, expected.rpartition(" write ")[2])
    assert isinstance(compiled, Selector)
    assert not isinstance(compiled.against(device), CelError)


@pytest.mark.parametrize("expected", [row[2] for row in TABLE if ".compareTo(quantity(" in row[2]])
def test_a_comparison_of_amounts_compiles_and_errs_on_no_card(expected: str) -> None:
    at = fleet()
    compiled = compile_for(at.server, expected.rpartition(" write ")[2])
    assert isinstance(compiled, Selector)
    for pool in at.inventory.pools_of("gpu.example.com"):
        assert not any(isinstance(compiled.against(item), CelError) for item in pool.devices)


def test_only_some_selectors_are_written_anew() -> None:
    at, steps = fleet(), Steps(texts=1)
    first, second = (advice(raised(f"{GPU}.profile == '{i}'", "gpu-0", at), at.inventory, steps) for i in range(2))
    assert first.endswith(f"write has({GPU}.profile) && {GPU}.profile == '0'")
    assert second.endswith(f"write has({GPU}.profile) && before it")


def test_a_long_selector_is_not_written_anew() -> None:
    at = fleet()
    error = raised(f'{GPU}.profile == "{"x" * 300}"', "gpu-0", at)
    assert hint(error, at.inventory, Steps()).endswith(f"write has({GPU}.profile) && before it")


def test_a_name_that_nobody_can_publish_is_not_repeated() -> None:
    at = fleet()
    error = raised(f'{GPU}["{"x" * 5_000}"] == 1', "part-0", at)
    assert hint(error, at.inventory, Steps()) == "guard it with has(), in, [?] or .?; the device publishes model, profile"


def test_nothing_is_tried_beyond_the_steps() -> None:
    at = fleet()
    assert hint(raised(f"{GPU}.ecc > 1", "gpu-0", at), at.inventory, Steps(0)) == USUAL
    assert fault_of(raised(f'{GPU}.firmware == "1.2.3"', "gpu-0", at), at.server, Steps(0)) is None


def test_the_servers_own_cel_counts() -> None:
    """What only a newer server compiles is no selector of an older one."""
    text = f'{GPU}.firmware == "1.2.3" && "x".includes("x")'
    newer = fleet("1.36")
    assert fault_of(raised(text, "gpu-0", newer), newer.server, Steps()) is not None
    assert fault_of(raised(text, "gpu-0", newer), fleet("1.35").server, Steps()) is None


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("no such overload: _>_", USUAL),
        (
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
            'write an amount as Kubernetes does: quantity("40Gi"), quantity("40G")',
        ),
        ("No Major.Minor.Patch elements found", 'a version has three numbers: semver("8.0.0")'),
        (
            "CEL result of type string could not be converted to bool: unsupported native conversion from string to 'bool'",
            'a selector is true or false: compare what it reads, as in == "gpu" or > 3',
        ),
        (
            "attribute gpu.example.com/lanes: unsupported attribute value",
            "the selector is not at fault: this server knows no attributes that are lists, and errs on every such device",
        ),
        ("index out of bounds: 5", "guard the index with size()"),
    ],
)
def test_each_kind_of_error_has_its_own_remedy(message: str, expected: str) -> None:
    gpu = Device(driver="gpu.example.com", pool="p", name="gpu-0", reach=Reach())
    assert hint(DeviceError(gpu, message, "true"), fleet_of().inventory, Steps()) == expected


def test_a_domain_with_dots_needs_brackets() -> None:
    one = example(device("a", {"model": "x"}), "gpu.example.com")
    error = DeviceError(one, "no such key: example", 'device.attributes.gpu.example.com.model == "x"')
    expected = 'the domain is one name: write device.attributes["gpu.example.com"].model'
    assert hint(error, fleet_of().inventory, Steps()) == expected
