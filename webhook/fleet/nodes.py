"""Nodes by name and as bit sets, and which of them a pod can be placed on.

A NodeSet is an int with one bit for each node (webhook.fleet.bits): it means something only together with its Nodes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import TypeAlias, TypeVar

from webhook.fleet.bits import BitNames, BitSet
from webhook.fleet.memo import Memo, remembered
from webhook.fleet.node_names import NodeNames
from webhook.fleet.node_selection import (
    Requirement,
    Term,
    keeps_pods_off,
    read_integer,
    read_node_selector,
    read_terms,
    tolerated,
)
from webhook.fleet.sharded import changed_map
from webhook.model.cluster import Node, NodeTaint
from webhook.model.device import Reach
from webhook.model.labels import LabelSelector
from webhook.model.meta import Meta
from webhook.model.pod import NodeToleration, Pod

NodeSet: TypeAlias = BitSet

#: A label's values, each with the nodes that have it.
_ByValue: TypeAlias = Mapping[str, NodeSet]
_NO_VALUES: _ByValue = {}
_Mark = TypeVar("_Mark", str, NodeTaint)

#: Made anew, rather than changed in place, when more than 1 in 8 nodes changed.
_FEW = 8


class Nodes:
    """All nodes: those with a Node object, and those that only a slice names (no labels, no taints).

    `names` is sorted, `all` is the set of all, `memo` is for what is derived from these nodes (use `memo.remembered`).
    A node keeps its bit from one snapshot to the next (`changed`); bits of nodes that are gone are given out again.
    """

    def __init__(self, nodes: Iterable[Node], named_by_slices: Iterable[str] = ()) -> None:
        known = {node.name: node for node in nodes if node.name}
        bare = [name for name in named_by_slices if name not in known]
        known.update((name, bare_node(name)) for name in bare)
        self.names: tuple[str, ...] = tuple(sorted(known))
        self.all: NodeSet = (1 << len(self.names)) - 1
        self.by_name: Mapping[str, Node] = {name: known[name] for name in self.names}
        self.memo: Memo = {}
        self._bare = frozenset(bare)
        self._bits = BitNames(self.names)
        self._label_keys = frozenset(key for node in known.values() for key in node.meta.labels)
        self._labels: dict[str, _ByValue] = {}
        self._tainted: Mapping[NodeTaint, NodeSet] = self._group(
            (taint, i) for i, node in enumerate(self.by_name.values()) for taint in node.taints if keeps_pods_off(taint)
        )

    def changed(self, nodes: Mapping[str, Node | None], touched: Iterable[str], named: Container[str]) -> Nodes:
        """These nodes after events; itself when nothing is different.

        `nodes` are Node objects that are there now, or gone (None). `touched` are names that slices have begun or ceased to
        say, `named` all names that slices say now.
        """
        wanted: dict[str, Node | None] = {}
        bare = set(self._bare)
        for name in (*nodes, *touched):
            node = nodes.get(name)
            if node is None and name not in nodes and name in self.by_name and name not in self._bare:
                continue
            bare.discard(name)
            if node is None and name in named:
                node = bare_node(name)
                bare.add(name)
            if node != self.by_name.get(name) or (name in bare) != (name in self._bare):
                wanted[name] = node
        return self._with(wanted, frozenset(bare)) if wanted else self

    def index(self, name: str) -> int:
        """The bit of a node, -1 when there is no such node."""
        return self._bits.of(name)

    def named(self, names: Iterable[str]) -> NodeSet:
        """The set of the nodes with these names; unknown names are passed over."""
        return self._bits.set_of(names)

    def counted(self, names: NodeNames) -> NodeSet:
        """The set of the nodes with these names; remembered with the names, also by the copies of them that events make."""
        return names.bits(self._bits)

    def members(self, nodes: NodeSet) -> Iterator[Node]:
        """The nodes of a set, in the order of their names."""
        for name in self._bits.members(nodes):
            yield self.by_name[name]

    def feasible(self, pod: Pod) -> NodeSet:
        """The nodes left by nodeName, nodeSelector, required node affinity and untolerated administrators' taints.

        A pod that names its node goes past the scheduler: then the kubelet minds NoExecute taints only.
        """
        terms = None if pod.required_terms is None else read_terms(pod.required_terms)
        selector = tuple(pod.node_selector.items())
        key = ("feasible", pod.node_name, selector, terms, pod.tolerations)
        return remembered(self.memo, key, lambda: self._place(pod.node_name, selector, terms, pod.tolerations))

    def reached(self, reach: Reach) -> NodeSet:
        """The nodes from which a device of that reach can be used (k8s.io/dynamic-resource-allocation NodeMatches)."""
        if reach.node_name:
            bit = self.index(reach.node_name)
            return 1 << bit if bit >= 0 else 0
        if reach.all_nodes:
            return self.all
        if reach.node_selector is None:
            return 0
        terms = read_node_selector(reach.node_selector)
        return remembered(self.memo, ("reached", terms), lambda: self._matching(terms))

    def selected(self, selector: LabelSelector) -> NodeSet:
        """The nodes whose labels a label selector matches."""
        left = self.all
        for key, value in selector.match_labels.items():
            left &= self._by_value(key).get(value, 0)
        for expression in selector.match_expressions:
            left &= self._satisfying(Requirement(expression.key, expression.operator, expression.values))
        return left

    def _place(
        self,
        node_name: str,
        selector: tuple[tuple[str, str], ...],
        terms: tuple[Term, ...] | None,
        tolerations: tuple[NodeToleration, ...],
    ) -> NodeSet:
        left = self.named((node_name,)) if node_name else self.all
        for key, value in selector:
            left &= self._by_value(key).get(value, 0)
        if terms is not None:
            left &= self._matching(terms)
        for taint, nodes in self._tainted.items():
            counts = not node_name or taint.effect == "NoExecute"
            if counts and not tolerated(taint, tolerations):
                left &= ~nodes
        return left

    def _matching(self, terms: tuple[Term, ...]) -> NodeSet:
        found = 0
        for term in terms:
            nodes = self.all
            for requirement in term.expressions:
                nodes &= self._satisfying(requirement)
            for requirement in term.fields:
                nodes &= self._with_field(requirement)
            found |= nodes
        return found

    def _satisfying(self, requirement: Requirement) -> NodeSet:
        values = self._by_value(requirement.key)
        match requirement.operator:
            case "In" | "NotIn":
                found = _union(values.get(value, 0) for value in set(requirement.values))
                return found if requirement.operator == "In" else self.all & ~found
            case "Exists":
                return _union(values.values())
            case "DoesNotExist":
                return self.all & ~_union(values.values())
            case _:
                return _comparing(values, requirement)

    def _with_field(self, requirement: Requirement) -> NodeSet:
        # The only field a node offers; any other reads as "" (fields.Set.Get).
        if requirement.key == "metadata.name":
            found = self.named(requirement.values)
        else:
            found = self.all if requirement.values == ("",) else 0
        return found if requirement.operator == "In" else self.all & ~found

    def _by_value(self, key: str) -> _ByValue:
        if key not in self._label_keys:
            return _NO_VALUES
        known = self._labels.get(key)
        if known is None:
            labelled = ((node.meta.labels.get(key), self._bits.of(name)) for name, node in self.by_name.items())
            known = self._labels[key] = self._group((value, bit) for value, bit in labelled if value is not None)
        return known

    def _group(self, marked: Iterable[tuple[_Mark, int]]) -> dict[_Mark, NodeSet]:
        found: dict[_Mark, list[int]] = {}
        for mark, bit in marked:
            found.setdefault(mark, []).append(bit)
        return {mark: self._bits.union(bits) for mark, bits in found.items()}

    def _with(self, wanted: Mapping[str, Node | None], bare: frozenset[str]) -> Nodes:
        """A copy in which these nodes are others, or gone."""
        added = [name for name, node in wanted.items() if node is not None and name not in self.by_name]
        removed = [name for name, node in wanted.items() if node is None and name in self.by_name]
        by_name = changed_map(self.by_name, wanted)
        bits = self._bits.changed(added, removed) if added or removed else self._bits
        if bits.wasteful or len(wanted) > len(self.by_name) // _FEW:
            return Nodes((node for name, node in by_name.items() if name not in bare), bare)
        other = Nodes.__new__(Nodes)
        other.names = _sorted_with(self.names, added, removed)
        other.by_name = by_name
        other.memo = {}
        other._bare = bare
        other._bits = bits
        other.all = (self.all & ~self._bits.set_of(removed)) | bits.set_of(added)
        other._label_keys = self._label_keys.union(*(node.meta.labels for node in wanted.values() if node is not None))
        other._labels = self._labels_with(wanted, bits)
        other._tainted = self._tainted_with(wanted, bits)
        return other

    def _labels_with(self, wanted: Mapping[str, Node | None], bits: BitNames) -> dict[str, _ByValue]:
        labels = dict(self._labels)
        moves: dict[str, list[tuple[str | None, str | None, NodeSet]]] = {}
        for name, node in wanted.items():
            old = self.by_name.get(name)
            before, after = old.meta.labels if old else {}, node.meta.labels if node else {}
            # A node that goes gives its bit back: it is the old numbering that knows it.
            bit = 1 << (self._bits if node is None else bits).of(name)
            for key in before.keys() | after.keys():
                if key in labels and before.get(key) != after.get(key):
                    moves.setdefault(key, []).append((before.get(key), after.get(key), bit))
        for key, moved in moves.items():
            values = dict(labels[key])
            # All that leave, then all that come: a bit that was given back may be another node's by now.
            for left, _, bit in moved:
                _leave(values, left, bit)
            for _, entered, bit in moved:
                if entered is not None:
                    values[entered] = values.get(entered, 0) | bit
            labels[key] = values
        return labels

    def _tainted_with(self, wanted: Mapping[str, Node | None], bits: BitNames) -> Mapping[NodeTaint, NodeSet]:
        tainted = dict(self._tainted)
        for name in wanted:
            old = self.by_name.get(name)
            for taint in old.taints if old is not None else ():
                _leave(tainted, taint, 1 << self._bits.of(name))
        for name, node in wanted.items():
            for taint in filter(keeps_pods_off, node.taints if node is not None else ()):
                tainted[taint] = tainted.get(taint, 0) | 1 << bits.of(name)
        return tainted


def bare_node(name: str) -> Node:
    """What is known of a node that only a slice names."""
    return Node(meta=Meta(name=name))


def _leave(marked: dict[_Mark, NodeSet], mark: _Mark | None, bit: NodeSet) -> None:
    if mark is None or mark not in marked:
        return
    marked[mark] &= ~bit
    if not marked[mark]:
        del marked[mark]


def _sorted_with(names: tuple[str, ...], added: Iterable[str], removed: Iterable[str]) -> tuple[str, ...]:
    found = list(names)
    for name in removed:
        del found[bisect_left(found, name)]
    for name in added:
        found.insert(bisect_left(found, name), name)
    return tuple(found)


def _union(sets: Iterable[NodeSet]) -> NodeSet:
    found = 0
    for nodes in sets:
        found |= nodes
    return found


def _comparing(values: _ByValue, requirement: Requirement) -> NodeSet:
    limit = read_integer(requirement.values[0])
    found = 0
    for written, nodes in values.items():
        value = read_integer(written)
        if value is not None and limit is not None and (value > limit if requirement.operator == "Gt" else value < limit):
            found |= nodes
    return found
