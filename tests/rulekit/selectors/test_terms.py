"""Selectors cut into terms."""

from __future__ import annotations

import pytest

from webhook.rulekit.selectors.terms import conjuncts, on_one_line, starts_of_terms, texts_in


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", ("a",)),
        (" a && b ", ("a", "b")),
        ("a && (b || c) && d", ("a", "b || c", "d")),
        ("((a && b)) && f(c && d)", ("a", "b", "f(c && d)")),
        ("(a) + (b) == 1 && c", ("(a) + (b) == 1", "c")),
        ("a && b || c", ("a && b || c",)),
        ('a == "x && y" && b', ('a == "x && y"', "b")),
        (r'a == "\" && " && b', (r'a == "\" && "', "b")),
        ("a == 'x\" && ' && b", ("a == 'x\" && '", "b")),
        ('a.?b.orValue("") == "x" && c[?"d"].hasValue()', ('a.?b.orValue("") == "x"', 'c[?"d"].hasValue()')),
        (r'a == r"\" || b == "c" && d', (r'a == r"\" || b == "c" && d',)),
        (r'a == r"\" && b == "c" && d', (r'a == r"\"', 'b == "c"', "d")),
        (r"a == R'\' && b == bR'\' && d", (r"a == R'\'", r"b == bR'\'", "d")),
        (r'a == r"""\""" && b == "c"', (r'a == r"""\"""', 'b == "c"')),
        (r'a == """\""" && " """ && b', (r'a == """\""" && " """', "b")),
        # What is not cut.
        ("a ? b && c : d", ("a ? b && c : d",)),
        ("a && b // && c", ("a && b // && c",)),
        ("", ()),
    ],
)
def test_conjuncts(text: str, expected: tuple[str, ...]) -> None:
    assert conjuncts(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("X", "|X"),
        ("a && X == 1", "a && |X == 1"),
        ("a || !X", "a || |!X"),
        ("(a && X) || X", "(a && |X) || |X"),
        ("(1 + X) * 2 == f(b, X)", "|(1 + X) * 2 == f(b, X)"),
        ("l.exists(v, v && X == v)", "l.exists(v, v && |X == v)"),
        ("X in [a, X] && X", "|X in [a, X] && |X"),
        ("a[X && b]", "|a[X && b]"),
    ],
)
def test_starts_of_terms(text: str, expected: str) -> None:
    starts = starts_of_terms(text, [i for i, sign in enumerate(text) if sign == "X"])
    assert starts is not None
    for start in sorted(starts, reverse=True):
        text = f"{text[:start]}|{text[start:]}"
    assert text == expected


def test_what_stands_in_a_text_is_no_term() -> None:
    assert starts_of_terms('a == "X"', [6]) is None
    assert starts_of_terms("X ? a : b", [0]) is None


def test_what_is_long_or_deep_is_not_cut() -> None:
    long = f'a == "{"x" * 2_000}" && b'
    assert conjuncts(long) == (long,)
    assert starts_of_terms(long, [0]) is None
    deep = "(" * 30 + "a && b" + ")" * 30
    assert conjuncts(deep) == (deep[20:-20],)
    assert len(conjuncts("a && (" * 200 + "b" + ")" * 200)) == 11


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('a == "x  y"  &&\n    b\r\n', 'a == "x  y"  && b'),
        ('a == """x\ny"""', ""),
        ('a == """x y"""', 'a == """x y"""'),
    ],
)
def test_one_line(text: str, expected: str) -> None:
    assert on_one_line(text) == expected


def test_texts() -> None:
    text = r"""a == "x" && b == r'y' && c == r"\" && d == "\"" && e in ['z', '"']"""
    assert list(texts_in(text)) == ["x", "y", "z", '"']
