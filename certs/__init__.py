"""Certificates of a webhook: what a pair must be, issuing one, serving one that can change. Stands alone.

Nothing here imports the main package, and no key material is kept in this folder.
"""

from __future__ import annotations
