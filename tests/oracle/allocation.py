"""What the allocator does with a case beside what Fallgate says of it: shapes, and CEL errors that are certain.

A comparison consists of questions for the oracle and a judgement of its answers, so that it can be made live and from a record.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, islice, product
from typing import Any

from tests.oracle.fleets import Case
from webhook.fleet.build import build_fleet
from webhook.fleet.fleet import Fleet
from webhook.model.claim import ALL, Alternative, Claim, Request
from webhook.model.claim_reading import read_claim
from webhook.model.device import Device, DeviceTaint
from webhook.model.server_version import Server
from webhook.rulekit.policies import PolicySet
from webhook.rulekit.shapes.catalog import catalog_for
from webhook.rulekit.shapes.certainty import error_is_certain
from webhook.rulekit.shapes.possible import alternative_shapes, usable_pools
from webhook.rulekit.shapes.shape import EVERY, AlternativeShapes, Shape, shape_of_models

Raw = dict[str, Any]
Answer = Mapping[str, Any]

#: The version whose scheduler the oracle is.
SERVER = Server(version=(1, 37))
POLICIES = PolicySet()
#: What is left to chance in a shape that is looked for: so many sets of devices are tried.
_MOST_TRIES = 40
_MOST_SHAPES = 6
_MOST_COMBINED = 2000


@dataclass(frozen=True, slots=True)
class World:
    """A case as Fallgate sees it."""

    case: Case
    fleet: Fleet
    claim: Claim

    def shapes(self, request: Request, alternative: Alternative, node: str = "") -> AlternativeShapes:
        """What Fallgate lists for an alternative, on all nodes or on one."""
        nodes = self.fleet.nodes.named((node,)) if node else self.fleet.nodes.all
        return alternative_shapes(self.fleet, POLICIES, self.claim.spec, request, alternative, nodes)


def world_of(case: Case) -> World:
    """The case read."""
    return World(case, build_fleet(case.objects, server=SERVER), read_claim(case.claim))


def question(case: Case, *, idle: bool) -> Raw:
    """The question for every node by itself; `idle`: nobody holds devices."""
    held = () if idle else case.allocated
    return _asked(case, _tainted(case), [case.claim], [node["metadata"]["name"] for node in case.nodes], held)


def _asked(
    case: Case, slices: Iterable[Raw], claims: list[Raw], nodes: Iterable[str], held: Iterable[tuple[str, str, str]]
) -> Raw:
    wanted = set(nodes)
    return {
        "allocate": {
            "nodes": [node for node in case.nodes if node["metadata"]["name"] in wanted],
            "slices": list(slices),
            "classes": list(case.classes),
            "claims": claims,
            "allocated": [{"driver": driver, "pool": pool, "device": device} for driver, pool, device in held],
        }
    }


def _tainted(case: Case) -> Iterator[Raw]:
    """The slices with the taints that rules add, as the scheduler sees them."""
    for item in case.slices:
        devices = [_with_rules(device, item["spec"], case.taint_rules) for device in item["spec"]["devices"]]
        yield {**item, "spec": {**item["spec"], "devices": devices}}


def _with_rules(device: Raw, spec: Raw, rules: Iterable[Raw]) -> Raw:
    taints = list(device.get("taints", ()))
    for rule in rules:
        selector = rule["spec"].get("deviceSelector")
        named = {"driver": spec["driver"], "pool": spec["pool"]["name"], "device": device["name"]}
        if selector is not None and all(named[key] == value for key, value in selector.items()):
            taints.append(rule["spec"]["taint"])
    return {**device, "taints": taints} if taints else device


# Soundness: whatever is handed out was listed.


def unsound(world: World, answer: Answer) -> Iterator[str]:
    """What the allocator handed out that Fallgate had not listed, for all nodes or for that node."""
    for node in answer["nodes"]:
        given: dict[str, list[str]] = {}
        for result in node.get("results", ()):
            if not result.get("adminAccess"):
                given.setdefault(result["request"], []).append(_model(world, node["node"], result))
        for name, models in given.items():
            request, alternative = _asked_for(world.claim, name)
            shape = _shape(alternative, models)
            for where in ("", node["node"]):
                listed = world.shapes(request, alternative, where)
                if shape not in listed.shapes and "different shapes" not in listed.uncertain:
                    yield f"{name} was given {shape} on {node['node']}; listed for {where or 'all nodes'}: {_words(listed)}"
                if shape in dict(listed.unreachable):
                    yield f"{name} was given {shape} on {node['node']}, said to be unreachable on {where or 'all nodes'}"


def unreachable_shapes(world: World) -> int:
    """How many shapes Fallgate says to be unreachable for the alternatives of the claim."""
    alternatives = [(request, item) for request in world.claim.spec.requests for item in request.alternatives]
    return sum(len(world.shapes(*alternative).unreachable) for alternative in alternatives)


def _words(listed: AlternativeShapes) -> str:
    return f"{', '.join(map(str, listed.shapes)) or 'nothing'} ({listed.uncertain})"


def _shape(alternative: Alternative, models: list[str]) -> Shape:
    shape = shape_of_models(models)
    return Shape(tuple((model, EVERY) for model, _ in shape.parts)) if alternative.allocation_mode == ALL else shape


def _asked_for(claim: Claim, name: str) -> tuple[Request, Alternative]:
    main, _, sub = name.partition("/")
    request = next(request for request in claim.spec.requests if request.name == main)
    return request, next(item for item in request.alternatives if item.name == sub)


def _model(world: World, node: str, result: Raw) -> str:
    """The model of a device that was handed out, found in the raw slices: the newest that this node sees."""
    seen = [
        (item["spec"]["pool"]["generation"], device)
        for item in world.case.slices
        if (item["spec"]["driver"], item["spec"]["pool"]["name"]) == (result["driver"], result["pool"])
        for device in item["spec"]["devices"]
        if device["name"] == result["device"] and _reaches(world.case, item["spec"], device, node)
    ]
    _, device = max(seen, key=lambda item: item[0])
    return f"?{result['driver']}/{device.get('attributes', {}).get('model', {}).get('string', 'unknown')}"


def _reaches(case: Case, spec: Raw, device: Raw, node: str) -> bool:
    where = device if spec.get("perDeviceNodeSelection") else spec
    if "nodeSelector" in where:
        zone = next(item["metadata"]["labels"]["zone"] for item in case.nodes if item["metadata"]["name"] == node)
        wanted = where["nodeSelector"]["nodeSelectorTerms"][0]["matchExpressions"][0]["values"]
        return zone in wanted
    return bool(where.get("allNodes")) or where.get("nodeName") == node


# Certain errors.


def certainty_differs(world: World, answer: Answer, nodes: Iterable[str]) -> str:
    """ "" when Fallgate calls an error certain exactly when no node of an idle cluster gets past one; else what differs."""
    wanted = set(nodes)
    found = [node for node in answer["nodes"] if node["node"] in wanted]
    expected = any(node.get("cel") for node in found) and not any("results" in node for node in found)
    actual = error_is_certain(world.fleet, world.claim.spec, world.fleet.nodes.named(wanted))
    if actual == expected or (expected and _left_open(world)):
        return expected, ""
    return expected, f"certain on {', '.join(sorted(wanted))}: judge {expected}, ours {actual}; {found}"


def _left_open(world: World) -> bool:
    """Whether Fallgate may leave it open: see docs/parity.md."""
    shared = any(device.get("allowMultipleAllocations") for item in world.case.slices for device in item["spec"]["devices"])
    capacity = any(item.capacity for request in world.claim.spec.requests for item in request.alternatives)
    return _unsettled(world.case) or shared or capacity


def _unsettled(case: Case) -> bool:
    """Whether slices of one generation contradict each other on their number: then the order in which they came decides."""
    counts: dict[tuple[str, str, int], set[int]] = {}
    for item in case.slices:
        pool = item["spec"]["pool"]
        counts.setdefault((item["spec"]["driver"], pool["name"], pool["generation"]), set()).add(pool["resourceSliceCount"])
    return any(len(numbers) > 1 for numbers in counts.values())


# Reachability: a shape that is listed for an unconstrained request can be had.


def unconstrained_shapes(world: World) -> dict[str, tuple[Shape, ...]]:
    """The shapes listed for each alternative (by its pointer) that nothing but the devices limits."""
    if world.claim.spec.constraints or any(_keeps_off(world)) or _unsettled(world.case):
        return {}
    found = {}
    for request in world.claim.spec.requests:
        for alternative in request.alternatives:
            listed = world.shapes(request, alternative)
            if not (listed.errors or listed.by_example or alternative.admin_access):
                found[alternative.pointer] = listed.shapes
    return found


def reachable_questions(world: World, rng: random.Random, most_shapes: int = _MOST_SHAPES) -> Iterator[tuple[str, Raw, Shape]]:
    """For some listed shapes of unconstrained requests: the alternative's pointer, a question, the shape.

    Only the devices in question can be had on a node. Of the questions with one shape one has to be answered with it.
    """
    alternatives = {item.pointer: item for request in world.claim.spec.requests for item in request.alternatives}
    for pointer, shapes in unconstrained_shapes(world).items():
        for shape in rng.sample(shapes, min(most_shapes, len(shapes))):
            for asked in islice(_only(world, alternatives[pointer], shape, rng), _MOST_TRIES):
                yield pointer, asked, shape


def _keeps_off(world: World) -> Iterator[DeviceTaint | bool]:
    for pool in world.fleet.inventory.pools:
        for item in pool.slices:
            for device in item.devices:
                yield from device.taints
                yield device.sharable and bool(device.consumes)
    yield bool(world.fleet.taint_rules)


def _devices_on(world: World, alternative: Alternative, node: str) -> Iterator[tuple[str, Device]]:
    """What an alternative may be given on a node, with the models."""
    fleet, catalog = world.fleet, catalog_for(POLICIES)
    for found, members in usable_pools(fleet, alternative, fleet.nodes.named((node,))):
        models = catalog.models_in(found.pool, fleet.inventory)
        yield from ((models[item.name], item) for item in found.matched if fleet.nodes.reached(item.reach) & members)


def _only(world: World, alternative: Alternative, shape: Shape, rng: random.Random) -> Iterator[Raw]:
    """Questions in which a node has just the devices that make the shape."""
    raw = _raw_alternative(world.case.claim, alternative.name, alternative.pointer)
    claim = {**world.case.claim, "spec": {"devices": {"requests": [{"name": "only", "exactly": raw}]}}}
    nodes = [node["metadata"]["name"] for node in world.case.nodes]
    for node in rng.sample(nodes, len(nodes)):
        by_model: dict[str, list[tuple[str, str, str]]] = {}
        for model, device in _devices_on(world, alternative, node):
            if all(f"{device.driver}/{name}" in device.capacity for name in alternative.capacity):
                by_model.setdefault(model, []).append(device.key)
        if shape.every:
            yield _asked(world.case, world.case.slices, [claim], [node], ())
            continue
        ways = [_subsets(by_model.get(model, []), count, rng) for model, count in shape.parts]
        for chosen in islice(product(*ways), _MOST_COMBINED):
            kept = {device for part in chosen for device in part}
            if len(kept) == shape.count and _affordable(world.case, kept):
                yield _asked(world.case, list(_without_others(world.case, kept)), [claim], [node], ())


def _subsets(devices: list[tuple[str, str, str]], count: int, rng: random.Random) -> list[tuple[tuple[str, str, str], ...]]:
    return list(islice(combinations(rng.sample(devices, len(devices)), count), _MOST_COMBINED))


def _affordable(case: Case, kept: set[tuple[str, str, str]]) -> bool:
    """Whether the counters could pay for these devices: saves questions, decides nothing."""
    left: Counter[tuple[str, str, str, str]] = Counter()
    for item in case.slices:
        pool = (item["spec"]["driver"], item["spec"]["pool"]["name"])
        for counters in item["spec"].get("sharedCounters", ()):
            left.update({(*pool, counters["name"], name): int(held["value"]) for name, held in counters["counters"].items()})
        for device in item["spec"]["devices"]:
            if (*pool, device["name"]) in kept:
                for use in device.get("consumesCounters", ()):
                    left.subtract(
                        {(*pool, use["counterSet"], name): int(held["value"]) for name, held in use["counters"].items()}
                    )
    return all(amount >= 0 for amount in left.values())


def _without_others(case: Case, kept: set[tuple[str, str, str]]) -> Iterator[Raw]:
    """The slices with all other devices tainted: taken out, they would change who sees which slice."""
    taken = {"taints": [{"key": "taken", "effect": "NoSchedule"}]}
    for item in case.slices:
        spec = item["spec"]
        pool = (spec["driver"], spec["pool"]["name"])
        devices = [one if (*pool, one["name"]) in kept else one | taken for one in spec["devices"]]
        yield {**item, "spec": {**spec, "devices": devices}}


def _raw_alternative(claim: Raw, name: str, pointer: str) -> Raw:
    where: Any = claim
    for step in pointer.strip("/").split("/"):
        where = where[int(step)] if isinstance(where, list) else where[step]
    return {key: value for key, value in where.items() if key not in ("name", "tolerations")}


def handed_out(world: World, answer: Answer, shape: Shape) -> bool:
    """Whether the answer to a question of `reachable_questions` is that shape."""
    for node in answer["nodes"]:
        models = [_model(world, node["node"], result) for result in node.get("results", ())]
        found = shape_of_models(models)
        if shape.every:
            found = Shape(tuple((model, EVERY) for model, _ in found.parts))
        if models and found == shape:
            return True
    return False


def gave_up(answer: Answer) -> bool:
    """Whether the allocator took too long: then it has said nothing."""
    return any("operation aborted" in node.get("error", "") for node in answer["nodes"])


def count_nodes(answer: Answer, counts: Counter[str]) -> None:
    """Counts what the oracle said, node by node."""
    for node in answer["nodes"]:
        kind = "results" if "results" in node else "CEL error" if node.get("cel") else "error" if "error" in node else "no fit"
        counts[f"nodes: {kind}"] += 1
