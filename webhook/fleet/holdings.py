"""Who holds devices on which node: the device plugin's pods and allocated claims."""

from __future__ import annotations
