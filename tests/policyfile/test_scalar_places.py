"""Where the characters of a scalar stand in the file, in every way to write one."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from webhook.policyfile.scalar_places import place_in
from webhook.policyfile.yaml_nodes import Scalar, find
from webhook.policyfile.yaml_reading import read_documents


def scalar_of(text: str) -> Scalar:
    [root] = read_documents("p.yaml", text.encode()).documents
    node = find(root, "a", "b")
    assert isinstance(node, Scalar)
    return node


def pointed(text: str, character: str) -> list[tuple[int, int]]:
    """Line and column in the file of every `character` of the scalar."""
    scalar = scalar_of(text)
    found = []
    for number, line in enumerate(scalar.text.split("\n"), start=1):
        for column, one in enumerate(line, start=1):
            if one == character:
                place = place_in(scalar, number, column)
                found.append((place.line, place.column))
    return found


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("a:\n  b: 1 + X\n", [(2, 10)]),
        ("a: {b: X + 1 + X}\n", [(1, 8), (1, 16)]),
        ("a:\n  b: 1 +\n    X +\n\n    X\n", [(3, 5), (5, 5)]),
        ("a:\n  b: 'it''s X'\n", [(2, 13)]),
        ("a:\n  b: 'one\n\n   X ''X'' '\n", [(4, 4), (4, 8)]),
        ('a:\n  b: "\\"\\u0041\\x41\\U00000041 X"\n', [(2, 30)]),
        ('a:\n  b: "one \\\n    X\n    X"\n', [(3, 5), (4, 5)]),
        ('a:\n  b: "\\X"\n'.replace("\\X", "\\x58"), [(2, 7)]),
        ("a:\n  b: |\n    X\n      X\n\n    X\n", [(3, 5), (4, 7), (6, 5)]),
        ("a:\n  b: |+2  # comment\n\n      X\n\n", [(4, 7)]),
        ("a:\n  b: >-\n    X\n    1\n\n      X\n    X\n", [(3, 5), (6, 7), (7, 5)]),
        ("a:\n  b: &x !!str X\n", [(2, 15)]),
        ("a:\r\n  b: |\r\n    1\r\n    X\r\n", [(4, 5)]),
    ],
)
def test_characters_are_found(text: str, places: list[tuple[int, int]]) -> None:
    assert pointed(text, "X") == places


def test_behind_the_end_is_behind_the_last_character() -> None:
    place = place_in(scalar_of("a:\n  b: 'one'\n"), 1, 4)
    assert (place.line, place.column) == (2, 10)
    place = place_in(scalar_of("a:\n  b: |-\n    one\n    two\n"), 7, 1)
    assert (place.line, place.column) == (4, 8)
    place = place_in(scalar_of('a:\n  b: ""\n'), 1, 1)
    assert (place.line, place.column) == (2, 6)


def test_before_the_beginning_is_the_beginning() -> None:
    place = place_in(scalar_of("a:\n  b: 'one'\n"), 0, 0)
    assert (place.line, place.column) == (2, 7)


STYLES = st.sampled_from([None, "'", '"', "|", ">"])
TEXTS = st.text(st.sampled_from("ab'\"\\ \n:#é\t-"), min_size=1, max_size=40)


@given(text=TEXTS, style=STYLES, width=st.integers(5, 30))
def test_every_character_stands_for_itself(text: str, style: str | None, width: int) -> None:
    """Whatever a YAML writer makes of a text, its letters are found where they were written."""
    scalar = scalar_of(yaml.dump({"a": {"b": text}}, default_style=style, width=width, allow_unicode=True))
    # The writer folds some texts that begin with a blank wrongly: what counts is what is read.
    for number, line in enumerate(scalar.text.split("\n"), start=1):
        for column, one in enumerate(line, start=1):
            if one in "abé-#:":
                place = place_in(scalar, number, column)
                assert place.source.text[place.index] == one
