"""What selectors say of one pool, as bit sets, and which pools are asked once for all that are like them."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.build import NVIDIA, device, device_slice, fleet_of, gpu
from tests.oracle.expressions import devices, expressions
from webhook.cel import MATCH, CelError, Selector, compile_selector
from webhook.fleet.device_sets import MOST_STEPS, Asker, Trials
from webhook.fleet.likeness import likeness, reads_of
from webhook.fleet.pool import Pool

ATTRIBUTE = 'device.attributes["gpu.nvidia.com"]'


def asker(text: str) -> Asker:
    """A selector, ready to be asked."""
    return Asker(compiled(text))


def compiled(text: str) -> Selector:
    """A selector that compiles."""
    selector = compile_selector(text)
    assert isinstance(selector, Selector), selector
    return selector


def pool_of(*items: dict[str, Any], name: str = "node-1", driver: str = NVIDIA) -> Pool:
    """One pool with these devices."""
    (pool,) = fleet_of(device_slice(name, *items, driver=driver)).inventory.pools
    return pool


def test_a_set_has_a_bit_for_each_device_in_the_allocators_order() -> None:
    pool = pool_of(gpu("a", index=0), gpu("b", index=7), gpu("c"), gpu("d", index="x"), gpu("e", index=9))
    found = asker(f"{ATTRIBUTE}.index > 5").about(pool)
    assert found is not None
    assert (found.match, found.error) == (0b10010, 0b01100)
    assert [bits for _, bits in found.messages] == [0b00100, 0b01000]
    assert found.messages[0][0] == "no such key: index"
    assert found.packed == (b"\x12", b"\x0c")


def test_equal_messages_are_kept_once() -> None:
    found = asker(f"{ATTRIBUTE}.index > 5").about(pool_of(*(gpu(f"gpu-{number}") for number in range(9))))
    assert found is not None
    assert found.messages == (("no such key: index", 0b111111111),)
    assert found.packed == (b"\0\0", b"\xff\x01")


def test_pools_that_say_the_same_where_a_selector_looks_are_asked_once() -> None:
    one = pool_of(gpu("a", index=0, uuid="GPU-1"), gpu("b", index=1, uuid="GPU-2"))
    other = pool_of(gpu("c", index=0, uuid="GPU-3"), gpu("d", index=1, uuid="GPU-4"), name="node-2")
    by_index, by_uuid = asker(f"{ATTRIBUTE}.index == 0"), asker(f'{ATTRIBUTE}.uuid == "GPU-1"')
    assert by_index.about(one) is by_index.about(other)
    mine, yours = by_uuid.about(one), by_uuid.about(other)
    assert mine is not None
    assert yours is not None
    assert (mine.match, yours.match) == (0b01, 0b00)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"x": 1}, {"x": True}),
        ({"x": 0}, {"x": False}),
        ({"x": "1.2.3"}, {"x": {"version": "1.2.3"}}),
        ({"x": ["a"]}, {"x": "a"}),
        ({"x": [1, 0]}, {"x": [True, False]}),
        ({"x": 1}, {}),
        ({"x": 1}, {"x": 1, "broken": {"version": "no version"}}),
    ],
)
def test_values_of_different_kinds_are_not_alike(one: dict[str, Any], other: dict[str, Any]) -> None:
    reads = reads_of((compiled(f"{ATTRIBUTE}.x == 1"),))
    assert reads is not None
    assert likeness(pool_of(device("a", one)), reads) != likeness(pool_of(device("a", other)), reads)
    assert likeness(pool_of(device("a", one)), reads) == likeness(pool_of(device("b", {**one, "y": 2})), reads)


def test_pools_of_different_size_are_not_alike_even_if_nothing_is_read() -> None:
    every = asker("true")
    few, many = every.about(pool_of(gpu("a"))), every.about(pool_of(gpu("a"), gpu("b")))
    assert few is not None
    assert many is not None
    assert (few.match, many.match) == (0b1, 0b11)


def test_drivers_are_told_apart_by_who_asks_for_them() -> None:
    one, other = pool_of(device("a")), pool_of(device("a"), driver="gpu.example.com")
    by_driver, every = asker('device.driver == "gpu.nvidia.com"'), asker("true")
    assert by_driver.like(one) != by_driver.like(other)
    assert every.like(one) == every.like(other)


@pytest.mark.parametrize(
    "text",
    [
        f'"x" in {ATTRIBUTE} && {ATTRIBUTE}.exists(name, name == "x")',
        '"gpu.nvidia.com" in device.attributes',
        f'{ATTRIBUTE}[device.driver == "" ? "a" : "b"] == 1',
        'dyn(device).driver == "gpu.nvidia.com"',
        f"cel.bind(all, {ATTRIBUTE}, size(all) > 1)",
    ],
)
def test_what_looks_at_a_whole_domain_is_asked_pool_by_pool(text: str) -> None:
    assert reads_of((compiled(text),)) is None
    pool = pool_of(gpu("a"))
    assert asker(text).like(pool) is pool
    assert asker(text).about(pool) is asker(text).about(pool)


def test_alike_means_the_same_answers() -> None:
    # Random selectors on pools of one random device each: what is said of a pool must be what its own device gets.
    rng = random.Random(20261130)
    pools = [pool_of(raw(item), name=f"node-{number}", driver="d.io") for number, item in enumerate(devices(rng, 60))]
    shared = 0
    for text in expressions(800, seed=7):
        selector = compile_selector(text)
        if not isinstance(selector, Selector) or selector.refusal is not None:
            continue
        asked = Asker(selector)
        shared += len(pools) - len({asked.like(pool) for pool in pools})
        for pool in pools:
            outcome, found = selector.against(pool.devices[0]), asked.about(pool)
            assert found is not None
            assert found.match == (outcome is MATCH), text
            assert [message for message, _ in found.messages] == ([outcome.message] if isinstance(outcome, CelError) else [])
    assert shared > 5_000


def raw(described: dict[str, Any]) -> dict[str, Any]:
    """A device of a slice from a device of the judge's."""
    return {"name": "device", **{key: value for key, value in described.items() if key != "driver"}}


BOMB = "[1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, [1,2,3,4,5,6,7,8,9].all(c, a + b + c > 0)))"


def test_what_takes_too_many_steps_is_given_up_and_not_remembered_so() -> None:
    pool, bomb = pool_of(gpu("a"), gpu("b")), asker(BOMB)
    found = bomb.about(pool)
    assert found is not None
    assert found.match == 0b11
    assert 10_000 < found.steps < 100_000
    costlier = asker(BOMB.replace("> 0", "> 1"))
    assert costlier.about(pool, found.steps - 1) is None
    again = costlier.about(pool, found.steps)
    assert again is not None
    assert again.steps == found.steps
    assert costlier.about(pool, found.steps - 1) is None


def test_counted_evaluations_are_given_up_too() -> None:
    # Functions whose costs the scheduler tracks are evaluated by the counted program only.
    counted = compiled(BOMB.replace("a + b + c > 0", "sets.contains([a, b, c], [a])"))
    (item,) = pool_of(gpu("a")).devices
    outcome, steps = counted.tried(item, MOST_STEPS)
    assert outcome is MATCH
    assert counted.tried(item, steps)[0] is MATCH
    assert counted.tried(item, steps - 4)[0] is None


def test_long_searches_are_charged_by_their_cost() -> None:
    # No loop of ours, but a long one in the library.
    search = compiled(f'"{"a" * 9_000}".matches("^(.*)(.*)(.*)(.*)(.*)x$") || {ATTRIBUTE}.index == 1')
    (item,) = pool_of(gpu("a", index=1)).devices
    outcome, steps = search.tried(item, MOST_STEPS)
    assert outcome is MATCH
    assert steps == search.weight + 4 * search.cost(item)[1] > 20_000
    assert search.tried(item, 10_000)[0] is None


def test_the_steps_of_a_simple_selector_are_those_of_its_size() -> None:
    (item,) = pool_of(gpu("a", index=3)).devices
    selector = compiled(f"{ATTRIBUTE}.index == 3")
    assert selector.tried(item, MOST_STEPS) == (MATCH, selector.weight)
    assert selector.tried(item, selector.weight - 1)[0] is None
    error, steps = compiled(f"{ATTRIBUTE}.missing == 3").tried(item, MOST_STEPS)
    assert isinstance(error, CelError)
    assert steps == selector.weight


def test_trials_of_single_devices_end_together() -> None:
    (item,) = pool_of(gpu("a")).devices
    trials = Trials((compiled(BOMB), compiled("true")))
    _, steps = compiled(BOMB).tried(item, MOST_STEPS)
    passed = 0
    while trials.passes(item):
        passed += 1
    assert passed == MOST_STEPS // (steps + compiled("true").weight)
    assert not Trials((compiled("true"), compiled("false"))).passes(item)


def test_sets_of_ever_new_pools_do_not_pile_up() -> None:
    by_uuid = asker(f'{ATTRIBUTE}.uuid == "GPU-1"')
    for number in range(600):
        by_uuid.about(pool_of(gpu("a", uuid=f"GPU-{number}")))
    assert len(by_uuid._sets) <= 256
