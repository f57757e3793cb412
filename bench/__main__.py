"""`python -m bench`: prints what deciding and serving cost, each beside something to compare with."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence

from bench import deciding, events, loading, selecting, serving

PARTS = ("selecting", "deciding", "serving", "events", "loading")


def main(arguments: Sequence[str]) -> int:
    """Run the measurements that were asked for."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--only", choices=PARTS, help="one of them (default: all)")
    parser.add_argument(
        "--rounds",
        type=int,
        default=0,
        help="rounds (default: 10 for selecting, 60 for deciding, 8 for serving, 200 for events)",
    )
    options = parser.parse_args(arguments)
    if options.rounds == 1 or options.rounds < 0:
        parser.error("a median needs at least 2 rounds")
    load = os.getloadavg()[0]
    if load > 0.5:
        sys.stderr.write(f"the machine is busy (load {load:.1f}): trust the ratios, not the times\n\n")
    measures: dict[str, Callable[[], str]] = {
        "selecting": lambda: selecting.measure(options.rounds or 10),
        "deciding": lambda: deciding.measure(options.rounds or 60),
        "serving": lambda: serving.measure(options.rounds or 8),
        "events": lambda: events.measure(options.rounds or 200),
        "loading": lambda: loading.why_not() or loading.measure(),
    }
    for part in [options.only] if options.only else PARTS:
        sys.stdout.write(measures[part]() + "\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
