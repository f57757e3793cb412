"""Certain CEL errors: the scheduler asks every feasible node, gets past the error on none, and meets it on one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.build import (
    NVIDIA,
    Raw,
    alternative,
    attribute,
    claim,
    device_class,
    device_slice,
    exactly,
    first_available,
    fleet_of,
    gpu,
    node,
    taint_rule,
)
from webhook.fleet.build import with_objects
from webhook.fleet.fleet import Fleet
from webhook.model.claim_reading import read_claim
from webhook.rulekit.shapes import certainty, first_fit
from webhook.rulekit.shapes.certainty import error_is_certain

ANY = device_class("any", "true")
#: An error on devices that have no `index`, else whether it is below 5.
BELOW_5 = f'device.attributes["{NVIDIA}"].index < 5'
HAS_INDEX = f'has(device.attributes["{NVIDIA}"].index)'
OUT_OF_REACH = f'{HAS_INDEX} && device.attributes["{NVIDIA}"].index > 99'
#: An error on the device of that root, false on the others.
ERRS_ON_X = f'device.attributes["{NVIDIA}"].root == "x" && device.attributes["{NVIDIA}"].nope'
ODD = gpu("odd")


def good(name: str, index: int = 1, **attributes: Any) -> Raw:
    return gpu(name, index=index, **attributes)


def fleet(*objects: Raw, **server: Any) -> Fleet:
    return fleet_of(ANY, *objects, **{"server": "1.37", **server})


def certain(among: Fleet, *requests: Raw, nodes: list[str] | None = None, **devices: Any) -> bool:
    spec = read_claim(claim("c", *requests, devices=devices)).spec
    return error_is_certain(among, spec, among.nodes.all if nodes is None else among.nodes.named(nodes))


def below_5(name: str = "r", **fields: Any) -> Raw:
    return exactly(name, "any", BELOW_5, **fields)


def everything(name: str = "r", *selectors: str) -> Raw:
    return exactly(name, "any", *selectors, mode="All")


# Nodes and the order of devices.


def test_an_error_before_enough_devices_is_certain_one_behind_them_is_not() -> None:
    before, behind = device_slice("n1", ODD, good("a")), device_slice("n1", good("a"), ODD)
    assert certain(fleet(before), below_5())
    assert not certain(fleet(behind), below_5())
    assert certain(fleet(behind), below_5(count=2))


def test_a_node_that_gets_past_it_and_one_that_does_not() -> None:
    objects = fleet(device_slice("n1", ODD, good("a")), device_slice("n2", good("a")))
    assert not certain(objects, below_5())
    assert certain(objects, below_5(), nodes=["n1"])
    assert not certain(objects, below_5(), nodes=["n2"])
    assert not certain(objects, below_5(), nodes=[])


def test_a_node_that_does_not_fit_changes_nothing() -> None:
    assert certain(fleet(device_slice("n1", ODD, good("a")), device_slice("n2", good("a", 7)), node("n3")), below_5())
    assert not certain(fleet(device_slice("n2", good("a", 7)), node("n3")), below_5())


def test_pools_by_driver_and_name_slices_by_name() -> None:
    assert certain(fleet(device_slice("n1", good("a"), pool="b"), device_slice("n1", ODD, pool="a")), below_5())
    assert not certain(fleet(device_slice("n1", good("a"), pool="a"), device_slice("n1", ODD, pool="b")), below_5())
    slices = (device_slice("n1", good("a"), name="s2", slices=2), device_slice("n1", ODD, name="s1", slices=2))
    assert certain(fleet(*slices), below_5())


def test_pools_with_binding_conditions_last() -> None:
    bound = gpu("bound", index=9) | {"bindingConditions": ["x"], "bindingFailureConditions": ["y"]}
    slices = (device_slice("n1", ODD, bound, pool="a"), device_slice("n1", good("a"), pool="b"))
    assert not certain(fleet(*slices), below_5())
    # Without the gate such a device is passed over, and the order is not known.
    off = {"gates": {"DRADeviceBindingConditions": False}}
    erring = gpu("bound") | {"bindingConditions": ["x"], "bindingFailureConditions": ["y"]}
    assert certain(fleet(device_slice("n1", erring)), below_5())
    assert not certain(fleet(device_slice("n1", erring), **off), below_5())


def test_devices_for_other_nodes_are_asked_about_when_their_slice_is_for_this_one_too() -> None:
    own = {"perDeviceNodeSelection": True}
    both = device_slice(own, ODD | {"nodeName": "n2"}, good("a") | {"nodeName": "n1"})
    assert certain(fleet(both, node("n2")), below_5(), nodes=["n1"])
    apart = (
        device_slice(own, ODD | {"nodeName": "n2"}, name="s1", slices=2),
        device_slice(own, good("a") | {"nodeName": "n1"}, name="s2", slices=2),
    )
    assert not certain(fleet(*apart), below_5(), nodes=["n1"])


# Classes and selectors.


def test_the_class_is_asked_first() -> None:
    ours = device_class("ours", f'device.driver == "{NVIDIA}"', f"has(device.attributes['{NVIDIA}'].index)")
    assert not certain(fleet(ours, device_slice("n1", ODD, good("a"))), exactly("r", "ours", BELOW_5))
    erring = device_class("erring", BELOW_5)
    assert certain(fleet(erring, device_slice("n1", ODD, good("a"))), exactly("r", "erring", "false"))


def test_selectors_that_do_not_compile_err_when_their_turn_comes() -> None:
    objects = fleet(device_slice("n1", good("a")))
    assert certain(objects, exactly("r", "any", "true", "device.nope == 1"))
    assert certain(objects, exactly("r", "any", "device.nope == 1"))
    assert certain(objects, exactly("r", "any", BELOW_5, "device.nope == 1"))
    assert not certain(objects, exactly("r", "any", "false", "device.nope == 1"))
    assert certain(fleet(device_slice("n1", ODD)), exactly("r", "any", BELOW_5, "device.nope == 1"))
    assert certain(fleet(device_class("broken", "device.driver =="), device_slice("n1", ODD)), exactly("r", "broken"))


def test_a_class_that_is_not_there_is_another_error() -> None:
    objects = fleet(device_slice("n1", ODD))
    assert not certain(objects, exactly("r", "nope"), below_5("q"))
    assert not certain(objects, below_5("q"), exactly("r", "nope"))
    # `All` is prepared request by request: it errs before the class is missed.
    assert certain(objects, everything("q", BELOW_5), exactly("r", "nope"))


# Lists.


def test_an_alternative_that_fits_hides_those_behind_it() -> None:
    objects = fleet(device_slice("n1", good("a"), ODD))
    listed = (alternative("a", "any", BELOW_5), alternative("b", "any", BELOW_5, count=2))
    assert not certain(objects, first_available("r", *listed))
    assert certain(objects, first_available("r", *reversed(listed)))


def test_all_is_prepared_up_front_whatever_comes_before_it() -> None:
    objects = fleet(device_slice("n1", good("a"), ODD))
    assert certain(objects, first_available("r", alternative("a", "any"), alternative("b", "any", BELOW_5, mode="All")))
    assert certain(objects, exactly("q", "any"), everything("r", BELOW_5))
    assert not certain(objects, first_available("r", alternative("a", "any"), alternative("b", "any", "true", mode="All")))


def test_all_finds_one_at_least() -> None:
    objects = fleet(device_slice("n1", good("a"), ODD))
    assert not certain(objects, everything("r", "false"))
    assert certain(
        objects, first_available("r", alternative("a", "any", "false", mode="All"), alternative("b", "any", BELOW_5, count=2))
    )


def test_all_is_refused_where_a_pool_is_not_whole() -> None:
    whole, partial = device_slice("n1", ODD, pool="b"), device_slice("n1", good("a"), pool="a", slices=2)
    assert certain(fleet(whole), everything("r", BELOW_5))
    assert not certain(fleet(whole, partial), everything("r", BELOW_5))
    assert certain(fleet(whole, partial), below_5())
    # The pools before it have been looked at by then.
    behind = device_slice("n1", good("a"), pool="c", slices=2)
    assert certain(fleet(whole, behind), everything("r", BELOW_5))


def test_slices_that_do_not_agree_leave_it_open() -> None:
    slices = (device_slice("n1", ODD, name="s1", slices=1), device_slice("n1", good("a"), name="s2", slices=2))
    assert not certain(fleet(*slices), below_5())
    assert not certain(fleet(*slices), everything("r", BELOW_5))


# Several requests, and what makes a device unfit.


def test_a_request_that_does_not_fit_comes_before_the_error() -> None:
    objects = fleet(device_slice("n1", good("a"), ODD))
    assert not certain(objects, exactly("q", "any", OUT_OF_REACH), below_5())
    assert not certain(objects, exactly("q", "any", "false"), below_5(count=2))
    assert certain(objects, exactly("q", "any"), below_5())


def test_a_device_in_use_is_not_asked_about() -> None:
    objects = fleet(device_slice("n1", ODD, good("a")))
    # The first request takes the odd one, the second never sees it.
    assert not certain(objects, exactly("q", "any"), below_5())
    assert certain(objects, below_5(), exactly("q", "any"))


def test_what_was_chosen_is_given_back_when_the_rest_does_not_fit() -> None:
    objects = fleet(device_slice("n1", ODD, good("a"), good("b", 7)))
    # q: odd, r: none; q: a, r: the odd one errs.
    assert certain(objects, exactly("q", "any"), exactly("r", "any", BELOW_5, OUT_OF_REACH))
    assert not certain(objects, exactly("q", "any"), exactly("r", "any", "false"))


def test_a_list_of_which_nothing_fits_comes_before_the_error() -> None:
    objects = fleet(device_slice("n1", ODD, good("a")))
    listed = first_available("q", alternative("a", "any", "false"), alternative("b", "any", count=3))
    assert not certain(objects, listed, below_5())
    assert certain(objects, below_5(), listed)


def test_all_devices_are_not_to_be_had_when_one_is_in_use() -> None:
    objects = fleet(device_slice("n1", ODD, good("a")))
    assert not certain(objects, exactly("q", "any"), everything("s"), below_5())
    assert not certain(objects, everything("q"), below_5())
    assert certain(objects, everything("q", HAS_INDEX), below_5())


MATCH = {"matchAttribute": f"{NVIDIA}/root"}
DISTINCT = {"distinctAttribute": f"{NVIDIA}/root"}


@pytest.mark.parametrize(
    ("roots", "constraint", "expected"),
    [
        (["x", "x"], MATCH, False),
        (["x", "y"], MATCH, True),
        (["x", None], MATCH, True),
        ([None, "x"], MATCH, True),
        (["x", 1], MATCH, True),
        (["x", "y"], DISTINCT, False),
        (["x", "x"], DISTINCT, True),
        (["x", None], DISTINCT, True),
        ([["x"], "x"], MATCH, True),
        (["x", ["x"]], MATCH, True),
        ([["x"], "x"], DISTINCT, False),
        (["x", ["y"]], DISTINCT, True),
        (["x", "y"], {**MATCH, "requests": ["other"]}, False),
        (["x", "y"], {**MATCH, "requests": ["r"]}, True),
        (["x", "y"], MATCH | DISTINCT, True),
    ],
)
def test_constraints_make_the_search_go_on_to_the_error(roots: list[Any], constraint: Raw, expected: bool) -> None:
    devices = [good(f"g{i}", **({} if root is None else {"root": root})) for i, root in enumerate(roots)]
    objects = fleet(device_slice("n1", *devices, gpu("odd", root="z")))
    assert certain(objects, below_5(count=2), constraints=[constraint]) is expected


def test_a_constraint_holds_no_longer_for_what_was_given_back() -> None:
    devices = (good("a", root="x"), good("b", root="y"), good("c", root="y"))
    objects = fleet(device_slice("n1", *devices))
    requests = (exactly("q", "any", count=2), exactly("r", "any", ERRS_ON_X))
    of_q = {"requests": ["q"]}
    assert certain(objects, *requests, constraints=[MATCH | of_q])
    assert not certain(objects, *requests, constraints=[DISTINCT | of_q, MATCH | of_q])
    # A constraint on another request is not touched.
    assert certain(objects, *requests, constraints=[DISTINCT | {"requests": ["r"]}, MATCH | of_q])
    # Of two constraints the one that held is taken back when the other does not.
    both = [{"matchAttribute": f"{NVIDIA}/type", **of_q}, MATCH | of_q]
    assert certain(objects, *requests, constraints=both)


def test_constraints_of_one_alternative() -> None:
    objects = fleet(device_slice("n1", good("a", root="x"), good("b", root="y"), ODD))
    listed = first_available("r", alternative("a", "any", BELOW_5, count=2), alternative("b", "any", "false"))
    assert not certain(objects, listed, constraints=[MATCH | {"requests": ["r/b"]}])
    assert certain(objects, listed, constraints=[MATCH | {"requests": ["r/a"]}])


def test_all_under_a_constraint_that_cannot_hold_is_another_error() -> None:
    objects = fleet(device_slice("n1", good("a", root="x"), good("b", root="y"), ODD))
    assert not certain(objects, everything("q", HAS_INDEX), below_5(), constraints=[MATCH | {"requests": ["q"]}])
    assert certain(objects, everything("q", HAS_INDEX), below_5(), constraints=[MATCH | {"requests": ["r"]}])


def test_which_of_two_like_devices_is_taken_decides_where_all_are_wanted() -> None:
    # With the first in use, all cannot be had; with the second, the first breaks the constraint: another error.
    objects = fleet(device_slice("n1", good("a", root="x"), good("b", root="x"), ODD))
    assert not certain(objects, below_5("q"), everything("r", HAS_INDEX), constraints=[DISTINCT])


def test_distinct_of_more_than_the_newest_server_is_left_open() -> None:
    objects = (device_slice("n1", good("a", root="x"), good("b", root="x"), ODD),)
    assert certain(fleet(*objects), below_5(count=2), constraints=[DISTINCT])
    assert not certain(fleet(*objects, server="1.36"), below_5(count=2), constraints=[DISTINCT])
    off = {"server": "1.36", "gates": {"DRAConsumableCapacity": False}}
    assert not certain(fleet(*objects, **off), below_5(count=2), constraints=[DISTINCT])


def test_lists_under_a_gate_that_lets_them_match_are_left_open() -> None:
    objects = (device_slice("n1", good("a", root="x"), good("b", root=["x"]), ODD),)
    assert certain(fleet(*objects), below_5(count=2), constraints=[MATCH])
    assert not certain(fleet(*objects, gates={"DRAListTypeAttributes": True}), below_5(count=2), constraints=[MATCH])


TAINT = {"key": "k", "effect": "NoSchedule"}


def test_tainted_devices_are_asked_about_and_passed_over() -> None:
    tainted = good("a") | {"taints": [TAINT]}
    assert certain(fleet(device_slice("n1", tainted, ODD)), below_5())
    assert not certain(fleet(device_slice("n1", tainted, ODD)), below_5(tolerations=[{"operator": "Exists"}]))
    rule = taint_rule("rule", TAINT, {"device": "a"})
    assert certain(fleet(device_slice("n1", good("a"), ODD), rule), below_5())
    assert certain(fleet(device_slice("n1", ODD | {"taints": [TAINT]}, good("a"))), below_5())


def counted(name: str, uses: str, counter_set: str = "card", **attributes: Any) -> Raw:
    return good(name, **attributes) | {
        "consumesCounters": [{"counterSet": counter_set, "counters": {"memory": {"value": uses}}}]
    }


def card(memory: str, *names: str) -> Raw:
    sets = [{"name": name, "counters": {"memory": {"value": memory}}} for name in names or ("card",)]
    return device_slice("n1", name="counters", slices=2, sharedCounters=sets)


def test_counters_make_the_search_go_on_to_the_error() -> None:
    two = device_slice("n1", counted("a", "6"), counted("b", "6"), ODD, name="s", slices=2)
    assert certain(fleet(two, card("8")), below_5(count=2))
    assert not certain(fleet(two, card("12")), below_5(count=2))
    assert not certain(fleet(two, card("8")), below_5())


def test_counters_are_paid_back() -> None:
    three = device_slice("n1", counted("a", "6", root="x"), counted("b", "4"), counted("c", "4"), name="s", slices=2)
    requests = (exactly("q", "any", count=2), exactly("r", "any", f"has(device.attributes['{NVIDIA}'].root) && {ERRS_ON_X}"))
    assert certain(fleet(three, card("8")), *requests)
    assert not certain(fleet(three, card("7")), *requests)
    tainted = counted("a", "6") | {"taints": [TAINT]}
    after_taint = device_slice("n1", tainted, counted("b", "8"), ODD, name="s", slices=2)
    assert not certain(fleet(after_taint, card("8")), below_5())
    constrained = device_slice("n1", counted("a", "6"), counted("b", "8", root="x"), ODD, name="s", slices=2)
    assert not certain(fleet(constrained, card("8")), below_5(), constraints=[MATCH])


def test_a_pool_whose_counters_contradict_each_other_is_passed_over() -> None:
    lost = device_slice("n1", counted("a", "6", "other"), ODD, name="s", slices=2)
    assert not certain(fleet(lost, card("8")), below_5())


def test_amounts_that_are_no_quantities_leave_it_open() -> None:
    odd = device_slice("n1", counted("a", "much"), ODD, name="s", slices=2)
    assert not certain(fleet(odd, card("8")), below_5(count=2))
    many = [device_slice(f"n{i}", name=f"c{i}", slices=2, sharedCounters=[]) for i in range(2)]
    assert not certain(fleet(odd, card("much"), *many), below_5(count=2))


# Capacity and shared devices.


def test_capacity_that_a_device_lacks_and_capacity_that_is_left_open() -> None:
    objects = fleet(device_slice("n1", good("a"), ODD))
    assert certain(objects, below_5(capacity={"requests": {"memory": "1Ti"}}))
    assert certain(objects, below_5(capacity={"requests": {"cores": "1"}}))
    assert certain(objects, below_5(capacity={"requests": {f"{NVIDIA}/cores": "1"}}))
    # Whether enough is there may be for a policy of the device to say.
    assert not certain(objects, below_5(count=2, capacity={"requests": {"memory": "1Gi"}}))
    off = fleet(device_slice("n1", ODD, good("a")), server="1.36", gates={"DRAConsumableCapacity": False})
    assert certain(off, below_5(capacity={"requests": {"memory": "1Gi"}}))


def test_a_shared_device_is_taken_once_and_then_left_open() -> None:
    shared = good("a") | {"allowMultipleAllocations": True}
    objects = fleet(device_slice("n1", shared, ODD))
    assert not certain(objects, below_5())
    assert certain(objects, below_5(count=2))
    assert not certain(objects, below_5(), below_5("q", count=2))


# What is not understood, and bounds.


@pytest.mark.parametrize(
    "request_",
    [
        below_5(mode="Some"),
        below_5(derivedAttributes=[{}]),
        {"name": "r"},
        {"name": "r", "firstAvailable": []},
        {**below_5(), "firstAvailable": [alternative("a", "any")]},
        first_available("r", *[alternative(f"a{i}", "any", BELOW_5) for i in range(9)]),
    ],
)
def test_nothing_is_concluded_from_what_is_not_understood(request_: Raw) -> None:
    objects = fleet(device_slice("n1", ODD))
    assert certain(objects, below_5("other"))
    assert not certain(objects, below_5("other"), request_)


def test_constraints_that_are_not_understood() -> None:
    objects = fleet(device_slice("n1", ODD))
    assert not certain(objects, below_5(), constraints=[{**MATCH, "news": 1}])
    assert not certain(objects, below_5(), constraints=[{"requests": ["r"]}])
    assert certain(objects, everything("r", BELOW_5), constraints=[{"requests": ["r"]}])


def test_more_devices_than_a_claim_can_have() -> None:
    many = device_slice("n1", *(good(f"g{i}") for i in range(40)), ODD)
    objects = fleet(many)
    assert not certain(objects, below_5(count=33))
    assert not certain(objects, below_5(count=20), below_5("q", count=13))
    assert certain(objects, everything("q", BELOW_5), below_5(count=33))
    assert certain(objects, below_5(count=33), everything("q", BELOW_5)) is False
    # A longer alternative is passed over; that all are too long is an error of its own.
    longer, shorter = alternative("a", "any", count=30), alternative("b", "any", BELOW_5, count=1)
    assert not certain(objects, exactly("q", "any", count=4), first_available("r", longer, shorter))
    listed = first_available("r", alternative("a", "any", count=1), alternative("b", "any", count=31))
    assert not certain(objects, listed, exactly("q", "any", "false", count=31), exactly("s", "any", BELOW_5))
    assert len({f"r{i}" for i in range(33)}) == 33
    assert not certain(fleet(device_slice("n1", ODD)), *[below_5(f"r{i}", count=1) for i in range(33)])


def test_lists_that_the_server_drops() -> None:
    listed = first_available("r", alternative("a", "any", BELOW_5))
    assert certain(fleet(device_slice("n1", ODD)), listed)
    assert not certain(fleet(device_slice("n1", ODD), server="1.36", gates={"DRAPrioritizedList": False}), listed)


def test_admin_access_is_an_ask_like_any_other() -> None:
    assert certain(fleet(device_slice("n1", ODD, good("a"))), below_5(adminAccess=True))
    assert not certain(fleet(device_slice("n1", ODD, good("a"))), exactly("q", "any", adminAccess=True), below_5())


def test_a_search_that_takes_too_long_is_left_open(monkeypatch: pytest.MonkeyPatch) -> None:
    # Every pair of roots is tried before the last request errs.
    devices = [good(f"g{i}", root=str(i)) for i in range(14)]
    objects = (device_slice("n1", *devices, ODD),)
    requests = (exactly("q", "any", HAS_INDEX, count=7), below_5(count=8))
    asked = {"constraints": [{**MATCH, "requests": ["r"]}, {**DISTINCT, "requests": ["q"]}]}
    assert certain(fleet(*objects), below_5(count=8), constraints=[MATCH])
    assert not certain(
        fleet(*objects), exactly("q", "any", count=7), exactly("s", "any", count=7), exactly("t", "any", "false")
    )
    monkeypatch.setattr(certainty, "MOST_STEPS", 10**6)
    monkeypatch.setattr(certainty, "MOST_STEPS_TOGETHER", 10**6)
    assert certain(fleet(*objects), *requests, **asked)
    monkeypatch.setattr(certainty, "MOST_STEPS_TOGETHER", 20)
    assert not certain(fleet(*objects), *requests, **asked)


# Servers whose order of devices is not known.


@pytest.mark.parametrize(
    "server", [{"server": "1.34"}, {"server": "1.35"}, {"server": "1.36", "gates": {"DRAPartitionableDevices": False}}]
)
def test_without_a_known_order_only_what_fits_in_no_order_is_certain(server: Raw) -> None:
    assert not certain(fleet(device_slice("n1", ODD, good("a")), **server), below_5())
    assert certain(fleet(device_slice("n1", ODD, good("a")), **server), below_5(count=2))
    assert not certain(fleet(device_slice("n1", good("a", 7)), **server), below_5(count=2))


def test_incomplete_pools_may_give_devices_on_old_servers() -> None:
    partial = device_slice("n1", good("a"), ODD, slices=2)
    assert not certain(fleet(partial, server="1.34"), below_5())
    assert certain(fleet(partial, server="1.34"), below_5(count=2))
    assert not certain(fleet(partial, server="1.35"), below_5(count=2))


# Many nodes.


def test_nodes_that_are_alike_are_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    original = first_fit.fate_on_node

    def counting(terms: Any, gathered: Any, most_steps: int) -> Any:
        looked.append(most_steps)
        return original(terms, gathered, most_steps)

    monkeypatch.setattr(certainty, "fate_on_node", counting)
    devices = [good(f"g{i}") for i in range(8)]
    alike = [device_slice(f"n{i}", *devices, ODD) for i in range(5)]
    assert certain(fleet(*alike), below_5(count=9))
    # A few steps on each node, and all of them on the first.
    assert sorted(looked) == [12] * 5 + [first_fit.MOST_STEPS]


@pytest.mark.parametrize(
    "other",
    [
        device_slice("n2", *(good(f"g{i}") for i in range(9))),
        device_slice("n2", *(good(f"g{i}") for i in range(8)), good("odd") | {"taints": [TAINT]}, good("x")),
        device_slice("n2", *(good(f"g{i}", root=attribute("r")) for i in range(9))),
    ],
)
def test_nodes_that_are_nearly_alike_are_looked_at_one_by_one(other: Raw) -> None:
    same = device_slice("n1", *(good(f"g{i}") for i in range(8)), ODD)
    assert certain(fleet(same), below_5(count=9))
    assert not certain(fleet(same, other), below_5(count=9))
    assert not certain(fleet(same, other), below_5(count=9), nodes=["n2"])


def test_answers_are_remembered_until_something_changes() -> None:
    slices = (device_slice("n1", ODD, good("a")), node("n2"))
    before = fleet(*slices)
    assert certain(before, below_5())
    assert certain(before, below_5())
    after = with_objects(before, [device_slice("n2", good("a"))])
    assert not certain(after, below_5())
    tainted = with_objects(after, [taint_rule("rule", TAINT, {"pool": "n2"})])
    assert tainted.inventory is after.inventory
    assert certain(tainted, below_5())
    assert certain(with_objects(tainted, [node("n3")]), below_5())
