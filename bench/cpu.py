"""CPU time of another process, and where processes run."""

from __future__ import annotations

import os
from pathlib import Path


def cpu_seconds(pid: int) -> float:
    """CPU time used by all threads of a process so far, from the scheduler's own nanosecond counters."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        total += int((task / "schedstat").read_text().split()[0])
    return total / 1e9


def pin(pid: int, core: int) -> None:
    """Keep a process (0 is this one) on one core, when there is more than one."""
    cores = sorted(os.sched_getaffinity(0)) if pid else list(range(os.cpu_count() or 1))
    if len(cores) > core:
        os.sched_setaffinity(pid, {core})
