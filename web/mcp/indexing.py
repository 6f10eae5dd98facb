"""The tools that index, and the texts and errors with which agents read about jobs.

A tool waits for a run for as long as clients usually wait; a longer run continues as a background
job. ``index_symbol_graph`` answers with counts, the database file, the log and, after a failure,
suggested fixes.
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Annotated
from urllib.parse import quote, urlencode

from msgspec import Meta

from engine.catalog import Catalog
from engine.config import LARGEST_FILE_BYTES, MIB
from engine.errors import (
    ConflictError,
    DamagedIndexError,
    DiskFullError,
    EmbedderUnavailableError,
    EngineError,
    IndexBusyError,
    JobConflictError,
    UnavailableError,
    with_file,
)
from engine.index_records import IndexOptions
from engine.records import display_path
from engine.roots import project_id_of, resolve
from engine.state_records import TERMINAL, Job, JobOrigin, JobState
from web import operations
from web.mcp.failures import error_text, in_tools
from web.mcp.requested_files import requested_files, warnings_about
from web.mcp.tool import (
    Answer,
    Caller,
    Parameters,
    Tool,
    ToolContext,
    failed,
    record,
)
from web.schemas import as_json
from web.terminal import printable
from web.wording import changes_of, duration, gave_way, kept_text, line_of, wait_of

_MB = 1_000_000
_FIXES: dict[type[EngineError], tuple[str, ...]] = {
    EmbedderUnavailableError: (
        "call this again when the embedding model answers",
        "ask the user to start the embedding server, or to set model = static in config.toml",
    ),
    DiskFullError: ("free space on the disk of the data directory, then call this again",),
    IndexBusyError: ("wait for the process that holds the database, then call this again",),
    DamagedIndexError: (
        "verify_index with repair",
        "index_symbol_graph with force_clean rebuilds the index; jobs and notes are kept",
    ),
    ConflictError: (
        "get_indexing_status with the job_id in details: wait for it",
        "cancel_indexing with that job_id, then call this again",
    ),
}
_FORBIDDEN = ("permission denied", "cannot be written", "cannot write")  # phrases in messages
_MAX_WORKERS = 64
_MAX_ERRORS = 10  # of single files, in an answer
_COUNTED = ("files_indexed", "files_unchanged", "files_skipped", "files_failed")
_LOG_WAIT_S = 2.0
_LOG_POLL_S = 0.02

_SYMBOL_GRAPH_REPORT = record(
    status="text",
    task_id="text",
    files_indexed="integer",
    files_unchanged="integer",
    files_skipped="integer",
    skipped="record",
    symbols_extracted="integer",
    embeddings_generated="integer",
    duration_ms="integer",
    cache_hit_rate="number|null",
    storage="record",
    logs="record",
    warnings="texts",
)

_FIXES_BY_CODE = {kind.code: fixes for kind, fixes in _FIXES.items()}

_REPORT = record(
    path="text",
    status="text",
    job_id="text",
    files_indexed="integer",
    files_unchanged="integer",
    files_skipped="integer",
    files_failed="integer",
    skipped="record",
    errors="records",
    include_patterns="texts",
    exclude_patterns="texts",
    max_file_size="integer",
    indexed_at="text",
)


def outcome_text(job: Job) -> str:
    """Return how a run ended, or that it continues and how to follow it."""
    if job.status is JobState.COMPLETED:
        return _done_text(job.result or {})
    if gave_way(job):
        return f"job {job.job_id} {wait_of(job)}"
    if job.status is JobState.CANCELLED:
        return f"job {job.job_id} was cancelled; {kept_text(job)}"
    if job.status is JobState.FAILED:
        return f"job {job.job_id} failed: {error_text(error_of(job))}"
    return f"{job.status}, {line_of(job)}\n{following(job)}"


def following(job: Job) -> str:
    """Return how to follow a job that goes on."""
    if job.origin is JobOrigin.WATCH:
        return (
            "a job of the watcher still runs, and nothing was started: call this again after "
            f'get_indexing_status with job_id "{job.job_id}" tells its end'
        )
    return f'continues in the background: get_indexing_status with job_id "{job.job_id}"'


def _done_text(report: Mapping[str, object]) -> str:
    took_ms = report.get("duration_ms")
    took = duration(took_ms) if isinstance(took_ms, int) else ""
    lines = [f"indexed {printable(str(report['path']))} in {took}: {changes_of(report)}"]
    notes = report.get("notes")
    lines += [f"note: {printable(str(note))}" for note in notes] if isinstance(notes, list) else []
    return "\n".join(lines)


def failed_job(job: Job) -> Answer:
    """Return the error of a failed job, with its hint and its log."""
    return failed(error_of(job))


def error_of(job: Job) -> dict[str, object]:
    """Return a failed job's error in the common shape.

    The details have its hint in terms of tools, the job, what is kept, and the log.
    """
    stored = job.error or {}
    found = stored.get("details")
    details = dict(found) if isinstance(found, Mapping) else {}
    if details.get("hint"):
        details["hint"] = in_tools(str(details["hint"]))
    details["job_id"] = job.job_id
    details["kept"] = kept_text(job)
    if job.log:
        details["log"] = log_uri(job.log, job.path)
    return {
        "error": stored.get("error", "internal_error"),
        "message": stored.get("message") or f"job {job.job_id} failed",
        "details": details,
    }


def log_uri(log: str | None, project: str) -> str | None:
    """Return the URI of a log, or None if there is no log yet.

    Args:
        log: The path of the log.
        project: The root of its project.
    """
    if not log:
        return None
    name = log.rpartition("/")[2]
    return "logs://content?" + urlencode({"file": name, "project": project}, quote_via=quote)


def answer_of(catalog: Catalog, job: Job, warnings: list[str], files: Sequence[str] = ()) -> Answer:
    """Return the answer of ``index_symbol_graph`` about a run.

    Args:
        catalog: The projects.
        job: The job in its current state.
        warnings: Warnings about the parameters.
        files: The files to which the caller restricted the run; a completed run warns about those
            that are not indexed.
    """
    if job.status is JobState.FAILED:
        return _failed(catalog, job)
    done = job.result or {}
    counts = job.counts
    content: dict[str, object] = {
        "status": job.status,
        **{name: done.get(name, counts.get(name, 0)) for name in _COUNTED[:3]},
        "symbols_extracted": done.get("symbols_extracted", counts.get("symbols", 0)),
        "embeddings_generated": done.get("embeddings_generated", counts.get("embeddings", 0)),
        "duration_ms": done.get("duration_ms", round(job.elapsed_seconds * 1000)),
        "cache_hit_rate": done.get("cache_hit_rate"),
        "storage": _storage_of(catalog, job.path),
        "logs": _logs_of(job),
        "warnings": [*warnings, *_warnings_of(done)],
    }
    text = [outcome_text(job)]
    if job.status not in TERMINAL:
        content["task_id"] = job.job_id
        content["warnings"] = [*warnings, following(job)]
    elif job.status is JobState.COMPLETED:
        index = catalog.open(job.path)
        about_files = warnings_about(index, files)
        content["warnings"] = [*warnings, *about_files, *_warnings_of(done)]
        skips = index.status().skips
        if skips:
            content["skipped"] = skips
            text.append(_skipped_text(skips))
        text += [f"warning: {printable(each)}" for each in (*warnings, *about_files)]
    return Answer(content=content, text="\n".join(text))


def _skipped_text(skips: Mapping[str, int]) -> str:
    reasons = (f"{reason} {number:,}" for reason, number in skips.items())
    return f"skipped: {', '.join(reasons)}"


def failure(error: EngineError) -> Answer:
    """Return the answer about an error that prevented a run from starting."""
    shape = error.as_json()
    shape["status"] = "failed"
    shape["errors"] = [error.message]
    shape["diagnostics"] = _diagnostics_of(shape, _fixes_of(error))
    shape["logs"] = {"operation_log": None, "operation_resource": None}
    shape["partial_results"] = _partial({})
    text = error_text({**shape, "message": str(error)})
    return Answer(content=shape, text=text, is_error=True)


def _failed(catalog: Catalog, job: Job) -> Answer:
    """Return the answer about a failed run: its error, partial results and suggested fixes."""
    shape = error_of(job)
    details = shape["details"]
    assert isinstance(details, dict)
    fixes = [*_hints(details), *_FIXES_BY_CODE.get(str(shape["error"]), ())]
    diagnostics = _diagnostics_of(shape, fixes)
    diagnostics["sqlite_path"] = _storage_of(catalog, job.path)["sqlite_path"]
    return failed(
        {
            **shape,
            "status": "failed",
            "errors": [str(shape["message"])],
            "diagnostics": diagnostics,
            "logs": _logs_of(job),
            "partial_results": _partial(job.counts, job.files_done),
        }
    )


def _partial(counts: Mapping[str, int], files_done: int = 0) -> dict[str, int]:
    return {
        "files_processed": files_done,
        "symbols_extracted": counts.get("symbols", 0),
        "embeddings_generated": counts.get("embeddings", 0),
    }


def _diagnostics_of(shape: Mapping[str, object], fixes: list[str]) -> dict[str, object]:
    """Return the details of an error, missing permissions and suggested fixes.

    Args:
        shape: The error; its details may have ``diagnostics`` of an unreachable server.
        fixes: Suggested fixes.
    """
    details = shape["details"] if isinstance(shape["details"], Mapping) else {}
    message = with_file(str(shape["message"]), details)
    found: dict[str, object] = {"code": shape["error"]}
    found.update({name: each for name, each in details.items() if name not in ("file", "hint")})
    unreachable = found.pop("diagnostics", None)
    if isinstance(unreachable, Mapping):
        found.update(unreachable)
        found["connection_error"] = message
    if any(phrase in message.lower() for phrase in _FORBIDDEN):
        found["permission_issues"] = [message]
    found["suggested_fixes"] = fixes
    return found


def _hints(details: Mapping[str, object]) -> list[str]:
    return [str(details["hint"])] if details.get("hint") else []


def _fixes_of(error: EngineError) -> list[str]:
    known = next((fixes for kind, fixes in _FIXES.items() if isinstance(error, kind)), ())
    field = error.details.get("field")
    wrong = [f"correct {field}, then call this again"] if field else []
    return [*([error.hint] if error.hint else []), *known, *wrong]


def add_database(error: EngineError, catalog: Catalog, folder: str) -> None:
    """Add the path of a folder's database to an error, if there is one, damaged or not."""
    file = catalog.data_dir / f"{project_id_of(resolve(folder))}.db"
    with suppress(OSError):
        if file.exists():
            error.details["sqlite_path"] = str(file)


def _storage_of(catalog: Catalog, root: str) -> dict[str, object]:
    file = catalog.open(root).browse.overview.index_file()
    return {"sqlite_path": file.path, "sqlite_size_mb": round(file.size_bytes / _MB, 3)}


def _logs_of(job: Job) -> dict[str, object]:
    return {"operation_log": job.log, "operation_resource": log_uri(job.log, job.path)}


def _notes_of(done: Mapping[str, object]) -> list[str]:
    notes = done.get("notes")
    return [in_tools(str(note)) for note in notes] if isinstance(notes, list | tuple) else []


def _warnings_of(done: Mapping[str, object]) -> list[str]:
    errors = done.get("errors")
    failed = errors if isinstance(errors, list | tuple) else ()
    warnings = [f"{each['file']}: {each['error']}" for each in failed[:_MAX_ERRORS]]
    if len(failed) > _MAX_ERRORS:
        warnings.append(f"{len(failed) - _MAX_ERRORS:,} more errors are in the log")
    return [*_notes_of(done), *warnings]


Globs = Annotated[list[str], Meta(max_length=1000)]
Branch = Annotated[str, Meta(description="or tag, not checked out")]
Size = Annotated[
    int,
    Meta(
        description="bytes; unset: as last set, or default",
        extra_json_schema={"default": MIB, "minimum": 0, "maximum": LARGEST_FILE_BYTES},
    ),
]
Workers = Annotated[
    int,
    Meta(
        ge=1,
        le=_MAX_WORKERS,
        description="the server's setting applies",
        extra_json_schema={"default": 4},
    ),
]


class IndexRepository(Parameters, kw_only=True, frozen=True):
    """Parameters of ``index_repository``."""

    path: Annotated[str, Meta(min_length=1, description="absolute")]
    include_patterns: (
        Annotated[Globs, Meta(description="globs like *.md, src/**; [] means all files")] | None
    ) = None
    exclude_patterns: Annotated[Globs, Meta(description="globs; take precedence")] | None = None
    max_file_size: Size | None = None
    branch: Branch | None = None


class IndexSymbolGraph(Parameters, kw_only=True, frozen=True):
    """Parameters of ``index_symbol_graph``."""

    repository_path: Annotated[str, Meta(min_length=1)]
    files: Annotated[Globs, Meta(description="only these, below the root")] | None = None
    include: Annotated[Globs, Meta(description="globs")] | None = None
    exclude: Annotated[Globs, Meta(description="globs")] | None = None
    force_clean: bool = False
    max_workers: Workers | None = None


def tools(context: ToolContext) -> tuple[Tool, ...]:
    """Return the tools that index."""
    indexing = _Indexing(context)
    return (
        Tool(
            name="index_repository",
            title="Index a repository",
            description=(
                "Index a folder, or update its index: only new and changed files are read. Globs "
                "are kept for later calls without any. After 25 s it answers with status running "
                "and a job_id for get_indexing_status."
            ),
            parameters=IndexRepository,
            output_schema=_REPORT,
            run=indexing.index_repository,
            long_running=True,
        ),
        Tool(
            name="index_symbol_graph",
            title="Index code symbols",
            description=(
                "Index code symbols, incremental by size, time and hash: files you just wrote, "
                "some paths (include, exclude), a damaged index (force_clean rebuilds it), or what "
                "differs in symbols://list with project://./structure. Failures have "
                "suggested_fixes."
            ),
            parameters=IndexSymbolGraph,
            output_schema=_SYMBOL_GRAPH_REPORT,
            run=indexing.index_symbol_graph,
            destructive=True,
            long_running=True,
            fail=failure,
        ),
    )


class _Indexing:
    def __init__(self, context: ToolContext) -> None:
        self._context = context

    def index_repository(self, params: IndexRepository, caller: Caller) -> Answer:
        options = IndexOptions(
            include_patterns=globs_of(params.include_patterns),
            exclude_patterns=globs_of(params.exclude_patterns),
            max_file_size=params.max_file_size,
            branch=params.branch,
        )
        folder = self._context.projects.new_folder(
            params.path, field="path", updates=options == IndexOptions()
        )
        job, warnings = self._run_job(folder, "path", options, caller)
        if folder != params.path:
            told = f"{params.path} lies in {display_path(folder)}, whose index was updated"
            warnings = (*warnings, told)
        if job.status is JobState.FAILED:
            return failed_job(job)
        skipped: Mapping[str, int] = {}
        if job.status is JobState.COMPLETED and params.branch is None:
            skipped = self._context.catalog.open(folder).status().skips
        return _report_answer(job, skipped, warnings)

    def index_symbol_graph(self, params: IndexSymbolGraph, caller: Caller) -> Answer:
        warnings: list[str] = []
        if params.files is not None and (params.include or params.exclude):
            warnings.append("files is given: include and exclude were ignored")
        if params.max_workers is not None:
            warnings.append("max_workers was ignored: the server's setting workers applies")
        scope = (None, None) if params.files is not None else (params.include, params.exclude)
        options = IndexOptions(
            include_patterns=globs_of(scope[0]),
            exclude_patterns=globs_of(scope[1]),
            force_clean=params.force_clean,
        )
        try:
            files = requested_files(params.repository_path, params.files or ())
            options = replace(options, only=files.inside)
            job, found = self._run_job(params.repository_path, "repository_path", options, caller)
        except EngineError as error:
            if params.files and error.details.get("path") != params.repository_path:
                _rename(error, "path", "files")
            _rename(error, "include_patterns", "include")
            _rename(error, "exclude_patterns", "exclude")
            if isinstance(error, UnavailableError):
                add_database(error, self._context.catalog, params.repository_path)
            raise
        warnings += [*files.warnings, *found]
        return answer_of(self._context.catalog, job, warnings, files.inside)

    def _run_job(
        self, path: str, field: str, options: IndexOptions, caller: Caller
    ) -> tuple[Job, tuple[str, ...]]:
        """Submit a run and wait for its end, but no longer than clients usually wait.

        Returns:
            The job, and what speaks against indexing the folder.
        """
        folder = self._context.projects.new_folder(path, field=field)
        try:
            requested = operations.index(
                self._context.catalog,
                folder,
                options,
                operations.Wait(on_change=caller.on_progress, stop=caller.cancelled),
            )
        except JobConflictError as conflict:
            return self._job_of_watcher(conflict), ()
        except EngineError as error:
            if error.details.get("path") == path:
                _rename(error, "path", field)
            raise
        if requested.job.status not in TERMINAL:
            self._context.ensure_runner()
            return requested.job, requested.warnings
        return self._with_log(requested.job), requested.warnings

    def _job_of_watcher(self, conflict: JobConflictError) -> Job:
        """Return the job of the watcher that did not make room in time, to be waited for.

        Raises:
            JobConflictError: It is another job, or has ended by now.
        """
        if conflict.details.get("origin") == JobOrigin.WATCH:
            job = self._context.catalog.jobs.show(str(conflict.details["job_id"]))
            if job.status not in TERMINAL:
                return job
        raise conflict

    def _with_log(self, job: Job) -> Job:
        """Wait for the log of a finished job, which is written just after its end."""
        deadline_s = time.monotonic() + _LOG_WAIT_S
        while job.log is None and time.monotonic() < deadline_s:
            time.sleep(_LOG_POLL_S)
            job = self._context.catalog.jobs.show(job.job_id)
        return job


def _rename(error: EngineError, old: str, new: str) -> None:
    """Replace the name of a parameter in an error by the tool's own."""
    if error.details.get("field") == old:
        error.details["field"] = new


def globs_of(globs: list[str] | None) -> tuple[str, ...] | None:
    """Convert globs for ``IndexOptions``; None keeps those stored with the project."""
    return None if globs is None else tuple(globs)


def _report_answer(job: Job, skipped: Mapping[str, int], warnings: Sequence[str]) -> Answer:
    """Return what a run has done so far as the answer of ``index_repository``.

    Args:
        job: The job.
        skipped: The skipped files by reason.
        warnings: What speaks against indexing the folder.
    """
    lines = [outcome_text(job), *(f"note: {printable(each)}" for each in warnings)]
    if skipped:
        lines.append(_skipped_text(skipped))
    report = _report_of(job, skipped, warnings)
    lines += [
        f"failed: {printable(each['file'])}: {printable(each['error'])}"
        for each in as_json(report["errors"])
    ]
    return Answer(content=report, text="\n".join(lines))


def _report_of(job: Job, skipped: Mapping[str, int], warnings: Sequence[str]) -> dict[str, object]:
    done = job.result or {}
    errors = done.get("errors")
    failed = errors if isinstance(errors, list | tuple) else ()
    report: dict[str, object] = {
        "path": job.path,
        "status": job.status,
        "job_id": job.job_id,
        **{name: done.get(name, job.counts.get(name, 0)) for name in _COUNTED},
        "errors": failed[:_MAX_ERRORS],
    }
    if skipped:
        report["skipped"] = skipped
    notes = [*warnings, *_notes_of(done), *([following(job)] if job.status not in TERMINAL else [])]
    if len(failed) > _MAX_ERRORS:
        notes.append(f"{len(failed) - _MAX_ERRORS:,} more errors are in the log")
    if job.status is JobState.CANCELLED:
        notes.append(wait_of(job) if gave_way(job) else kept_text(job))
    if notes:
        report["notes"] = notes
    if job.log:
        report["log_resource"] = log_uri(job.log, job.path)
    for name in ("include_patterns", "exclude_patterns", "max_file_size", "indexed_at"):
        value = done.get(name, job.parameters.get(name))
        if value is not None:
            report[name] = value
    return report
