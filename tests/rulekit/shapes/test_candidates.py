"""Stocks: what nodes offer together, equal nodes once."""

from __future__ import annotations

from tests.build import NVIDIA, Raw, catalog, device_class, device_slice, fleet_of, gpu, product
from webhook.fleet.fleet import Fleet
from webhook.rulekit.shapes.candidates import Ask, Counted, Stock, billionths, lots_of, place, stocks_of
from webhook.rulekit.shapes.catalog import catalog_for

T4 = "Tesla T4"
NAMES = catalog_for(catalog(product("t4", T4)))
MEMORY = ("card-0", "memory")


def stocks(fleet: Fleet, ask: Ask) -> frozenset[Stock]:
    matches = fleet.inventory.match(NVIDIA)
    everywhere = fleet.nodes.all
    offered = [
        (found.pool, lots_of(found, ask, NAMES, fleet.inventory, consumable=True), everywhere) for found in matches.pools
    ]
    return stocks_of(place(fleet, offered), ask, everywhere)


def cards(number: int, **attributes: int) -> list[Raw]:
    return [gpu(f"g{i}", T4, **attributes) for i in range(number)]


def test_more_than_is_asked_for_makes_no_difference() -> None:
    fleet = fleet_of(
        device_class(), device_slice("n1", *cards(4)), device_slice("n2", *cards(8)), device_slice("n3", *cards(1))
    )
    assert stocks(fleet, Ask(count=2)) == {Stock(((("t4", ()), 2),)), Stock(((("t4", ()), 1),))}
    assert stocks(fleet, Ask(count=1)) == {Stock(((("t4", ()), 1),))}


def test_distinct_values_are_kept_apart_for_two_devices_only() -> None:
    fleet = fleet_of(device_class(), device_slice("n1", gpu("a", T4, x=1), gpu("b", T4, x=2)))
    two = {Stock((((("t4", (("int", 1),))), 1), (("t4", (("int", 2),)), 1)))}
    assert stocks(fleet, Ask(count=2, distinct=(f"{NVIDIA}/x",))) == two
    assert stocks(fleet, Ask(count=3, distinct=(f"{NVIDIA}/x",))) == {Stock(((("t4", ()), 2),))}


def test_what_draws_on_counters_is_kept_with_them() -> None:
    uses = [{"counterSet": "card-0", "counters": {"memory": {"value": "4"}, "nothing": {"value": "0"}}}]
    shared = [{"name": "card-0", "counters": {"memory": {"value": "8"}, "odd": {"value": "much"}}}]
    objects = [
        device_slice(name, gpu("a", T4) | {"consumesCounters": uses}, gpu("b", T4), sharedCounters=shared)
        for name in ("n1", "n2")
    ]
    counted = Counted(((MEMORY, 8 * 10**9),), ((("t4", ()), ((MEMORY, 4 * 10**9),), 1),))
    assert stocks(fleet_of(device_class(), *objects), Ask(count=2)) == {Stock(((("t4", ()), 1),), (counted,))}


def test_lots_are_remembered_with_the_models() -> None:
    fleet = fleet_of(device_class(), device_slice("n1", *cards(4)))
    (found,) = fleet.inventory.match(NVIDIA).pools
    first = lots_of(found, Ask(count=2), NAMES, fleet.inventory, consumable=True)
    assert lots_of(found, Ask(count=2), NAMES, fleet.inventory, consumable=True) is first
    other = catalog_for(catalog(product("other", T4)))
    assert lots_of(found, Ask(count=2), other, fleet.inventory, consumable=True)[0].kind == ("other", ())


def test_quantities_in_billionths() -> None:
    assert billionths("1") == 10**9
    assert billionths("1n") == 1
    assert billionths("1Ki") == 1024 * 10**9
    assert billionths("much") is None
    assert billionths("1e36") == 10**45
    assert billionths("1e37") is None
