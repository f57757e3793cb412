"""How much memory the bodies of all calls may take together, so that many large ones at once do not end the process.

The first bytes of every body are free: an ordinary review has no more, the limit of calls in flight bounds their sum, and so a
few large ones never keep small ones out. What a body has beyond that is taken out of one budget.
"""

from __future__ import annotations

from types import TracebackType
from typing import Final

#: What every body may have for nothing. Claims, templates and pods as people write them are a tenth of it.
FREE_BYTES: Final = 64 * 1024


class Budget:
    """Bytes of bodies, beyond the free ones of each, that may be in memory at once."""

    def __init__(self, most: int, *, free: int = FREE_BYTES) -> None:
        self.most = most
        self.free = free
        self.taken = 0

    def share(self) -> Share:
        """What one call has of it: nothing yet."""
        return Share(self)


class Share:
    """The part of a Budget that the body of one call has taken. Leaving its `with` block gives it back."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._taken = 0

    def reach(self, size: int) -> bool:
        """Have room for a body of `size` bytes. Gives whether there is room; if not, nothing has changed."""
        if not self.could_reach(size):
            return False
        more = max(0, self._more(size))
        self._budget.taken += more
        self._taken += more
        return True

    def could_reach(self, size: int) -> bool:
        """Whether there is room now for a body of `size` bytes. Takes nothing."""
        more = self._more(size)
        return more <= 0 or self._budget.taken + more <= self._budget.most

    def _more(self, size: int) -> int:
        return size - self._budget.free - self._taken

    def give_back(self) -> None:
        """The body is not in memory any more."""
        self._budget.taken -= self._taken
        self._taken = 0

    def __enter__(self) -> Share:
        """The share itself."""
        return self

    def __exit__(self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None) -> None:
        """As `give_back`."""
        self.give_back()
