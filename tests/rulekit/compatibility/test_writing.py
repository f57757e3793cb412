"""Shapes as entries of a declaration: they cover what is wanted and nothing else."""

from __future__ import annotations

from itertools import combinations, combinations_with_replacement
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from webhook.rulekit.compatibility.declarations import Declaration, parse_declaration
from webhook.rulekit.compatibility.writing import entries_for
from webhook.rulekit.policies import CatalogModel
from webhook.rulekit.shapes.catalog import Catalog
from webhook.rulekit.shapes.shape import EVERY, Shape, shape_of, shape_of_models

NO_CATALOG = Catalog(())


def shape(**counts: int) -> Shape:
    return Shape(tuple(sorted(counts.items())))


def catalog(*names: str, **aliases: str) -> Catalog:
    models = [CatalogModel(name=name, driver="d") for name in names]
    return Catalog((*models, *(CatalogModel(name=name, driver="d", aliases=(alias,)) for name, alias in aliases.items())))


def mixes(count: int, *models: str) -> list[Shape]:
    """Every multiset of so many devices of these models."""
    return [shape_of_models(chosen) for chosen in combinations_with_replacement(models, count)]


def all_of(*models: str) -> list[Shape]:
    """All devices of a node that has some of these models, whichever."""
    return [
        shape_of(dict.fromkeys(chosen, EVERY)) for size in range(1, len(models) + 1) for chosen in combinations(models, size)
    ]


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [
        ([], ()),
        ([shape(a=1)], ("a",)),
        ([shape(a=1), shape(a=1)], ("a",)),
        ([shape(a=2)], ("2x a",)),
        ([shape(a=EVERY)], ("*x a",)),
        ([shape(a=3), shape(a=1), shape(a=2)], ("1-3x a",)),
        ([shape(a=1), shape(a=3), shape(a=4)], ("a", "3-4x a")),
        ([shape(a=1), shape(a=2), shape(a=4), shape(a=6), shape(a=7)], ("1-2x a", "4x a", "6-7x a")),
        ([shape(a=1), shape(a=EVERY)], ("*x a",)),
        ([shape(a=3), shape(a=EVERY)], ("*x a",)),
        ([shape(b=1), shape(a=1)], ("b", "a")),
        ([shape(a=1, b=2)], ("a + 2x b",)),
        ([shape(a=EVERY, b=EVERY)], ("*x a + *x b",)),
        ([shape(a=1, b=1), shape(c=1)], ("c", "a + b")),
        ([Shape((("?x/NVIDIA A100, 40GB [x]*", 2),))], ("2x ?x/NVIDIA A100? 40GB ?x]?",)),
    ],
)
def test_single_models_and_mixes(shapes: list[Shape], expected: tuple[str, ...]) -> None:
    assert entries_for(shapes, NO_CATALOG) == expected


X, Y, Z = "a100-40gb", "a100-80gb", "a100-96gb"
ALL_THREE = catalog(X, Y, Z, "h100-80gb")


@pytest.mark.parametrize(
    ("shapes", "known", "expected"),
    [
        (mixes(2, X, Y, Z), ALL_THREE, ("2x a100-*",)),
        ([shape for count in (1, 2, 3, 4) for shape in mixes(count, X, Y, Z)], ALL_THREE, ("1-4x a100-*",)),
        ([*mixes(2, X, Y, Z), *mixes(4, X, Y, Z)], ALL_THREE, ("2x a100-*", "4x a100-*")),
        (all_of(X, Y, Z), ALL_THREE, ("*x a100-*",)),
        ([*all_of(X, Y, Z), *mixes(2, X, Y, Z)], ALL_THREE, ("*x a100-*",)),
        # the rest is spelt out
        ([*mixes(2, X, Y, Z), shape_of({X: 4}), shape_of({"h100-80gb": 1})], ALL_THREE, ("2x a100-*", f"4x {X}", "h100-80gb")),
        # the glob would fit a model that is not wanted
        (mixes(2, X, Y), ALL_THREE, (f"2x {X}", f"2x {Y}", f"{X} + {Y}")),
        (mixes(2, X, Y), catalog(X, Y), ("2x a100-*",)),
        (mixes(2, X, "a100-80g"), catalog(X, "a100-80g", "a100-pcie"), (f"2x {X}", "2x a100-80g", f"{X} + a100-80g")),
        (
            mixes(2, "a100-40gb-sxm", "a100-80gb-sxm"),
            catalog("a100-40gb-sxm", "a100-80gb-sxm", "a100-pcie"),
            ("2x a100-*-sxm",),
        ),
        (mixes(2, "l40", "l40s"), catalog("l40", "l40s", "l4"), ("2x l40*",)),
        (mixes(2, "h100-80gb", Y), catalog("h100-80gb", Y, X), ("2x *-80gb",)),
        # an alias of another, a member of a family that nobody has listed
        (mixes(2, X, Y), catalog(X, Y, pcie="a100-pcie"), (f"2x {X}", f"2x {Y}", f"{X} + {Y}")),
        (mixes(2, X, Y), catalog(X, Y, "a100-{profile}"), (f"2x {X}", f"2x {Y}", f"{X} + {Y}")),
        # nothing in common, no names at all
        (mixes(2, "p4", "t40"), catalog("p4", "t40"), ("2x p4", "2x t40", "p4 + t40")),
        (mixes(2, "?d/A", "?d/B"), NO_CATALOG, ("2x ?d/A", "2x ?d/B", "?d/A + ?d/B")),
        # not every mix is wanted
        (mixes(2, X, Y)[1:], catalog(X, Y), (f"2x {Y}", f"{X} + {Y}")),
        (all_of(X, Y)[1:], catalog(X, Y), (f"*x {Y}", f"*x {X} + *x {Y}")),
        # models that are not mixed with each other
        ([shape_of({X: 2}), shape_of({Y: 2})], catalog(X, Y), (f"2x {X}", f"2x {Y}")),
        ([shape_of({X: 1}), shape_of({Y: 1})], catalog(X, Y), (X, Y)),
        # two families
        (
            [*mixes(2, X, Y), *mixes(2, "h100-80gb", "h100-94gb")],
            catalog(X, Y, "h100-80gb", "h100-94gb"),
            ("2x a100-*", "2x h100-*"),
        ),
        # three are mixed in twos, two of them in threes
        (
            [*mixes(2, X, Y, Z), *mixes(3, X, Y)],
            ALL_THREE,
            ("2x a100-*", f"3x {X}", f"3x {Y}", f"2x {X} + {Y}", f"{X} + 2x {Y}"),
        ),
    ],
)
def test_a_glob_stands_for_a_family_whose_mixes_are_all_wanted(
    shapes: list[Shape], known: Catalog, expected: tuple[str, ...]
) -> None:
    assert sorted(entries_for(shapes, known)) == sorted(expected)


def test_where_too_many_mixes_are_left_a_glob_stands_for_those_that_no_node_has_too() -> None:
    several = [shape for shape in mixes(8, X, Y, Z) if all(count <= 4 for _, count in shape.parts)]
    assert len(several) == 15
    assert entries_for(several, ALL_THREE) == ("8x a100-*",)
    # nine are too many, eight are not
    assert entries_for(several[:9], ALL_THREE) == ("8x a100-*",)
    assert len(entries_for(several[:8], ALL_THREE)) == 8


def test_models_that_are_never_mixed_with_each_other_are_spelt_out() -> None:
    chain = [shape for shape in mixes(12, X, Y) + mixes(12, Y, Z) if all(count < 12 for _, count in shape.parts)]
    assert len(entries_for(chain, ALL_THREE)) == 22


def test_a_single_mix_in_many_is_not_too_many_of_others() -> None:
    several = [shape_of({X: count, Y: 20 - count}) for count in range(1, 10)]
    both = catalog(X, Y, "h100-80gb", "h100-94gb")
    assert entries_for([*several, shape_of({"h100-80gb": 10, "h100-94gb": 10})], both) == (
        "20x a100-*",
        "10x h100-80gb + 10x h100-94gb",
    )


NAMES = (X, Y, Z, "h100-80gb", "h100-94gb", "t4")


@st.composite
def wanted_shapes(draw: Any) -> list[Shape]:
    found: list[Shape] = []
    for _ in range(draw(st.integers(1, 3))):
        models = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True))
        found += all_of(*models) if draw(st.booleans()) else mixes(draw(st.integers(1, 3)), *models)
    left_out = draw(st.sets(st.integers(0, len(found)), max_size=2))
    return [shape for i, shape in enumerate(found) if i not in left_out]


@settings(deadline=None, max_examples=300)
@given(wanted_shapes())
def test_what_is_written_covers_what_is_wanted_and_nothing_else(wanted: list[Shape]) -> None:
    known = catalog(*NAMES)
    texts = entries_for(wanted, known)
    assert len(texts) <= len(set(wanted))
    entries = parse_declaration(", ".join(texts)) if texts else Declaration(())
    assert isinstance(entries, Declaration)
    every = {shape.models for shape in wanted if shape.every}
    for count in range(1, 5):
        for candidate in mixes(count, *NAMES):
            covered = any(entry.covers(candidate, known) for entry in entries.entries)
            # `*x` is for any number of devices
            expected = candidate in wanted or any(set(candidate.models) == set(models) for models in every)
            assert covered == expected, candidate
    for candidate in all_of(*NAMES):
        assert any(entry.covers(candidate, known) for entry in entries.entries) == (candidate in wanted), candidate
