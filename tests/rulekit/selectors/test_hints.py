"""What would help against an error of a selector."""

from __future__ import annotations

from tests.build import device, example
from webhook.fleet.matching import DeviceError
from webhook.rulekit.selectors.hints import hint


def test_a_domain_with_dots_needs_brackets() -> None:
    one = example(device("a", {"model": "x"}), "gpu.example.com")
    error = DeviceError(one, "no such key: example", 'device.attributes.gpu.example.com.model == "x"')
    assert hint(error) == 'the domain is one name: write device.attributes["gpu.example.com"].model'
