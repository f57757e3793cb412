"""The one clock of the tests: a TLS client compares certificates with the real time, so these must be issued by it."""

from __future__ import annotations

from datetime import UTC, datetime


def real_now() -> datetime:
    """Now."""
    return datetime.now(UTC)  # noqa: TID251
