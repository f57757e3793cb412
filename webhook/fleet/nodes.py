"""Nodes by name and as bit sets, and which of them a pod can be placed on.

A NodeSet is an int: bit i stands for `names[i]`. Sets of a thousand nodes intersect in well under a microsecond.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from webhook.model.cluster import Node
from webhook.model.pod import Pod

NodeSet: TypeAlias = int


class Nodes:
    """All nodes: those with a Node object, and those that only a slice names (no labels, no taints)."""

    def __init__(self, nodes: Iterable[Node], named_by_slices: Iterable[str] = ()) -> None:
        raise NotImplementedError

    names: tuple[str, ...]
    all: NodeSet
    by_name: Mapping[str, Node]

    def index(self, name: str) -> int:
        """The bit of a node, -1 when there is no such node."""
        raise NotImplementedError

    def members(self, nodes: NodeSet) -> Iterator[Node]:
        """The nodes of a set, in the order of their names."""
        raise NotImplementedError

    def feasible(self, pod: Pod) -> NodeSet:
        """The nodes left by nodeName, nodeSelector, required node affinity and untolerated administrators' taints."""
        raise NotImplementedError
