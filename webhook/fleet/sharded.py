"""Mappings of which a changed copy costs little, however large they are."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Final, TypeVar

_K = TypeVar("_K", bound=Hashable)
_V = TypeVar("_V")

#: Up to so many entries a plain dict is copied in some ten microseconds, and is faster to ask.
_PLAIN: Final = 4096
_SHARDS: Final = 256
_MASK: Final = _SHARDS - 1


def changed_map(old: Mapping[_K, _V], changes: Mapping[_K, _V | None]) -> Mapping[_K, _V]:
    """`old` with each key of `changes` set, or taken out when its value is None; `old` itself when there are none."""
    if not changes:
        return old
    if isinstance(old, Sharded):
        return old.changed(changes)
    merged: dict[_K, _V] = dict(old)
    for key, value in changes.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = value
    return merged if len(merged) <= _PLAIN else Sharded(merged)


class Sharded(Mapping[_K, _V]):
    """An immutable mapping in many small dicts: a changed copy shares all of them but those that differ. In no order."""

    __slots__ = ("_count", "_shards")

    def __init__(self, entries: Mapping[_K, _V]) -> None:
        shards: list[dict[_K, _V]] = [{} for _ in range(_SHARDS)]
        for key, value in entries.items():
            shards[hash(key) & _MASK][key] = value
        self._shards: tuple[dict[_K, _V], ...] = tuple(shards)
        self._count = len(entries)

    def changed(self, changes: Mapping[_K, _V | None]) -> Sharded[_K, _V]:
        """A copy with the changes that `changed_map` takes."""
        shards = list(self._shards)
        fresh: set[int] = set()
        count = self._count
        for key, value in changes.items():
            number = hash(key) & _MASK
            if number not in fresh:
                fresh.add(number)
                shards[number] = dict(shards[number])
            shard = shards[number]
            before = len(shard)
            if value is None:
                shard.pop(key, None)
            else:
                shard[key] = value
            count += len(shard) - before
        other: Sharded[_K, _V] = Sharded.__new__(Sharded)
        other._shards, other._count = tuple(shards), count
        return other

    def __getitem__(self, key: _K) -> _V:
        """The value of a key. Raises KeyError."""
        return self._shards[hash(key) & _MASK][key]

    def get(self, key: _K, default: _V | None = None) -> _V | None:  # type: ignore[override]
        """The value of a key, or `default`."""
        return self._shards[hash(key) & _MASK].get(key, default)

    def __contains__(self, key: object) -> bool:
        """Whether the key is there."""
        return key in self._shards[hash(key) & _MASK]

    def __iter__(self) -> Iterator[_K]:
        """The keys."""
        for shard in self._shards:
            yield from shard

    def __len__(self) -> int:
        """The number of entries."""
        return self._count
