"""Random small clusters and claims, aimed at what the allocator does with them: several products on a node, partitions with
shared counters, taints, pools that are not whole, devices on the network, slices of several generations, selectors that err.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests import build

Raw = dict[str, Any]

DRIVERS = ("gpu.a.io", "gpu.b.io")
NETWORK = "nic.io"
PRODUCTS = ("big", "small", "mid")
ZONES = ("a", "b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A cluster, a claim, and which devices others hold (driver, pool, device)."""

    nodes: tuple[Raw, ...]
    slices: tuple[Raw, ...]
    classes: tuple[Raw, ...]
    taint_rules: tuple[Raw, ...]
    claim: Raw
    allocated: tuple[tuple[str, str, str], ...]

    @property
    def objects(self) -> tuple[Raw, ...]:
        """The cluster without the claim."""
        return (*self.nodes, *self.slices, *self.classes, *self.taint_rules)


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """How likely a cluster has each of the odd things, and a claim each of its own."""

    broken: float
    tainted: float
    shared: float
    counters: float
    erring: float
    constrained: float
    capacity: float


def random_case(rng: random.Random) -> Case:
    """A case; most are without most of the odd things, so that each is also seen alone."""
    traits = Traits(
        broken=rng.choice((0.0, 0.0, 0.15, 0.4)),
        tainted=rng.choice((0.0, 0.0, 0.0, 0.3)),
        shared=rng.choice((0.0, 0.0, 0.0, 0.0, 0.0, 0.3)),
        counters=rng.choice((0.0, 0.3, 0.8)),
        erring=rng.choice((0.0, 0.3, 0.6)),
        constrained=rng.choice((0.0, 0.4, 0.8)),
        capacity=rng.choice((0.0, 0.0, 0.0, 0.0, 0.3)),
    )
    nodes = tuple(build.node(f"n{i}", {"zone": rng.choice(ZONES)}) for i in range(rng.randrange(1, 4)))
    slices = _Cluster(rng, traits, [node["metadata"]["name"] for node in nodes]).slices()
    return Case(
        nodes=nodes,
        slices=tuple(slices),
        classes=_classes(rng, traits),
        taint_rules=tuple(_taint_rules(rng)) if rng.random() < traits.tainted else (),
        claim=_claim(rng, traits),
        allocated=tuple(_allocated(rng, slices)),
    )


class _Cluster:
    """Makes the slices of one cluster."""

    def __init__(self, rng: random.Random, traits: Traits, nodes: list[str]) -> None:
        self.rng, self.traits, self.nodes = rng, traits, nodes
        # Clusters are like themselves: a few products, one way to publish attributes.
        self.products = rng.sample(PRODUCTS, rng.randrange(1, 4))
        self.complete = rng.random() < 0.5
        self.named = 0

    def slices(self) -> list[Raw]:
        """All slices, in the order of a lister: none."""
        rng = self.rng
        found: list[Raw] = []
        for node in self.nodes:
            for driver in DRIVERS:
                if rng.random() < (0.85 if driver == DRIVERS[0] else 0.4):
                    for pool in [node] if rng.random() < 0.85 else [node, f"{node}-2"]:
                        found += self._pool({"nodeName": node}, driver, pool)
        if rng.random() < 0.4:
            found += self._pool(self._wide(), NETWORK, "everywhere")
        if rng.random() < 0.25:
            found += self._pool(self._wide(), rng.choice(DRIVERS), rng.choice(("a-wide", "z-wide")))
        if rng.random() < 0.2:
            found += self._pool({"perDeviceNodeSelection": True}, rng.choice(DRIVERS), "mixed")
        if rng.random() < 0.15:
            found += self._spread(rng.choice(DRIVERS), "spread")
        rng.shuffle(found)
        return found

    def _wide(self) -> Raw:
        if self.rng.random() < 0.5:
            return {"allNodes": True}
        wanted = {"key": "zone", "operator": "In", "values": [self.rng.choice(ZONES)]}
        return {"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [wanted]}]}}

    def _pool(self, where: Raw, driver: str, pool: str) -> list[Raw]:
        rng = self.rng
        counted = rng.random() < self.traits.counters
        parts = rng.choice((1, 1, 2, 3))
        number = rng.choice((0, 1, 2, 2, 3, 4, 6))
        sets = self._counter_sets() if counted else []
        devices = [self._device(f"d{i}", where, sets) for i in range(number)]
        rng.shuffle(devices)
        shared = [devices[i::parts] for i in range(parts)]
        made = [self._slice(where, part, driver, pool) for part in shared]
        if sets:
            made.append(self._slice(where, [], driver, pool))
            made[-1]["spec"]["sharedCounters"] = sets
        return self._numbered(made)

    def _spread(self, driver: str, pool: str) -> list[Raw]:
        """One pool with a slice on every node."""
        made = [
            self._slice(
                {"nodeName": node}, [self._device(f"{node}-d{i}", {}, []) for i in range(self.rng.randrange(3))], driver, pool
            )
            for node in self.nodes
        ]
        return self._numbered(made)

    def _slice(self, where: Raw, devices: list[Raw], driver: str, pool: str) -> Raw:
        self.named += 1
        name = f"{self.rng.choice('abcxyz')}{self.named}"
        return build.device_slice(dict(where), *devices, driver=driver, pool=pool, name=name, slices=1)

    def _numbered(self, made: list[Raw]) -> list[Raw]:
        """The slices of one pool with their number; sometimes one is missing, of another generation, or contradicts another."""
        rng = self.rng
        for item in made:
            item["spec"]["pool"]["resourceSliceCount"] = len(made)
        if rng.random() >= self.traits.broken:
            return made
        kind = rng.randrange(7)
        victim = rng.choice(made)
        if kind == 0:
            made.remove(victim)
        elif kind == 1:
            victim["spec"]["pool"]["resourceSliceCount"] += rng.choice((-1, 1, 1))
        elif kind == 2:
            victim["spec"]["pool"]["generation"] += 1
        elif kind == 3:
            # The next generation begins to appear, perhaps elsewhere.
            newer = self._slice(
                rng.choice(({"nodeName": rng.choice(self.nodes)}, {"allNodes": True})),
                [self._device(f"new{i}", {}, []) for i in range(rng.randrange(3))],
                victim["spec"]["driver"],
                victim["spec"]["pool"]["name"],
            )
            newer["spec"]["pool"] |= {"generation": 2, "resourceSliceCount": rng.randrange(1, 3)}
            made.append(newer)
        elif kind == 4 and victim["spec"]["devices"]:
            # Never beside counters: the API refuses such a slice.
            without = [item for item in made if "sharedCounters" not in item["spec"]]
            rng.choice(without)["spec"]["devices"].append(dict(rng.choice(victim["spec"]["devices"])))
        elif kind == 5 and victim["spec"]["devices"]:
            rng.choice(victim["spec"]["devices"])["consumesCounters"] = [
                {"counterSet": rng.choice(("card-0", "nope")), "counters": {rng.choice(("memory", "nope")): {"value": "1"}}}
            ]
        else:
            victim["spec"]["devices"] = []
        return made

    def _counter_sets(self) -> list[Raw]:
        rng = self.rng
        return [
            {
                "name": f"card-{i}",
                "counters": {
                    name: {"value": str(rng.choice((2, 4, 7, 8)))} for name in ("memory", "slices") if rng.random() < 0.8
                },
            }
            for i in range(rng.randrange(1, 3))
        ]

    def _device(self, name: str, where: Mapping[str, Any], sets: list[Raw]) -> Raw:
        rng = self.rng
        fields: Raw = {}
        if where.get("perDeviceNodeSelection"):
            fields |= self._wide() if rng.random() < 0.3 else {"nodeName": rng.choice(self.nodes)}
        if sets and rng.random() < 0.8:
            chosen = rng.choice(sets)
            uses = {counter: {"value": str(rng.randrange(0, 5))} for counter in chosen["counters"] if rng.random() < 0.8}
            if uses:
                fields["consumesCounters"] = [{"counterSet": chosen["name"], "counters": uses}]
        if rng.random() < self.traits.tainted:
            fields["taints"] = [self._taint() for _ in range(rng.randrange(1, 3))]
        if rng.random() < self.traits.shared:
            fields["allowMultipleAllocations"] = True
        if rng.random() < 0.04:
            fields |= {"bindingConditions": ["ready"], "bindingFailureConditions": ["failed"]}
        product = rng.choice(self.products)
        capacity = {"memory": f"{ {'big': 80, 'mid': 40, 'small': 10}[product] }Gi"} if self._there() else {}
        return build.device(name, self._attributes(product), capacity, **fields)

    def _attributes(self, product: str) -> Raw:
        rng = self.rng
        found: Raw = {"model": product} if self._there() or rng.random() < 0.7 else {}
        if self._there():
            found["numa"] = (
                rng.randrange(2) if self.complete or rng.random() < 0.9 else rng.choice(("0", {"version": "1.0.0"}, False))
            )
        if self._there():
            odd = not self.complete and rng.random() < 0.05
            found["io/root"] = rng.choice((["r0", "r1"], ["r1"])) if odd else rng.choice(("r0", "r1", "r2"))
        if self._there():
            found["version"] = {"version": rng.choice(("1.0.0", "2.1.0"))}
        return found

    def _there(self) -> bool:
        return self.complete or self.rng.random() < 0.75

    def _taint(self) -> Raw:
        return _taint(self.rng)


def _taint(rng: random.Random) -> Raw:
    return {
        "key": rng.choice(("k1", "k2")),
        "value": rng.choice(("", "v")),
        "effect": rng.choice(("NoSchedule", "NoExecute", "None", "NoSchedule")),
    }


def _taint_rules(rng: random.Random) -> list[Raw]:
    selector = {"driver": rng.choice(DRIVERS), "pool": rng.choice(("n0", "n1")), "device": rng.choice(("d0", "d1"))}
    kept = {key: value for key, value in selector.items() if rng.random() < 0.6}
    return [build.taint_rule("rule", _taint(rng), None if rng.random() < 0.1 else kept)]


# Claims.

_DRIVER = 'device.driver == "gpu.a.io"'
_ATTRIBUTES = 'device.attributes["gpu.a.io"]'
#: Selectors that never raise an error on the devices above, and some that do where something is missing or of another type.
SAFE = (
    "true",
    'device.driver.startsWith("gpu")',
    _DRIVER,
    f'{_ATTRIBUTES}.?model.orValue("") == "big"',
    f'{_ATTRIBUTES}.?model.orValue("") != "small"',
    'device.attributes["io"].?root.orValue("") == "r0"',
    f"has({_ATTRIBUTES}.numa)",
    'device.capacity["gpu.a.io"].?memory.orValue(quantity("0")).compareTo(quantity("40Gi")) >= 0',
    "device.allowMultipleAllocations == false",
)
ERRING = (
    f'{_ATTRIBUTES}.model == "big"',
    f"{_ATTRIBUTES}.numa < 1",
    f"{_ATTRIBUTES}.numa == 0",
    f"{_DRIVER} && {_ATTRIBUTES}.numa >= 0",
    f'{_ATTRIBUTES}.version.isGreaterThan(semver("1.5.0"))',
    'device.capacity["gpu.a.io"].memory.isGreaterThan(quantity("20Gi"))',
    'device.attributes["io"].root == "r1"',
    'device.attributes["gpu.b.io"].model != "mid"',
)
_CLASSES = ("any", "gpu", "odd")


def _selector(rng: random.Random, traits: Traits) -> str:
    return rng.choice(ERRING if rng.random() < traits.erring else SAFE)


def _classes(rng: random.Random, traits: Traits) -> tuple[Raw, ...]:
    odd = [_selector(rng, traits) for _ in range(rng.randrange(1, 3))]
    if rng.random() < 0.01:
        odd.insert(rng.randrange(len(odd) + 1), "device.driver ==")
    return (
        build.device_class("any", "true"),
        build.device_class("gpu", 'device.driver.startsWith("gpu")'),
        build.device_class("odd", *odd),
    )


def _claim(rng: random.Random, traits: Traits) -> Raw:
    requests = []
    for i in range(rng.choice((1, 1, 1, 2, 2, 3))):
        if rng.random() < 0.5:
            requests.append({"name": f"r{i}", "exactly": _ask(rng, traits, listed=False)})
        else:
            listed = [{"name": f"a{j}", **_ask(rng, traits, listed=True)} for j in range(rng.randrange(1, 4))]
            requests.append({"name": f"r{i}", "firstAvailable": listed})
    constraints = [_constraint(rng, requests) for _ in range(rng.randrange(1, 3))] if rng.random() < traits.constrained else []
    return build.claim("claim", *requests, devices={"constraints": constraints})


def _ask(rng: random.Random, traits: Traits, *, listed: bool) -> Raw:
    selectors = [_selector(rng, traits) for _ in range(rng.choice((0, 1, 1, 2)))]
    if rng.random() < 0.005:
        selectors.append("device.nope == 1")
    everything = rng.random() < 0.2
    fields: Raw = {
        "deviceClassName": "missing" if rng.random() < 0.005 else rng.choice(_CLASSES),
        "selectors": [{"cel": {"expression": text}} for text in selectors],
        "allocationMode": "All" if everything else "ExactCount",
    }
    if not everything:
        fields["count"] = rng.choice((1, 1, 1, 2, 2, 3, 4, 33 if rng.random() < 0.03 else 1))
    if rng.random() < traits.tainted:
        fields["tolerations"] = [_toleration(rng) for _ in range(rng.randrange(1, 3))]
    if rng.random() < traits.capacity:
        fields["capacity"] = {"requests": {"memory": rng.choice(("5Gi", "40Gi", "100Gi"))}}
    if not listed and rng.random() < 0.02:
        fields["adminAccess"] = True
    return fields


def _toleration(rng: random.Random) -> Raw:
    exists = rng.random() < 0.5
    fields = {
        "key": rng.choice(("k1", "k2", "")),
        "operator": "Exists" if exists else "Equal",
        "value": "" if exists else rng.choice(("", "v")),
        "effect": rng.choice(("", "NoSchedule", "NoExecute")),
    }
    return {key: value for key, value in fields.items() if value}


def _constraint(rng: random.Random, requests: list[Raw]) -> Raw:
    kind = rng.choice(("matchAttribute", "matchAttribute", "distinctAttribute"))
    found: Raw = {kind: rng.choice(("gpu.a.io/numa", "io/root", "io/root", "gpu.a.io/model", "gpu.a.io/nope"))}
    names = [request["name"] for request in requests]
    names += [f"{request['name']}/{item['name']}" for request in requests for item in request.get("firstAvailable", ())]
    if rng.random() < 0.6:
        found["requests"] = rng.sample(names, rng.randrange(1, len(names) + 1))
    return found


def _allocated(rng: random.Random, slices: list[Raw]) -> list[tuple[str, str, str]]:
    share = rng.choice((0.0, 0.2, 0.5))
    return [
        (item["spec"]["driver"], item["spec"]["pool"]["name"], device["name"])
        for item in slices
        for device in item["spec"]["devices"]
        if rng.random() < share and not device.get("allowMultipleAllocations")
    ]
