"""What asking devices costs: the headline selector beside cel-python's interpreter and the same test written by hand, then
what is remembered for a fleet, what one changed pool takes, and what one selector takes to compile and to keep."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from statistics import median
from time import thread_time
from typing import Any

import celpy
from celpy import celtypes
from celpy.adapter import json_to_cel

from bench.payloads import cluster
from bench.table import table
from webhook.cel import MATCH, Selector, compile_selector
from webhook.cel import selector as compiled_selectors
from webhook.fleet import device_sets, likeness
from webhook.fleet.build import build_fleet
from webhook.fleet.fleet_sets import FleetSets
from webhook.fleet.inventory import Inventory
from webhook.fleet.matching import compile_all, intersection
from webhook.fleet.pool import Pool
from webhook.model.device import Device
from webhook.model.quantity import cached_quantity

NODES = 5_000
DRIVER = "gpu.nvidia.com"
HEADLINE = (
    f'device.attributes["{DRIVER}"].productName.contains("H100") && '
    f'device.capacity["{DRIVER}"].memory.compareTo(quantity("40Gi")) >= 0'
)
#: cel-python is asked so few devices a round, because it is slow.
_FEW = 25
_DISTINCT = 1_000
_FORTY = cached_quantity("40Gi")

Row = tuple[str, str, str]


def measure(rounds: int) -> str:
    """The table. Every round measures everything once, so that a slow moment of the machine hits all rows of a ratio."""
    inventory = build_fleet(cluster(NODES)).inventory
    devices = [device for pool in inventory.pools for device in pool.devices]
    (headline,), _ = compile_all((HEADLINE,))
    both, _ = compile_all((*inventory.classes[DRIVER].selectors, HEADLINE))
    matching = [device for device in devices if by_hand(device)]
    assert intersection(inventory.sets, both) == (inventory.match(DRIVER, (HEADLINE,)).match, 0)
    assert inventory.match(DRIVER, (HEADLINE,)).count == len(matching) == len(devices) // 2
    numbers = count(1)
    works: dict[str, Callable[[], float]] = {
        "ours": lambda: _each(devices, headline.against),
        "hand": lambda: _each(devices, by_hand),
        "celpy": _celpy(devices),
        "one by one": lambda: _seconds(lambda: _one_by_one(devices, both)),
        "cold": lambda: _cold(inventory, both),
        "another": lambda: _seconds(lambda: _another(inventory, next(numbers))),
        "known": lambda: _seconds(lambda: intersection(inventory.sets, both), times=200),
        "changed": lambda: _changed(inventory, both),
    }
    times: dict[str, list[float]] = {name: [] for name in works}
    for work in works.values():
        work()
    for _ in range(rounds):
        for name, work in works.items():
            times[name].append(work())
    rows = [*_per_device(times), *_per_fleet(times, len(devices)), *_per_selector()]
    return table(
        f"Asking devices: {HEADLINE}",
        ["", "CPU time, median", "ratio"],
        rows,
        [
            f"{rounds} interleaved rounds. A fleet of {len(devices):,} devices in {NODES:,} pools; both selectors are the",
            "class's and the headline. cel-python's devices are made beforehand, and the functions that it lacks are ours.",
        ],
    )


def by_hand(device: Device) -> bool:
    """The headline selector as one would write it in Python. Raises KeyError where it raises a CEL error."""
    product = device.attributes[f"{DRIVER}/productName"].value
    # What the product is, is not tested: that would be timed.
    return "H100" in product and cached_quantity(device.capacity[f"{DRIVER}/memory"]).compare(_FORTY) >= 0  # type: ignore[operator]


def _per_device(times: dict[str, list[float]]) -> list[Row]:
    return [
        ("a device, by a compiled selector", _micro(times["ours"]), ""),
        ("a device, by the same test written by hand", _micro(times["hand"]), _of(times["ours"], times["hand"], "<= 3")),
        ("a device, by cel-python's interpreter", _micro(times["celpy"]), _of(times["celpy"], times["ours"], ">= 100")),
    ]


def _per_fleet(times: dict[str, list[float]], number: int) -> list[Row]:
    return [
        (f"both selectors on {number:,} devices, one by one", _milli(times["one by one"]), ""),
        ("both as sets, of a new fleet", _milli(times["cold"]), _of(times["one by one"], times["cold"])),
        (
            "the set of a new selector, of attributes known before",
            _milli(times["another"]),
            _of(times["one by one"], times["another"]),
        ),
        (
            "both as sets, the set of each known: intersected",
            _micro(times["known"]),
            _of(times["one by one"], times["known"], ">= 1,000"),
        ),
        ("both as sets, one pool changed since", _micro(times["changed"]), _of(times["one by one"], times["changed"])),
    ]


def _per_selector() -> list[Row]:
    texts = [HEADLINE.replace("H100", f"H{number}") for number in range(_DISTINCT)]
    for text in texts:
        compile_selector(text + " ")
    compiled_selectors._compiled.cache_clear()
    seconds = _seconds(lambda: [compile_selector(text) for text in texts]) / len(texts)
    compiled_selectors._compiled.cache_clear()
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    kept = [compile_selector(text) for text in texts[:200]]
    gc.collect()
    taken = (tracemalloc.get_traced_memory()[0] - before) / len(kept)
    tracemalloc.stop()
    assert all(isinstance(item, Selector) for item in kept)
    return [
        ("compiling one selector", f"{seconds * 1e6:,.0f} us", ""),
        ("keeping one compiled selector", f"{taken / 1024:.1f} KiB", "(target: < 10 KiB)"),
    ]


def _each(devices: Sequence[Device], test: Callable[[Device], object]) -> float:
    def ask() -> None:
        for device in devices:
            test(device)

    return _seconds(ask) / len(devices)


def _one_by_one(devices: Sequence[Device], selectors: tuple[Selector, ...]) -> None:
    for device in devices:
        for selector in selectors:
            if selector.against(device) is not MATCH:
                break


def _cold(inventory: Inventory, selectors: tuple[Selector, ...]) -> float:
    device_sets._sets_of.cache_clear()
    likeness._number.cache_clear()
    likeness._seen.clear()
    sets = FleetSets(tuple(_forgetful(pool) for pool in inventory.pools))
    return _seconds(lambda: intersection(sets, selectors))


def _another(inventory: Inventory, number: int) -> None:
    (selector,), _ = compile_all((HEADLINE.replace("H100", f"H{number:03}"),))
    inventory.sets.of(selector)


def _changed(inventory: Inventory, selectors: tuple[Selector, ...]) -> float:
    at = len(inventory.pools) // 3
    pools = (*inventory.pools[:at], _forgetful(inventory.pools[at]), *inventory.pools[at + 1 :])
    sets = inventory.sets.after(pools)
    return _seconds(lambda: intersection(sets, selectors))


def _forgetful(pool: Pool) -> Pool:
    return replace(pool, memo={})


def _celpy(devices: Sequence[Device]) -> Callable[[], float]:
    """cel-python's own evaluation, with the two functions of Kubernetes that the headline needs."""

    class Amount(celtypes.IntType):
        pass

    def quantity(text: Any) -> Any:
        return Amount(cached_quantity(str(text)).unscaled)

    def compare_to(one: Any, other: Any) -> Any:
        return celtypes.IntType((one > other) - (one < other))

    environment = celpy.Environment(runner_class=celpy.InterpretedRunner)
    functions: Any = {"quantity": quantity, "compareTo": compare_to}
    program = environment.program(environment.compile(HEADLINE), functions=functions)
    activations = []
    for device in devices[:: len(devices) // _FEW]:
        domains = [_by_name(device.attributes, lambda item: json_to_cel(item.value)), _by_name(device.capacity, quantity)]
        attributes, capacity = (celtypes.MapType({celtypes.StringType(DRIVER): domain}) for domain in domains)
        root = celtypes.MapType({celtypes.StringType("attributes"): attributes, celtypes.StringType("capacity"): capacity})
        assert bool(program.evaluate({"device": root})) == by_hand(device)
        activations.append({"device": root})

    def ask() -> None:
        for activation in activations:
            program.evaluate(activation)

    return lambda: _seconds(ask) / len(activations)


def _by_name(held: Any, value: Callable[[Any], Any]) -> Any:
    return celtypes.MapType({celtypes.StringType(name.partition("/")[2]): value(item) for name, item in held.items()})


def _seconds(work: Callable[[], object], times: int = 1) -> float:
    gc.collect()
    start = thread_time()
    for _ in range(times):
        work()
    return (thread_time() - start) / times


def _micro(values: Sequence[float]) -> str:
    return f"{median(values) * 1e6:,.2f} us"


def _milli(values: Sequence[float]) -> str:
    return f"{median(values) * 1e3:,.1f} ms"


def _of(values: Sequence[float], base: Sequence[float], target: str = "") -> str:
    """The median of the rounds' ratios: both numbers of a ratio are of one moment."""
    ratio = median(value / other for value, other in zip(values, base, strict=True))
    return f"{ratio:,.1f}x" + (f" (target: {target})" if target else "")
