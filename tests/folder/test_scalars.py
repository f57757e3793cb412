"""Plain scalars read as kubectl reads them."""

from __future__ import annotations

import pytest

from webhook.folder.scalars import Scalar, key_text, resolve


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("", None),
        ("~", None),
        ("null", None),
        ("true", True),
        ("Yes", True),
        ("on", True),
        ("off", False),
        ("n", False),
        ("nope", "nope"),
        ("8", 8),
        ("-3", -3),
        ("+3", 3),
        ("1_000", 1000),
        ("0x1F", 31),
        ("0o17", 15),
        ("017", 15),
        ("0b101", 5),
        ("-0b101", -5),
        ("08", 8),
        ("0", 0),
        ("1.5", 1.5),
        ("2.0", 2),
        ("1e3", 1000),
        (".5", 0.5),
        ("1e999", "1e999"),
        ("1e22", 1e22),
        ("1.2.3", "1.2.3"),
        (".inf", ".inf"),
        ("-", "-"),
        ("80Gi", "80Gi"),
        ("0000:17:00.0", "0000:17:00.0"),
        ("1:30", "1:30"),
        ("2027-01-01", "2027-01-01"),
        ("2027-01-01T00:00:00Z", "2027-01-01T00:00:00Z"),
        ("9" * 500, "9" * 500),
        ("<<", "<<"),
    ],
)
def test_resolve(written: str, value: Scalar) -> None:
    found = resolve(written)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("key", "text"), [("a", "a"), (1, "1"), (True, "true"), (False, "false"), (None, "null"), (1.5, "1.5")]
)
def test_keys_are_text(key: Scalar, text: str) -> None:
    assert key_text(key) == text
