"""Nodes by name and as bit sets, and which of them a pod can be placed on.

A NodeSet is an int: bit i stands for `names[i]`. Sets of a thousand nodes intersect in well under a microsecond. A set means
something only together with the Nodes it came from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias, TypeVar

from webhook.fleet.memo import Memo, remembered
from webhook.fleet.node_selection import (
    Requirement,
    Term,
    keeps_pods_off,
    read_integer,
    read_node_selector,
    read_terms,
    tolerated,
)
from webhook.model.cluster import Node, NodeTaint
from webhook.model.device import Reach
from webhook.model.labels import LabelSelector
from webhook.model.meta import Meta
from webhook.model.pod import NodeToleration, Pod

NodeSet: TypeAlias = int

#: A label's values, each with the nodes that have it.
_ByValue: TypeAlias = Mapping[str, NodeSet]
_NO_VALUES: _ByValue = {}
_Mark = TypeVar("_Mark", str, NodeTaint)


class Nodes:
    """All nodes: those with a Node object, and those that only a slice names (no labels, no taints).

    `names` is sorted, `all` is the set of all, `memo` is for what is derived from these nodes (use `memo.remembered`).
    """

    def __init__(self, nodes: Iterable[Node], named_by_slices: Iterable[str] = ()) -> None:
        known = {node.name: node for node in nodes if node.name}
        for name in named_by_slices:
            if name not in known:
                known[name] = Node(meta=Meta(name=name))
        self.names: tuple[str, ...] = tuple(sorted(known))
        self.all: NodeSet = (1 << len(self.names)) - 1
        self.by_name: Mapping[str, Node] = {name: known[name] for name in self.names}
        self.memo: Memo = {}
        self._index = {name: i for i, name in enumerate(self.names)}
        self._label_keys = frozenset(key for node in known.values() for key in node.meta.labels)
        self._labels: dict[str, _ByValue] = {}
        self._tainted = self._group(
            (taint, i) for i, node in enumerate(self.by_name.values()) for taint in node.taints if keeps_pods_off(taint)
        )

    def index(self, name: str) -> int:
        """The bit of a node, -1 when there is no such node."""
        return self._index.get(name, -1)

    def named(self, names: Iterable[str]) -> NodeSet:
        """The set of the nodes with these names; unknown names are passed over."""
        return self._set(self._index[name] for name in names if name in self._index)

    def members(self, nodes: NodeSet) -> Iterator[Node]:
        """The nodes of a set, in the order of their names."""
        bits = bin(nodes)[:1:-1]
        i = bits.find("1")
        while i >= 0:
            yield self.by_name[self.names[i]]
            i = bits.find("1", i + 1)

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
            i = self.index(reach.node_name)
            return 1 << i if i >= 0 else 0
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
            labels = (node.meta.labels.get(key) for node in self.by_name.values())
            known = self._labels[key] = self._group((value, i) for i, value in enumerate(labels) if value is not None)
        return known

    def _group(self, marked: Iterable[tuple[_Mark, int]]) -> dict[_Mark, NodeSet]:
        indexes: dict[_Mark, list[int]] = {}
        for mark, i in marked:
            indexes.setdefault(mark, []).append(i)
        return {mark: self._set(found) for mark, found in indexes.items()}

    def _set(self, indexes: Iterable[int]) -> NodeSet:
        bits = bytearray(len(self.names) // 8 + 1)
        for i in indexes:
            bits[i >> 3] |= 1 << (i & 7)
        return int.from_bytes(bits, "little")


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
