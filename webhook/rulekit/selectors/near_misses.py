"""Devices that a selector misses by a capacity: a little short of it, or one whose driver could not read it and says 0.

It is found out by asking: with the amount that the selector mentions in its place, would the device match?
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from webhook.fleet.device_sets import Trials
from webhook.fleet.inventory import Inventory
from webhook.fleet.matching import compile_all
from webhook.fleet.memo import remembered
from webhook.model.device import Device
from webhook.model.quantity import Quantity, cached_quantity

#: How far a capacity may be off: data sheets count 16 GB where drivers publish 14248Mi.
_NEAR_PERCENT: Final = 15
#: Devices looked at, of one pool and of all: messages name one and count the others.
_OF_A_POOL, _OF_ALL = 64, 2048

#: Steps that the selectors of one alternative may take on all of them.
_MOST_STEPS: Final = 100_000

_AMOUNT = re.compile(r"quantity\(\s*(?:\"([^\"\\]+)\"|'([^'\\]+)')\s*\)")
_ONE = cached_quantity("1")


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A device that would match if its `capacity` (qualified) were `wanted`; it publishes `held`."""

    device: Device
    capacity: str
    held: str
    wanted: str

    @property
    def is_zero(self) -> bool:
        """Whether the device publishes nothing of it, as drivers do that cannot read it."""
        return cached_quantity(self.held).sign == 0

    @property
    def distance(self) -> str:
        """`0.4 % below 80Gi`"""
        held, wanted = cached_quantity(self.held).as_float(), cached_quantity(self.wanted).as_float()
        off = 100 * (held - wanted) / wanted
        if not off:
            return "and the selector excludes exactly that"
        return f"{abs(off):.2g} % {'above' if off > 0 else 'below'} {self.wanted}"


def candidates(inventory: Inventory, class_name: str) -> Iterator[Device]:
    """Devices of a class, some of each pool."""
    pools = inventory.match(class_name).pools
    return islice((device for pool in pools for device in pool.matched[:_OF_A_POOL]), _OF_ALL)


def near_misses(inventory: Inventory, class_name: str, texts: tuple[str, ...]) -> tuple[NearMiss, ...]:
    """The devices of a class that these selectors miss by one capacity. Remembered on the inventory."""
    return remembered(
        inventory.memo, ("near misses", class_name, texts), lambda: tuple(_near_misses(inventory, class_name, texts))
    )


def _near_misses(inventory: Inventory, class_name: str, texts: tuple[str, ...]) -> Iterator[NearMiss]:
    selectors, problems = compile_all(texts, inventory.server)
    amounts = tuple(_amounts(texts))
    read = sorted({(item.domain, item.name) for one in selectors for item in one.references if item.kind == "capacity"})
    if problems or not amounts:
        return
    trials = Trials(selectors, _MOST_STEPS)
    for device in candidates(inventory, class_name):
        misses = (
            NearMiss(device, name, held, amount)
            for name, held in sorted(device.capacity.items())
            if any(name == f"{domain}/{bare}" for domain, bare in read)
            for amount in amounts
            if _is_near(held, amount) and _would_match(trials, device, name, amount)
        )
        found = next(misses, None)
        if found is not None:
            yield found


def _amounts(texts: Iterable[str]) -> Iterator[str]:
    for amount in dict.fromkeys(double or single for text in texts for double, single in _AMOUNT.findall(text)):
        if _quantity(amount) is not None:
            yield amount


def _quantity(text: str) -> Quantity | None:
    try:
        return cached_quantity(text)
    except ValueError:
        return None


def _is_near(held: str, wanted: str) -> bool:
    has, needs = _quantity(held), _quantity(wanted)
    if has is None or needs is None or needs.sign <= 0:
        return False
    return has.sign == 0 or abs(has.as_float() / needs.as_float() - 1) * 100 <= _NEAR_PERCENT


def _would_match(trials: Trials, device: Device, name: str, amount: str) -> bool:
    quantity = cached_quantity(amount)
    for trial in (amount, str(quantity + _ONE), str(quantity - _ONE)):
        if trials.passes(replace(device, capacity={**device.capacity, name: trial})):
            return True
    return False
