"""What selectors read: guarded or not, by which name, taken for which types."""

from __future__ import annotations

import pytest

from webhook.cel import Reference, Selector, compile_selector

A = 'device.attributes["d"]'


def read(text: str) -> list[tuple[str, str, bool, list[str]]]:
    selector = compile_selector(text)
    assert isinstance(selector, Selector)
    named = [item for item in selector.references if item.name]
    return sorted((item.kind, item.name, item.guarded, sorted(item.types)) for item in named)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f'{A}.x == "a"', [("attribute", "x", False, ["string"])]),
        (f'"a" != {A}.x', [("attribute", "x", False, ["string"])]),
        (f"{A}.x > 3", [("attribute", "x", False, ["double", "int", "uint"])]),
        (f'{A}.x.startsWith("a")', [("attribute", "x", False, ["string"])]),
        (f'{A}.v.compareTo(semver("1.2.3")) > 0', [("attribute", "v", False, ["kubernetes.Semver"])]),
        ('device.capacity["d"].m.compareTo(quantity("1")) > 0', [("capacity", "m", False, ["kubernetes.Quantity"])]),
        (f'cel.bind(a, {A}, a.x == "b")', [("attribute", "x", False, ["string"])]),
        (f'cel.bind(a, {A}, has(a.x) && a.x == "b")', [("attribute", "x", True, ["string"])]),
        (f'cel.bind(a, {A}.x, a == "b")', [("attribute", "x", False, ["string"])]),
        (f'has({A}.x) ? {A}.x == "b" : {A}.y == 1', [("attribute", "x", True, ["string"]), ("attribute", "y", False, ["int"])]),
        (f'!has({A}.x) || {A}.x == "b"', [("attribute", "x", True, ["string"])]),
        (
            f'!(has({A}.x) && {A}.y) || {A}.x == "b"',
            [("attribute", "x", True, ["string"]), ("attribute", "y", False, ["bool"])],
        ),
        (f'"x" in {A} && {A}["x"] == "b"', [("attribute", "x", True, ["string"])]),
        (f'{A}.?x.orValue("") == "b"', [("attribute", "x", True, ["optional_type"])]),
        (f'{A}[?"x"].hasValue() && {A}.x == 1', [("attribute", "x", True, ["int", "optional_type"])]),
        (f"[1].exists(i, {A}.x == i) && has({A}.x)", [("attribute", "x", True, ["int"])]),
        (f"[{A}].all(a, a.x == 1)", []),
        (f'{A}[device.driver] == "a"', []),
        (f"[1].all(device, device == 1) && {A}.x", [("attribute", "x", False, ["bool"])]),
    ],
)
def test_reads(text: str, found: list[tuple[str, str, bool, list[str]]]) -> None:
    assert read(text) == found


def test_an_index_by_an_expression_reads_the_whole_domain() -> None:
    selector = compile_selector(f'{A}[device.driver] == "a"')
    assert isinstance(selector, Selector)
    assert Reference("attribute", "d", guarded=True) in selector.references


def test_types_make_no_difference_between_reads() -> None:
    assert Reference("attribute", "d", "x", types=frozenset({"int"})) == Reference("attribute", "d", "x")
