"""Globs over model names: `*` any run of characters, `?` one character, `[a-c]` one of a set."""

from __future__ import annotations

import re
from functools import lru_cache

_PIECE = re.compile(r"\[[^\]]*\]|.", re.DOTALL)


def is_glob(pattern: str) -> bool:
    """Whether a pattern can fit more than one name."""
    return any(character in pattern for character in "*?[")


@lru_cache(maxsize=4096)
def could_share_a_name(one: str, other: str) -> bool:
    """Whether some name fits both globs (a name without wildcards is a glob that only it fits).

    Sets (`[a-c]`) count as any one character: the answer may be True for globs that only nearly meet.
    """
    left, right = _PIECE.findall(one), _PIECE.findall(other)
    # reached[j]: a name can have been written that uses up `left` so far and the first j tokens of `right`.
    reached = [True, *(False for _ in right)]
    for j, piece in enumerate(right):
        reached[j + 1] = reached[j] and piece == "*"
    for mine in left:
        row = [reached[0] and mine == "*"]
        for j, piece in enumerate(right):
            met = reached[j] and _one_character(mine, piece)
            row.append(met or (mine == "*" and (reached[j + 1] or row[j])) or (piece == "*" and (row[j] or reached[j + 1])))
        reached = row
    return reached[-1]


def _one_character(one: str, other: str) -> bool:
    return one == other or any(piece in "*?" or len(piece) > 1 for piece in (one, other))
