"""Columns of plain text: readable in a terminal, a file and a mail alike."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len


def aligned(rows: Sequence[Sequence[str]], *, gap: int = 2) -> list[str]:
    """One line a row, every column as wide as its widest cell, the last one as long as it is."""
    if not rows:
        return []
    widths = [max(cell_len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "".join(cell + " " * (width - cell_len(cell) + gap) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
