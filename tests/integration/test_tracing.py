"""Spans: what belongs to what, where they go, and that nobody pays for them who wants none."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engine.observing.observer import problems_of
from engine.state_records import JobState
from engine.telemetry.metrics import on_behalf_of
from tests.support.command import ROOT, Command
from tests.support.jobs import catalog_in, until, wait_for
from tests.support.killing import processes_of, runner_of
from tests.support.logs import logged
from tests.support.metrics import Numbers
from tests.support.pages import index_job
from tests.support.server import serving
from tests.support.trees import SAMPLE, write_tree

pytestmark = pytest.mark.slow

Span = dict[str, Any]

EXPORTER = """
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

class ToNamedFile(SpanExporter):
    def export(self, spans):
        with open({place!r}, "a") as file:
            for span in spans:
                told = span.resource.attributes
                print(span.name, told["service.name"], told["zone"], file=file)
        return SpanExportResult.SUCCESS
"""

AROUND = """
import sys
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

heard, provider = InMemorySpanExporter(), TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(heard))
trace.set_tracer_provider(provider)

from engine import Catalog, SearchRequest, load_config
from engine.errors import InvalidInputError

with Catalog(load_config()) as catalog:
    index = catalog.create(sys.argv[1])
    index.index()
    with catalog.traced("mcp"):
        index.search(SearchRequest(query="session"))
        try:
            index.search(SearchRequest(query="case:nosuch"))
        except InvalidInputError:
            pass
    index.search(SearchRequest(query="session"))
print(*(span.name for span in heard.get_finished_spans()))
"""


def spans_in(home: Path) -> list[Span]:
    return [line for line in logged(home, "spans.log") if line["event"] == "span"]


def parents_of(spans: list[Span], span: Span) -> list[str]:
    """Give the names of the spans that one is a part of, the nearest first."""
    known = {each["span_id"]: each for each in spans}
    names = []
    while span["parent_id"] is not None:
        span = known[span["parent_id"]]
        names.append(span["name"])
    return names


def test_a_request_has_the_phases_of_its_search(tmp_path: Path, tree: Path) -> None:
    write_tree(tree, SAMPLE)
    variables = {"CAIRN_WORKERS": "1", "OTEL_TRACES_EXPORTER": "console"}
    command = Command(home=tmp_path / "home", folder=tmp_path, variables=variables)
    with serving(command, "--no-watch") as server, server.client() as client:
        headers = {"X-Request-ID": "index-it"}
        index_job(client, tree, headers)
        asked = {"query": "open session", "project": str(tree)}
        client.get("/api/v1/search", params=asked, headers={"X-Request-ID": "ask"})
        client.get("/api/v1/search", params={"query": "case:nosuch"})
        server.stop()
    until(lambda: not processes_of(command.home))  # the runner, whose spans the job's are
    spans = spans_in(command.home)
    [request] = [each for each in spans if each["attributes"].get("cairn.request_id") == "ask"]
    assert request["name"] == "GET /api/v1/search"
    assert request["attributes"]["cairn.status"] == 200
    parts = [each for each in spans if each["trace_id"] == request["trace_id"]]
    above = {each["name"]: parents_of(spans, each) for each in parts}
    whole = ["search", "GET /api/v1/search"]
    assert above["search.project"] == whole
    for phase in ("question", "embed", "find", "snippets"):
        assert above[f"search.{phase}"] == ["search.project", *whole]
    for phase in ("words", "vectors", "rank"):
        assert above[f"search.{phase}"] == ["search.find", "search.project", *whole]
    assert all(each["took_ms"] <= request["took_ms"] for each in parts)
    [job] = [each for each in spans if each["name"] == "job"]
    assert job["attributes"]["cairn.request_id"] == "index-it"
    assert job["attributes"]["cairn.state"] == "completed"
    phases = {each["name"] for each in spans if parents_of(spans, each) == ["job"]}
    assert phases >= {"job.scanning", "job.parsing", "job.finishing"}
    [failed] = [each for each in spans if each["failed"]]
    assert (failed["name"], failed["failed"]) == ("search", "validation_error")
    assert "nosuch" not in (command.home / "logs" / "spans.log").read_text()


def test_a_runner_of_its_own_traces_and_knows_the_request(tmp_path: Path, tree: Path) -> None:
    write_tree(tree, SAMPLE)
    home = tmp_path / "home"
    with catalog_in(home) as catalog:
        with on_behalf_of("http", "request-7"):
            job_id = catalog.jobs.submit(str(tree)).job_id
        with runner_of(home, OTEL_TRACES_EXPORTER="console") as runner:
            wait_for(catalog, job_id, JobState.COMPLETED)
            runner.wait()
    [job] = [each for each in spans_in(home) if each["name"] == "job"]
    assert job["attributes"]["cairn.job_id"] == job_id
    assert job["attributes"]["cairn.request_id"] == "request-7"
    lines = logged(home, "runner.log")
    assert {line["event"] for line in lines} >= {"created", "started", "completed"}
    assert {line["request_id"] for line in lines} == {"request-7"}


def test_exporters_are_those_that_are_installed(tmp_path: Path, tree: Path) -> None:
    write_tree(tree, SAMPLE)
    places, heard = tmp_path / "site", tmp_path / "heard"
    entry = "[opentelemetry_traces_exporter]\nnamed = sent:ToNamedFile\n"
    write_tree(
        places,
        {
            "sent.py": EXPORTER.format(place=str(heard)),
            "sent-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: sent\nVersion: 1\n",
            "sent-1.dist-info/entry_points.txt": entry,
        },
    )
    before = f"sys.path.insert(0, {str(places)!r})"
    wanted = {"OTEL_TRACES_EXPORTER": "named, absent", "OTEL_RESOURCE_ATTRIBUTES": "zone=b"}
    with catalog_in(tmp_path / "home") as catalog:
        job_id = catalog.jobs.submit(str(tree)).job_id
        with runner_of(tmp_path / "home", before=before, **wanted) as runner:
            wait_for(catalog, job_id, JobState.COMPLETED)
            runner.wait()
    assert {"job codecairn b", "job.scanning codecairn b"} <= set(heard.read_text().splitlines())
    [problem] = problems_of(tmp_path / "home")
    assert problem.event == "no_exporter"
    assert not (tmp_path / "home" / "logs" / "spans.log").exists()


def test_a_program_around_this_one_hears_the_spans(tmp_path: Path, tree: Path) -> None:
    write_tree(tree, SAMPLE)
    ended = subprocess.run(
        [sys.executable, "-c", AROUND, str(tree)],
        cwd=ROOT,
        env={**os.environ, "CAIRN_HOME": str(tmp_path / "home"), "CAIRN_WORKERS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    names = ended.stdout.split()
    assert names.count("search") == 2
    assert names.count("search.snippets") == 1


def test_who_wants_no_opentelemetry_has_no_spans_and_keeps_the_numbers(
    tmp_path: Path, tree: Path
) -> None:
    write_tree(tree, SAMPLE)
    variables = {
        "CAIRN_WORKERS": "1",
        "OTEL_SDK_DISABLED": "true",
        "OTEL_TRACES_EXPORTER": "console",
    }
    command = Command(home=tmp_path / "home", folder=tmp_path, variables=variables)
    with serving(command, "--no-watch") as server, server.client() as client:
        assert client.get("/health").status_code == 200
        numbers = Numbers(client.get("/metrics").text)
        assert numbers.of("cairn_http_request_duration_seconds_count", route="/health") == 1
        server.stop()
    assert not (command.home / "logs" / "spans.log").exists()


@pytest.mark.parametrize("line", ["--help", "search session --project TREE"])
def test_commands_import_nothing_of_it(tmp_path: Path, tree: Path, line: str) -> None:
    write_tree(tree, SAMPLE)
    code = (
        "import sys; from web.cli.main import run; code = run(sys.argv[1:]);"
        "print(code, *sorted(sys.modules), file=sys.stderr)"
    )
    home = tmp_path / "home"
    if "search" in line:
        Command(home=home, folder=tmp_path, variables={"CAIRN_WORKERS": "1"})("index", str(tree))
    ended = subprocess.run(
        [sys.executable, "-c", code, *line.replace("TREE", str(tree)).split()],
        cwd=ROOT,
        env={**os.environ, "CAIRN_HOME": str(home), "OTEL_TRACES_EXPORTER": "console"},
        capture_output=True,
        text=True,
        check=True,
    )
    code_, *modules = ended.stderr.splitlines()[-1].split()
    assert code_ == "0"
    heavy = {"opentelemetry", "prometheus_client", "engine.observing"}
    assert {name for name in modules if name in heavy} == set()
