"""What the server's process comes to."""

from __future__ import annotations

from typing import Final

DONE: Final = 0
FAULT: Final = 1
CANNOT_START: Final = 2
