"""The possible shapes of an alternative, and the shape an allocated claim has.

Soundness first: whatever the real allocator could hand out is listed. What is in use at the moment, taints, and what other
requests of the claim take are left out of account, because they change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from webhook.fleet.device_sets import Trials
from webhook.fleet.fleet import Fleet
from webhook.fleet.inventory import Inventory, Matches, PoolMatches
from webhook.fleet.matching import DeviceError, compile_all, match_pools
from webhook.fleet.memo import Memo, remembered
from webhook.fleet.nodes import NodeSet
from webhook.model.claim import ALL, MAX_RESULTS, AllocatedDevice, Alternative, Claim, ClaimSpec, Request
from webhook.model.device import Device
from webhook.rulekit.policies import PolicySet
from webhook.rulekit.shapes.candidates import Ask, Place, lots_of, place, stocks_of
from webhook.rulekit.shapes.catalog import Catalog, catalog_for, in_class
from webhook.rulekit.shapes.enumeration import MOST_SHAPES, enumerate_shapes
from webhook.rulekit.shapes.node_pools import (
    View,
    counter_fault,
    differs_by_node,
    fault_of,
    nodes_with_faults,
    pools_that_differ,
    views_of,
)
from webhook.rulekit.shapes.shape import AlternativeShapes, Shape, shape_of, shape_of_models

__all__ = [
    "AlternativeShapes",
    "Shape",
    "allocated_alternative",
    "allocated_devices",
    "allocated_shape",
    "alternative_shapes",
    "example_devices",
    "usable_pools",
]

#: From this minor version on, one request is given a shared device once (k8s.io/dynamic-resource-allocation structured).
_SHARED_ONCE_SINCE = 36
#: Unreachable shapes that are kept, for explanations.
_MOST_UNREACHABLE = 256
#: Steps that the selectors of one alternative may take on all examples.
_STEPS_ON_EXAMPLES = 8_000
#: Answers kept per inventory before all are dropped.
_KEPT = 2048


def alternative_shapes(
    fleet: Fleet, policies: PolicySet, spec: ClaimSpec, request: Request, alternative: Alternative, nodes: NodeSet
) -> AlternativeShapes:
    """What `alternative` of `request` may be given on `nodes`. For adminAccess, which allocates nothing: no shape.

    `alternative` need not be one that `request` has: then it is what the claim would be with it. Remembered on the inventory.
    """
    if alternative.admin_access:
        return _NOTHING
    matched, distinct = _constraints(spec, request.name, alternative.name)
    key = (
        alternative.device_class,
        tuple([selector.expression for selector in alternative.selectors]),
        alternative.allocation_mode,
        alternative.count,
        nodes,
        matched,
        distinct,
        tuple(alternative.capacity.items()),
        alternative.unknown,
        alternative.unread,
    )
    catalog = catalog_for(policies)
    ask = (fleet, catalog, alternative, matched, distinct, nodes)
    return remembered(_memo_for(fleet, catalog), key, lambda: _alternative_shapes(*ask), _KEPT)


def allocated_shape(fleet: Fleet, policies: PolicySet, claim: Claim, request_name: str) -> Shape | None:
    """What `request_name` of an allocated claim was given. None when the claim, or that request, has been given nothing.

    A device that is not published any more is `?<driver>/unknown`; adminAccess results are no allocation.
    """
    catalog = catalog_for(policies)
    given = _given(claim, request_name)
    models = [_model_of(fleet.inventory, catalog, result.driver, result.pool, result.device) for result in given]
    return shape_of_models(models) if models else None


def allocated_alternative(claim: Claim, request_name: str) -> str:
    """The alternative of `request_name` that an allocated claim was given; "" for a plain ask and for nothing."""
    return next((given.request.partition("/")[2] for given in _given(claim, request_name)), "")


def allocated_devices(fleet: Fleet, claim: Claim, request_name: str) -> tuple[Device, ...]:
    """The devices that `request_name` of an allocated claim was given, as far as they are still published."""
    found = (fleet.inventory.device(given.driver, given.pool, given.device) for given in _given(claim, request_name))
    return tuple(device for device in found if device is not None)


def _given(claim: Claim, request_name: str) -> Iterator[AllocatedDevice]:
    for result in claim.allocation or ():
        if not result.admin_access and result.request.split("/", 1)[0] == request_name:
            yield result


def _model_of(inventory: Inventory, catalog: Catalog, driver: str, pool_name: str, device: str) -> str:
    pool = inventory.by_key.get((driver, pool_name))
    found = catalog.models_in(pool, inventory).get(device) if pool is not None else None
    return found or f"?{driver}/unknown"


_NOTHING = AlternativeShapes()

#: A pool's matching devices, and the nodes on which they can be given out.
Usable: TypeAlias = "tuple[PoolMatches, NodeSet]"


def _memo_for(fleet: Fleet, catalog: Catalog) -> Memo:
    """The answers for these nodes, this catalog and this server: a change of any starts anew, and old ones are let go."""
    held = fleet.inventory.memo.get("shapes")
    if held is None or held[0] is not fleet.nodes or held[1] is not catalog or held[2] is not fleet.server:
        held = fleet.inventory.memo["shapes"] = (fleet.nodes, catalog, fleet.server, {})
    memo: Memo = held[3]
    return memo


def _constraints(spec: ClaimSpec, request: str, alternative: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The attributes that must match, and those that must differ. With both on one constraint only the first counts."""
    covering = [item for item in spec.constraints if item.covers(request, alternative)]
    matched = sorted({item.match_attribute for item in covering if item.match_attribute})
    distinct = sorted({item.distinct_attribute for item in covering if item.distinct_attribute and not item.match_attribute})
    return tuple(matched), tuple(distinct)


def _alternative_shapes(
    fleet: Fleet,
    catalog: Catalog,
    alternative: Alternative,
    matched: tuple[str, ...],
    distinct: tuple[str, ...],
    nodes: NodeSet,
) -> AlternativeShapes:
    ask = Ask(
        count=alternative.count,
        capacity=tuple(sorted(alternative.capacity.items())),
        matched=matched,
        distinct=distinct,
    )
    matches = fleet.inventory.match(alternative.device_class, tuple(item.expression for item in alternative.selectors))
    strange = _not_understood(alternative)
    if strange or matches.problems or matches.too_costly:
        why = strange or matches.too_costly or f"a selector does not compile: {matches.problems[0].message}"
        errors = partial(_errors, matches)
        return AlternativeShapes(
            uncertain=why, spell_errors=errors, problems=matches.problems, class_missing=matches.class_missing
        )
    seen = _seen_by_few(fleet, alternative)
    errors = partial(_errors, matches, seen)
    key = (matches.match, tuple(seen), ask, nodes)
    found = remembered(_memo_for(fleet, catalog), key, lambda: _by_device(fleet, catalog, ask, nodes, matches, seen), _KEPT)
    if found is not None:
        return replace(found, spell_errors=errors) if matches.error or seen else found
    if matches.count == 0:
        return _by_example(fleet.inventory, catalog, alternative, ask, matches)
    return AlternativeShapes(uncertain=_broken_pools(matches), spell_errors=errors)


def _errors(matches: Matches, seen: Sequence[Usable] = ()) -> tuple[DeviceError, ...]:
    """The errors in pools as all see them, then those that only some nodes see."""
    errors = tuple(error for found in matches.pools for error in found.errors)
    known = {error.device.key for error in errors}
    return errors + tuple(error for found, _ in seen for error in found.errors if error.device.key not in known)


def _not_understood(alternative: Alternative) -> str:
    if alternative.unread:
        return alternative.unread
    if alternative.unknown:
        fields = ", ".join(alternative.unknown)
        return f"it has {'a field' if len(alternative.unknown) == 1 else 'fields'} this release does not know: {fields}"
    if not alternative.understood:
        return f'allocationMode "{alternative.allocation_mode}" is not known to this release'
    if alternative.allocation_mode != ALL and not 0 < alternative.count <= MAX_RESULTS:
        return f"it asks for {alternative.count} devices; one claim is given between 1 and {MAX_RESULTS}"
    return ""


def _usable(fleet: Fleet, matches: Matches, seen: list[Usable], nodes: NodeSet) -> list[Usable]:
    """The pools with matching devices out of which something is given, each with the nodes that see it so."""
    alike = [
        (found, nodes)
        for found in (matches.pools if matches.match else ())
        if found.matched and not differs_by_node(found.pool) and not fault_of(found.pool, fleet.server)
    ]
    return alike + [(found, members & nodes) for found, members in seen if found.matched]


def _seen_by_few(fleet: Fleet, alternative: Alternative) -> list[Usable]:
    """What matches in the pools that are not the same from everywhere, each with the nodes that see it so."""
    differing = pools_that_differ(fleet.inventory)
    device_class = fleet.inventory.classes.get(alternative.device_class)
    if not differing or device_class is None:
        return []
    own = tuple(item.expression for item in alternative.selectors)
    selectors, _ = compile_all((*device_class.selectors, *own), fleet.server)
    views = [view for pool in differing for view in views_of(fleet, pool) if _may_give(view)]
    return [(found, view.nodes) for view in views for found in match_pools((view.pool,), selectors)]


def _may_give(view: View) -> bool:
    return view.fault in ("", "unsettled")


def _broken_pools(matches: Matches) -> str:
    pool = next(found.pool for found in matches.pools if found.matched)
    if pool.duplicates:
        return f"pool {pool.name} of {pool.driver} publishes device {pool.duplicates[0]} twice: nothing is given out of it"
    if pool.complete:
        why = counter_fault(pool) or "its slices do not agree with each other"
        return f"pool {pool.name} of {pool.driver} contradicts itself, nothing is given out of it: {why}"
    return f"pool {pool.name} of {pool.driver} is incomplete: nothing is given out of it until all its slices are there"


def _by_device(
    fleet: Fleet,
    catalog: Catalog,
    ask: Ask,
    nodes: NodeSet,
    matches: Matches,
    seen: list[Usable],
) -> AlternativeShapes | None:
    """What the devices that match can make, whichever selectors matched them. None when nothing is given out of any pool."""
    usable = _usable(fleet, matches, seen, nodes)
    if not usable:
        return None
    consumable = fleet.server.enabled("DRAConsumableCapacity")
    repeated = consumable and fleet.server.minor < _SHARED_ONCE_SINCE
    inventory = fleet.inventory
    offered = [
        (found.pool, lots_of(found, ask, catalog, inventory, consumable, repeated), members) for found, members in usable
    ]
    places = tuple(place(fleet, offered))
    refused = nodes & nodes_with_faults(fleet) if ask.count == 0 else 0
    result = enumerate_shapes(stocks_of(places, ask, nodes & ~refused), ask)
    if refused:
        result.refuse(enumerate_shapes(stocks_of(places, ask, refused), ask))
    reached = [placed for placed in places if placed.nodes and placed.lots]
    if not result.complete:
        uncertain = f"more than {MOST_SHAPES:,} different shapes would have to be told apart"
    elif not result.shapes:
        uncertain = _why_none(places, ask, result.most, next(iter(result.unreachable.values()), ""))
    else:
        uncertain = ""
    return AlternativeShapes(
        shapes=tuple(sorted(result.shapes)),
        uncertain=uncertain,
        unreachable=tuple(sorted(result.unreachable.items())[:_MOST_UNREACHABLE]),
        models=tuple(sorted({lot.kind[0] for placed in reached for lot in placed.lots})),
        drivers=tuple(sorted({placed.pool.driver for placed in reached})),
        matches=sum(found.match.bit_count() for found, _ in usable),
    )


def _why_none(places: Sequence[Place], ask: Ask, most: int, fault: str) -> str:
    if fault:
        return f"nothing can be given: {fault}"
    if not any(placed.lots for placed in places):
        missing = " or ".join(
            (*(f"the attribute {name} of a constraint" for name in (*ask.matched, *ask.distinct)), *_capacity_words(ask))
        )
        return f"no matching device has {missing}"
    if most == 0:
        return "none of the devices that match can be used from a feasible node"
    together = " under the claim's constraints" if ask.matched or ask.distinct else ""
    return f"no feasible node has {ask.count} matching devices together{together}; the most is {most}"


def _capacity_words(ask: Ask) -> Iterator[str]:
    if ask.capacity:
        yield "the capacity that is asked for"


def _by_example(
    inventory: Inventory, catalog: Catalog, alternative: Alternative, ask: Ask, matches: Matches
) -> AlternativeShapes:
    errors = partial(_errors, matches)
    models = sorted({name for name, _ in example_devices(inventory, catalog, alternative)})
    if models:
        return AlternativeShapes(
            shapes=tuple(shape_of({model: ask.count}) for model in models),
            models=tuple(models),
            spell_errors=errors,
            class_missing=matches.class_missing,
            by_example=True,
        )
    if matches.class_missing:
        why = f"DeviceClass {alternative.device_class} is not known"
    elif (first := matches.first_error()) is not None:
        number = matches.error.bit_count()
        why = f"no known device matches; its selectors raise a CEL error on {number}, the first: {first.message}"
    else:
        own = " and its selectors" if alternative.selectors else ""
        why = f"no known device matches DeviceClass {alternative.device_class}{own}"
    return AlternativeShapes(uncertain=why, spell_errors=errors, class_missing=matches.class_missing)


def example_devices(inventory: Inventory, catalog: Catalog, alternative: Alternative) -> Iterator[tuple[str, Device]]:
    """The catalog's examples that the alternative would take, each with its model.

    An example never raises a CEL error: it just does not fit.
    """
    selectors, _ = compile_all(tuple(item.expression for item in alternative.selectors), inventory.server)
    device_class = inventory.classes.get(alternative.device_class)
    trials = Trials(selectors, _STEPS_ON_EXAMPLES)
    for model in catalog.models:
        for example in model.examples:
            fits_class = (
                in_class(example, device_class.selectors)
                if device_class is not None
                else model.device_class == alternative.device_class
            )
            if fits_class and trials.passes(example):
                yield catalog.model_of(example, inventory.classes), example


def usable_pools(fleet: Fleet, alternative: Alternative, nodes: NodeSet) -> list[Usable]:
    """The pools with devices that pass the class's and the alternative's selectors, in the allocator's order, as far as
    something is given out of them; each with those of `nodes` that see it so."""
    matches = fleet.inventory.match(alternative.device_class, tuple(item.expression for item in alternative.selectors))
    return _usable(fleet, matches, _seen_by_few(fleet, alternative), nodes)
