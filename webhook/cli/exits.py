"""Exit codes of `fallgate`, the same for every command. Machines depend on them: docs/exit-codes.md."""

from __future__ import annotations

from typing import Final

#: Everything was judged and nothing was refused; the files are right; all tests passed.
OK: Final = 0
#: Something was denied; policy files have mistakes; a test failed.
REFUSED: Final = 1
#: Bad usage, or input that cannot be used. What could be judged was judged, but the answer is not complete.
UNUSABLE: Final = 2
#: A fault of Fallgate's own.
FAULT: Final = 3


def worst(*codes: int) -> int:
    """The code that says most: a fault of ours, then unusable input, then a refusal."""
    return max(codes, default=OK)
