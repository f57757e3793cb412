"""Problems as text."""

from __future__ import annotations

import pytest

from webhook.cel import pointed
from webhook.errors import Problem
from webhook.policyfile import render_problem


def test_place_message_excerpt_caret_and_hint() -> None:
    problem = Problem(
        message='unknown key "selecter"',
        source="policies/nvidia.yaml",
        line=12,
        column=7,
        excerpt="      selecter: 'true'",
        hint='did you mean "selector"?',
    )
    assert render_problem(problem) == (
        'policies/nvidia.yaml:12:7: unknown key "selecter"\n    selecter: \'true\'\n    ^\n  did you mean "selector"?'
    )


def test_what_is_not_known_is_left_out() -> None:
    assert render_problem(Problem(message="too big", source="a.yaml")) == "a.yaml: too big"
    assert render_problem(Problem(message="odd", warning=True)) == "warning: odd"
    assert render_problem(Problem(message="odd", source="a", line=1, column=1, excerpt="  ")) == "a:1:1: odd"


@pytest.mark.parametrize(
    ("text", "column", "excerpt", "caret"),
    [
        ("a: b", 4, "a: b", "   ^"),
        ("    a: b", 8, "a: b", "   ^"),
        ("\ta: b", 1, " a: b", "^"),
        ("a:\tb", 4, "a: b", "   ^"),
        ("a: b", 9, "a: b", "        ^"),
        ("a: 日本 b", 7, "a: 日本 b", "        ^"),
        ("a: \x1b[31mb", 4, "a:  [31mb", "   ^"),
    ],
)
def test_the_caret_stands_under_the_mistake(text: str, column: int, excerpt: str, caret: str) -> None:
    assert pointed(text, column) == (excerpt, caret)


def test_a_long_line_is_cut_around_the_mistake() -> None:
    line = "x" * 100 + "MISTAKE" + "y" * 100
    excerpt, caret = pointed(line, 101)
    assert excerpt == "..." + "x" * 50 + "MISTAKE" + "y" * 43 + "..."
    assert excerpt[len(caret) - 1 :].startswith("MISTAKE")


def test_a_long_line_with_the_mistake_at_its_beginning_or_end() -> None:
    assert pointed("MISTAKE" + "y" * 200, 1) == ("MISTAKE" + "y" * 93 + "...", "^")
    excerpt, caret = pointed("x" * 200 + "MISTAKE", 201)
    assert excerpt == "..." + "x" * 50 + "MISTAKE"
    assert excerpt[len(caret) - 1 :] == "MISTAKE"
