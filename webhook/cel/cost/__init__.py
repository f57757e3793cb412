"""What expressions cost, in the scheduler's own units: the worst case before they run, and the count while they do.

Both follow the scheduler's library operation by operation, because the API server refuses an expression whose worst case is
above the limit, and the scheduler stops one that gets there.
"""

from __future__ import annotations

LIMIT = 1_000_000
