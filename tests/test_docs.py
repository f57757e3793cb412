"""The generated pages are what would be generated now."""

from __future__ import annotations

from docs.generate import RULES, pages


def test_rule_pages_are_up_to_date() -> None:
    written = {path: path.read_text() for path in RULES.glob("*.md")}
    assert written == dict(pages()), "run `make docs`"
