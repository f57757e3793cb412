"""Which possible shapes are not declared, by entries and by compatible-when."""

from __future__ import annotations

from typing import Any

import pytest

from tests.build import (
    NVIDIA,
    Raw,
    catalog,
    claim,
    device_class,
    device_slice,
    exactly,
    example,
    fleet_of,
    gpu,
    product,
    result,
)
from webhook.fleet.fleet import Fleet
from webhook.model.claim_reading import read_claim
from webhook.rulekit.compatibility.declared import SHAPES_ANNOTATION, UNDECLARED, WHEN_ANNOTATION, Declared, statement_of
from webhook.rulekit.compatibility.undeclared import allocated_uncovered, uncovered
from webhook.rulekit.policies import PolicySet
from webhook.rulekit.shapes.possible import allocated_shape

H100, A40, T4 = "NVIDIA H100 80GB HBM3", "NVIDIA A100 40GB", "Tesla T4"
MODELS = catalog(product("h100", H100), product("a100", A40), product("t4", T4))
FLEET = fleet_of(
    device_class(),
    device_slice("n1", gpu("a", H100, "80Gi", numa=0), gpu("b", A40, "40Gi", numa=0), gpu("c", A40, "40Gi", numa=1)),
    device_slice("n2", gpu("a", T4, "16Gi"), gpu("b", T4, "15Gi")),
)


def declared(shapes: str | None = None, when: str | None = None) -> Declared:
    annotations = {}
    if shapes is not None:
        annotations[SHAPES_ANNOTATION] = shapes
    if when is not None:
        annotations[WHEN_ANNOTATION] = when
    statement = statement_of(annotations, "", "gpu")
    assert statement is not None
    return Declared(statement, "pod", "Pod p")


def missing(what: Declared, request: Raw | None = None, fleet: Fleet = FLEET, policies: PolicySet = MODELS) -> list[str]:
    spec = read_claim(claim("c", request or exactly(count=2))).spec
    asked = spec.requests[0]
    found = uncovered(fleet, policies, spec, asked, asked.alternatives[0], fleet.nodes.all, what)
    return [str(shape) for shape in found]


ALL = ["1x a100 + 1x h100", "2x a100", "2x t4"]


def test_nothing_declared_covers_nothing() -> None:
    assert missing(UNDECLARED) == ALL


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("2x a100", ["1x a100 + 1x h100", "2x t4"]),
        ("2x a100, 2x t4", ["1x a100 + 1x h100"]),
        ("2x a100, 2x t4, a100 + h100", []),
        ("2x *", []),
        ("h100", ALL),
    ],
)
def test_entries(text: str, left: list[str]) -> None:
    assert missing(declared(text)) == left
    assert missing(declared(text)) == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("true", []),
        ("shape.count == 2", []),
        ("shape.count <= 1", ALL),
        ('shape.models == ["a100"]', ["1x a100 + 1x h100", "2x t4"]),
        ('shape.models.exists(m, m.startsWith("a"))', ["2x t4"]),
        (f'shape.drivers == ["{NVIDIA}"]', []),
        (f'shape.capacity["{NVIDIA}"].memory.compareTo(quantity("80Gi")) >= 0', ["2x t4"]),
        (f'shape.capacity["{NVIDIA}"].memory == quantity("31Gi")', ["1x a100 + 1x h100", "2x a100"]),
        (f'shape.devices.all(d, d.capacity["{NVIDIA}"].memory.compareTo(quantity("16Gi")) >= 0)', ["2x t4"]),
        (f'shape.devices.all(d, d.attributes["{NVIDIA}"].numa == 0)', ALL),
        (f'shape.devices.exists(d, d.attributes["{NVIDIA}"].?numa.orValue(1) == 1)', ["1x a100 + 1x h100"]),
        ('shape.devices.all(d, d.driver == "gpu.nvidia.com" && d.model != "t4")', ["2x t4"]),
        ('shape.devices[0].model == "a100"', ["2x t4"]),
        ("1 / 0 == 1", ALL),
    ],
)
def test_compatible_when_must_hold_for_every_choice_of_devices(text: str, left: list[str]) -> None:
    assert missing(declared(when=text)) == left


def test_either_suffices() -> None:
    assert missing(declared("2x a100", 'shape.models == ["t4"]')) == ["1x a100 + 1x h100"]


def test_what_cannot_be_read_covers_nothing() -> None:
    assert missing(declared("2x", "true")) == ALL


def test_devices_that_differ_in_what_the_expression_reads_are_all_tried() -> None:
    fleet = fleet_of(device_class(), device_slice("n", *(gpu(f"g{i}", T4, numa=i) for i in range(8))))
    apart = f'shape.devices[0].attributes["{NVIDIA}"].numa != shape.devices[1].attributes["{NVIDIA}"].numa'
    assert missing(declared(when=apart), fleet=fleet) == []
    assert missing(declared(when=f'shape.devices[0].attributes["{NVIDIA}"].numa != 3'), fleet=fleet) == ["2x t4"]


def test_with_too_many_choices_the_shape_is_not_covered() -> None:
    fleet = fleet_of(device_class(), device_slice("n", *(gpu(f"g{i}", T4, numa=i) for i in range(40))))
    holds = f'shape.devices.all(d, d.attributes["{NVIDIA}"].numa >= 0)'
    assert missing(declared(when=holds), exactly(), fleet) == []
    assert missing(declared(when=holds), exactly(count=2), fleet) == ["2x t4"]
    assert missing(declared(when="shape.count == 2"), exactly(count=2), fleet) == []


def test_differences_that_the_expression_does_not_name_make_no_choices() -> None:
    fleet = fleet_of(device_class(), device_slice("n", *(gpu(f"g{i}", T4, f"{i + 1}Gi", numa=i) for i in range(40))))
    assert missing(declared(when='shape.models == ["t4"]'), exactly(count=2), fleet) == []


def test_a_shared_device_can_be_chosen_twice() -> None:
    shared = gpu("a", T4, numa=0) | {"allowMultipleAllocations": True}
    fleet = fleet_of(device_class(), device_slice("n", shared, gpu("b", T4, numa=1)))
    apart = f'shape.devices[0].attributes["{NVIDIA}"].numa != shape.devices[1].attributes["{NVIDIA}"].numa'
    assert missing(declared(when=apart), fleet=fleet) == ["2x t4"]


def test_all_is_tried_node_by_node() -> None:
    asked = exactly(mode="All")
    assert missing(UNDECLARED, asked) == ["*x a100 + *x h100", "*x t4"]
    assert missing(declared(when="shape.count == 3"), asked) == ["*x t4"]
    assert missing(declared(when='"t4" in shape.models && shape.count == 2'), asked) == ["*x a100 + *x h100"]
    assert missing(declared(when="shape.count >= 2"), asked) == []


def test_examples_stand_for_the_devices_that_are_not_there() -> None:
    offline = catalog(product("t4", T4, device_class=NVIDIA, examples=[example(gpu("x", T4, "16Gi"))]))
    enough = f'shape.devices.all(d, d.capacity["{NVIDIA}"].memory.compareTo(quantity("16Gi")) >= 0)'
    assert missing(declared(when=enough), exactly(), fleet_of(), offline) == []
    assert missing(declared(when=f"{enough} && false"), exactly(), fleet_of(), offline) == ["1x t4"]
    assert missing(declared(when="true"), exactly(mode="All"), fleet_of(), offline) == ["*x t4"]


def test_what_is_remembered_is_bounded() -> None:
    fleet = fleet_of(device_class(), device_slice("n", gpu("a", T4)))
    for i in range(4200):
        missing(declared(f"{i + 1}x t4"), exactly(), fleet)
    assert len(fleet.inventory.memo["uncovered"]) <= 4096


@pytest.mark.parametrize(
    ("what", "wrong"),
    [
        (UNDECLARED, True),
        (declared("a100 + h100"), False),
        (declared("2x a100"), True),
        (declared(when="shape.count == 2"), False),
        (declared(when="shape.count == 1"), True),
        (declared(when=f'shape.devices.exists(d, d.attributes["{NVIDIA}"].numa == 1)'), False),
        (declared(when='"h100" in shape.models'), False),
    ],
)
def test_an_allocated_claim_is_judged_by_what_it_was_given(what: Declared, wrong: bool) -> None:
    given = read_claim(claim("c", allocated=[result("a", "n1"), result("c", "n1")]))
    shape = allocated_shape(FLEET, MODELS, given, "gpu")
    assert shape is not None
    assert allocated_uncovered(FLEET, MODELS, given, "gpu", shape, what) is wrong


def test_a_device_that_is_gone_cannot_be_shown_to_an_expression() -> None:
    given = read_claim(claim("c", allocated=[result("a", "n1"), result("gone", "n1")]))
    shape = allocated_shape(FLEET, MODELS, given, "gpu")
    assert shape is not None

    def wrong(what: Declared) -> Any:
        return allocated_uncovered(FLEET, MODELS, given, "gpu", shape, what)

    assert wrong(declared(when="true"))
    assert not wrong(declared("h100 + ?gpu.nvidia.com/*"))
