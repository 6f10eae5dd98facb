"""The tools that index, and wait as long as a client does; longer runs go on by themselves."""

import time
from typing import Annotated

from msgspec import Meta

from engine.errors import EngineError, UnavailableError
from engine.job_records import TERMINAL, Job, JobState
from engine.records import IndexOptions
from web import indexing
from web.mcp import graph
from web.mcp.desk import Desk
from web.mcp.job_reading import failed_job, outcome_text
from web.mcp.shapes import record
from web.mcp.tool import Answer, Caller, Given, Tool

_MAX_FILE_BYTES = 10 << 20
_MOST_WORKERS = 64
_LOG_WAIT_S = 2.0
_LOG_POLL_S = 0.02

Globs = Annotated[list[str], Meta(max_length=1000)]
Size = Annotated[
    int,
    Meta(
        description="bytes; larger files are skipped",
        extra_json_schema={"default": 1 << 20, "minimum": 0, "maximum": _MAX_FILE_BYTES},
    ),
]
Workers = Annotated[
    int,
    Meta(
        ge=1,
        le=_MOST_WORKERS,
        description="the server's setting workers bounds it",
        extra_json_schema={"default": 4},
    ),
]


class IndexRepository(Given, kw_only=True, frozen=True):
    """What ``index_repository`` takes."""

    path: Annotated[str, Meta(min_length=1, description="folder to index, absolute")]
    include_patterns: (
        Annotated[Globs, Meta(description="globs like *.md, src/**; [] is all files")] | None
    ) = None
    exclude_patterns: Annotated[Globs, Meta(description="globs; these win")] | None = None
    max_file_size: Size | None = None


class IndexSymbolGraph(Given, kw_only=True, frozen=True):
    """What ``index_symbol_graph`` takes."""

    repository_path: Annotated[str, Meta(min_length=1)]
    files: Annotated[Globs, Meta(description="only these, below the root")] | None = None
    include: Annotated[Globs, Meta(description="globs")] | None = None
    exclude: Annotated[Globs, Meta(description="globs")] | None = None
    force_clean: bool = False
    max_workers: Workers | None = None


_REPORT = record(
    path="text",
    status="text",
    job_id="text",
    files_indexed="integer",
    files_failed="integer",
    errors="records",
    include_patterns="texts?",
    exclude_patterns="texts?",
    max_file_size="integer?",
    indexed_at="text?",
)


def tools(desk: Desk) -> tuple[Tool, ...]:
    """Give the tools that index."""
    work = _Indexing(desk)
    return (
        Tool(
            name="index_repository",
            title="Index a repository",
            description=(
                "Index a folder, or bring its index up to date, so that the other tools can "
                "search it. Only new and changed files are read. Globs given are kept for later "
                "calls; without them the kept ones hold. After 25 s it answers status running "
                "with job_id: ask get_indexing_status; the work goes on."
            ),
            takes=IndexRepository,
            gives=_REPORT,
            run=work.index_repository,
            waits=True,
        ),
        Tool(
            name="index_symbol_graph",
            title="Index code symbols",
            description=(
                "Index code symbols for search; incremental by size, time and hash. Use it to "
                "add files you just wrote (files), to scope to paths (include, exclude), to "
                "recover from a damaged or strange index (force_clean begins it anew), or "
                "after comparing symbols://list with project://./structure. A failure has "
                "diagnostics with suggested_fixes, and its log as a resource."
            ),
            takes=IndexSymbolGraph,
            gives=graph.SHAPE,
            run=work.index_symbol_graph,
            destroys=True,
            waits=True,
            fail=graph.failure,
        ),
    )


class _Indexing:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def index_repository(self, given: IndexRepository, caller: Caller) -> Answer:
        options = IndexOptions(
            include_patterns=globs_of(given.include_patterns),
            exclude_patterns=globs_of(given.exclude_patterns),
            max_file_size=given.max_file_size,
        )
        job = self._asked(given.path, "path", options, caller)
        if job.status is JobState.FAILED:
            return failed_job(job)
        return Answer(content=_report_of(job), text=outcome_text(job))

    def index_symbol_graph(self, given: IndexSymbolGraph, caller: Caller) -> Answer:
        warnings = []
        if given.files is not None and (given.include or given.exclude):
            warnings.append("files is given: include and exclude were not used")
        if given.max_workers is not None:
            warnings.append("max_workers was not used: the setting workers of the server decides")
        scope = (None, None) if given.files is not None else (given.include, given.exclude)
        options = IndexOptions(
            include_patterns=globs_of(scope[0]),
            exclude_patterns=globs_of(scope[1]),
            force_clean=given.force_clean,
            only=tuple(given.files or ()),
        )
        try:
            job = self._asked(given.repository_path, "repository_path", options, caller)
        except EngineError as error:
            if given.files and error.details.get("path") != given.repository_path:
                _rename(error, "path", "files")
            _rename(error, "include_patterns", "include")
            _rename(error, "exclude_patterns", "exclude")
            if isinstance(error, UnavailableError):
                graph.add_database(error, self._desk.catalog, given.repository_path)
            raise
        return graph.answer_of(self._desk.catalog, job, warnings)

    def _asked(self, path: str, field: str, options: IndexOptions, caller: Caller) -> Job:
        """Ask for a run and wait for its end, not longer than clients do."""
        folder = self._desk.projects.folder(path, field=field)
        try:
            asked = indexing.index(
                self._desk.catalog,
                folder,
                options,
                on_change=caller.hear,
                enough=caller.is_gone,
            )
        except EngineError as error:
            if error.details.get("path") == path:
                _rename(error, "path", field)
            raise
        if asked.job.status not in TERMINAL:
            self._desk.ensure_runner()
            return asked.job
        return self._with_log(asked.job)

    def _with_log(self, job: Job) -> Job:
        """Wait for the log of a job that has ended, which is written just afterwards."""
        deadline_s = time.monotonic() + _LOG_WAIT_S
        while job.log is None and time.monotonic() < deadline_s:
            time.sleep(_LOG_POLL_S)
            job = self._desk.catalog.jobs.show(job.job_id)
        return job


def _rename(error: EngineError, old: str, new: str) -> None:
    """Let an error name the parameter as the tool calls it."""
    if error.details.get("field") == old:
        error.details["field"] = new


def globs_of(given: list[str] | None) -> tuple[str, ...] | None:
    """Give globs as the engine takes them; None keeps those of the project."""
    return None if given is None else tuple(given)


def _report_of(job: Job) -> dict[str, object]:
    """Give what a run did, or has done so far, by the names of ``index_repository``."""
    done = job.result or {}
    report: dict[str, object] = {
        "path": job.path,
        "status": job.status,
        "job_id": job.job_id,
        "files_indexed": done.get("files_indexed", job.counts.get("files_indexed", 0)),
        "files_failed": done.get("files_failed", job.counts.get("files_failed", 0)),
        "errors": done.get("errors", []),
    }
    for name in ("include_patterns", "exclude_patterns", "max_file_size", "indexed_at"):
        value = done.get(name, job.parameters.get(name))
        if value is not None:
            report[name] = value
    return report
