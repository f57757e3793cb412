"""The seam of policies' expressions: declared variables, conversion of values, results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import pytest

from webhook.cel import (
    BOOL,
    DEVICE_ATTRIBUTES,
    DEVICE_CAPACITY,
    DYN,
    INT,
    QUANTITY,
    STRING,
    CelError,
    Expression,
    compile_expression,
    list_of,
    map_of,
    object_of,
)
from webhook.model.device import Attribute
from webhook.model.quantity import parse_quantity

DEVICE = object_of("device", {"attributes": DEVICE_ATTRIBUTES, "capacity": DEVICE_CAPACITY})
SHAPE = object_of(
    "shape",
    {
        "count": INT,
        "models": list_of(STRING),
        "devices": list_of(DEVICE),
        "capacity": map_of(QUANTITY),
    },
)
VARIABLES = {"shape": SHAPE, "tier": STRING, "claim": DYN, "labels": map_of(STRING), "dry": BOOL}
VALUES: dict[str, Any] = {
    "shape": {
        "count": 2,
        "models": ("h100-80gb", "h100-80gb"),
        "devices": [
            {
                "attributes": {"d.io/product": Attribute("string", "H100"), "d.io/version": Attribute("version", "1.2.3")},
                "capacity": {"d.io/memory": "80Gi"},
            }
        ],
        "capacity": {"memory": "160Gi", "cores": parse_quantity("128")},
    },
    "tier": "batch",
    "claim": {"spec": {"devices": {"requests": [{"name": "gpu"}]}}},
    "labels": {"team": "a"},
    "dry": False,
}


def run(text: str, values: Mapping[str, Any] = VALUES, result: Literal["bool", "string"] = "bool") -> object:
    expression = compile_expression(text, variables=VARIABLES, result=result)
    return expression.evaluate(values) if isinstance(expression, Expression) else expression


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("shape.count >= 2 && tier == 'batch' && !dry", True),
        ("shape.models.all(model, model.startsWith('h100'))", True),
        ("shape.devices[0].attributes['d.io'].product == 'H100'", True),
        ("shape.devices[0].attributes['d.io'].version.isLessThan(semver('1.10.0'))", True),
        ("shape.devices.all(d, d.capacity['d.io'].memory.compareTo(quantity('40Gi')) > 0)", True),
        ("shape.devices[0].attributes['other.io'].x == 1", CelError("no such key: x")),
        ("'other.io' in shape.devices[0].attributes", False),
        ("shape.devices[0].attributes['d.io'].?nope.hasValue()", False),
        ("shape.capacity.memory.isGreaterThan(quantity('100Gi'))", True),
        ("shape.capacity['cores'] == quantity('128')", True),
        ("claim.spec.devices.requests[0].name == 'gpu'", True),
        ("has(claim.spec.nope)", False),
        ("claim.spec.nope == 1", CelError("no such key: nope")),
        ("labels.team == 'a' && !('x' in labels)", True),
        ("dyn(1)", CelError("result of type int could not be converted to bool")),
    ],
)
def test_evaluation(text: str, expected: object) -> None:
    assert run(text) == expected


def test_string_results() -> None:
    assert run("'tier ' + tier + ' asked for ' + string(shape.count)", result="string") == "tier batch asked for 2"


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("shap.count == 1", "undeclared reference to 'shap' (in container ''); did you mean \"shape\"?", 1),
        ("shape.cuont == 1", "undefined field 'cuont'; did you mean \"count\"?", 6),
        ("shape.devices[0].nope == 1", "undefined field 'nope'", 17),
        ("device.driver == 'x'", "undeclared reference to 'device' (in container '')", 1),
        ("shape.count == '1'", "found no matching overload for '_==_' applied to '(int, string)'", 13),
        ("tier", "must evaluate to bool, not string", 1),
    ],
)
def test_problems(text: str, message: str, column: int) -> None:
    problems = run(text)
    assert isinstance(problems, tuple)
    (problem,) = problems
    assert (problem.message, problem.line, problem.column) == (message, 1, column)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "no such attribute(s): tier"),
        ({"tier": 5}, "tier has no value of its type, but int"),
        ({"tier": None}, "tier has no value of its type, but NoneType"),
    ],
)
def test_values_that_are_not_as_declared(values: Mapping[str, Any], message: str) -> None:
    assert run("tier == 'x'", values) == CelError(message)


@pytest.mark.parametrize(
    ("text", "shape", "message"),
    [
        ("shape.count == 1", [], "shape has no value of its type, but list"),
        ("shape.count == 1", {}, "no such key: count"),
        ("shape.count == 1", {"count": True}, "shape.count has no value of its type, but bool"),
        ("shape.models == []", {"models": "abc"}, "shape.models has no value of its type, but str"),
        ("shape.models == []", {"models": [1]}, "shape.models[] has no value of its type, but int"),
        ("shape.capacity == {}", {"capacity": []}, "shape.capacity has no value of its type, but list"),
        ("shape.capacity.x.isInteger()", {"capacity": {"x": 5}}, "shape.capacity[] has no value of its type, but int"),
        ("shape.capacity.x.isInteger()", {"capacity": {"x": "5 apples"}}, "unable to parse quantity's suffix"),
        ("shape.devices[0].attributes == {}", {"devices": [{"attributes": 1}]}, "shape.devices[].attributes"),
    ],
)
def test_objects_that_are_not_as_declared(text: str, shape: Any, message: str) -> None:
    result = run(text, {"shape": shape})
    assert isinstance(result, CelError)
    assert message in result.message or "quantities must match" in result.message


def test_objects_of_one_name_but_other_fields_are_kept_apart() -> None:
    one, two = object_of("thing", {"a": INT}), object_of("thing", {"b": INT})
    assert isinstance(compile_expression("x.a == 1", variables={"x": one}, result="bool"), Expression)
    assert isinstance(compile_expression("x.a == 1", variables={"x": two}, result="bool"), tuple)


def test_success_and_failure_are_remembered() -> None:
    for text in ("tier == 'x'", "tier =="):
        first = compile_expression(text, variables=dict(VARIABLES), result="bool")
        assert first is compile_expression(text, variables=dict(VARIABLES), result="bool")


def test_only_what_is_read_is_converted() -> None:
    assert run("tier == 'batch'", {"tier": "batch", "shape": object()}) is True


def test_tried_counts_steps_and_gives_up() -> None:
    text = "[1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, a + b > shape.count - 100))"
    expression = compile_expression(text, variables=VARIABLES, result="bool")
    assert isinstance(expression, Expression)
    result, steps = expression.tried(VALUES, 100_000)
    assert (result, steps) == (True, expression.tried(VALUES, 100_000)[1])
    assert steps > 81
    assert expression.tried(VALUES, steps) == (True, steps)
    assert expression.tried(VALUES, steps - 1)[0] is None
    assert expression.tried(VALUES, expression.weight - 1) == (None, expression.weight)


def test_tried_says_what_evaluate_says() -> None:
    wide = "lists.range(1000).all(a, lists.range(1000).all(b, a + b >= 0))"
    for text in ("shape.count == 2", "1 / 0 == 1", "shape.models[7] == 'x'", wide):
        expression = compile_expression(text, variables=VARIABLES, result="bool")
        assert isinstance(expression, Expression)
        assert expression.tried(VALUES, 1_000_000)[0] == expression.evaluate(VALUES)
    assert expression.evaluate(VALUES) == CelError("operation cancelled: actual cost limit exceeded")
