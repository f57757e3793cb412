"""What an alternative may be given: everything the allocator could hand out, and why nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from tests.build import (
    NVIDIA,
    Raw,
    alternative,
    catalog,
    claim,
    device,
    device_class,
    device_slice,
    exactly,
    example,
    first_available,
    fleet_of,
    gpu,
    model,
    node,
    product,
    result,
)
from webhook.fleet.fleet import Fleet
from webhook.model.claim_reading import read_claim
from webhook.model.server_version import Server
from webhook.rulekit.policies import PolicySet
from webhook.rulekit.shapes.possible import allocated_alternative, allocated_shape, alternative_shapes
from webhook.rulekit.shapes.shape import AlternativeShapes

H100, A80, A40, T4 = "NVIDIA H100 80GB HBM3", "NVIDIA A100 80GB", "NVIDIA A100 40GB", "Tesla T4"
MODELS = catalog(product("h100", H100), product("a100-80gb", A80), product("a100-40gb", A40), product("t4", T4))
ANY = device_class()
EFA = "dra.net"
ON = f'device.attributes["{NVIDIA}"]'


def gpus(product_name: str, number: int, first: int = 0, **attributes: Any) -> list[Raw]:
    return [gpu(f"gpu-{i}", product_name, **attributes) for i in range(first, first + number)]


def possible(
    fleet: Fleet,
    *requests: Raw,
    policies: PolicySet = MODELS,
    nodes: int | None = None,
    which: int = 0,
    **devices: Any,
) -> AlternativeShapes:
    spec = read_claim(claim("c", *requests, devices=devices)).spec
    request = spec.requests[0]
    return alternative_shapes(
        fleet, policies, spec, request, request.alternatives[which], fleet.nodes.all if nodes is None else nodes
    )


def shapes(fleet: Fleet, *requests: Raw, **fields: Any) -> list[str]:
    found = possible(fleet, *requests, **fields)
    assert found.uncertain == ""
    return [str(shape) for shape in found.shapes]


# Nodes.


def test_devices_of_one_node_mix_those_of_two_do_not() -> None:
    fleet = fleet_of(ANY, device_slice("n1", *gpus(H100, 1), *gpus(A40, 2, 1)), device_slice("n2", *gpus(T4, 4)))
    assert shapes(fleet, exactly(count=2)) == ["1x a100-40gb + 1x h100", "2x a100-40gb", "2x t4"]
    assert shapes(fleet, exactly()) == ["1x a100-40gb", "1x h100", "1x t4"]
    assert shapes(fleet, exactly(count=3)) == ["2x a100-40gb + 1x h100", "3x t4"]


def test_only_the_given_nodes_count() -> None:
    fleet = fleet_of(ANY, device_slice("n1", *gpus(H100, 1)), device_slice("n2", *gpus(T4, 1)))
    assert shapes(fleet, exactly(), nodes=fleet.nodes.named(["n2"])) == ["1x t4"]
    found = possible(fleet, exactly(), nodes=0)
    assert found.shapes == ()
    assert found.uncertain == "none of the devices that match can be used from a feasible node"
    assert (found.models, found.drivers, found.matches) == ((), (), 2)


def test_two_pools_of_one_node_mix() -> None:
    fleet = fleet_of(
        device_class("any", "true"),
        device_slice("n1", *gpus(H100, 1)),
        device_slice("n1", device("d", {"productName": "MI300X"}), driver="gpu.amd.com", pool="n1-amd"),
    )
    policies = catalog(*MODELS.catalog, model("mi300x", driver="gpu.amd.com"))
    found = possible(fleet, exactly("r", "any", count=2), policies=policies)
    assert [str(shape) for shape in found.shapes] == ["1x h100 + 1x mi300x"]
    assert found.drivers == ("gpu.amd.com", NVIDIA)
    assert found.models == ("h100", "mi300x")


def test_network_devices_join_every_node_they_reach() -> None:
    nic = device("nic", {"productName": "NIC"})
    fleet = fleet_of(
        device_class("any", "true"),
        node("n3", {"zone": "b"}),
        device_slice("n1", *gpus(H100, 1)),
        device_slice("n2", *gpus(T4, 1)),
        device_slice({"allNodes": True}, nic, driver=EFA, pool="everywhere"),
        device_slice(
            {
                "nodeSelector": {
                    "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b"]}]}]
                }
            },
            nic,
            driver="zone.example.com",
            pool="zone-b",
        ),
    )
    policies = catalog(*MODELS.catalog, model("nic", driver=EFA), model("zonal", driver="zone.example.com"))
    asked = exactly("r", "any", count=2)
    assert shapes(fleet, asked, policies=policies) == ["1x h100 + 1x nic", "1x nic + 1x t4", "1x nic + 1x zonal"]
    assert shapes(fleet, exactly("r", "any"), policies=policies) == ["1x h100", "1x nic", "1x t4", "1x zonal"]
    everything = exactly("r", "any", mode="All")
    assert shapes(fleet, everything, policies=policies) == ["*x h100 + *x nic", "*x nic + *x t4", "*x nic + *x zonal"]
    only = fleet.nodes.named(["n1"])
    assert shapes(fleet, exactly("r", "any"), policies=policies, nodes=only) == ["1x h100", "1x nic"]


def test_nodes_without_devices_of_their_own_have_what_reaches_them() -> None:
    def reached(driver: str, *zones: str) -> Raw:
        zone = {"key": "zone", "operator": "In", "values": list(zones)}
        return device_slice(
            {"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [zone]}]}}, device("d"), driver=driver, pool=driver
        )

    fleet = fleet_of(
        device_class("any", "true"),
        *(node(f"{zone}{i}", {"zone": zone}) for zone in "abcd" for i in range(2)),
        device_slice("a0", *gpus(H100, 1)),
        device_slice("d0", *gpus(T4, 1)),
        reached("ab.example.com", "a", "b"),
        reached("bc.example.com", "b", "c"),
        reached("cc.example.com", "c"),
    )
    names = ("ab.example.com", "bc.example.com", "cc.example.com")
    policies = catalog(*MODELS.catalog, *(model(name[:2], driver=name) for name in names))
    assert shapes(fleet, exactly("r", "any", mode="All"), policies=policies) == [
        "*x ab",
        "*x ab + *x bc",
        "*x ab + *x h100",
        "*x bc + *x cc",
        "*x t4",
    ]
    assert shapes(fleet, exactly("r", "any", count=2), policies=policies) == [
        "1x ab + 1x bc",
        "1x ab + 1x h100",
        "1x bc + 1x cc",
    ]


def test_devices_that_name_their_own_nodes_in_one_pool() -> None:
    fleet = fleet_of(
        ANY,
        device_slice(
            {"perDeviceNodeSelection": True},
            gpu("a", H100) | {"nodeName": "n1"},
            gpu("b", T4) | {"nodeName": "n2"},
            gpu("c", T4) | {"nodeName": "n2"},
        ),
    )
    assert shapes(fleet, exactly(count=2)) == ["2x t4"]


def test_a_thousand_equal_nodes_offer_one_shape() -> None:
    fleet = fleet_of(ANY, *(device_slice(f"n{i}", *gpus(A40, 2)) for i in range(1000)))
    found = possible(fleet, exactly(count=2))
    assert [str(shape) for shape in found.shapes] == ["2x a100-40gb"]
    assert found.matches == 2000


# Selectors.


def test_class_and_own_selectors_both_hold() -> None:
    fleet = fleet_of(
        device_class("whole", f'{ON}.type == "gpu"'),
        device_slice("n1", *gpus(H100, 1), gpu("mig", H100, type="mig"), *gpus(T4, 1, 2)),
    )
    assert shapes(fleet, exactly("r", "whole", f'{ON}.productName == "{H100}"')) == ["1x h100"]


def test_an_error_on_a_device_is_reported_and_the_device_does_not_match() -> None:
    fleet = fleet_of(ANY, device_slice("n1", gpu("a", H100, index=1), gpu("b", T4)))
    found = possible(fleet, exactly("r", NVIDIA, f"{ON}.index < 2"))
    assert [str(shape) for shape in found.shapes] == ["1x h100"]
    assert [(error.device.name, error.expression) for error in found.errors] == [("b", f"{ON}.index < 2")]


def test_when_only_errors_are_left_it_says_so() -> None:
    fleet = fleet_of(ANY, device_slice("n1", *gpus(T4, 2)))
    found = possible(fleet, exactly("r", NVIDIA, f"{ON}.nope == 1"))
    assert found.shapes == ()
    assert (
        found.uncertain
        == f"no known device matches; its selectors raise a CEL error on 2, the first: {found.errors[0].message}"
    )


def test_selectors_that_do_not_compile() -> None:
    fleet = fleet_of(ANY, device_slice("n1", *gpus(T4, 2)))
    found = possible(fleet, exactly("r", NVIDIA, "device.driver ==="))
    assert found.shapes == ()
    assert found.problems
    assert found.uncertain == f"a selector does not compile: {found.problems[0].message}"


def test_a_class_that_is_not_known() -> None:
    found = possible(fleet_of(device_slice("n1", *gpus(T4, 2))), exactly("r", "nope.example.com"))
    assert found.class_missing
    assert found.uncertain == "DeviceClass nope.example.com is not known"


def test_no_device_at_all() -> None:
    assert possible(fleet_of(ANY), exactly()).uncertain == f"no known device matches DeviceClass {NVIDIA}"
    found = possible(fleet_of(ANY), exactly("r", NVIDIA, f'{ON}.type == "gpu"'))
    assert found.uncertain == f"no known device matches DeviceClass {NVIDIA} and its selectors"
    assert not found.class_missing


def test_no_node_with_enough() -> None:
    fleet = fleet_of(ANY, device_slice("n1", *gpus(T4, 2)), device_slice("n2", *gpus(T4, 1)))
    assert possible(fleet, exactly(count=3)).uncertain == "no feasible node has 3 matching devices together; the most is 2"
    fleet = fleet_of(ANY, device_slice("n1", *gpus(A40, 2)), device_slice("n2", *gpus(T4, 1)))
    assert possible(fleet, exactly(count=3)).uncertain == "no feasible node has 3 matching devices together; the most is 2"
    fleet = fleet_of(ANY, device_slice("n1", *gpus(A40, 1)), device_slice("n2", *gpus(T4, 1)))
    assert possible(fleet, exactly(count=2)).uncertain == "no feasible node has 2 matching devices together; the most is 1"


# What is not understood.


def test_unknown_modes_and_fields_are_not_reasoned_about() -> None:
    fleet = fleet_of(ANY, device_slice("n1", *gpus(T4, 2)))
    found = possible(fleet, exactly(mode="Some"))
    assert (found.shapes, found.uncertain) == ((), 'allocationMode "Some" is not known to this release')
    found = possible(fleet, exactly(derivedAttributes=[{}]))
    assert (found.shapes, found.uncertain) == ((), "it has a field this release does not know: derivedAttributes")
    found = possible(fleet, exactly(b=1, a=2))
    assert (found.shapes, found.uncertain) == ((), "it has fields this release does not know: a, b")


@pytest.mark.parametrize("count", [33, 1000, -1])
def test_counts_that_no_claim_can_have(count: int) -> None:
    fleet = fleet_of(ANY, device_slice("n1", *gpus(T4, 40)))
    found = possible(fleet, exactly(count=count))
    assert (found.shapes, found.uncertain) == ((), f"it asks for {count} devices; one claim is given between 1 and 32")


def test_thirty_two_is_the_most_a_claim_is_given() -> None:
    assert shapes(fleet_of(ANY, device_slice("n1", *gpus(T4, 40))), exactly(count=32)) == ["32x t4"]


def test_admin_access_allocates_nothing() -> None:
    fleet = fleet_of(ANY, device_slice("n1", *gpus(T4, 2)))
    found = possible(fleet, exactly(adminAccess=True))
    assert (found.shapes, found.uncertain) == ((), "")


# All.


def test_all_gives_every_model_of_a_node() -> None:
    fleet = fleet_of(ANY, device_slice("n1", *gpus(H100, 1), *gpus(A40, 2, 1)), device_slice("n2", *gpus(T4, 40)))
    assert shapes(fleet, exactly(mode="All")) == ["*x a100-40gb + *x h100", "*x t4"]


@pytest.mark.parametrize(
    ("attributes", "broken"),
    [([{"numa": 0}, {"numa": 0}], False), ([{"numa": 0}, {"numa": 1}], True), ([{"numa": 0}, {}], True), ([{}, {}], True)],
)
def test_all_under_a_constraint_needs_it_to_hold_for_all(attributes: list[Raw], broken: bool) -> None:
    fleet = fleet_of(ANY, device_slice("n1", *(gpu(f"g{i}", T4, **item) for i, item in enumerate(attributes))))
    found = possible(fleet, exactly(mode="All"), constraints=[{"matchAttribute": f"{NVIDIA}/numa"}])
    why = "a constraint of the claim cannot hold for all devices of a node"
    assert [str(shape) for shape in found.shapes] == ([] if broken else ["*x t4"])
    assert [(str(shape), reason) for shape, reason in found.unreachable] == ([("*x t4", why)] if broken else [])
    assert found.uncertain == (f"nothing can be given: {why}" if broken else "")


def test_lists_of_values_do_not_break_all_unless_a_device_has_none() -> None:
    constraints = [{"matchAttribute": f"{NVIDIA}/numa"}]
    fleet = fleet_of(ANY, device_slice("n1", gpu("a", T4, numa=[0, 1]), gpu("b", T4, numa=1)))
    assert shapes(fleet, exactly(mode="All"), constraints=constraints) == ["*x t4"]
    fleet = fleet_of(ANY, device_slice("n1", gpu("a", T4, numa=[0, 1]), gpu("b", T4)))
    assert possible(fleet, exactly(mode="All"), constraints=constraints).shapes == ()


# Constraints.


def tied(*devices: Raw) -> Fleet:
    return fleet_of(ANY, device_slice("n1", *devices))


def with_lists(*devices: Raw) -> Fleet:
    """On a server that knows of attributes that are lists."""
    return fleet_of(ANY, device_slice("n1", *devices), server="1.37", gates={"DRAListTypeAttributes": True})


def test_match_attribute_divides_a_node() -> None:
    fleet = tied(gpu("a", H100, root="1"), gpu("b", T4, root="1"), gpu("c", A40, root="2"), gpu("d", A40))
    constraints = [{"matchAttribute": f"{NVIDIA}/root"}]
    assert shapes(fleet, exactly(count=2), constraints=constraints) == ["1x h100 + 1x t4"]
    assert shapes(fleet, exactly(), constraints=constraints) == ["1x a100-40gb", "1x h100", "1x t4"]
    found = possible(fleet, exactly(count=3), constraints=constraints)
    assert found.uncertain == "no feasible node has 3 matching devices together under the claim's constraints; the most is 2"


def test_values_of_different_types_are_different() -> None:
    fleet = tied(gpu("a", H100, root="1"), gpu("b", T4, root=1), gpu("c", A40, root={"version": "1"}))
    assert possible(fleet, exactly(count=2), constraints=[{"matchAttribute": f"{NVIDIA}/root"}]).shapes == ()


def test_a_constraint_that_ties_the_product_forbids_mixing() -> None:
    fleet = tied(*gpus(H100, 2), *gpus(A40, 2, 2))
    constraints = [{"matchAttribute": f"{NVIDIA}/productName"}]
    assert shapes(fleet, exactly(count=2), constraints=constraints) == ["2x a100-40gb", "2x h100"]


def test_two_match_attributes_divide_by_both() -> None:
    fleet = tied(gpu("a", H100, x=1, y=1), gpu("b", T4, x=1, y=2), gpu("c", A40, x=1, y=2))
    constraints = [{"matchAttribute": f"{NVIDIA}/x"}, {"matchAttribute": f"{NVIDIA}/y"}]
    assert shapes(fleet, exactly(count=2), constraints=constraints) == ["1x a100-40gb + 1x t4"]


def test_lists_of_values_do_not_divide() -> None:
    fleet = with_lists(gpu("a", H100, root=["1"]), gpu("b", T4, root="1"), gpu("c", A40, root="2"), gpu("d", A40))
    constraints = [{"matchAttribute": f"{NVIDIA}/root"}]
    assert shapes(fleet, exactly(count=2), constraints=constraints) == [
        "1x a100-40gb + 1x h100",
        "1x a100-40gb + 1x t4",
        "1x h100 + 1x t4",
    ]


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        ([], ["2x a100-40gb", "2x h100"]),
        (["gpu"], ["2x a100-40gb", "2x h100"]),
        (["gpu/pair"], ["2x a100-40gb", "2x h100"]),
        (["gpu/other"], ["1x a100-40gb + 1x h100", "2x a100-40gb", "2x h100"]),
        (["nic"], ["1x a100-40gb + 1x h100", "2x a100-40gb", "2x h100"]),
    ],
)
def test_a_constraint_counts_where_it_covers_the_alternative(named: list[str], expected: list[str]) -> None:
    fleet = tied(*gpus(H100, 2), *gpus(A40, 2, 2))
    request = first_available("gpu", alternative("pair", count=2))
    constraints = [{"requests": named, "matchAttribute": f"{NVIDIA}/productName"}]
    assert shapes(fleet, request, constraints=constraints) == expected


def test_no_device_has_the_attribute() -> None:
    fleet = tied(*gpus(H100, 2))
    found = possible(fleet, exactly(count=2), constraints=[{"matchAttribute": f"{NVIDIA}/nope"}])
    assert found.uncertain == f"no matching device has the attribute {NVIDIA}/nope of a constraint"
    found = possible(
        fleet, exactly(count=2), constraints=[{"matchAttribute": f"{NVIDIA}/no"}, {"distinctAttribute": f"{NVIDIA}/x"}]
    )
    assert (
        found.uncertain
        == f"no matching device has the attribute {NVIDIA}/no of a constraint or the attribute {NVIDIA}/x of a constraint"
    )


def test_two_devices_that_must_differ() -> None:
    fleet = tied(
        gpu("a", H100, root="1"), gpu("b", H100, root="1"), gpu("c", A40, root="2"), gpu("d", T4), gpu("e", A40, root="3")
    )
    constraints = [{"distinctAttribute": f"{NVIDIA}/root"}]
    assert shapes(fleet, exactly(count=2), constraints=constraints) == ["1x a100-40gb + 1x h100", "2x a100-40gb"]
    assert shapes(fleet, exactly(), constraints=constraints) == ["1x a100-40gb", "1x h100"]


def test_two_devices_that_cannot_differ() -> None:
    fleet = tied(gpu("a", H100, root="1"), gpu("b", T4, root="1"))
    found = possible(fleet, exactly(count=2), constraints=[{"distinctAttribute": f"{NVIDIA}/root"}])
    assert found.uncertain == "no feasible node has 2 matching devices together under the claim's constraints; the most is 1"


def test_one_device_with_a_list_of_values_is_still_one() -> None:
    fleet = with_lists(gpu("a", H100, root=["1"]), gpu("b", T4, root="1"))
    assert shapes(fleet, exactly(count=2), constraints=[{"distinctAttribute": f"{NVIDIA}/root"}]) == ["1x h100 + 1x t4"]


def test_of_three_devices_values_may_repeat_on_some_servers() -> None:
    fleet = tied(gpu("a", H100, root="1"), gpu("b", H100, root="1"), gpu("c", A40, root="2"), gpu("d", T4))
    constraints = [{"distinctAttribute": f"{NVIDIA}/root"}]
    assert shapes(fleet, exactly(count=3), constraints=constraints) == ["1x a100-40gb + 2x h100"]


def test_lists_of_values_may_always_differ() -> None:
    fleet = with_lists(gpu("a", H100, root=["1"]), gpu("b", H100, root=["1"]), gpu("c", A40, root="1"))
    constraints = [{"distinctAttribute": f"{NVIDIA}/root"}]
    assert shapes(fleet, exactly(count=2), constraints=constraints) == ["1x a100-40gb + 1x h100", "2x h100"]


def test_two_devices_must_differ_in_every_distinct_attribute() -> None:
    fleet = tied(gpu("a", H100, x=1, y=1), gpu("b", A40, x=2, y=1), gpu("c", T4, x=2, y=2))
    constraints = [{"distinctAttribute": f"{NVIDIA}/x"}, {"distinctAttribute": f"{NVIDIA}/y"}]
    assert shapes(fleet, exactly(count=2), constraints=constraints) == ["1x h100 + 1x t4"]


def test_distinct_does_not_count_where_the_server_drops_it() -> None:
    fleet = fleet_of(ANY, device_slice("n1", *gpus(H100, 2, root="1")), server="1.35")
    assert shapes(fleet, exactly(count=2), constraints=[{"distinctAttribute": f"{NVIDIA}/root"}]) == ["2x h100"]
    assert shapes(fleet, exactly(count=2), constraints=[{"distinctAttribute": f"{NVIDIA}/nope"}]) == ["2x h100"]


def test_a_constraint_about_nothing_constrains_nothing() -> None:
    assert shapes(tied(*gpus(H100, 2)), exactly(count=2), constraints=[{"requests": []}]) == ["2x h100"]


def test_of_both_in_one_constraint_only_the_match_counts() -> None:
    fleet = tied(*gpus(H100, 2, root="1"))
    both = [{"matchAttribute": f"{NVIDIA}/root", "distinctAttribute": f"{NVIDIA}/root"}]
    assert shapes(fleet, exactly(count=2), constraints=both) == ["2x h100"]


# Capacity.


def test_devices_that_cannot_have_the_capacity_are_left_out() -> None:
    fleet = tied(gpu("a", H100, "80Gi"), gpu("b", T4, "16Gi"), gpu("c", A40, "40960Mi"), device("d", {"productName": A80}))
    asked = exactly(capacity={"requests": {"memory": "40Gi"}})
    assert shapes(fleet, asked) == ["1x a100-40gb", "1x h100"]
    assert shapes(fleet, exactly(capacity={"requests": {f"{NVIDIA}/memory": "41Gi"}})) == ["1x h100"]
    found = possible(fleet, exactly(capacity={"requests": {"memory": "1Ti"}}))
    assert found.uncertain == "no matching device has the capacity that is asked for"
    assert shapes(fleet, exactly(capacity={"requests": {"memory": "much"}})) == ["1x a100-40gb", "1x h100", "1x t4"]
    assert shapes(tied(gpu("a", T4, "much")), asked) == ["1x t4"]


def test_capacity_does_not_count_where_the_server_drops_it() -> None:
    fleet = fleet_of(ANY, device_slice("n1", gpu("b", T4, "16Gi")), server="1.35")
    assert shapes(fleet, exactly(capacity={"requests": {"memory": "40Gi"}})) == ["1x t4"]


def test_a_shared_device_may_be_given_more_than_once_to_one_request_until_1_35() -> None:
    objects = (ANY, device_slice("n1", gpu("a", T4) | {"allowMultipleAllocations": True}, gpu("b", H100)))
    older = fleet_of(*objects, server="1.35", gates={"DRAConsumableCapacity": True})
    assert shapes(older, exactly(count=3)) == ["1x h100 + 2x t4", "3x t4"]
    assert shapes(fleet_of(*objects), exactly(count=2)) == ["1x h100 + 1x t4"]
    # Without the gate it is a device like any other.
    assert shapes(fleet_of(*objects, server="1.35"), exactly(count=2)) == ["1x h100 + 1x t4"]


# Pools.


def test_an_incomplete_pool_gives_nothing_from_1_35_on() -> None:
    objects = (ANY, device_slice("n1", *gpus(H100, 1), slices=2), device_slice("n2", *gpus(T4, 1)))
    assert shapes(fleet_of(*objects, server="1.35"), exactly()) == ["1x t4"]
    assert shapes(fleet_of(*objects, server="1.34"), exactly()) == ["1x h100", "1x t4"]
    found = possible(fleet_of(*objects[:2]), exactly())
    assert found.shapes == ()
    assert found.uncertain == f"pool n1 of {NVIDIA} is incomplete: nothing is given out of it until all its slices are there"


def test_of_pools_that_give_nothing_the_one_that_would_match_is_named() -> None:
    fleet = fleet_of(ANY, device_slice("n0", device("bare")), device_slice("n1", *gpus(H100, 1), slices=2))
    found = possible(fleet, exactly("r", NVIDIA, f'{ON}.productName == "{H100}"'))
    assert found.uncertain[:11] == "pool n1 of "
    assert len(found.errors) == 1


def test_a_pool_with_a_device_twice_gives_nothing_from_1_35_on() -> None:
    fleet = fleet_of(ANY, device_slice("n1", gpu("a", T4), gpu("a", T4)))
    found = possible(fleet, exactly())
    assert found.shapes == ()
    assert found.uncertain == f"pool n1 of {NVIDIA} publishes device a twice: nothing is given out of it"


def test_the_older_generation_is_gone() -> None:
    fleet = fleet_of(
        ANY,
        device_slice("n1", *gpus(H100, 1), name="old"),
        device_slice("n1", *gpus(T4, 1), name="new", generation=2),
    )
    assert shapes(fleet, exactly()) == ["1x t4"]


# Shared counters.


def part(name: str, product_name: str, uses: str = "4Gi", counter_set: str = "card-0", counter: str = "memory") -> Raw:
    uses_counters = [{"counterSet": counter_set, "counters": {counter: {"value": uses}}}]
    return gpu(name, product_name) | {"consumesCounters": uses_counters}


def counters(*budgets: tuple[str, str, str]) -> list[Raw]:
    return [{"name": name, "counters": {counter: {"value": value}}} for name, counter, value in budgets]


CARD = counters(("card-0", "memory", "8Gi"))
WHY = "the shared counters of its pool do not allow these devices together"


def test_two_of_6_gi_do_not_fit_into_8() -> None:
    fleet = fleet_of(ANY, device_slice("n1", part("a", T4, "6Gi"), part("b", T4, "6Gi"), sharedCounters=CARD))
    found = possible(fleet, exactly(count=2))
    assert found.shapes == ()
    assert [(str(shape), reason) for shape, reason in found.unreachable] == [("2x t4", WHY)]
    assert found.uncertain == f"nothing can be given: {WHY}"
    assert shapes(fleet, exactly()) == ["1x t4"]


def test_two_of_4_gi_do() -> None:
    fleet = fleet_of(ANY, device_slice("n1", part("a", T4), part("b", T4), part("c", A40, "5Gi"), sharedCounters=CARD))
    found = possible(fleet, exactly(count=2))
    assert [str(shape) for shape in found.shapes] == ["2x t4"]
    assert [(str(shape), reason) for shape, reason in found.unreachable] == [("1x a100-40gb + 1x t4", WHY)]
    assert found.uncertain == ""


@pytest.mark.parametrize("small_set", ["card-0", "card-9"])
@pytest.mark.parametrize(
    ("asked", "expected"), [(exactly(count=2), "2x t4"), (exactly(mode="All"), "*x t4"), (exactly(count=3), "3x t4")]
)
def test_what_one_node_cannot_another_may(small_set: str, asked: Raw, expected: str) -> None:
    # the nodes are looked at in the order of their counters' names
    def offer(name: str, counter_set: str, budget: str) -> Raw:
        number = asked["exactly"].get("count", 3)
        parts = [part(f"g{i}", T4, "3Gi", counter_set) for i in range(number)]
        return device_slice(name, *parts, sharedCounters=counters((counter_set, "memory", budget)))

    fleet = fleet_of(ANY, offer("n1", small_set, "5Gi"), offer("n2", "card-5", "9Gi"))
    found = possible(fleet, asked)
    assert ([str(shape) for shape in found.shapes], found.unreachable) == ([expected], ())


def test_the_search_tries_every_card() -> None:
    fleet = fleet_of(
        ANY,
        device_slice(
            "n1",
            part("a0", T4, "6Gi", "card-0"),
            part("a1", A40, "6Gi", "card-0"),
            part("b0", T4, "6Gi", "card-1"),
            part("b1", H100, "2Gi", "card-1"),
            sharedCounters=counters(("card-0", "memory", "8Gi"), ("card-1", "memory", "8Gi")),
        ),
    )
    found = possible(fleet, exactly(count=2))
    assert [str(shape) for shape in found.shapes] == [
        "1x a100-40gb + 1x h100",
        "1x a100-40gb + 1x t4",
        "1x h100 + 1x t4",
        "2x t4",
    ]
    found = possible(fleet, exactly(count=3))
    assert [str(shape) for shape in found.shapes] == ["1x a100-40gb + 1x h100 + 1x t4", "1x h100 + 2x t4"]
    assert [str(shape) for shape, _ in found.unreachable] == ["1x a100-40gb + 2x t4"]


def test_counters_of_two_pools_are_two_budgets() -> None:
    fleet = fleet_of(
        ANY,
        device_slice("n1", part("a", T4, "6Gi"), part("b", T4, "6Gi"), pool="p1", sharedCounters=CARD),
        device_slice("n1", part("a", T4, "6Gi"), part("b", A40, "6Gi"), pool="p2", sharedCounters=CARD),
    )
    found = possible(fleet, exactly(count=2))
    assert [str(shape) for shape in found.shapes] == ["1x a100-40gb + 1x t4", "2x t4"]
    assert possible(fleet, exactly(count=3)).shapes == ()


def test_devices_without_counters_pay_nothing() -> None:
    fleet = fleet_of(ANY, device_slice("n1", part("a", T4, "8Gi"), part("b", T4, "8Gi"), gpu("c", T4), sharedCounters=CARD))
    assert shapes(fleet, exactly(count=2)) == ["2x t4"]
    assert possible(fleet, exactly(count=3)).shapes == ()


def test_a_counter_that_cannot_be_read_is_not_counted() -> None:
    for uses, budget in (("much", "8Gi"), ("6Gi", "much"), ("1e40", "1e40"), ("0", "0")):
        pool = device_slice(
            "n1", part("a", T4, uses), part("b", T4, uses), sharedCounters=counters(("card-0", "memory", budget))
        )
        assert shapes(fleet_of(ANY, pool), exactly(count=2)) == ["2x t4"]


def test_a_pool_with_a_counter_set_that_is_not_there_gives_nothing_out() -> None:
    lost = device_slice("n1", part("a", T4, "6Gi", "card-9"), part("b", T4, "6Gi", "card-9"), sharedCounters=CARD)
    found = possible(fleet_of(ANY, lost), exactly(count=2))
    assert found.shapes == ()
    assert found.uncertain == (
        "pool n1 of gpu.nvidia.com contradicts itself, nothing is given out of it: "
        "device a consumes of counter set card-9, which is not there"
    )


def test_one_counter_used_twice_by_a_device_is_summed() -> None:
    uses = [{"counterSet": "card-0", "counters": {"memory": {"value": "5Gi"}}}] * 2
    pool = device_slice("n1", gpu("a", T4) | {"consumesCounters": uses}, gpu("b", H100), sharedCounters=CARD)
    found = possible(fleet_of(ANY, pool), exactly())
    assert [str(shape) for shape in found.shapes] == ["1x h100"]
    assert [str(shape) for shape, _ in found.unreachable] == ["1x t4"]


def test_all_needs_the_counters_for_everything() -> None:
    def fleet(budget: str) -> Fleet:
        shared = counters(("card-0", "memory", budget))
        return fleet_of(ANY, device_slice("n1", part("a", T4, "6Gi"), part("b", T4, "6Gi"), sharedCounters=shared))

    assert shapes(fleet("12Gi"), exactly(mode="All")) == ["*x t4"]
    found = possible(fleet("8Gi"), exactly(mode="All"))
    assert (found.shapes, [(str(shape), why) for shape, why in found.unreachable]) == ((), [("*x t4", WHY)])


def test_counters_and_distinct_together() -> None:
    fleet = fleet_of(
        ANY,
        device_slice(
            "n1",
            part("a", T4, "6Gi") | gpu("a", T4, root="1"),
            part("b", T4, "6Gi") | gpu("b", T4, root="2"),
            part("c", A40, "2Gi") | gpu("c", A40, root="3"),
            sharedCounters=CARD,
        ),
    )
    found = possible(fleet, exactly(count=2), constraints=[{"distinctAttribute": f"{NVIDIA}/root"}])
    assert [str(shape) for shape in found.shapes] == ["1x a100-40gb + 1x t4"]
    assert [str(shape) for shape, _ in found.unreachable] == ["2x t4"]


def test_a_search_without_end_keeps_the_shape() -> None:
    # 31 cards, each with two devices of which one fits: 32 devices cannot be had, and to prove it takes for ever
    cards = [(f"card-{i}", "memory", "8Gi") for i in range(31)]
    parts = [part(f"p{i}-{j}", T4, f"{5 + j}Gi", f"card-{i}") for i in range(31) for j in range(2)]
    fleet = fleet_of(ANY, device_slice("n1", *parts, sharedCounters=counters(*cards)))
    assert shapes(fleet, exactly(count=31)) == ["31x t4"]
    assert shapes(fleet, exactly(count=32)) == ["32x t4"]


# Bounds.


def test_too_many_shapes_are_listed_as_far_as_they_go_and_called_uncertain() -> None:
    fleet = fleet_of(ANY, device_slice("n1", *(gpu(f"g{i}", f"Model {i:03}") for i in range(30))))
    found = possible(fleet, exactly(count=4))
    assert len(found.shapes) == 4096
    assert found.uncertain == "more than 4,096 different shapes would have to be told apart"
    assert shapes(fleet, exactly())[:2] == ["1x ?gpu.nvidia.com/Model 000", "1x ?gpu.nvidia.com/Model 001"]


def test_too_many_combinations_to_try() -> None:
    parts = [part(f"p{i}", f"Model {i:03}", "8Gi") for i in range(60)]
    fleet = fleet_of(ANY, device_slice("n1", *parts, gpu("whole", T4), sharedCounters=CARD))
    found = possible(fleet, exactly(count=2))
    assert [str(shape) for shape in found.shapes][:1] == ["1x ?gpu.nvidia.com/Model 000 + 1x t4"]
    assert (len(found.shapes), len(found.unreachable), found.uncertain) == (60, 256, "")
    found = possible(fleet, exactly(count=3))
    assert (found.shapes, found.uncertain) == ((), "more than 4,096 different shapes would have to be told apart")


def test_many_models() -> None:
    fleet = fleet_of(ANY, device_slice("n1", *(gpu(f"g{i}", f"Model {i:04}") for i in range(2000))))
    assert len(shapes(fleet, exactly())) == 2000
    for count in (2, 3):
        found = possible(fleet, exactly(count=count))
        assert (len(found.shapes), found.uncertain[:15]) == (4096, "more than 4,096")


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("bound", ["MOST_SHAPES", "MOST_TRIED"])
def test_the_bounds_are_exact(monkeypatch: pytest.MonkeyPatch, bound: str, count: int) -> None:
    node_of_two = device_slice("n1", *gpus(H100, 3), *gpus(T4, 3, 3))
    for most, complete in ((count + 1, True), (count, False)):
        monkeypatch.setattr(f"webhook.rulekit.shapes.enumeration.{bound}", most)
        found = possible(fleet_of(ANY, node_of_two), exactly(count=count))
        assert (len(found.shapes), found.uncertain == "") == (most, complete)


# Examples of the catalog.

EXAMPLES = catalog(
    product("h100", H100, device_class=NVIDIA, examples=[example(gpu("x", H100))]),
    product("t4", T4, device_class=NVIDIA, examples=[example(gpu("x", T4))]),
    model("mi300x", driver="gpu.amd.com", device_class="gpu.amd.com", examples=[example(gpu("x", "MI300X"), "gpu.amd.com")]),
)


def test_examples_name_shapes_when_no_live_device_matches() -> None:
    found = possible(fleet_of(ANY), exactly(count=2), policies=EXAMPLES)
    assert [str(shape) for shape in found.shapes] == ["2x h100", "2x t4"]
    assert (found.uncertain, found.by_example, found.models) == ("", True, ("h100", "t4"))
    assert [str(shape) for shape in possible(fleet_of(ANY), exactly(mode="All"), policies=EXAMPLES).shapes] == [
        "*x h100",
        "*x t4",
    ]
    only = exactly("r", NVIDIA, f'{ON}.productName == "{T4}"')
    assert [str(shape) for shape in possible(fleet_of(ANY), only, policies=EXAMPLES).shapes] == ["1x t4"]


def test_examples_of_a_class_that_is_not_known_are_those_whose_model_names_it() -> None:
    found = possible(fleet_of(), exactly(), policies=EXAMPLES)
    assert [str(shape) for shape in found.shapes] == ["1x h100", "1x t4"]
    assert found.class_missing
    only = exactly("r", NVIDIA, f'{ON}.productName == "{T4}"')
    assert [str(shape) for shape in possible(fleet_of(), only, policies=EXAMPLES).shapes] == ["1x t4"]
    assert possible(fleet_of(), exactly("r", "other"), policies=EXAMPLES).uncertain == "DeviceClass other is not known"


def test_examples_of_a_known_class_are_those_that_it_takes() -> None:
    fleet = fleet_of(device_class("tensor-cores", f'{ON}.productName != "{T4}"'), device_class(NVIDIA, "false"))
    found = possible(fleet, exactly("r", "tensor-cores"), policies=EXAMPLES)
    assert [str(shape) for shape in found.shapes] == ["1x ?gpu.nvidia.com/NVIDIA H100 80GB HBM3"]
    assert possible(fleet, exactly(), policies=EXAMPLES).shapes == ()


def test_an_example_is_no_device_beside_live_ones() -> None:
    fleet = fleet_of(ANY, device_slice("n1", *gpus(T4, 1)))
    found = possible(fleet, exactly(), policies=EXAMPLES)
    assert ([str(shape) for shape in found.shapes], found.by_example) == (["1x t4"], False)


def test_an_example_never_raises_an_error() -> None:
    found = possible(fleet_of(ANY), exactly("r", NVIDIA, f"{ON}.nope == 1"), policies=EXAMPLES)
    assert found.errors == ()
    assert found.uncertain == f"no known device matches DeviceClass {NVIDIA} and its selectors"


def test_examples_stand_beside_errors_on_live_devices() -> None:
    fleet = fleet_of(ANY, device_slice("n1", device("bare")))
    found = possible(fleet, exactly("r", NVIDIA, f'{ON}.productName == "{T4}"'), policies=EXAMPLES)
    assert ([str(shape) for shape in found.shapes], len(found.errors)) == (["1x t4"], 1)


# Allocated claims.


def test_an_allocated_claim_has_the_shape_it_was_given() -> None:
    fleet = fleet_of(ANY, device_slice("node-1", *gpus(H100, 1), *gpus(A40, 2, 1)))
    results = [result("gpu-1", request="gpu/pair"), result("gpu-0", request="gpu/pair"), result("gpu-2", request="nic")]
    given = read_claim(claim("c", allocated=[*results, result("gpu-2", adminAccess=True)]))
    assert str(allocated_shape(fleet, MODELS, given, "gpu")) == "1x a100-40gb + 1x h100"
    assert str(allocated_shape(fleet, MODELS, given, "nic")) == "1x a100-40gb"
    assert allocated_shape(fleet, MODELS, given, "other") is None
    assert (allocated_alternative(given, "gpu"), allocated_alternative(given, "nic")) == ("pair", "")


def test_devices_that_are_gone_have_no_model() -> None:
    fleet = fleet_of(ANY, device_slice("node-1", *gpus(H100, 1)))
    gone = read_claim(claim("c", allocated=[result("gpu-7"), result("x", "node-9"), result("gpu-0")]))
    assert str(allocated_shape(fleet, MODELS, gone, "gpu")) == "2x ?gpu.nvidia.com/unknown + 1x h100"
    assert allocated_shape(fleet, MODELS, read_claim(claim("c")), "gpu") is None


# Memory.


def test_the_same_question_has_the_same_answer_until_something_changes() -> None:
    fleet = fleet_of(ANY, device_slice("n1", *gpus(H100, 1)))
    first = possible(fleet, exactly())
    assert possible(fleet, exactly()) is first
    assert possible(fleet, exactly(count=2)) is not first
    assert possible(fleet, exactly(), nodes=0) is not first
    assert possible(fleet, exactly(), policies=catalog(product("other", H100))) is not first
    assert [str(shape) for shape in possible(fleet, exactly(), policies=catalog(product("other", H100))).shapes] == ["1x other"]


def test_other_nodes_and_servers_are_other_questions() -> None:
    objects = (ANY, device_slice("n1", *gpus(H100, 1), slices=2), device_slice("n2", *gpus(T4, 1)))
    fleet = fleet_of(*objects)
    older = Fleet(server=Server(version=(1, 34)), inventory=fleet.inventory, nodes=fleet.nodes, holdings=fleet.holdings)
    assert shapes(fleet, exactly()) == ["1x t4"]
    assert shapes(older, exactly()) == ["1x h100", "1x t4"]
    more = Fleet(inventory=fleet.inventory, nodes=fleet_of(node("n2")).nodes, holdings=fleet.holdings, server=fleet.server)
    assert possible(fleet, exactly(), nodes=1).uncertain == "none of the devices that match can be used from a feasible node"
    assert shapes(more, exactly(), nodes=1) == ["1x t4"]


def test_what_is_remembered_is_bounded() -> None:
    fleet = fleet_of(ANY, device_slice("n1", *gpus(H100, 1)))
    for i in range(2100):
        possible(fleet, exactly("r", f"class-{i}"))
    assert len(fleet.inventory.memo["shapes"][3]) <= 2048
