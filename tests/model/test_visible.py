"""What cannot be seen is spelt out."""

from __future__ import annotations

import pytest

from webhook.model.visible import visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text, ä, 漢", "plain text, ä, 漢"),
        ("two\nlines", "two\nlines"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\tb\r\n", "a\\tb\\r\n"),
        ("\u202eevil", "\\u202eevil"),
        ("a\xa0b", "a\\xa0b"),
        ("\x00", "\\x00"),
    ],
)
def test_visible(text: str, shown: str) -> None:
    assert visible(text) == shown
