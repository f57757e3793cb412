"""Measures what Fallgate costs, always beside something to compare with, in one run. Not installed."""
