"""Which attributes and capacities an expression of a policy can look at."""

from __future__ import annotations

import pytest

from webhook.cel import Expression, compile_expression
from webhook.rulekit.shapes.shape_cel import VARIABLES

A, C = 'd.attributes["x.io"]', 'd.capacity["x.io"]'


def names(text: str) -> frozenset[str] | None:
    expression = compile_expression(text, variables=VARIABLES, result="bool")
    assert isinstance(expression, Expression), expression
    return expression.names


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("shape.count < 3", set()),
        (f"shape.devices.all(d, {A}.numa == 0)", {"numa"}),
        (f'shape.devices.all(d, {A}["numa"] == 0 && has({C}.memory))', {"numa", "memory"}),
        (f'shape.devices.exists(d, {A}["nu\\u006da"] == 0)', {"numa"}),
        (f'shape.devices.exists(d, {A}.?numa.orValue(1) == 0 || {A}[?"uuid"].hasValue())', {"numa", "uuid"}),
        (f'shape.devices.exists(d, "numa" in {A})', {"numa"}),
        (f"shape.devices.filter(d, {A}.numa == 0).size() < 2", {"numa"}),
        (f"shape.devices.map(d, {A}).all(a, a.numa == 0)", {"numa"}),
        (f"cel.bind(d, shape.devices[0], {A}.numa == 0)", {"numa"}),
        (f"cel.bind(d, shape.count > 1 ? shape.devices[0] : shape.devices[1], {A}.numa == 0)", {"numa"}),
        (f"shape.devices.exists_one(d, {A}.list[shape.count] == 0)", {"list"}),
        ('shape.capacity["x.io"].memory.isGreaterThan(quantity("1"))', {"memory"}),
    ],
)
def test_spelt_names(text: str, expected: set[str]) -> None:
    found = names(text)
    assert found is not None
    structure = {"count", "devices", "models", "attributes", "capacity", "x.io", "1"}
    assert found - structure == expected


@pytest.mark.parametrize(
    "text",
    [
        f'shape.devices.all(d, {A}["nu" + "ma"] == 0)',
        f"shape.devices.all(d, shape.models.all(m, {A}[m] == 0))",
        f"shape.devices.all(d, {A}[?d.model].orValue(0) == 0)",
        f"shape.devices.all(d, {A}.exists(k, {A}[k] == 0))",
        f"shape.devices.all(d, {A}.all(k, v, v == 0))",
        f"shape.devices.all(d, d.model in {A})",
        f"shape.devices.all(d, {A}.size() == 2)",
        f"shape.devices.all(d, {A} == shape.devices[0].attributes['x.io'])",
        f"shape.devices.all(d, dyn({A})['nu' + 'ma'] == 0)",
        "shape.devices[0] == shape.devices[1]",
        "shape.devices.all(d, d in shape.devices)",
        "dyn(shape).count == 2",
    ],
)
def test_maps_that_are_looked_at_as_a_whole(text: str) -> None:
    assert names(text) is None
