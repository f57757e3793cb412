"""Figures as an aligned table, medians and ratios."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median, quantiles


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str] = ()) -> str:
    """A table as text: the first column to the left, the others to the right."""
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]

    def line(cells: Sequence[str]) -> str:
        first, *others = zip(cells, widths, strict=True)
        return "  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]).rstrip()

    rule = "  ".join("-" * width for width in widths)
    return "\n".join([title, "", line(head), rule, *map(line, rows), *([""] if notes else []), *notes, ""])


def microseconds(values: Sequence[float]) -> str:
    """The median of values in seconds, with the middle half."""
    low, _, high = quantiles(values, n=4)
    return f"{median(values) * 1e6:.0f} ({low * 1e6:.0f}-{high * 1e6:.0f})"


def ratio(values: Sequence[float], base: Sequence[float]) -> str:
    """The median of the rounds' ratios: both numbers of a ratio are of one moment."""
    return f"{median(value / other for value, other in zip(values, base, strict=True)):.2f}"
