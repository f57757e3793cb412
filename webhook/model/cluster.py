"""Nodes, namespaces, quotas, device taint rules, the server's version: the rest of what rules read of a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from webhook.model.device import DeviceTaint
from webhook.model.meta import Meta


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTaint:
    """A taint on a node."""

    key: str
    value: str = ""
    effect: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A Node. `allocatable` and `capacity` hold only resource names with a `/` (extended resources), as whole numbers.

    A node that only a slice names has no labels, no taints and nothing allocatable.
    """

    meta: Meta
    taints: tuple[NodeTaint, ...] = ()
    allocatable: Mapping[str, int] = field(default_factory=dict)
    capacity: Mapping[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """metadata.name"""
        return self.meta.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Namespace:
    """A Namespace. `known` is False for one that nothing told us about: then it has no labels and no annotations."""

    meta: Meta
    known: bool = True

    @property
    def name(self) -> str:
        """metadata.name"""
        return self.meta.name

    @property
    def labels(self) -> Mapping[str, str]:
        """metadata.labels"""
        return self.meta.labels


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """A ResourceQuota: key -> quantity text, as set (`hard`) and as counted so far (`used`).

    `scoped`: it has scopes, of either kind, so that it counts only objects that match them all.
    """

    meta: Meta
    hard: Mapping[str, str] = field(default_factory=dict)
    used: Mapping[str, str] = field(default_factory=dict)
    scoped: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TaintRule:
    """A DeviceTaintRule. `selects` is False when it has no deviceSelector at all; empty fields match everything."""

    meta: Meta
    taint: DeviceTaint
    selects: bool
    driver: str = ""
    pool: str = ""
    device: str = ""
