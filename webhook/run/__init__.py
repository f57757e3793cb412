"""The composition root: settings in, a running process out. Wires; decides nothing."""

from __future__ import annotations

from webhook.run.serve import serve

__all__ = ["serve"]
