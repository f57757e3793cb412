"""Keeping a pod off nodes: which required node affinity does it, and the JSON patch that adds it.

By the owner's node labels where the policy names some, because that also fits nodes that do not exist yet; by node names where
it does not. What is added goes into every node selector term (terms are ORed), nothing is ever taken away.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from webhook.fleet.nodes import Nodes, NodeSet
from webhook.model.finding import PatchOp
from webhook.model.labels import LabelExpression, LabelOperator, LabelSelector
from webhook.model.pointer import join
from webhook.model.tolerant import at, mapping, sequence
from webhook.rulekit.policies import DeviceOwnership, NodeOwner

#: Nodes that an affinity may name: each takes an entry of its own (matchFields allows one value), in every term.
MOST_NAMES: Final = 16
#: Says on a pod what was added, and by which policies.
STEERED_ANNOTATION: Final = "fallgate.dev/steered"

_NODE_AFFINITY = "/spec/affinity/nodeAffinity"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_TERMS = f"{_NODE_AFFINITY}/{_REQUIRED}/nodeSelectorTerms"
_OPPOSITE: dict[LabelOperator, LabelOperator] = {
    "In": "NotIn",
    "NotIn": "In",
    "Exists": "DoesNotExist",
    "DoesNotExist": "Exists",
}


@dataclass(frozen=True, slots=True)
class Steering:
    """What a node selector term gets added: label requirements, and names of nodes to keep off. All of it must hold."""

    labels: tuple[LabelExpression, ...] = ()
    names: tuple[str, ...] = ()

    def admits(self, nodes: Nodes) -> NodeSet:
        """The nodes that it lets a pod on."""
        return nodes.selected(LabelSelector(match_expressions=self.labels)) & ~nodes.named(self.names)

    def requirements(self) -> dict[str, list[dict[str, Any]]]:
        """The additions as a node selector term."""
        fields = [{"key": "metadata.name", "operator": "NotIn", "values": [name]} for name in self.names]
        term = {"matchExpressions": [_requirement(label) for label in self.labels], "matchFields": fields}
        return {key: entries for key, entries in term.items() if entries}


def _requirement(label: LabelExpression) -> dict[str, Any]:
    values = {"values": list(label.values)} if label.operator in ("In", "NotIn") else {}
    return {"key": label.key, "operator": label.operator, **values}


def choose_steering(
    nodes: Nodes, policy: DeviceOwnership, conflicting: NodeSet, safe: NodeSet, sides: frozenset[NodeOwner]
) -> Steering | None:
    """The affinity that keeps a pod off `conflicting` nodes (there are some) and leaves it as many `safe` ones as can be.

    `sides` are those through which the pod asks on the safe nodes. In order: only nodes of its own side's owners, by label; not
    those of the other side's, by label; the same and nodes by name; nodes by name alone. The first that costs no safe node
    wins, else the first that leaves one. None when there is none: no safe node, or too many to name.
    """
    if not safe:
        return None
    usable = []
    for steering in _candidates(nodes, policy, conflicting, sides):
        admitted = steering.admits(nodes)
        if not admitted & conflicting and admitted & safe:
            usable.append((steering, safe & ~admitted))
    without_loss = (steering for steering, lost in usable if not lost)
    return next(without_loss, usable[0][0] if usable else None)


def _candidates(nodes: Nodes, policy: DeviceOwnership, conflicting: NodeSet, sides: frozenset[NodeOwner]) -> Iterator[Steering]:
    others = Steering(_labels_against_other_side(policy, sides))
    yield Steering(_labels_of_own_side(policy, sides))
    yield others
    yield from _by_name(nodes, others.labels, conflicting & others.admits(nodes))
    yield from _by_name(nodes, (), conflicting)


def _by_name(nodes: Nodes, labels: tuple[LabelExpression, ...], avoided: NodeSet) -> Iterator[Steering]:
    if avoided.bit_count() <= MOST_NAMES:
        yield Steering(labels, tuple(node.name for node in nodes.members(avoided)))


def _labels_of_own_side(policy: DeviceOwnership, sides: frozenset[NodeOwner]) -> tuple[LabelExpression, ...]:
    """What the labels of the sides' own and of split nodes have in common, () when they cannot be said in one term."""
    if policy.default in sides:
        return ()
    own = [_expressions(entry.node_selector) for entry in policy.owners if entry.owner in sides]
    return _merged(
        [*own, *(_expressions(entry.node_selector) for entry in policy.owners if entry.owner == "split")]
    ) or _merged(own)


def _labels_against_other_side(policy: DeviceOwnership, sides: frozenset[NodeOwner]) -> tuple[LabelExpression, ...]:
    """The opposite of the other side's labels. An entry with several labels has no opposite that fits one term."""
    others = [_expressions(entry.node_selector) for entry in policy.owners if entry.owner not in {*sides, "split"}]
    opposites = [LabelExpression(key=one.key, operator=_OPPOSITE[one.operator], values=one.values) for [one] in _single(others)]
    excluded: dict[str, dict[str, None]] = {}
    for opposite in opposites:
        if opposite.operator == "NotIn":
            excluded.setdefault(opposite.key, {}).update(dict.fromkeys(opposite.values))
    together = [LabelExpression(key=key, operator="NotIn", values=tuple(values)) for key, values in excluded.items()]
    return (*together, *(opposite for opposite in opposites if opposite.operator != "NotIn"))


def _single(entries: Iterable[tuple[LabelExpression, ...]]) -> Iterator[tuple[LabelExpression, ...]]:
    return (entry for entry in entries if len(entry) == 1)


def _expressions(selector: LabelSelector) -> tuple[LabelExpression, ...]:
    labels = (LabelExpression(key=key, operator="In", values=(value,)) for key, value in selector.match_labels.items())
    return (*labels, *selector.match_expressions)


def _merged(entries: list[tuple[LabelExpression, ...]]) -> tuple[LabelExpression, ...]:
    """One requirement that any of the entries fulfils: possible when each has one label, all the same key. () when not."""
    if len(entries) == 1:
        return entries[0]
    ones = [entry[0] for entry in _single(entries)]
    if not ones or len(ones) < len(entries) or any((one.key, one.operator) != (ones[0].key, "In") for one in ones):
        return ()
    values = dict.fromkeys(value for one in ones for value in one.values)
    return (LabelExpression(key=ones[0].key, operator="In", values=tuple(values)),)


def steering_patch(raw: Any, steering: Steering, policy: str) -> tuple[PatchOp, ...]:
    """The operations that add `steering` to a raw Pod, and the annotation that says so. () when it is all there already.

    `policy` is `name@hash`. A term without requirements matches no node and is left alone: with one it would match many.
    """
    ops = (*_affinity_ops(raw, steering.requirements()),)
    return (*ops, _annotation_op(raw, steering, policy)) if ops else ()


def _affinity_ops(raw: Any, added: dict[str, list[dict[str, Any]]]) -> Iterator[PatchOp]:
    terms = sequence(at(raw, _TERMS))
    if not terms:
        yield _structure(raw, {_REQUIRED: {"nodeSelectorTerms": [added]}})
        return
    for i, term in enumerate(map(mapping, terms)):
        if term.get("matchExpressions") or term.get("matchFields"):
            for key, entries in added.items():
                yield from _term_ops(join(_TERMS, i, key), sequence(term.get(key)), entries)


def _structure(raw: Any, required: dict[str, Any]) -> PatchOp:
    """One operation that makes what is missing above the terms."""
    if not isinstance(at(raw, "/spec/affinity"), dict):
        return {"op": "add", "path": "/spec/affinity", "value": {"nodeAffinity": required}}
    if not isinstance(at(raw, _NODE_AFFINITY), dict):
        return {"op": "add", "path": _NODE_AFFINITY, "value": required}
    if not isinstance(at(raw, f"{_NODE_AFFINITY}/{_REQUIRED}"), dict):
        return {"op": "add", "path": f"{_NODE_AFFINITY}/{_REQUIRED}", "value": required[_REQUIRED]}
    return {"op": "add", "path": _TERMS, "value": required[_REQUIRED]["nodeSelectorTerms"]}


def _term_ops(path: str, present: Iterable[Any], entries: list[dict[str, Any]]) -> Iterator[PatchOp]:
    if not present:
        yield {"op": "add", "path": path, "value": entries}
        return
    for entry in entries:
        if entry not in present:
            yield {"op": "add", "path": f"{path}/-", "value": entry}


def _annotation_op(raw: Any, steering: Steering, policy: str) -> PatchOp:
    annotations = at(raw, "/metadata/annotations")
    earlier = _steerings(mapping(annotations).get(STEERED_ANNOTATION))
    value = json.dumps([*earlier, {"policy": policy, "added": steering.requirements()}], separators=(",", ":"))
    if isinstance(annotations, dict):
        return {"op": "add", "path": join("/metadata/annotations", STEERED_ANNOTATION), "value": value}
    if isinstance(at(raw, "/metadata"), dict):
        return {"op": "add", "path": "/metadata/annotations", "value": {STEERED_ANNOTATION: value}}
    return {"op": "add", "path": "/metadata", "value": {"annotations": {STEERED_ANNOTATION: value}}}


def _steerings(annotation: object) -> list[Any]:
    """What the annotation said before: a pod can be steered by several policies, one after the other."""
    try:
        found = json.loads(annotation) if isinstance(annotation, str) else []
    except (ValueError, RecursionError):
        return []
    return found if isinstance(found, list) else []
