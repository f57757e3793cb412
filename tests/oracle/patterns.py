"""Random regular expressions, right and nearly right, searched for in texts: Go's own engine against RE2."""

from __future__ import annotations

import json
import random
from pathlib import Path

_LINES = (Path(__file__).parent / "patterns.txt").read_text(encoding="utf-8").splitlines()
_PIECES, _GROUPS, _REPEATS, _TEXTS = (line.split() for line in _LINES[1::2])


_COUNTS = 2  # the last repetitions, which make what they repeat large


def search(rng: random.Random) -> str:
    """A search as an expression of CEL."""
    text, pattern = f'"{rng.choice(_TEXTS)}"', json.dumps(_pattern(rng), ensure_ascii=False)
    pattern = f"dyn({pattern})" if rng.random() < 0.2 else pattern
    kind = rng.randrange(5)
    if kind < 2:
        return f"{text}.findAll({pattern})"
    return (f"{text}.findAll({pattern}, {rng.randrange(-1, 4)})", f"{text}.find({pattern})", f"{text}.matches({pattern})")[
        kind - 2
    ]


def _pattern(rng: random.Random, depth: int = 2) -> str:
    written = []
    for _ in range(rng.randrange(1, 5)):
        piece = rng.choice(_PIECES)
        if depth and rng.random() < 0.25:
            piece = f"{rng.choice(_GROUPS)}{_pattern(rng, depth - 1)})"
        if rng.random() < 0.3:
            # Large patterns are a known difference.
            piece += rng.choice(_REPEATS if len(piece) == 1 else _REPEATS[:-_COUNTS])
        written.append(piece)
    return "".join(written)
