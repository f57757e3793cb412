"""What helps the author of a selector that raises an error."""

from __future__ import annotations

import pytest

from tests.build import device, example
from webhook.fleet.matching import DeviceError
from webhook.model.device import Device, Reach
from webhook.rulekit.selectors.hints import hint

USUAL = "compare values of one type, and guard what a device may not have with has() or .?"


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
    assert hint(DeviceError(gpu, message, "true")) == expected


def test_a_domain_with_dots_needs_brackets() -> None:
    one = example(device("a", {"model": "x"}), "gpu.example.com")
    error = DeviceError(one, "no such key: example", 'device.attributes.gpu.example.com.model == "x"')
    assert hint(error) == 'the domain is one name: write device.attributes["gpu.example.com"].model'
