"""The text of a line, for messages."""

from __future__ import annotations

import pytest

from webhook.folder.document import excerpt_of


@pytest.mark.parametrize(("line", "text"), [(0, ""), (1, "one"), (2, ""), (3, "three"), (4, ""), (5, "")])
def test_excerpt(line: int, text: str) -> None:
    assert excerpt_of("one\r\n\nthree\n", line) == text


def test_excerpt_of_a_last_line_without_end() -> None:
    assert excerpt_of("one\ntwo", 2) == "two"
