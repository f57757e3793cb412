"""Devices that two mechanisms hand out: a DRA driver, and a device plugin that serves the same hardware.

Reads:    the claims and extended resources of a pod, its feasible nodes, what both sides offer and hold there, declared owners
Allows:   asks through the declared owner of a node, or through the only side that has it; nodes declared `split`
Because:  kubelet's device manager and the scheduler's allocator keep separate books: one card is given to two pods, and the
          second one fails or takes the first one's memory (ai-dynamo/dynamo#13536, NVIDIA/gpu-operator#1541)
Changes:  under `action: steer` pods get required node affinity that keeps them off such nodes (docs/device-ownership.md)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_

from webhook.fleet.nodes import NodeSet
from webhook.model.claim import Claim
from webhook.model.finding import Finding, Severity
from webhook.model.pod import Pod, Workload
from webhook.rulekit.ownership.advice import (
    addition,
    affinity_advice,
    claim_advice,
    labels_advice,
    limit_advice,
    ownership_advice,
)
from webhook.rulekit.ownership.asks import asks_of
from webhook.rulekit.ownership.conflicts import Conflicts, GroupAsks, conflicts, group_asks, sides_asked
from webhook.rulekit.ownership.places import Place, count_of, place_of_claim, place_of_resource
from webhook.rulekit.ownership.steering import MOST_NAMES, Steering, choose_steering, steering_patch
from webhook.rulekit.ownership.text import first_of, names_of, offered, with_numbers
from webhook.rulekit.policies import DeviceOwnership, NodeOwner
from webhook.rulekit.rule import Mutation, Reason, Rule
from webhook.rulekit.view import POD_CLAIM_ANNOTATION, View

DOUBLE_BOOKING = "double-booking"
MIXED = "mixed-request-styles"

_GLOB = frozenset("*?[")


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One object and one device group: what it asks, and where that conflicts."""

    view: View
    policy: DeviceOwnership
    asks: GroupAsks
    found: Conflicts

    @property
    def pod(self) -> Pod | None:
        """The pod under review, or the one that the claim under review was generated for."""
        return self.view.pod or self.view.owner_pod

    @property
    def steering(self) -> Steering | None:
        """The node affinity that keeps pods off the conflicting nodes; None when there is none, or nothing conflicts."""
        sides = sides_asked(self.asks, self.found.safe)
        return choose_steering(self.view.fleet.nodes, self.policy, self.found.nodes, self.found.safe, sides)


def check(view: View, policy: DeviceOwnership) -> Iterator[Finding]:
    """One finding per cause of a double booking, and one for a pod that asks the group in both ways."""
    case = case_of(view, policy)
    if case is None:
        return
    yield from _double_bookings(case)
    if view.pod is not None and case.asks.mixed:
        yield _mixed(case)


def steer(view: View, policy: DeviceOwnership) -> Mutation:
    """Required node affinity that keeps a pod off conflicting nodes, where the policy wants that and a safe node is left."""
    if policy.action != "steer" or not isinstance(view.subject, Pod):
        return Mutation()
    case = case_of(view, policy)
    if case is None:
        return Mutation()
    steering = case.steering
    if steering is None:
        return Mutation()
    ops = steering_patch(view.review.object, steering, policy.header.label)
    return Mutation(ops=ops, findings=tuple(_as_note(steering, finding) for finding in _double_bookings(case)))


def case_of(view: View, policy: DeviceOwnership) -> Case | None:
    """The object under review as a case of the policy; None when it asks nothing of the group."""
    asks = group_asks(asks_of(view), policy)
    if asks is None:
        return None
    found = conflicts(view.fleet, policy, asks, view.feasible)
    if isinstance(view.subject, Claim):
        found = _of_claims(found, reduce(or_, (claim.takes(policy.driver) for claim in asks.claims), 0))
    return Case(view, policy, asks, found)


def _of_claims(found: Conflicts, nodes: NodeSet) -> Conflicts:
    """The conflicts of a claim alone, which asks on `nodes`: what its pod asks besides was judged with the pod."""
    return replace(
        found,
        both_ways=found.both_ways & nodes,
        dra_on_plugins=found.dra_on_plugins & nodes,
        plugin_on_dras=0,
        dra_on_both=found.dra_on_both & nodes,
        plugin_on_both=0,
    )


def _double_bookings(case: Case) -> Iterator[Finding]:
    """One finding for each cause there is."""
    found, driver = case.found, case.policy.driver
    if found.both_ways:
        plugin, place = _plugin_place(case, found.both_ways), _dra_place(case, found.both_ways)
        saying = f"{place.text} and {plugin.text} may be given the same device, one by DRA and one by the device plugin"
        yield _double_booking(case, found.both_ways, place, saying, _one_way_only(case))
    if found.dra_on_plugins:
        place = _dra_place(case, found.dra_on_plugins)
        saying = f"{place.text} may be given devices of {driver} where the device plugin owns them"
        yield _double_booking(case, found.dra_on_plugins, place, saying, _by_limit(case))
    if found.plugin_on_dras:
        place = _plugin_place(case, found.plugin_on_dras)
        saying = f"{place.text} may be served by the device plugin where DRA owns the devices"
        yield _double_booking(case, found.plugin_on_dras, place, saying, _by_claim(case))
    if found.dra_on_both:
        place = _dra_place(case, found.dra_on_both)
        saying = f"{place.text} may be given devices of {driver} that the device plugin has too"
        yield _double_booking(case, found.dra_on_both, place, saying, _by_owner(case, found.dra_on_both, "dra"))
    if found.plugin_on_both:
        place = _plugin_place(case, found.plugin_on_both)
        saying = f"{place.text} may be given devices that DRA has too"
        yield _double_booking(case, found.plugin_on_both, place, saying, _by_owner(case, found.plugin_on_both, "device-plugin"))


def _double_booking(case: Case, nodes: NodeSet, place: Place, saying: str, without_safe_node: str) -> Finding:
    return Finding(
        rule=RULE.id,
        reason=DOUBLE_BOOKING,
        severity=_severity(case),
        headline=_headline(case.view),
        path=place.path,
        via=place.via,
        place=place.place,
        detail=f"{saying}: {with_numbers(case.view.fleet, case.policy, nodes)}",
        remedy=_remedy(case, without_safe_node),
    )


def _severity(case: Case) -> Severity:
    """Nothing but a pod, and a claim that was generated for one, is refused: what else there is may never meet a node."""
    if case.policy.action == "warn" or isinstance(case.view.subject, Workload) or case.pod is None:
        return "warn"
    return "deny"


def _as_note(steering: Steering, finding: Finding) -> Finding:
    return replace(finding, severity="note", detail=f"kept off by node affinity: {finding.detail}", remedy=addition(steering))


def _headline(view: View) -> str:
    name = f'"{view.meta.display_name}"'
    what = {"Pod": f"pod {name}", "ResourceClaim": f"claim {name}"}.get(view.kind, f"pods of {view.review.kind} {name}")
    return f"{what} may be given devices that somebody else hands out too"


def _dra_place(case: Case, nodes: NodeSet) -> Place:
    """The first ask that DRA would serve on `nodes`: of the claims, else of the extended resources."""
    driver = case.policy.driver
    for claim in case.asks.claims:
        if claim.takes(driver) & nodes:
            return place_of_claim(claim, driver, nodes)
    return place_of_resource(next(ask for ask in case.asks.bridged if ask.takes(driver) & nodes))


def _plugin_place(case: Case, nodes: NodeSet) -> Place:
    """The first ask that the device plugin would serve on `nodes`."""
    return place_of_resource(next(ask for ask in case.asks.listed if (ask.served.plugin | ask.served.starved) & nodes))


def _remedy(case: Case, without_safe_node: str) -> str:
    """What to do; `without_safe_node` when no affinity helps."""
    pod = case.pod
    if pod is not None and pod.node_name:
        names = names_of(case.view.fleet, case.found.nodes)
        return f"remove nodeName, which goes past the scheduler: a pod with it cannot be kept off {names}"
    steering = case.steering
    if steering is not None:
        return _by_affinity(case, steering)
    if case.found.safe:
        return labels_advice(case.policy, case.found.nodes.bit_count(), MOST_NAMES)
    return without_safe_node


def _by_affinity(case: Case, steering: Steering) -> str:
    """What to do when a node affinity helps, by what is under review and who can write it there."""
    view, steered = case.view, case.policy.action == "steer"
    has_terms = case.pod is not None and bool(case.pod.required_terms)
    if isinstance(view.subject, Pod):
        why = "the affinity that the mutating webhook adds is not there" if steered else "keep it off these nodes"
        return f"{why}; {affinity_advice(steering, 'its', has_terms=has_terms)}"
    if isinstance(view.subject, Workload):
        # The pods of a DaemonSet are bound to one node each: there is nothing to steer.
        if steered and view.subject.kind != "DaemonSet":
            return "its pods are kept off these nodes when they are created"
        advice = affinity_advice(steering, "the pod template's", has_terms=has_terms)
        return f"keep its pods off these nodes; {advice}"
    if case.pod is not None:
        again = f'delete pod "{case.pod.meta.name}": a new one'
        if steered:
            return f"{again} is kept off these nodes when it is created"
        return f"{again} must be kept off these nodes; {affinity_advice(steering, 'its', has_terms=has_terms)}"
    if steered:
        return "pods that use it are kept off these nodes when they are created"
    return f"keep the pods that use it off these nodes; {affinity_advice(steering, 'their', has_terms=False)}"


def _one_way_only(case: Case) -> str:
    resources = [f"{name} out of the containers' limits" for name in _resources(case)]
    ways = [resources[0], f"claim {_claim_name(case)} out of the pod" if case.asks.claims else resources[-1]]
    return f"ask one way only: take {ways[0]}, or {ways[1]}"


def _resources(case: Case) -> tuple[str, ...]:
    return tuple(dict.fromkeys(ask.resource for ask in (*case.asks.listed, *case.asks.bridged)))


def _claim_name(case: Case) -> str:
    source, meta = case.asks.claims[0].source, case.view.meta
    name = source.entry.name if source is not None else meta.annotations.get(POD_CLAIM_ANNOTATION, meta.display_name)
    return f'"{name}"'


def _by_limit(case: Case) -> str:
    """Where the device plugin owns the nodes, a limit is the way to ask: of a resource that these nodes offer."""
    if not case.asks.claims:
        # A limit is what the pod has: the plugin offers nothing at the moment, and a class would step in.
        return _by_owner(case, case.found.dra_on_plugins, "dra")
    policy, shown = case.policy, first_of(case.view.fleet, case.found.dra_on_plugins)
    offers = [resource for node in shown for resource in offered(policy, node)]
    names = [*offers, *(name for name in policy.extended_resources if not _GLOB.intersection(name)), *policy.extended_resources]
    return limit_advice(names[0], max(count_of(claim) for claim in case.asks.claims) or 1)


def _by_claim(case: Case) -> str:
    """Where DRA owns the nodes, a claim is the way to ask; of a class that has devices of the group's driver."""
    inventory, driver = case.view.fleet.inventory, case.policy.driver
    fitting = [name for name in sorted(inventory.classes) if driver in inventory.drivers_of_class(name)]
    device_class = driver if driver in fitting or not fitting else fitting[0]
    return claim_advice(device_class, case.asks.listed[0].units)


def _by_owner(case: Case, nodes: NodeSet, side: NodeOwner) -> str:
    return ownership_advice(case.view.fleet, case.policy, nodes, side)


def _mixed(case: Case) -> Finding:
    """A pod that asks for devices of the group both by claim and as an extended resource."""
    resource = (*case.asks.listed, *case.asks.bridged)[0]
    asked, claim = place_of_resource(resource), case.asks.claims[0]
    saying = f"{asked.text} is asked beside claim {_claim_name(case)}"
    if case.found.both_ways:
        outcome = f"both may be given the same device on {names_of(case.view.fleet, case.found.both_ways)}"
    else:
        number = count_of(claim)
        outcome = (
            f"where DRA serves both, the pod takes {f'{number + resource.units} devices' if number else 'devices for each'}"
        )
    return Finding(
        rule=RULE.id,
        reason=MIXED,
        severity=_severity(case) if case.found.both_ways else "warn",
        headline=_headline(case.view),
        path=asked.path,
        detail=f"{saying}: {outcome}",
        remedy=_one_way_only(case),
    )


RULE = Rule(
    id="device-ownership",
    policy_kind="DeviceOwnership",
    subjects=frozenset({"Pod", "Workload", "ResourceClaim"}),
    alike_for_pods=True,
    reasons=(
        Reason(id=DOUBLE_BOOKING, severity="deny", summary="devices may be given out by DRA and by a device plugin at once"),
        Reason(id=MIXED, severity="warn", summary="a pod asks for the same hardware by claim and as an extended resource"),
    ),
    check=check,
    mutate=steer,
    changes_for=DOUBLE_BOOKING,
)
