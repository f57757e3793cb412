"""Selectors in the dialects of earlier releases: what a newer one says of the same text and device is another thing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from webhook.cel import CelError, Selector, compile_selector
from webhook.model.device import Device

GATE = "DRAListTypeAttributes"


def said(text: str, device: Device, minor: int, *gates: str) -> str:
    """ "compile: ...", "error: ..." or the verdict, with its cost."""
    selector = compile_selector(text, minor=minor, gates=gates)
    if not isinstance(selector, Selector):
        return f"compile: {selector[0].message}"
    outcome, cost = selector.cost(device)
    assert selector.against(device) == outcome
    return f"error: {outcome.message} ({cost})" if isinstance(outcome, CelError) else f"{outcome.value} ({cost})"


@pytest.mark.parametrize(
    ("minor", "gates", "expected"),
    [
        (34, (), "error: attribute d.io/modes: unsupported attribute value (0)"),
        (35, (), "error: attribute d.io/modes: unsupported attribute value (0)"),
        (36, (), "error: attribute d.io/modes: unsupported attribute value (0)"),
        (36, (GATE,), "match (0)"),
        (37, (), "match (0)"),
    ],
)
def test_a_list_is_no_value_where_lists_are_not_known(
    minor: int, gates: tuple[str, ...], expected: str, make_device: Callable[..., Device]
) -> None:
    listed = make_device("d.io", attributes={"modes": {"strings": ["a"]}})
    assert said("true", listed, minor, *gates) == expected
    assert said("true", make_device("d.io"), minor, *gates) == "match (0)"


@pytest.mark.parametrize(
    ("text", "before", "since"),
    [
        ("[1].all(x, .x == 1)", "match (6)", "compile: undeclared reference to 'x' (in container '')"),
        ("dyn(list{}) == 1", "compile: 'list' is not a message type", "error: unknown type 'list' (42)"),
        ('matches(device.driver, "^aaaaaaaaaaaaaa")', "no match (3)", "no match (6)"),
    ],
)
def test_what_changed_with_137(text: str, before: str, since: str, make_device: Callable[..., Device]) -> None:
    device = make_device("d.io")
    assert [said(text, device, minor) for minor in (34, 35, 36)] == [before] * 3
    assert said(text, device, 37).partition(";")[0] == since
