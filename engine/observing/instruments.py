"""Measures as metrics of Prometheus' client, and their exposition in its text format."""

import resource
import sys
from collections.abc import Callable, Iterator, Mapping

import prometheus_client
from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector

from engine.telemetry.metrics import Measure

#: The values of a gauge by its labels.
Values = Mapping[tuple[str, ...], float]

_FILE_OUTCOMES = ("indexed", "unchanged", "skipped", "failed")
_KIB = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss


class Instruments(Collector):
    """A meter (``telemetry.metrics.Meter``) whose numbers can be read; for any thread.

    Args:
        gauges: Returns the values of the gauges as they are now, quickly: a request waits for them.
    """

    def __init__(self, gauges: Callable[[], Mapping[Measure, Values]]) -> None:
        prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]
        self._gauges = gauges
        self._registry = CollectorRegistry()
        self._counters: dict[Measure, Counter] = {}
        self._histograms: dict[Measure, Histogram] = {}
        for each in Measure:
            name, text, labels = each.shown_name, each.help, each.labels
            if each.kind == "counter":
                self._counters[each] = Counter(name, text, labels, registry=self._registry)
            elif each.kind == "histogram":
                self._histograms[each] = Histogram(
                    name, text, labels, buckets=each.buckets, registry=self._registry
                )
        for outcome in _FILE_OUTCOMES:  # a zero before the first time makes that an increase
            self.count(Measure.FILES, 0, (outcome,))
        self._registry.register(self)
        ProcessCollector(registry=self._registry)

    def count(self, measure: Measure, amount: float, labels: tuple[str, ...]) -> None:
        """Add to a counter."""
        counter = self._counters[measure]
        (counter.labels(*labels) if labels else counter).inc(amount)

    def time(self, measure: Measure, seconds: float, labels: tuple[str, ...]) -> None:
        """Record a duration."""
        self._histograms[measure].labels(*labels).observe(seconds)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the gauges, for the client."""
        for measure, values in self._gauges().items():
            family = GaugeMetricFamily(measure.shown_name, measure.help, labels=measure.labels)
            for labels, value in values.items():
                family.add_metric(labels, value)
            yield family

    def text(self) -> bytes:
        """Return all current numbers in Prometheus' text format."""
        return generate_latest(self._registry)


def peak_memory_bytes() -> int:
    """Return the most memory that this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KIB
