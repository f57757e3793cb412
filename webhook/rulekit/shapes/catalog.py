"""What a device is called: the organisation's catalog of models, asked device by device."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import partial
from typing import Final

from webhook.cel import Selector, Verdict, compile_selector
from webhook.fleet.inventory import Inventory, Pool
from webhook.fleet.likeness import Reads, likeness, reads_of
from webhook.fleet.memo import Memo, remembered
from webhook.model.device import Device, DeviceClass
from webhook.rulekit.policies import CatalogModel, PolicySet
from webhook.rulekit.shapes.globs import could_share_a_name, is_glob

#: The first character of the name of a device that no model fits: `?gpu.nvidia.com/NVIDIA H200`.
UNKNOWN: Final = "?"

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_NOT_IN_A_NAME = re.compile(r"[^a-z0-9]+")
_NOT_IN_A_GLOB = re.compile(r"[^a-z0-9*?\[\]!]+")
_NO_CLASSES: Mapping[str, DeviceClass] = {}
#: Catalogs kept ready: the policies in force, those about to be, and what tests and commands load beside them.
_KEPT = 8
#: Answers a catalog remembers. Patterns come from annotations, so their number has to be bounded.
_PAIRS = 8192
#: Kinds of pools whose models are remembered.
_ALIKE = 1024


@dataclass(frozen=True, slots=True)
class _Spelling:
    """A model's name or alias: fixed text, or text around one `{attribute}`."""

    before: str
    attribute: str = ""
    after: str = ""

    @property
    def glob(self) -> str:
        """A glob that all names of the family fit."""
        return f"{self.before}*{self.after}" if self.attribute else self.before

    def filled(self, value: str) -> str:
        return f"{self.before}{value}{self.after}"

    def value_in(self, name: str) -> str | None:
        """What stands for the attribute in `name`; None when `name` is not of this family."""
        if not self.attribute:
            return "" if name == self.before else None
        fits = name.startswith(self.before) and name.endswith(self.after)
        return (name[len(self.before) : len(name) - len(self.after)] or None) if fits else None


@dataclass(frozen=True, slots=True)
class _Entry:
    model: CatalogModel
    name: _Spelling
    aliases: tuple[_Spelling, ...]


class PoolModels(dict[str, str]):
    """Device name -> model, for every device of a pool. `names` are the models alone, in the devices' order: the same tuple for
    pools that are alike. `memo` is for what is derived from it (use `memo.remembered`)."""

    def __init__(self, devices: Iterable[Device], names: tuple[str, ...]) -> None:
        super().__init__(zip((device.name for device in devices), names, strict=True))
        self.names = names
        self.memo: Memo = {}


class Catalog:
    """The models of a policy set, in file order: the first that fits a device names it. Compared by identity."""

    def __init__(self, models: tuple[CatalogModel, ...]) -> None:
        self.models = models
        self._entries = tuple(
            _Entry(model, _spelling(model.name), tuple(_spelling(alias) for alias in model.aliases)) for model in models
        )
        self._fixed = frozenset(entry.name.before for entry in self._entries)
        self._spellings = tuple(spelling for entry in self._entries for spelling in (entry.name, *entry.aliases))
        self._globs = tuple(dict.fromkeys(spelling.glob for spelling in self._spellings))
        self._fitting: Memo = {}
        self._alike: tuple[Mapping[str, DeviceClass], Memo] = (_NO_CLASSES, {})

    def model_of(self, device: Device, classes: Mapping[str, DeviceClass] = _NO_CLASSES) -> str:
        """The name of the first model that fits `device`, else `?<driver>/<productName, else model, else unknown>`.

        A model that names a class is asked only about devices of that class, as far as `classes` (those of the cluster)
        has it. A selector that raises a CEL error does not fit.
        """
        for entry in self._entries:
            if not _fits(entry.model, device, classes):
                continue
            if not entry.name.attribute:
                return entry.name.before
            value = _slug_of(device, entry.name.attribute)
            if value:
                return entry.name.filled(value)
        product = device.text_attribute("productName") or device.text_attribute("model")
        return f"{UNKNOWN}{device.driver}/{product.strip() or 'unknown'}"

    def models_in(self, pool: Pool, inventory: Inventory) -> PoolModels:
        """The models of a pool's devices. Remembered on the pool, for the latest catalog and classes."""
        held = pool.memo.get("models")
        if held is not None and held[0] is self and held[1] is inventory.classes:
            kept: PoolModels = held[2]
            return kept
        named = PoolModels(pool.devices, self._names_in(pool, inventory.classes))
        pool.memo["models"] = (self, inventory.classes, named)
        return named

    def _names_in(self, pool: Pool, classes: Mapping[str, DeviceClass]) -> tuple[str, ...]:
        """The models of a pool's devices in their order, worked out once for all pools that are alike."""
        if self._alike[0] is not classes:
            self._alike = (classes, {})
        known = self._alike[1]
        reads = remembered(known, ("reads", pool.driver), lambda: self._reads(pool.driver, classes))
        if reads is None:
            return tuple(self.model_of(device, classes) for device in pool.devices)
        key = (pool.driver, likeness(pool, reads))
        return remembered(known, key, lambda: tuple(self.model_of(device, classes) for device in pool.devices), _ALIKE)

    def _reads(self, driver: str, classes: Mapping[str, DeviceClass]) -> Reads | None:
        """All that decides on the models of a driver's devices; None when that cannot be listed."""
        names = {"productName", "model"}
        selectors: list[Selector] = []
        for entry in self._entries:
            if entry.model.driver == driver:
                names.add(entry.name.attribute or "model")
                selectors += [entry.model.selector] if entry.model.selector is not None else []
                device_class = classes.get(entry.model.device_class)
                compiled = map(compile_selector, device_class.selectors if device_class is not None else ())
                selectors += [selector for selector in compiled if isinstance(selector, Selector)]
        return reads_of(selectors, (name if "/" in name else f"{driver}/{name}" for name in names))

    def fits(self, pattern: str, model: str) -> bool:
        """Whether `pattern` of a declaration (a name, an alias or a glob) means the model of that name.

        A device of no model (`?driver/product`) is meant only by a pattern that begins with `?` too.
        """
        return remembered(self._fitting, (pattern, model), lambda: self._fits(pattern, model), _PAIRS)

    def _fits(self, pattern: str, model: str) -> bool:
        if pattern.startswith(UNKNOWN) or model.startswith(UNKNOWN):
            return pattern[:1] == model[:1] and fnmatchcase(model[1:], pattern[1:])
        if any(fnmatchcase(name, pattern) for name in (model, *self._aliases_of(model))):
            return True
        # `a100-mig-1g.5gb` is how the driver spells what the family calls a100-mig-1g-5gb.
        return model not in self._fixed and fnmatchcase(model, _NOT_IN_A_GLOB.sub("-", pattern.lower()))

    def _aliases_of(self, model: str) -> Iterator[str]:
        for entry in self._entries:
            value = entry.name.value_in(model)
            if value is not None:
                yield from (alias.filled(value) if alias.attribute else alias.before for alias in entry.aliases)

    def knows(self, pattern: str) -> bool:
        """Whether a name or glob can mean a model of this catalog. What begins with `?` means devices of no model: True."""
        return remembered(self._fitting, pattern, lambda: self._knows(pattern), _PAIRS)

    def _knows(self, pattern: str) -> bool:
        if pattern.startswith(UNKNOWN):
            return True
        if is_glob(pattern):
            return any(map(partial(could_share_a_name, pattern), self._globs))
        # Names of families may be spelt as the driver spells the attribute, see `fits`.
        named = (pattern, pattern.lower())
        return any(spelling.value_in(named[spelling.attribute != ""]) is not None for spelling in self._spellings)

    def fits_only(self, glob: str, models: Collection[str]) -> bool:
        """Whether a glob means all of these models, and no other that the catalog can name."""
        others = self._fixed.difference(models)
        families = [spelling.glob for spelling in self._spellings if spelling.attribute]
        return (
            all(self.fits(glob, model) for model in models)
            and not any(self.fits(glob, other) for other in others)
            and not any(could_share_a_name(glob, family) for family in families)
        )

    def suggest(self, name: str) -> tuple[str, ...]:
        """At most three names or aliases that look like `name`, the nearest first."""
        return tuple(get_close_matches(name.lower(), self._globs, n=3, cutoff=0.5))


_catalogs: Memo = {}


def catalog_for(policies: PolicySet) -> Catalog:
    """The catalog of a policy set: the same object for the same models, so that it can be part of a memo's key."""
    # A kept catalog holds its models, so their id cannot come to mean others.
    return remembered(_catalogs, id(policies.catalog), lambda: Catalog(policies.catalog), _KEPT)


def slug(value: object) -> str:
    """An attribute's value as part of a model's name: lower case, runs of other characters become `-`."""
    text = str(value).lower()
    return _NOT_IN_A_NAME.sub("-", text).strip("-")


def in_class(device: Device, selectors: tuple[str, ...]) -> bool:
    """Whether `device` passes a class's selectors. One that does not compile or raises a CEL error does not match."""
    for text in selectors:
        compiled = compile_selector(text)
        if not isinstance(compiled, Selector) or compiled.against(device) is not Verdict.MATCH:
            return False
    return True


def _fits(model: CatalogModel, device: Device, classes: Mapping[str, DeviceClass]) -> bool:
    if model.driver != device.driver:
        return False
    # The selector first: it is the cheaper question, and most models of a driver are told apart by it.
    if model.selector is not None and model.selector.against(device) is not Verdict.MATCH:
        return False
    device_class = classes.get(model.device_class)
    return device_class is None or in_class(device, device_class.selectors)


def _slug_of(device: Device, attribute: str) -> str:
    held = device.attributes.get(attribute if "/" in attribute else f"{device.driver}/{attribute}")
    return "" if held is None or isinstance(held.value, tuple) else slug(held.value)


def _spelling(text: str) -> _Spelling:
    found = _PLACEHOLDER.search(text)
    return _Spelling(text[: found.start()], found[1], text[found.end() :]) if found else _Spelling(text)
