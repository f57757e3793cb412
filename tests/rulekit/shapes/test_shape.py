"""Shapes as values and as text."""

from __future__ import annotations

import pytest

from webhook.rulekit.shapes.shape import EVERY, Shape, shape_of, shape_of_models


@pytest.mark.parametrize(
    ("shape", "text", "count", "every", "models"),
    [
        (Shape((("h100-80gb", 1),)), "1x h100-80gb", 1, False, ("h100-80gb",)),
        (Shape((("a100", 2), ("h100", 1))), "2x a100 + 1x h100", 3, False, ("a100", "h100")),
        (Shape((("tpu-v4", EVERY),)), "*x tpu-v4", 0, True, ("tpu-v4",)),
    ],
)
def test_a_shape(shape: Shape, text: str, count: int, every: bool, models: tuple[str, ...]) -> None:
    assert (str(shape), shape.count, shape.every, shape.models) == (text, count, every, models)


def test_models_are_sorted_and_counted() -> None:
    assert shape_of({"b": 2, "a": 1}) == Shape((("a", 1), ("b", 2)))
    assert shape_of_models(["b", "a", "b"]) == Shape((("a", 1), ("b", 2)))
