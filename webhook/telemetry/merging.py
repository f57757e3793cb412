"""Metrics of several processes as one: counters and histograms added up, gauges as the worst of them or their sum."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeAlias

import msgspec
from prometheus_client import Metric

#: Sample name and labels.
_Key: TypeAlias = tuple[str, tuple[tuple[str, str], ...]]

#: Kinds whose samples only grow.
_GROWING: Final = frozenset(("counter", "histogram", "summary"))
#: Gauges whose greatest is the worst. Of those in neither set the least is shown: ready, good, valid until.
_GREATEST: Final = frozenset(("fallgate_watch_last_heard_seconds", "fallgate_exemptions_ending", "fallgate_exemptions_ended"))
#: Gauges that count something each process has its own of.
_SUMMED: Final = frozenset(
    (
        "fallgate_in_flight_calls",
        "fallgate_open_connections",
        "fallgate_large_bodies_bytes",
        "fallgate_certificate_writer",
        "process_resident_memory_bytes",
        "process_virtual_memory_bytes",
        "process_open_fds",
    )
)


class Family(msgspec.Struct, frozen=True, array_like=True):
    """One metric as it is handed from process to process."""

    name: str
    text: str
    kind: str
    samples: list[tuple[str, dict[str, str], float]]


def families_of(metrics: Iterable[Metric]) -> list[Family]:
    """Metrics of this process, to be handed over."""
    return [
        Family(
            metric.name, metric.documentation, metric.type, [(item.name, item.labels, item.value) for item in metric.samples]
        )
        for metric in metrics
    ]


def growing(families: Iterable[Family]) -> list[Family]:
    """Those that a process inherits from the one whose place it takes: a sum must not shrink because a process died."""
    return [family for family in families if family.kind in _GROWING]


def merged(processes: Sequence[Sequence[Family]]) -> list[Family]:
    """The families of all processes as those of one, in the order in which they come first."""
    by_name: dict[str, list[Family]] = {}
    for families in processes:
        for family in families:
            by_name.setdefault(family.name, []).append(family)
    return [_merged(same) for same in by_name.values()]


def as_metrics(families: Iterable[Family]) -> Iterator[Metric]:
    """Families as metrics that can be written out."""
    for family in families:
        metric = Metric(family.name, family.text, family.kind)
        for name, labels, value in family.samples:
            metric.add_sample(name, labels, value)
        yield metric


def _merged(same: Sequence[Family]) -> Family:
    first = same[0]
    if len(same) == 1:
        return first
    together = _together(first)
    values: dict[_Key, list[float]] = {}
    for family in same:
        for name, labels, value in family.samples:
            values.setdefault((name, tuple(labels.items())), []).append(value)
    samples = [(name, dict(labels), together(found)) for (name, labels), found in values.items()]
    return Family(first.name, first.text, first.kind, samples)


def _together(family: Family) -> Callable[[Sequence[float]], float]:
    if family.kind in _GROWING or family.name in _SUMMED:
        return sum
    return max if family.name in _GREATEST else _least


def _least(values: Sequence[float]) -> float:
    """The least; what is not known in one process is not known."""
    return math.nan if any(math.isnan(value) for value in values) else min(values)
