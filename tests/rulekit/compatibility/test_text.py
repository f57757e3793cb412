"""Words for shapes that are not declared, and the shortest declaration that would pass."""

from __future__ import annotations

import pytest

from webhook.rulekit.compatibility.declared import SHAPES_ANNOTATION, UNDECLARED, WHEN_ANNOTATION, Declared, Level, statement_of
from webhook.rulekit.compatibility.text import (
    Wanted,
    as_annotation,
    declared_words,
    in_words,
    listed,
    shortest_declaration,
    undeclared_words,
)
from webhook.rulekit.shapes.catalog import Catalog
from webhook.rulekit.shapes.shape import Shape

NO_CATALOG = Catalog(())


def shape(**counts: int) -> Shape:
    return Shape(tuple(sorted(counts.items())))


def declared(text: str, level: Level = "pod", when: str = "") -> Declared:
    annotations = {SHAPES_ANNOTATION: text} if text else {}
    statement = statement_of(annotations | ({WHEN_ANNOTATION: when} if when else {}), "claim", "gpu")
    assert statement is not None
    return Declared(statement, level, "Namespace team-a")


def test_what_is_not_declared() -> None:
    two = [shape(a=2), shape(b=1)]
    assert undeclared_words('"x": ', two[:1], declared("h100"), "pod") == '"x": 2x a is not declared (declared: h100)'
    assert undeclared_words('"x": ', two, UNDECLARED, "pod") == '"x": 2x a, 1x b are not declared (nothing is declared)'
    assert (
        undeclared_words("may give ", two[:1], UNDECLARED, "pod")
        == "may give 2x a, which is not declared (nothing is declared)"
    )


def test_what_was_declared_elsewhere_is_said_with_its_place() -> None:
    assert declared_words(declared("h100, gpu: 2x t4", "namespace"), "pod") == "declared by Namespace team-a: h100, 2x t4"
    assert declared_words(declared("h100", "claim"), "claim") == "declared: h100"
    assert declared_words(declared("", when="shape.count < 3"), "pod") == "declared: when shape.count < 3"
    assert declared_words(declared("h100", when="true"), "pod") == "declared: h100 or when true"


def test_long_lists_are_cut() -> None:
    shapes = [shape(a=i + 1) for i in range(10)]
    assert listed(shapes[:8]) == "1x a, 2x a, 3x a, 4x a, 5x a, 6x a, 7x a, 8x a"
    assert listed(shapes) == "1x a, 2x a, 3x a, 4x a, 5x a, 6x a, 7x a, 8x a and 2 more"


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        (["a"], "a"),
        (["a", "b"], "a and b"),
        (["a", "b", "c"], "a, b and c"),
        (list("abcdefgh"), "a, b, c, d, e, f, g and h"),
        (list("abcdefghij"), "a, b, c, d, e, f, g, h and 2 more"),
    ],
)
def test_words(items: list[str], expected: str) -> None:
    assert in_words(items) == expected


def test_what_is_declared_stays_as_it_was_written_and_what_is_missing_follows() -> None:
    wanted = [Wanted(declared("h100-*, 2x a100"), (shape(t4=1), shape(t4=2)))]
    assert shortest_declaration(wanted, "pod", NO_CATALOG) == "h100-*, 2x a100, 1-2x t4"


def test_what_was_declared_further_off_is_repeated() -> None:
    wanted = [Wanted(declared("h100", "namespace"), (shape(t4=1),)), Wanted(declared("h100", "namespace"), (shape(t4=1),))]
    assert shortest_declaration(wanted, "pod", NO_CATALOG) == "h100, t4"


@pytest.mark.parametrize(
    ("text", "level", "expected"),
    [
        ("gpu: h100", "pod", "gpu: h100, gpu: t4"),
        ("claim/gpu: h100, nic: x", "pod", "claim/gpu: h100, claim/gpu: t4"),
        ("gpu: h100, 2x a", "pod", "gpu: h100, 2x a, t4"),
        ("gpu: h100", "namespace", "gpu: h100, t4"),
    ],
)
def test_additions_take_over_the_scope_of_what_they_add_to(text: str, level: Level, expected: str) -> None:
    assert shortest_declaration([Wanted(declared(text, level), (shape(t4=1),))], "pod", NO_CATALOG) == expected


def test_two_requests_with_scopes_of_their_own() -> None:
    nic = statement_of({SHAPES_ANNOTATION: "gpu: h100, nic: x"}, "", "nic")
    assert nic is not None
    wanted = [
        Wanted(declared("gpu: h100, nic: x"), (shape(t4=1),)),
        Wanted(Declared(nic, "pod", "Pod p"), (shape(y=1), shape(t4=1))),
    ]
    assert shortest_declaration(wanted, "pod", NO_CATALOG) == "gpu: h100, nic: x, gpu: t4, nic: y, nic: t4"


def test_a_suggestion_is_bounded() -> None:
    wanted = [Wanted(UNDECLARED, tuple(shape(**{f"m{i}": 1}) for i in range(40)))]
    assert shortest_declaration(wanted, "pod", NO_CATALOG).endswith("m30, m31, and 8 more")
    wanted = [Wanted(UNDECLARED, tuple(shape(**{f"m{i}": 1}) for i in range(32)))]
    assert shortest_declaration(wanted, "pod", NO_CATALOG).endswith("m30, m31")


def test_the_annotation_can_be_pasted() -> None:
    assert as_annotation("h100, 2x a100") == 'fallgate.dev/compatible-shapes: "h100, 2x a100"'
    assert as_annotation('?x/NVIDIA "A"') == 'fallgate.dev/compatible-shapes: "?x/NVIDIA \\"A\\""'


def test_what_is_added_for_one_request_does_not_loosen_another() -> None:
    scoped, far = declared("claim/gpu: 2x a100"), declared("2x *", "claim")
    wanted = [
        Wanted(scoped, (), "claim/gpu: "),
        Wanted(far, (shape(h100=1),), "b/gpu: "),
        Wanted(UNDECLARED, (shape(t4=1),), "c/gpu: "),
    ]
    assert shortest_declaration(wanted, "pod", NO_CATALOG) == "claim/gpu: 2x a100, b/gpu: 2x *, b/gpu: h100, c/gpu: t4"
    plain = [Wanted(declared("2x a100"), ()), Wanted(far, (shape(h100=1),), "b/gpu: ")]
    assert shortest_declaration(plain, "pod", NO_CATALOG) == "2x a100, 2x *, h100"
