"""What selectors say of a whole fleet at once, and what of it stays when pools change."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import pytest

from tests.build import NVIDIA, device, device_class, device_slice, fleet_of, gpu
from webhook.cel import Selector
from webhook.fleet import device_sets
from webhook.fleet.build import with_objects
from webhook.fleet.device_sets import MOST_STEPS
from webhook.fleet.fleet_sets import LIMIT, FleetSets
from webhook.fleet.inventory import Inventory
from webhook.fleet.matching import Matches, compile_all, intersection
from webhook.fleet.pool import Pool, make_pool
from webhook.model.device import Attribute, Device, Reach, ResourceSlice
from webhook.model.meta import Meta

INDEX = 'device.attributes["gpu.nvidia.com"].index'
FIRST, LATER, LISTED = f"{INDEX} < 1", f"{INDEX} > 1", f"{INDEX} in [0, 2, 4]"


def selectors(*texts: str) -> tuple[Selector, ...]:
    """Selectors that compile."""
    found, problems = compile_all(texts)
    assert not problems
    return found


def pool(node: str, indexes: Iterable[int | str]) -> Pool:
    """The pool of a node: devices by their index; a text is an index of the wrong type."""
    reach = Reach(node_name=node)
    devices = tuple(
        Device(
            driver=NVIDIA,
            pool=node,
            name=f"gpu-{number}",
            reach=reach,
            attributes={f"{NVIDIA}/index": Attribute("string" if isinstance(index, str) else "int", index)},
        )
        for number, index in enumerate(indexes)
    )
    name = Meta(name=f"{node}-gpu")
    return make_pool([ResourceSlice(meta=name, driver=NVIDIA, pool=node, generation=1, slice_count=1, devices=devices)])


def names(matches: Matches) -> list[str]:
    """The matched devices, `pool/device`."""
    return [f"{found.pool.name}/{item.name}" for found in matches.pools for item in found.matched]


def answers(sets: FleetSets, *texts: str) -> list[tuple[bytes, bytes]]:
    """The sets of each selector."""
    found = [sets.of(selector) for selector in selectors(*texts)]
    return [(item.match_bytes, item.error_bytes) for item in found if item is not None]


def test_every_pool_takes_whole_bytes() -> None:
    sets = FleetSets((pool("a", [0, 1]), pool("b", range(9)), pool("c", []), pool("d", ["x"])))
    assert list(sets.starts) == [0, 1, 3, 3, 4]
    assert sets.everything == 0x01_01FF_03
    assert answers(sets, FIRST, LISTED) == [(b"\x01\x01\x00\x00", b"\x00\x00\x00\x01"), (b"\x01\x15\x00\x00", b"\0\0\0\0")]


def test_an_error_counts_only_on_devices_that_got_so_far() -> None:
    sets = FleetSets((pool("a", [0, "x", 2]),))
    assert intersection(sets, selectors(LISTED, FIRST)) == (0b001, 0b000)
    assert intersection(sets, selectors(FIRST, LISTED)) == (0b001, 0b010)
    assert intersection(sets, selectors("true", f'{INDEX} == "x" || {INDEX} < 3', LATER)) == (0b100, 0b010)
    assert intersection(sets, selectors("true", LATER)) == (0b100, 0b010)
    assert intersection(sets, selectors("false", LATER)) == (0, 0)
    assert intersection(sets, ()) == (0b111, 0)


def test_matches_name_devices_and_errors_in_the_allocators_order() -> None:
    sets = FleetSets((pool("a", [0, 1]), pool("b", ["x", 0, "y"]), pool("c", [3])))
    matches = Matches(sets, selectors("true", FIRST))
    assert names(matches) == ["a/gpu-0", "b/gpu-1"]
    assert matches.count == 2
    errors = matches.pools[1].errors
    assert [(error.device.name, error.expression) for error in errors] == [("gpu-0", FIRST), ("gpu-2", FIRST)]
    assert {error.message for error in errors} == {"no such overload"}


def test_pool_matches_are_one_object_for_the_same_devices() -> None:
    sets = FleetSets((pool("a", [0, 1]), pool("b", ["x", 0])))
    one, other = Matches(sets, selectors(FIRST)), Matches(sets, selectors(f"{INDEX} <= 0"))
    assert one.pools[0] is other.pools[0]
    # Their errors are those of other texts.
    assert one.pools[1] is not other.pools[1]
    assert one.pools[1] is Matches(sets, selectors(FIRST)).pools[0 + 1]


def test_one_changed_pool_is_asked_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    evaluate = device_sets._evaluate
    monkeypatch.setattr(device_sets, "_evaluate", lambda pool, *rest: (asked.append(pool.name), evaluate(pool, *rest))[1])
    uuid = 'device.attributes["gpu.nvidia.com"].uuid'
    items = [device_slice(f"node-{number}", gpu("a", uuid=f"GPU-{number}")) for number in range(5)]
    before = fleet_of(*items, device_class())
    assert before.inventory.match(NVIDIA, (f'{uuid} == "GPU-3"',)).count == 1
    asked.clear()
    after = with_objects(before, [device_slice("node-1", gpu("a", uuid="GPU-3"), gpu("b", uuid="GPU-9"), generation=2)])
    matches = after.inventory.match(NVIDIA, (f'{uuid} == "GPU-3"',))
    # Once for the selector; the class reads the driver alone, but two devices are another pool to it than one.
    assert asked == ["node-1", "node-1"]
    assert names(matches) == ["node-1/a", "node-3/a"]
    asked.clear()
    assert with_objects(after, [device_class("other")]).inventory.match(NVIDIA, (f'{uuid} == "GPU-3"',)) is matches
    assert asked == []


def test_spliced_sets_are_those_that_would_be_made_anew() -> None:
    rng = random.Random(4)
    texts = (FIRST, LATER, LISTED, "true", f"size(device.attributes) == 1 && {INDEX} == 2")
    pools: dict[str, Pool] = {}
    sets = FleetSets(())
    for turn in range(300):
        for _ in range(rng.choice((1, 1, 1, 2, 5, 80))):
            name = f"node-{rng.randrange(40):02}"
            if rng.random() < 0.3:
                pools.pop(name, None)
            else:
                pools[name] = pool(name, [rng.choice((0, 1, 2, "x")) for _ in range(rng.choice((0, 1, 7, 8, 9, 17)))])
        sets = sets.after(tuple(pools[name] for name in sorted(pools)))
        if turn % 3:  # not every snapshot is asked
            chosen = rng.sample(texts, 3)
            assert answers(sets, *chosen) == answers(FleetSets(sets.pools), *chosen)
            assert sets.everything == FleetSets(sets.pools).everything


def test_snapshots_that_nobody_asks_hold_on_to_one_before_them() -> None:
    first = FleetSets((pool("a", [0]),))
    first.of(selectors(FIRST)[0])
    second = first.after((pool("b", [0]),))
    third = second.after((pool("c", [0]),))
    assert third._before is first
    third.of(selectors(FIRST)[0])
    assert third._before is None
    assert third.after(third.pools) is third


def test_a_fleet_keeps_a_bounded_number_of_sets_and_answers() -> None:
    inventory = fleet_of(device_slice("a", gpu("x", index=0)), device_class()).inventory
    for number in range(3 * LIMIT):
        assert inventory.match(NVIDIA, (f"{INDEX} == {number}",)).count == (number == 0)
    assert len(inventory.sets._sets) <= LIMIT
    assert len(inventory.sets.memo) <= LIMIT
    assert len(inventory.memo) == 0
    assert len(inventory.pools[0].memo) < 16


# What is too costly.

LOOP = "[1,2,3,4,5,6,7,8,9]"
BOMB = f"{LOOP}.all(a, {LOOP}.all(b, {LOOP}.all(c, a + b + c + {INDEX} > 0)))"


def large_fleet() -> Inventory:
    """40,000 devices in 5,000 pools, none like another."""
    pools = [pool(f"node-{number:04}", range(8 * number, 8 * number + 8)) for number in range(5_000)]
    classes = fleet_of(device_class()).inventory.classes
    return Inventory(pools, classes)


def test_a_costly_selector_is_given_up_after_a_stated_number_of_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    inventory = large_fleet()
    taken: list[int] = []
    tried = Selector.tried

    def counted(self: Selector, item: Device, most: int) -> Any:
        outcome = tried(self, item, most)
        taken.append(outcome[1])
        return outcome

    monkeypatch.setattr(Selector, "tried", counted)
    matches = inventory.match(NVIDIA, (BOMB,))
    assert matches.too_costly == "its selectors are too costly to be tried on 40,000 devices"
    assert (matches.count, matches.error, matches.pools) == (0, 0, ())
    assert sum(taken) <= MOST_STEPS + 2_000
    # The refusal is remembered.
    taken.clear()
    assert inventory.match(NVIDIA, (BOMB, "true")).too_costly
    assert sum(taken) < 16
    # What is simple is asked of every device.
    assert inventory.match(NVIDIA, (f"{INDEX} == 39999",)).count == 1


def test_devices_that_are_alike_count_once() -> None:
    pools = tuple(pool(f"node-{number:04}", range(8)) for number in range(5_000))
    found = FleetSets(pools).of(selectors(BOMB)[0])
    assert found is not None
    assert found.match.bit_count() == 40_000
    assert found.steps < MOST_STEPS // 2


def test_selectors_that_are_too_costly_together_are_given_up() -> None:
    pools = tuple(pool(f"node-{number:04}", range(8 * number, 8 * number + 8)) for number in range(2))
    single = selectors(BOMB)
    sets = FleetSets(pools)
    found = sets.of(single[0])
    assert found is not None
    assert MOST_STEPS // 4 < found.steps < MOST_STEPS
    many = selectors(*(BOMB.replace("> 0", f"> -{number}") for number in range(4)))
    assert intersection(sets, many) is None
    assert intersection(sets, single) is not None
    assert Matches(FleetSets(pools[:1]), many[:2]).too_costly == ""


def test_a_pool_that_makes_it_too_costly_is_noticed_and_one_less_too() -> None:
    few = tuple(pool(f"node-{number:04}", range(8 * number, 8 * number + 8)) for number in range(4))
    (bomb,) = selectors(BOMB)
    sets = FleetSets(few[:2])
    found = sets.of(bomb)
    assert found is not None
    grown = sets.after(few)
    assert (grown.of(bomb) is None) is (FleetSets(few).of(bomb) is None) is True
    shrunk = grown.after(few[:2]).of(bomb)
    assert shrunk is not None
    assert shrunk.match_bytes == found.match_bytes


def test_the_number_of_devices_is_said_right() -> None:
    one = fleet_of(device_slice("a", device("x", {"index": 1})), device_class()).inventory
    assert one.match(NVIDIA, (BOMB,)).too_costly == ""
    many = tuple(BOMB.replace("> 0", f"> -{number}") for number in range(30))
    assert one.match(NVIDIA, many).too_costly == "its selectors are too costly to be tried on 1 device"
