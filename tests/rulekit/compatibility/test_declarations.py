"""The compact form of declarations: what is read, what is refused with a caret where, and what an entry covers."""

from __future__ import annotations

import pytest

from tests.build import product
from webhook.rulekit.compatibility.declarations import Declaration, DeclarationProblem, Entry, Part, parse_declaration
from webhook.rulekit.shapes.catalog import Catalog
from webhook.rulekit.shapes.shape import Shape

NAMES = Catalog(
    (
        product("a100-40gb", "a", aliases=["a100"]),
        product("a100-80gb", "b"),
        product("h100-80gb", "c"),
        product("mi300x", "d"),
    )
)


def parsed(text: str) -> Declaration:
    found = parse_declaration(text)
    assert isinstance(found, Declaration), found
    return found


def entry(text: str) -> Entry:
    (found,) = parsed(text).entries
    return found


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("h100-80gb", (Part("h100-80gb", 1, 1),)),
        ("  h100-80gb  ", (Part("h100-80gb", 1, 1),)),
        ("2x a100-40gb", (Part("a100-40gb", 2, 2),)),
        ("2 x a100-40gb", (Part("a100-40gb", 2, 2),)),
        ("2x\ta100-40gb", (Part("a100-40gb", 2, 2),)),
        ("1-4x mi300x-*", (Part("mi300x-*", 1, 4),)),
        ("3-3x t4", (Part("t4", 3, 3),)),
        ("1-123456x t4", (Part("t4", 1, 123456),)),
        ("*x tpu-v4", (Part("tpu-v4", 1, None),)),
        ("*", (Part("*", 1, 1),)),
        ("*xl", (Part("*xl", 1, 1),)),
        ("2x", None),
        ("a + 2x b", (Part("a", 1, 1), Part("b", 2, 2))),
        ("a+b", (Part("a", 1, 1), Part("b", 1, 1))),
        ("*x a + *x b", (Part("a", 1, None), Part("b", 1, None))),
        ("a100-[48]0gb", (Part("a100-[48]0gb", 1, 1),)),
        ("?gpu.nvidia.com/NVIDIA H200", (Part("?gpu.nvidia.com/NVIDIA H200", 1, 1),)),
        ("2x ?gpu.nvidia.com/NVIDIA H200 + t4", (Part("?gpu.nvidia.com/NVIDIA H200", 2, 2), Part("t4", 1, 1))),
        ("2x ?x.example.com/Model: 7", (Part("?x.example.com/Model: 7", 2, 2),)),
    ],
)
def test_parts(text: str, parts: tuple[Part, ...] | None) -> None:
    if parts is None:
        assert isinstance(parse_declaration(text), DeclarationProblem)
    else:
        assert entry(text).parts == parts


@pytest.mark.parametrize(
    ("text", "claim", "request_name", "scope", "left"),
    [
        ("h100", "", "", "", "h100"),
        ("gpu: h100", "", "gpu", "gpu: ", "h100"),
        ("gpu : h100", "", "gpu", "gpu: ", "h100"),
        ("accelerator/gpu: 1-4x mi300x-*", "accelerator", "gpu", "accelerator/gpu: ", "1-4x mi300x-*"),
        ("accelerator/ 2x h100", "accelerator", "", "accelerator/ ", "2x h100"),
        ("accelerator/h100", "accelerator", "", "accelerator/ ", "h100"),
        ("a/b:c", "a", "b", "a/b: ", "c"),
    ],
)
def test_scopes(text: str, claim: str, request_name: str, scope: str, left: str) -> None:
    found = entry(text)
    assert (found.pod_claim, found.request, found.scope, found.text) == (claim, request_name, scope, left)


def test_entries_are_separated_by_commas_and_new_lines() -> None:
    found = parsed("h100-80gb, 2x a100-40gb,\n\n  gpu: t4 ,\n")
    assert [(item.request, item.text) for item in found.entries] == [
        ("", "h100-80gb"),
        ("", "2x a100-40gb"),
        ("gpu", "t4"),
    ]
    assert found.patterns == ("h100-80gb", "a100-40gb", "t4")


@pytest.mark.parametrize(
    ("text", "pointed"),
    [
        ("", "\n^ it is empty; name at least one shape, such as 2x a100-40gb"),
        (" ,, ", ",,\n^ it is empty; name at least one shape, such as 2x a100-40gb"),
        ("h100, 2x", "h100, 2x\n        ^ a model is missing here"),
        ("h100, 2x , t4", "h100, 2x , t4\n        ^ a model is missing here"),
        ("gpu:", "gpu:\n    ^ a model is missing here"),
        ("h100 +", "h100 +\n      ^ a model is missing here"),
        ("+ h100", "+ h100\n^ a model is missing here"),
        ("2x + h100", "2x + h100\n   ^ a model is missing here"),
        ("2 h100", '2 h100\n^ write the count as "2x"'),
        ("1-2 h100", '1-2 h100\n^ write the count as "1-2x"'),
        ("h100, 0x t4", "h100, 0x t4\n      ^ a count is at least 1"),
        ("4-1x t4", '4-1x t4\n^ the range is empty; write "1-4x"'),
        ("1234567x t4", "1234567x t4\n^ the count is too large"),
        ("1-1234567x t4", "1-1234567x t4\n^ the count is too large"),
        ("h100 80gb", 'h100 80gb\n     ^ "h100" ends the entry: write "," or "+" before what follows'),
        ("a_b!c*, d{e}", 'a_b!c*, d{e}\n         ^ "{" cannot be part of a model name; name the whole family with *'),
        ("a$b", 'a$b\n ^ "$" cannot be part of a model name'),
        ("a//b", 'a//b\n ^ "/" cannot be part of a model name'),
        ("GPU: t4", 'GPU: t4\n^ before ":" goes [podclaim/]request, in lower case letters, digits and "-"'),
        ("gpu: b: t4", 'gpu: b: t4\n     ^ before ":" goes [podclaim/]request, in lower case letters, digits and "-"'),
        ("t4,\n  gpu:\tb c", '  gpu: b c\n         ^ "b" ends the entry: write "," or "+" before what follows'),
        ("+".join("abcdefg"), "a+b+c+d+e+f+g\n            ^ an entry can add up at most 6 models"),
        (f"a, {'b' * 254}", f"a, {'b' * 117}\n   ^ a model has at most 253 characters"),
    ],
)
def test_mistakes_are_pointed_at(text: str, pointed: str) -> None:
    found = parse_declaration(text)
    assert isinstance(found, DeclarationProblem)
    assert found.pointed == pointed


def test_of_a_long_line_what_is_around_the_mistake_is_shown() -> None:
    found = parse_declaration(f"{'a' * 100}, b c, {'d' * 100}")
    assert isinstance(found, DeclarationProblem)
    shown, caret = found.pointed.splitlines()
    assert shown == f"{'a' * 55}, b c, {'d' * 58}"
    assert (len(shown), shown[caret.index("^")]) == (120, "c")


def test_what_is_allowed_at_most() -> None:
    assert len(entry("+".join("abcdef")).parts) == 6
    assert entry("b" * 253).text == "b" * 253
    assert len(parsed("a," * 100).entries) == 100
    assert len(parsed("a" + " " * 10_239).entries) == 1


def test_a_declaration_is_bounded() -> None:
    many, long = parse_declaration("b\n" + "a," * 100), parse_declaration("a" + " " * 10_240)
    assert isinstance(many, DeclarationProblem)
    assert many.pointed == "b\n^ it has more than 100 entries"
    assert isinstance(long, DeclarationProblem)
    assert long.pointed == f"a{' ' * 59}\n^ it is longer than 10,240 characters"


@pytest.mark.parametrize(
    ("text", "claim", "request_name", "expected"),
    [
        ("h100", "", "gpu", True),
        ("h100", "accelerator", "gpu", True),
        ("gpu: h100", "", "gpu", True),
        ("gpu: h100", "accelerator", "nic", False),
        ("accelerator/gpu: h100", "accelerator", "gpu", True),
        ("accelerator/gpu: h100", "other", "gpu", False),
        ("accelerator/gpu: h100", "", "gpu", False),
        ("accelerator/ h100", "accelerator", "nic", True),
    ],
)
def test_whom_an_entry_speaks_of(text: str, claim: str, request_name: str, expected: bool) -> None:
    assert entry(text).speaks_of(claim, request_name) is expected
    assert bool(parsed(text).about(claim, request_name)) is expected


def shape(text: str) -> Shape:
    parts = []
    for item in text.split(" + "):
        count, model = item.split("x ", 1)
        parts.append((model, 0 if count == "*" else int(count)))
    return Shape(tuple(sorted(parts)))


@pytest.mark.parametrize(
    ("text", "what", "expected"),
    [
        ("h100-80gb", "1x h100-80gb", True),
        ("h100-80gb", "2x h100-80gb", False),
        ("h100-80gb", "1x a100-40gb", False),
        ("a100", "1x a100-40gb", True),
        ("2x a100-40gb", "1x a100-40gb", False),
        ("2x a100-40gb", "2x a100-40gb", True),
        ("1-4x mi300x", "4x mi300x", True),
        ("1-4x mi300x", "5x mi300x", False),
        ("2-4x mi300x", "1x mi300x", False),
        ("2x a100-*", "1x a100-40gb + 1x a100-80gb", True),
        ("2x a100-*", "2x a100-80gb", True),
        ("2x a100-*", "1x a100-40gb + 1x h100-80gb", False),
        ("2x a100-*", "1x a100-40gb + 2x a100-80gb", False),
        ("*x a100-*", "1x a100-40gb", True),
        ("*x a100-*", "7x a100-40gb + 1x a100-80gb", True),
        ("*x a100-*", "*x a100-40gb + *x a100-80gb", True),
        ("*x a100-40gb", "*x a100-40gb", True),
        ("*x a100-40gb", "*x a100-40gb + *x a100-80gb", False),
        ("8x a100-40gb", "*x a100-40gb", False),
        ("1-32x a100-40gb", "*x a100-40gb", False),
        ("*x a100-40gb + *x a100-80gb", "*x a100-40gb + *x a100-80gb", True),
        ("*x a100-40gb + *x a100-80gb", "*x a100-40gb", False),
        ("*x a100-40gb + a100-80gb", "*x a100-40gb + *x a100-80gb", False),
        ("*x a100-40gb + a100-80gb", "3x a100-40gb + 1x a100-80gb", True),
        ("a100-40gb + h100-80gb", "1x a100-40gb + 1x h100-80gb", True),
        ("a100-40gb + h100-80gb", "1x a100-40gb", False),
        ("a100-40gb + h100-80gb", "2x a100-40gb", False),
        ("a100-40gb + 2x a100-*", "3x a100-40gb", True),
        ("a100-40gb + 2x a100-*", "1x a100-40gb + 2x a100-80gb", True),
        ("a100-40gb + 2x a100-*", "3x a100-80gb", False),
        ("a100-40gb + 1-2x a100-*", "2x a100-40gb", True),
        ("a100-40gb + 1-2x a100-*", "2x a100-80gb", False),
        ("a100-40gb + 1-2x a100-*", "1x a100-40gb", False),
        ("2x a100-* + *x *", "1x a100-80gb + 1x a100-40gb + 1x mi300x", True),
        ("2x a100-* + 2x *-80gb", "2x a100-80gb + 2x h100-80gb", True),
        ("2x a100-* + 2x *-80gb", "1x a100-40gb + 2x a100-80gb + 1x h100-80gb", True),
        ("2x a100-* + 2x *-80gb", "3x a100-40gb + 1x h100-80gb", False),
        ("*", "1x ?gpu.nvidia.com/NVIDIA H200", False),
        ("?gpu.nvidia.com/*", "1x ?gpu.nvidia.com/NVIDIA H200", True),
        ("2x ?gpu.nvidia.com/NVIDIA H200", "2x ?gpu.nvidia.com/NVIDIA H200", True),
        ("?gpu.nvidia.com/*", "1x h100-80gb", False),
    ],
)
def test_what_an_entry_covers(text: str, what: str, expected: bool) -> None:
    assert entry(text).covers(shape(what), NAMES) is expected
