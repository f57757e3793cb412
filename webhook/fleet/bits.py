"""Names as the bits of integers: a set of names is an int, and sets of thousands intersect in well under a microsecond."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

#: A set of names: bit i stands for the name that BitNames has there.
BitSet: TypeAlias = int

_FREE = ""


class BitNames:
    """Which bit stands for which name. A name keeps its bit in changed copies; bits of names that are gone are used again."""

    __slots__ = ("_at", "_bits", "_free", "_ordered")

    def __init__(self, names: Iterable[str]) -> None:
        """Bits in the order of `names`, which must be sorted."""
        self._at: tuple[str, ...] = tuple(names)
        self._bits: Mapping[str, int] = {name: i for i, name in enumerate(self._at)}
        self._free: tuple[int, ...] = ()
        self._ordered = True

    def changed(self, added: Iterable[str], removed: Iterable[str]) -> BitNames:
        """A copy with further names, and without some."""
        at, bits, free = list(self._at), dict(self._bits), list(self._free)
        for name in removed:
            bit = bits.pop(name)
            at[bit] = _FREE
            free.append(bit)
        ordered = self._ordered
        for name in added:
            if free:
                bits[name], ordered = free.pop(), False
                at[bits[name]] = name
            else:
                ordered = ordered and (not at or at[-1] < name)
                bits[name] = len(at)
                at.append(name)
        other = BitNames.__new__(BitNames)
        other._at, other._bits, other._free, other._ordered = tuple(at), bits, tuple(free), ordered
        return other

    @property
    def wasteful(self) -> bool:
        """Whether most bits stand for nothing any more."""
        return len(self._free) > len(self._bits)

    def of(self, name: str) -> int:
        """The bit of a name, -1 for one that is not there."""
        return self._bits.get(name, -1)

    def set_of(self, names: Iterable[str]) -> BitSet:
        """The set of these names; unknown ones are passed over."""
        bits = self._bits
        return self.union(bits[name] for name in names if name in bits)

    def union(self, found: Iterable[int]) -> BitSet:
        """The set of these bits."""
        octets = bytearray(len(self._at) // 8 + 1)
        for bit in found:
            octets[bit >> 3] |= 1 << (bit & 7)
        return int.from_bytes(octets, "little")

    def members(self, found: BitSet) -> Iterator[str]:
        """The names of a set, sorted."""
        names = self._in_order_of_bits(found)
        return names if self._ordered else iter(sorted(names))

    def _in_order_of_bits(self, found: BitSet) -> Iterator[str]:
        return (self._at[bit] for bit in indexes(found))


def indexes(found: BitSet) -> Iterator[int]:
    """The bits that are set, the lowest first."""
    digits = bin(found)[:1:-1]
    bit = digits.find("1")
    while bit >= 0:
        yield bit
        bit = digits.find("1", bit + 1)
