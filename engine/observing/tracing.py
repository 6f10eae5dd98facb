"""Spans for OpenTelemetry, sent to the exporters that ``OTEL_TRACES_EXPORTER`` names.

``console`` writes them to ``logs/spans.log`` in the data directory, because standard output belongs
to the command or to an agent. Any other name is an installed exporter, for example ``otlp``, which
reads its own ``OTEL_EXPORTER_OTLP_…``. If a host program has set up OpenTelemetry already, spans go
to its provider.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from engine.telemetry.logs import JobLog, server_log, spans_log
from engine.telemetry.metrics import Span, record_spans_to

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
    from opentelemetry.trace import Span as OtelSpan
    from opentelemetry.trace import TracerProvider

_VARIABLE = "OTEL_TRACES_EXPORTER"
_GROUP = "opentelemetry_traces_exporter"
_NAME = "codecairn"
_NANOSECONDS_A_MS = 1_000_000


@contextmanager
def traced(data_dir: Path, *, process: str) -> Iterator[None]:
    """Export spans within the context; without exporters, import and do nothing.

    Args:
        data_dir: Has the logs.
        process: The kind of process: serve, mcp or runner.
    """
    provider, names = _host_provider(), _wanted()
    if provider is not None:  # which follows the same variables
        with record_spans_to(_OtelTracer(provider)):
            yield
    elif names:
        with _exported(names, data_dir, process):
            yield
    else:
        yield


def _wanted() -> list[str]:
    if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return []
    names = [name.strip() for name in os.environ.get(_VARIABLE, "").split(",")]
    return [name for name in names if name and name != "none"]


def _host_provider() -> "TracerProvider | None":
    """Return the provider set up by a host program; None if there is none."""
    if "opentelemetry.trace" not in sys.modules:
        return None
    from opentelemetry import trace  # is loaded already

    provider = trace.get_tracer_provider()
    return None if isinstance(provider, trace.ProxyTracerProvider) else provider


@contextmanager
def _exported(names: Sequence[str], data_dir: Path, process: str) -> Iterator[None]:
    from opentelemetry import trace  # 0.3 s, which nobody else waits for
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    log = spans_log(data_dir)
    problems = server_log(data_dir)  # where the status page looks
    made = (_to_file(log) if name == "console" else _exporter(name, problems) for name in names)
    exporters = [each for each in made if each is not None]
    known = {"service.name": _NAME, "service.instance.id": f"{process}-{os.getpid()}"}
    # Attributes from the environment take precedence.
    resource = Resource.create(known).merge(OTELResourceDetector().detect())
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    for exporter in exporters:
        provider.add_span_processor(BatchSpanProcessor(exporter))
    trace.set_tracer_provider(provider)  # spans of libraries, such as that of MCP, are exported too
    try:
        with record_spans_to(_OtelTracer(provider)):
            yield
    finally:
        provider.shutdown()


def _exporter(name: str, problems: JobLog) -> "SpanExporter | None":
    try:
        [found] = metadata.entry_points(group=_GROUP, name=name)
        made: SpanExporter = found.load()()
    except Exception as error:  # noqa: BLE001 - another's code; serving goes on without it
        problems.event("no_exporter", level="error", exporter=name, reason=type(error).__name__)
        return None
    return made


def _to_file(log: JobLog) -> "SpanExporter":
    from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

    class ToFile(SpanExporter):
        def export(self, spans: "Sequence[ReadableSpan]") -> "SpanExportResult":
            for span in spans:
                _write(log, span)
            return SpanExportResult.SUCCESS

    return ToFile()


def _write(log: JobLog, span: "ReadableSpan") -> None:
    context, parent = span.context, span.parent
    took_ns = (span.end_time or 0) - (span.start_time or 0)
    log.event(
        "span",
        level="info" if span.status.is_ok else "error",
        name=span.name,
        trace_id=f"{context.trace_id:032x}" if context else None,
        span_id=f"{context.span_id:016x}" if context else None,
        parent_id=f"{parent.span_id:016x}" if parent else None,
        took_ms=round(took_ns / _NANOSECONDS_A_MS, 3),
        failed=span.status.description,
        attributes=dict(span.attributes or {}),
    )


class _OtelTracer:
    """A tracer for ``telemetry.metrics``."""

    def __init__(self, provider: "TracerProvider") -> None:
        self._tracer = provider.get_tracer(_NAME)

    @contextmanager
    def span(self, name: str) -> Iterator[Span]:
        """Start a span; of an exception only the code is recorded: messages may quote users."""
        with self._tracer.start_as_current_span(
            name, record_exception=False, set_status_on_exception=False
        ) as span:
            wrapper = _OtelSpan(span)
            try:
                yield wrapper
            except BaseException as error:
                wrapper.set_error(str(getattr(error, "code", type(error).__name__)))
                raise


class _OtelSpan:
    def __init__(self, span: "OtelSpan") -> None:
        self._span = span

    def set_attributes(self, **facts: str | float | bool | None) -> None:
        """Add attributes."""
        for name, value in facts.items():
            if value is not None:
                self._span.set_attribute(f"cairn.{name}", value)

    def update_name(self, name: str) -> None:
        """Rename it."""
        self._span.update_name(name)

    def set_error(self, code: str) -> None:
        """Set its status to error."""
        from opentelemetry.trace import StatusCode  # is loaded already

        self._span.set_status(StatusCode.ERROR, code)
