"""The devices an alternative may be given, gathered into stocks: what one node offers for one value of a tied attribute.

Pools are reduced to lots of like devices once (and remembered on the pool), nodes with the same offer count once: a thousand
equal nodes cost little more than one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

from webhook.fleet.fleet import Fleet
from webhook.fleet.inventory import Inventory, Pool, PoolMatches
from webhook.fleet.matching import POOL_LIMIT
from webhook.fleet.memo import remembered
from webhook.fleet.nodes import NodeSet
from webhook.model.claim import MAX_RESULTS
from webhook.model.device import Device, Reach
from webhook.model.quantity import cached_quantity
from webhook.rulekit.shapes.catalog import Catalog

#: Stands for an attribute that the device does not have, and for one with a list of values.
MISSING: Final = ("missing",)
LISTED: Final = ("listed",)
_NOTHING: Final = ()

#: What tells devices apart where only models matter otherwise: the values of distinctAttribute constraints.
Values: TypeAlias = "tuple[tuple[object, ...], ...]"
#: A model, and the values of distinct attributes (empty where they do not matter).
Kind: TypeAlias = "tuple[str, Values]"
_Item: TypeAlias = "tuple[Pool, Lot]"
_Thing = TypeVar("_Thing")
#: Shared counters with amounts in billionths (the smallest step of a quantity): (counter set, counter) -> amount, sorted.
Draw: TypeAlias = "tuple[tuple[tuple[str, str], int], ...]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What of an alternative and of its claim's constraints decides on devices, beside class and selectors.

    `count` 0 asks for all. `matched` and `distinct` are the attribute names of the constraints that cover it.
    """

    count: int
    capacity: tuple[tuple[str, str], ...] = ()
    matched: tuple[str, ...] = ()
    distinct: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Lot:
    """`number` like devices of one pool: same reach, kind, tied values and draw."""

    reach: Reach
    kind: Kind
    tied: Values
    draw: Draw
    number: int


@dataclass(frozen=True, slots=True)
class Place:
    """Lots of one pool that the same nodes reach."""

    nodes: NodeSet
    pool: Pool
    lots: tuple[Lot, ...]


@dataclass(frozen=True, slots=True)
class Counted:
    """What one pool with shared counters adds to a stock. `budget` are the counters, `lots` what draws on them."""

    budget: Draw
    lots: tuple[tuple[Kind, Draw, int], ...]


@dataclass(frozen=True, slots=True)
class Stock:
    """Devices that can be given out together.

    `free` draw on no counters. `broken`: a constraint cannot hold for all of them.
    """

    free: tuple[tuple[Kind, int], ...]
    counted: tuple[Counted, ...] = ()
    broken: bool = False


def lots_of(
    matches: PoolMatches, ask: Ask, catalog: Catalog, inventory: Inventory, consumable: bool, repeated: bool = False
) -> tuple[Lot, ...]:
    """The matched devices of a pool as lots, without those that lack the capacity. Remembered on the pool.

    `consumable`: the server has gate DRAConsumableCapacity, so that capacity and distinctAttribute count. `repeated`: one
    request may be given a shared device several times.
    """
    models = catalog.models_in(matches.pool, inventory)
    key = (matches, ask, consumable, repeated)
    return remembered(models.memo, key, lambda: tuple(_lots(matches.matched, ask, models, consumable, repeated)), POOL_LIMIT)


def _lots(devices: Iterable[Device], ask: Ask, models: Mapping[str, str], consumable: bool, repeated: bool) -> Iterator[Lot]:
    numbers: dict[tuple[int, Kind, Values, Draw], int] = {}
    reaches: dict[int, Reach] = {}
    distinct = ask.distinct if consumable else ()
    for device in devices:
        tied = tuple([_value(device, name) for name in ask.matched]) if ask.matched else _NOTHING
        apart = tuple([_value(device, name) for name in distinct]) if distinct else _NOTHING
        # Asked for all, a device that lacks the attribute makes the constraint fail: it must stay to be seen.
        if ask.count and MISSING in (*tied, *apart):
            continue
        if ask.count == 1:
            tied = _NOTHING  # one device always agrees with itself
        if consumable and not _has_capacity(device, ask.capacity):
            continue
        # Only of two devices is it certain on every server that they differ; of more, some releases let values repeat.
        kind = (models[device.name], apart if ask.count == 2 else ())
        # What others share with is paid for already.
        draw = _NOTHING if device.sharable or not device.consumes else _draw(device)
        number = MAX_RESULTS if device.sharable and repeated else 1
        key = (id(device.reach), kind, tied, draw)
        numbers[key] = numbers.get(key, 0) + number
        reaches[id(device.reach)] = device.reach
    for (reach, kind, tied, draw), number in numbers.items():
        yield Lot(reaches[reach], kind, tied, draw, number)


def _value(device: Device, name: str) -> tuple[object, ...]:
    attribute = device.attributes.get(name)
    if attribute is None:
        return MISSING
    return LISTED if isinstance(attribute.value, tuple) else (attribute.kind, attribute.value)


def _has_capacity(device: Device, wanted: tuple[tuple[str, str], ...]) -> bool:
    """False when the device certainly cannot give what is asked of it (dra-driver capacity filter, KEP-5075)."""
    for name, text in wanted:
        held = device.capacity.get(name if "/" in name else f"{device.driver}/{name}")
        if held is None:
            return False
        has, needs = billionths(held), billionths(text)
        if has is not None and needs is not None and has < needs:
            return False
    return True


def _draw(device: Device) -> Draw:
    taken: dict[tuple[str, str], int] = {}
    for use in device.consumes:
        for counter, text in use.counters.items():
            amount = billionths(text)
            if amount:
                key = (use.counter_set, counter)
                taken[key] = taken.get(key, 0) + amount
    return tuple(sorted(taken.items()))


def budget_of(pool: Pool) -> Draw:
    """The shared counters of a pool."""
    amounts = {
        (counters.name, name): billionths(text) for counters in pool.counter_sets for name, text in counters.counters.items()
    }
    return tuple(sorted((key, amount) for key, amount in amounts.items() if amount is not None))


def billionths(text: str) -> int | None:
    """A quantity in billionths; None for text that is no quantity, or a monstrous one."""
    try:
        quantity = cached_quantity(text)
    except ValueError:
        return None
    return quantity.unscaled * 10 ** (quantity.scale + 9) if -9 <= quantity.scale <= 36 else None


def place(fleet: Fleet, offered: Iterable[tuple[Pool, tuple[Lot, ...], NodeSet]]) -> Iterator[Place]:
    """The lots of pools by the nodes that reach them. Each pool is given with the nodes that see it so."""
    for pool, lots, members in offered:
        if pool.node:
            yield Place(fleet.nodes.reached(pool.devices[0].reach) & members, pool, lots)
            continue
        for lot in lots:
            yield Place(fleet.nodes.reached(lot.reach) & members, pool, (lot,))


def stocks_of(places: Iterable[Place], ask: Ask, nodes: NodeSet) -> frozenset[Stock]:
    """Every different stock that some node of `nodes` offers.

    Devices that are bound to one node mix with those of that node and with what reaches it from elsewhere.
    """
    local: dict[NodeSet, list[_Item]] = {}
    wide: list[tuple[NodeSet, _Item]] = []
    for placed in places:
        reached = placed.nodes & nodes
        items = [(placed.pool, lot) for lot in placed.lots]
        if not reached or not items:
            continue
        if reached & (reached - 1) == 0:
            local.setdefault(reached, []).extend(items)
        else:
            wide += [(reached, item) for item in items]
    different = list(_different(offers(local, wide)))
    loose = [any(lot.tied[i] == LISTED for offer in different for _, lot in offer) for i in range(_ties(ask))]
    return frozenset(stock for offer in different for stock in _stocks(offer, ask, loose))


def _ties(ask: Ask) -> int:
    """How many values tie the devices of an ask together."""
    return len(ask.matched) if ask.count != 1 else 0


def _different(found: Iterable[list[_Item]]) -> Iterator[list[_Item]]:
    """One of those that come to the same stocks: thousands of nodes have the same to give. Counters are a pool's own."""
    told: set[Hashable] = set()
    for offer in found:
        like = tuple([(lot.kind, lot.tied, lot.number) for _, lot in offer])
        if any(lot.draw for _, lot in offer):
            yield offer
        elif like not in told:
            told.add(like)
            yield offer


def offers(local: Mapping[NodeSet, list[_Thing]], wide: Sequence[tuple[NodeSet, _Thing]]) -> Iterator[list[_Thing]]:
    """What single nodes have (`local`, by sets of one node) together with what several reach; equal nodes without any of
    their own are looked at together."""
    bare = 0
    for reached, _ in wide:
        bare |= reached
    for node, things in local.items():
        bare &= ~node
        yield [*things, *(thing for reached, thing in wide if reached & node)] if wide else things
    # The nodes without devices of their own are split by each reach in turn.
    groups: list[tuple[NodeSet, list[_Thing]]] = [(bare, [])]
    for reached, thing in wide:
        groups = [
            (members & side, found)
            for members, things in groups
            for side, found in ((reached, [*things, thing]), (~reached, things))
            if members & side
        ]
    yield from (things for _, things in groups if things)


def _stocks(offer: list[_Item], ask: Ask, loose: list[bool]) -> Iterator[Stock]:
    if ask.count == 0:
        yield _stock(offer, ask, broken=_ties_break(offer, loose))
        return
    groups: dict[Values, list[_Item]] = {}
    numbers: dict[Values, int] = {}
    for item in offer:
        tied, number = item[1].tied, item[1].number
        if any(loose):
            tied = tuple([value for value, ignored in zip(tied, loose, strict=True) if not ignored])
        groups.setdefault(tied, []).append(item)
        numbers[tied] = numbers.get(tied, 0) + number
    # Of what is not enough, and gives nothing, the largest says how much is missing.
    most = max(numbers.values())
    for tied, items in groups.items():
        if numbers[tied] >= ask.count:
            yield _stock(items, ask)
        elif numbers[tied] == most:
            yield _stock(items, ask)
            return


def _ties_break(offer: list[_Item], loose: list[bool]) -> bool:
    for i, ignored in enumerate(loose):
        values = {lot.tied[i] for _, lot in offer}
        if MISSING in values or (len(values) > 1 and not ignored):
            return True
    return False


def _stock(items: list[_Item], ask: Ask, broken: bool = False) -> Stock:
    free: dict[Kind, int] = {}
    counted: dict[Pool, dict[tuple[Kind, Draw], int]] = {}
    for pool, lot in items:
        if lot.draw:
            drawing = counted.setdefault(pool, {})
            drawing[lot.kind, lot.draw] = drawing.get((lot.kind, lot.draw), 0) + lot.number
        else:
            # More than can be asked for makes no difference, and stocks that differ in nothing else become one.
            free[lot.kind] = min(free.get(lot.kind, 0) + lot.number, ask.count)
    return Stock(
        tuple(sorted(free.items())),
        tuple(
            Counted(budget_of(pool), tuple(sorted((kind, draw, number) for (kind, draw), number in drawing.items())))
            for pool, drawing in counted.items()
        ),
        broken,
    )
