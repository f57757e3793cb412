"""Devices: pools in their newest generation, device classes, and which devices a class and selectors match."""

from __future__ import annotations
