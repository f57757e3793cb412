"""The value of `shape` in compatible-when."""

from __future__ import annotations

from tests.build import device, example, gpu
from webhook.cel import Expression, compile_expression
from webhook.rulekit.shapes.shape_cel import VARIABLES, shape_value


def test_the_fields_of_a_shape() -> None:
    one = example(gpu("a", "H100", "80Gi"))
    two = example(device("b", {"x": 1}, {"memory": "500M", "odd": "much"}), "other.example.com")
    three = example(gpu("c", "H100", "40Gi"))
    value = shape_value([("h100", one), ("b", two), ("h100", three)])
    assert value["count"] == 3
    assert value["models"] == ["b", "h100"]
    assert value["drivers"] == ["gpu.nvidia.com", "other.example.com"]
    assert value["capacity"] == {"gpu.nvidia.com/memory": "120Gi", "other.example.com/memory": "500M"}
    first = value["devices"][0]
    assert first == {"driver": "gpu.nvidia.com", "model": "h100", "attributes": one.attributes, "capacity": one.capacity}


def test_the_variable_can_be_used() -> None:
    text = (
        'shape.count == 1 && shape.devices[0].attributes["gpu.nvidia.com"].productName == "H100" && shape.models[0] == "h100"'
    )
    compiled = compile_expression(text, variables=VARIABLES, result="bool")
    assert isinstance(compiled, Expression)
    assert compiled.evaluate({"shape": shape_value([("h100", example(gpu("a", "H100")))])}) is True
    assert isinstance(compile_expression("shape.cuont == 1", variables=VARIABLES, result="bool"), tuple)
