"""Time zones: names as Go opens them, and times that datetime cannot hold in every zone; values are the scheduler's own."""

from __future__ import annotations

import pytest

from webhook.cel import CelError, Expression, compile_expression

LAST = "timestamp(253402300799)"  # 9999-12-31T23:59:59Z


def run(text: str) -> object:
    expression = compile_expression(text, variables={}, result="bool")
    assert isinstance(expression, Expression)
    return expression.evaluate({})


@pytest.mark.parametrize(
    ("zone", "hours"),
    [
        ("Europe/Berlin", 0),
        ("Australia/Sydney", 10),
        ("America/New_York", 18),
        ("Pacific/Chatham", 13),
        ("UTC", 23),
        ("Local", 23),
    ],
)
def test_the_last_winter_is_a_winter(zone: str, hours: int) -> None:
    assert run(f'{LAST}.getHours("{zone}") == {hours}') is True


def test_the_last_summer_is_a_summer() -> None:
    assert run('timestamp("9999-07-01T12:00:00Z").getHours("Europe/Berlin") == 14') is True


@pytest.mark.parametrize("zone", ["Europe//Berlin", "Europe/./Berlin", "./Europe/Berlin", ".//Europe///Berlin"])
def test_slashes_and_dots_before_the_end_do_nothing(zone: str) -> None:
    assert run(f'timestamp(0).getHours("{zone}") == 1') is True


@pytest.mark.parametrize(
    "zone", ["Europe/Berlin/", "Europe/Berlin/.", "/Europe/Berlin", "Europe/../Europe/Berlin", "./Local", ".", "Europe"]
)
def test_what_is_no_zone(zone: str) -> None:
    assert run(f'timestamp(0).getHours("{zone}") == 1') == CelError(f"unknown time zone {zone}")
