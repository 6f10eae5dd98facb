"""Measures as instruments of OpenTelemetry, and their values as the text that Prometheus reads."""

import resource
import sys
from collections.abc import Callable, Iterable, Mapping

from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.metrics import CallbackOptions, Counter, Histogram, Observation
from opentelemetry.sdk.metrics import AlwaysOffExemplarFilter, MeterProvider
from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.exposition import generate_latest

from engine.telemetry.measures import FILES, MEASURES, PEAK_MEMORY, Kind, Measure

#: What the text says it is; UTF-8.
CONTENT_TYPE = "text/plain; version=0.0.4"

#: The values of a gauge by its labels.
Values = Mapping[tuple[str, ...], float]
#: Gives the values that a gauge has now; quick, for it is asked while somebody waits.
LookUp = Callable[[Measure], Values]

_FILE_OUTCOMES = ("indexed", "unchanged", "skipped", "failed")
_KIB = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss


class Instruments:
    """A meter (``telemetry.recording.Meter``) whose numbers can be read; for any thread.

    Args:
        look_up: Gives the values of gauges.
    """

    def __init__(self, look_up: LookUp) -> None:
        self._look_up = look_up
        self._registry = CollectorRegistry()
        reader = PrometheusMetricReader(
            disable_target_info=True, scope_info_enabled=False, registry=self._registry
        )
        self._provider = MeterProvider(
            metric_readers=[reader],
            exemplar_filter=AlwaysOffExemplarFilter(),
            shutdown_on_exit=False,
        )
        ProcessCollector(registry=self._registry)
        self._counters: dict[Measure, Counter] = {}
        self._histograms: dict[Measure, Histogram] = {}
        for measure in MEASURES:
            self._make(measure)

    def count(self, measure: Measure, amount: float, labels: tuple[str, ...]) -> None:
        """Add to a counter."""
        self._counters[measure].add(amount, dict(zip(measure.labels, labels, strict=True)))

    def time(self, measure: Measure, seconds: float, labels: tuple[str, ...]) -> None:
        """Take in how long something took."""
        self._histograms[measure].record(seconds, dict(zip(measure.labels, labels, strict=True)))

    def text(self) -> bytes:
        """Give all numbers as they are now, in Prometheus' text format."""
        return generate_latest(self._registry)

    def close(self) -> None:
        """Listen no more."""
        self._provider.shutdown()

    def _make(self, measure: Measure) -> None:
        meter = self._provider.get_meter("codecairn")
        name, unit, text = measure.name, measure.unit, measure.help
        if measure.kind is Kind.COUNTER:
            self._counters[measure] = meter.create_counter(name, unit, text)
            self._begin(measure)
        elif measure.kind is Kind.HISTOGRAM:
            self._histograms[measure] = meter.create_histogram(
                name, unit, text, explicit_bucket_boundaries_advisory=measure.buckets
            )
        else:
            meter.create_observable_gauge(name, [self._observed(measure)], unit, text)

    def _begin(self, measure: Measure) -> None:
        """Show a zero before the first time, so that the first time is an increase."""
        if not measure.labels:
            self.count(measure, 0, ())
        if measure is FILES:
            for outcome in _FILE_OUTCOMES:
                self.count(measure, 0, (outcome,))

    def _observed(self, measure: Measure) -> Callable[[CallbackOptions], Iterable[Observation]]:
        def observe(_options: CallbackOptions) -> Iterable[Observation]:
            if measure is PEAK_MEMORY:
                yield Observation(peak_memory_bytes())
                return
            for labels, value in self._look_up(measure).items():
                yield Observation(value, dict(zip(measure.labels, labels, strict=True)))

        return observe


def peak_memory_bytes() -> int:
    """Give the most memory that this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KIB
