"""Names of nodes, counted, and known as a set of bits while the numbering stays: one more or less costs next to nothing.

Who holds devices changes with every pod, and is asked for as a set of nodes by every review.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from webhook.fleet.bits import BitNames, BitSet
from webhook.fleet.sharded import changed_map


class NodeNames:
    """Immutable: names with how often each counts, which is at least once."""

    __slots__ = ("_counts", "_known")

    def __init__(self, counts: Mapping[str, int]) -> None:
        self._counts = counts
        self._known: tuple[BitNames, BitSet] | None = None

    def __iter__(self) -> Iterator[str]:
        """The names."""
        return iter(self._counts)

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self._counts)

    def bits(self, numbering: BitNames) -> BitSet:
        """The set of these names; those that have no number are passed over."""
        known = self._known
        if known is None or known[0] is not numbering:
            known = self._known = (numbering, numbering.set_of(self._counts))
        return known[1]

    def changed(self, delta: Mapping[str, int]) -> NodeNames:
        """A copy in which these names count so much more, or less."""
        counts = {name: self._counts.get(name, 0) + more for name, more in delta.items()}
        other = NodeNames(changed_map(self._counts, {name: count or None for name, count in counts.items()}))
        if self._known is not None:
            numbering, found = self._known
            for name, count in counts.items():
                bit = numbering.of(name)
                if bit >= 0:
                    found = found | 1 << bit if count else found & ~(1 << bit)
            other._known = (numbering, found)
        return other


def count_names(pairs: Iterable[tuple[str, str]]) -> Mapping[str, NodeNames]:
    """For each label the names it comes with."""
    counts: dict[str, dict[str, int]] = {}
    for label, name in pairs:
        by_name = counts.setdefault(label, {})
        by_name[name] = by_name.get(name, 0) + 1
    return {label: NodeNames(by_name) for label, by_name in counts.items()}


def changed_names(
    old: Mapping[str, NodeNames], gone: Iterable[tuple[str, str]], come: Iterable[tuple[str, str]]
) -> Mapping[str, NodeNames]:
    """`count_names` after some pairs are gone and others have come; `old` itself when that changes nothing."""
    deltas: dict[str, dict[str, int]] = {}
    for pairs, more in ((gone, -1), (come, 1)):
        for label, name in pairs:
            by_name = deltas.setdefault(label, {})
            by_name[name] = by_name.get(name, 0) + more
    changes: dict[str, NodeNames | None] = {}
    for label, by_name in deltas.items():
        delta = {name: more for name, more in by_name.items() if more}
        if delta:
            names = old[label] if label in old else NodeNames({})
            changes[label] = names.changed(delta) or None
    return changed_map(old, changes)
