"""Which possible shapes are not declared, by entries and by compatible-when."""

from __future__ import annotations

import random
from collections.abc import Mapping
from itertools import combinations
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
from webhook.cel import Expression
from webhook.fleet.fleet import Fleet
from webhook.model.claim_reading import read_claim
from webhook.rulekit.compatibility.declared import SHAPES_ANNOTATION, UNDECLARED, WHEN_ANNOTATION, Declared, statement_of
from webhook.rulekit.compatibility.undeclared import MOST_STEPS, Uncovered, allocated_uncovered, uncovered
from webhook.rulekit.policies import PolicySet
from webhook.rulekit.shapes.catalog import catalog_for
from webhook.rulekit.shapes.possible import allocated_shape
from webhook.rulekit.shapes.shape import shape_of_models
from webhook.rulekit.shapes.shape_cel import shape_value

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
    return [str(shape) for shape in found.shapes]


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


def verdict(what: Declared, request: Raw, fleet: Fleet) -> Uncovered:
    spec = read_claim(claim("c", request)).spec
    return uncovered(fleet, MODELS, spec, spec.requests[0], spec.requests[0].alternatives[0], fleet.nodes.all, what)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The steps of every time that `compatible-when` was asked."""
    taken: list[int] = []
    tried = Expression.tried

    def counted(self: Expression, values: Mapping[str, object], most: int) -> Any:
        result, steps = tried(self, values, most)
        taken.append(steps)
        return result, steps

    monkeypatch.setattr(Expression, "tried", counted)
    return taken


def test_like_nodes_are_asked_about_once(asked: list[int]) -> None:
    nodes = [device_slice(f"n{i}", gpu("a", T4, uuid=f"u{i}"), gpu("b", T4, uuid=f"v{i}")) for i in range(600)]
    fleet = fleet_of(device_class(), *nodes)
    assert verdict(declared(when="shape.count == 2"), exactly(mode="All"), fleet) == Uncovered()
    assert len(asked) == 1
    assert verdict(declared(when="shape.count == 2"), exactly(count=2), fleet) == Uncovered()
    assert len(asked) == 2


def test_devices_that_several_nodes_reach_are_told_apart() -> None:
    fleet = fleet_of(
        device_class(),
        device_slice("n1", gpu("a", T4)),
        device_slice("n2", gpu("a", T4)),
        device_slice("far", gpu("x", T4, numa=0), gpu("y", T4, numa=1), nodeName=None, allNodes=True),
    )
    assert missing(declared(when="shape.count == 3"), exactly(mode="All"), fleet) == []
    first = f'shape.devices.exists(d, d.attributes["{NVIDIA}"].?numa.orValue(2) == 0)'
    assert missing(declared(when=first), exactly(mode="All"), fleet) == []
    assert missing(declared(when=first), exactly(), fleet) == ["1x t4"]


def test_it_is_said_what_the_expression_was_not_asked() -> None:
    fleet = fleet_of(device_class(), device_slice("n", *(gpu(f"g{i}", T4, numa=i) for i in range(40))))
    holds = declared(when=f'shape.devices.all(d, d.attributes["{NVIDIA}"].numa >= 0)')
    found = verdict(holds, exactly(count=2), fleet)
    assert found.untried == "it is not asked about more than 512 different choices of devices"
    loops = "[1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, [1,2,3,4,5,6,7,8,9].all(c, a + b + c"
    slow = declared(when=f'{loops} > shape.devices[0].attributes["{NVIDIA}"].numa - 100)))')
    assert verdict(slow, exactly(), fleet) == Uncovered()
    spec = read_claim(claim("c", exactly())).spec
    all_at_once = (fleet, MODELS, spec, spec.requests[0], spec.requests[0].alternatives[0], fleet.nodes.all, slow)
    found = uncovered(*all_at_once, among=256)
    assert [str(shape) for shape in found.shapes] == ["1x t4"]
    assert found.untried == "it takes too many steps to be asked about all devices"


def test_all_alternatives_of_a_review_share_their_steps(asked: list[int]) -> None:
    fleet = fleet_of(device_class(), device_slice("n", *(gpu(f"g{i}", T4, numa=i) for i in range(40))))
    loops = "[1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, [1,2,3,4,5,6,7,8,9].all(c, a + b + c"
    slow = declared(when=f'{loops} > shape.devices[0].attributes["{NVIDIA}"].numa - 100)))')
    requests = [exactly(f"r{i}", NVIDIA, f'device.attributes["{NVIDIA}"].numa != {i}') for i in range(32)]
    spec = read_claim(claim("c", *requests)).spec
    for request in spec.requests:
        (only,) = request.alternatives
        assert uncovered(fleet, MODELS, spec, request, only, fleet.nodes.all, slow).untried
    assert MOST_STEPS // 4 < sum(asked) <= MOST_STEPS


@pytest.mark.parametrize("seed", range(120))
def test_the_answer_is_that_of_asking_about_every_choice(seed: int) -> None:
    rng = random.Random(seed)
    slices = [
        device_slice(
            f"n{i}",
            *(
                gpu(f"g{j}", rng.choice([T4, A40]), rng.choice(["16Gi", "40Gi"]), numa=rng.randrange(3), uuid=f"{i}-{j}")
                for j in range(rng.randrange(1, 4))
            ),
        )
        for i in range(3)
    ]
    fleet = fleet_of(device_class(), *slices)
    text = rng.choice(
        [
            f'shape.devices.all(d, d.attributes["{NVIDIA}"].numa < 2)',
            f'shape.devices.exists(d, d.attributes["{NVIDIA}"].numa == 0) || shape.models == ["t4"]',
            f'shape.capacity["{NVIDIA}"].memory.compareTo(quantity("56Gi")) >= 0',
            f'shape.devices.all(d, !d.attributes["{NVIDIA}"].uuid.endsWith("-0"))',
            f'shape.devices.all(d, d.attributes["{NVIDIA}"]["nu" + "ma"] < 2)',
            f'shape.devices.all(d, d.attributes["{NVIDIA}"]["n\\u0075ma"] < 2)',
            f'shape.devices.all(d, d.attributes["{NVIDIA}"].exists(k, d.attributes["{NVIDIA}"][k] == 0))',
            f'cel.bind(all, shape.devices, all.all(d, d.attributes["{NVIDIA}"].numa > 0))',
            f'shape.devices.filter(d, d.attributes["{NVIDIA}"].numa == 0).size() < 2',
            f'shape.devices.map(d, d.attributes["{NVIDIA}"]).all(a, a.numa < 2)',
            "shape.devices.all(a, shape.devices.all(b, a.attributes == b.attributes))",
        ]
    )
    what = declared(when=text)
    when = what.statement.when
    assert when is not None
    names = catalog_for(MODELS)
    wrong = set()
    for pool in fleet.inventory.pools:
        for chosen in combinations(pool.devices, 2):
            named = [(names.model_of(device), device) for device in chosen]
            if when.evaluate({"shape": shape_value(named)}) is not True:
                wrong.add(str(shape_of_models(model for model, _ in named)))
    # Fallgate also asks about devices of different nodes together: it may only be stricter.
    assert wrong <= set(missing(what, exactly(count=2), fleet))
    single = {
        str(shape_of_models([names.model_of(device)]))
        for pool in fleet.inventory.pools
        for device in pool.devices
        if when.evaluate({"shape": shape_value([(names.model_of(device), device)])}) is not True
    }
    assert set(missing(what, exactly(), fleet)) == single


def test_of_too_many_shared_devices_no_whole_node_is_made() -> None:
    far = device_slice("far", *(gpu(f"g{i}", T4, numa=i) for i in range(100)), nodeName=None, allNodes=True)
    fleet = fleet_of(device_class(), device_slice("n1", gpu("a", T4)), device_slice("n2", gpu("a", T4)), far)
    spec = read_claim(claim("c", exactly(mode="All"))).spec
    what = declared(when=f'shape.devices.all(d, d.attributes["{NVIDIA}"].?numa.orValue(0) >= 0)')
    asked = (fleet, MODELS, spec, spec.requests[0], spec.requests[0].alternatives[0], fleet.nodes.all, what)
    assert uncovered(*asked) == Uncovered()
    found = uncovered(*asked, among=256)
    assert ([str(shape) for shape in found.shapes], found.untried) == (
        ["*x t4"],
        "it takes too many steps to be asked about all devices",
    )
