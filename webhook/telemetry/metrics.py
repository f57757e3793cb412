"""The Recorder behind `/metrics`. Series that are likely to come are there from the start, so that rates begin at zero."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TypeAlias, cast

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from webhook.model.finding import Decision
from webhook.model.review import Review
from webhook.telemetry.recorder import FAILURES, REFUSALS, SOURCES, Failure, Phase, Refusal, Source

#: Kinds that have their own label value; all others are counted as "other".
KINDS = (
    "ResourceClaim",
    "ResourceClaimTemplate",
    "Pod",
    "Namespace",
    "DeviceClass",
    "DeviceTaintRule",
    "Deployment",
    "StatefulSet",
    "DaemonSet",
    "ReplicaSet",
    "Job",
    "CronJob",
)
OTHER = "other"
OUTCOMES = ("allowed", "patched", "warned", "denied", "internal-error")
LOOKUPS = ("found", "absent", "unanswered")
PHASES: tuple[Phase, ...] = ("mutate", "validate")

#: A decision takes well under a millisecond when nothing is wrong; kube-apiserver waits 30 s at most.
_BUCKETS = (0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
#: What is hooked by default: these series exist before the first call.
_EXPECTED = (
    ("mutate", "ResourceClaim", "CREATE"),
    ("mutate", "ResourceClaimTemplate", "CREATE"),
    ("mutate", "ResourceClaimTemplate", "UPDATE"),
    ("mutate", "Pod", "CREATE"),
    ("validate", "ResourceClaim", "CREATE"),
    ("validate", "ResourceClaimTemplate", "CREATE"),
    ("validate", "Pod", "CREATE"),
)


#: The values of the labels, and the number.
Sample: TypeAlias = tuple[tuple[str, ...], float]


class PrometheusRecorder:
    """Counts into a registry of its own.

    `reasons` maps each rule id to the reasons it can give: what is not in there is counted as "other".
    """

    def __init__(self, reasons: Mapping[str, Iterable[str]], *, version: str = "") -> None:
        self.registry = CollectorRegistry()
        self._reasons = {rule: frozenset(known) for rule, known in reasons.items()}
        self._reviews = self._counter("admission_reviews", "Reviews answered.", ("phase", "kind", "operation", "outcome"))
        self._duration = Histogram(
            "fallgate_admission_review_duration_seconds",
            "From the headers of a call to its answer.",
            ("phase",),
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self._findings = self._counter(
            "findings", "Findings of rules, after modes were applied.", ("rule", "reason", "mode", "effect")
        )
        self._refusals = self._counter("http_refusals", "Calls answered with an HTTP error, or cut off.", ("reason",))
        self._failures = self._counter("internal_errors", "Faults of Fallgate itself; the log has the details.", ("where",))
        self._loads = self._counter("source_loads", "Versions of a source that were looked at.", ("source", "result"))
        self._lookups = self._counter("lookups", "Objects asked for live that no watch had brought yet.", ("result",))
        self._good = self._gauge("source_good", "1 when the newest version of a source is in force, 0 when not.", ("source",))
        self._since = self._gauge(
            "source_loaded_timestamp_seconds", "When the version of a source that is in force was loaded.", ("source",)
        )
        self._gauge("build_info", "The version that runs.", ("version",)).labels(version).set(1)
        ProcessCollector(registry=self.registry)
        self._create_expected()

    def decided(self, phase: Phase, review: Review, decision: Decision, seconds: float) -> None:
        """Count a review, its findings and its duration."""
        kind = review.kind if review.kind in KINDS else OTHER
        self._reviews.labels(phase, kind, review.operation, _outcome(decision)).inc()
        self._duration.labels(phase).observe(seconds)
        for judged in decision.findings:
            known = self._reasons.get(judged.finding.rule)
            rule = judged.finding.rule if known is not None else OTHER
            reason = judged.finding.reason if known is not None and judged.finding.reason in known else OTHER
            self._findings.labels(rule, reason, judged.mode, judged.effect).inc()

    def refused(self, why: Refusal) -> None:
        """Count an HTTP error."""
        self._refusals.labels(why).inc()

    def failed(self, where: Failure) -> None:
        """Count a fault of our own."""
        self._failures.labels(where).inc()

    def looked_up(self, *, found: int, absent: int, unanswered: int) -> None:
        """Count objects that were asked for live."""
        for result, number in zip(LOOKUPS, (found, absent, unanswered), strict=True):
            self._lookups.labels(result).inc(number)

    def loaded(self, source: Source, at: datetime) -> None:
        """Count a good load and remember when it was."""
        self._loads.labels(source, "good").inc()
        self._good.labels(source).set(1)
        self._since.labels(source).set(at.timestamp())

    def rejected(self, source: Source) -> None:
        """Count a bad load."""
        self._loads.labels(source, "bad").inc()
        self._good.labels(source).set(0)

    def watch(self, name: str, text: str, read: Callable[[], float], *, counter: bool = False) -> None:
        """Add a gauge (or counter) `fallgate_<name>` whose value is read when somebody asks for the metrics."""
        family = CounterMetricFamily if counter else GaugeMetricFamily
        self.registry.register(_Watched(lambda: family(f"fallgate_{name}", text, value=read())))

    def watch_each(
        self, name: str, text: str, labels: Sequence[str], read: Callable[[], Iterable[Sample]], *, counter: bool = False
    ) -> None:
        """As `watch`, with a series for each sample: the values of `labels`, and the number."""
        family = CounterMetricFamily if counter else GaugeMetricFamily

        def make() -> Metric:
            made = family(f"fallgate_{name}", text, labels=labels)
            for values, number in read():
                made.add_metric(values, number)
            return made

        self.registry.register(_Watched(make))

    def exposition(self, accept: str) -> tuple[bytes, str]:
        """All metrics in the format that the Accept header asks for, and its content type."""
        return written_out(self.registry, accept)

    def _counter(self, name: str, text: str, labels: tuple[str, ...]) -> Counter:
        return Counter(f"fallgate_{name}", text, labels, registry=self.registry)

    def _gauge(self, name: str, text: str, labels: tuple[str, ...] = ()) -> Gauge:
        return Gauge(f"fallgate_{name}", text, labels, registry=self.registry)

    def _create_expected(self) -> None:
        for phase, kind, operation in _EXPECTED:
            for outcome in OUTCOMES:
                self._reviews.labels(phase, kind, operation, outcome)
        for phase in PHASES:
            self._duration.labels(phase)
        for why in REFUSALS:
            self._refusals.labels(why)
        for where in FAILURES:
            self._failures.labels(where)
        for result in LOOKUPS:
            self._lookups.labels(result)
        for source in SOURCES:
            self._good.labels(source)
            for result in ("good", "bad"):
                self._loads.labels(source, result)


def written_out(collector: Collector, accept: str) -> tuple[bytes, str]:
    """What a collector has, in the format that the Accept header asks for, and its content type."""
    encode, content_type = choose_encoder(accept)
    return encode(cast(CollectorRegistry, collector)), content_type  # all that is asked of it is `collect`


class _Watched(Collector):
    """One metric that is made anew for every reader."""

    def __init__(self, make: Callable[[], Metric]) -> None:
        self._make = make

    def collect(self) -> Iterable[Metric]:
        """The metric as it is now."""
        yield self._make()


def _outcome(decision: Decision) -> str:
    if decision.internal_error:
        return "internal-error"
    if not decision.allowed:
        return "denied"
    if decision.patch:
        return "patched"
    return "warned" if decision.warnings else "allowed"
