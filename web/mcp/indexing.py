"""The tools that index, and wait as long as a client does; longer runs go on by themselves.

What ``index_symbol_graph`` answers: figures, where they are stored, the log, and what to do.

Jobs as agents read them.
"""

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated
from urllib.parse import quote, urlencode

from msgspec import Meta

from engine.catalog import Catalog
from engine.errors import (
    ConflictError,
    DamagedIndexError,
    DiskFullError,
    EmbedderUnavailableError,
    EngineError,
    IndexBusyError,
    UnavailableError,
)
from engine.records import IndexOptions
from engine.roots import project_id_of, resolve
from engine.state_records import TERMINAL, Job, JobState
from web import answers
from web.mcp.tool import Answer, Caller, Desk, Given, Tool, failure_text, part, record
from web.terminal import printable
from web.wording import changes_of, duration, kept_text, line_of


def outcome_text(job: Job) -> str:
    """Say how a run ended, or that it goes on and how to hear of its end."""
    if job.status is JobState.COMPLETED:
        return _done_text(job.result or {})
    if job.status is JobState.CANCELLED:
        return f"job {job.job_id} was cancelled; {kept_text(job)}"
    if job.status is JobState.FAILED:
        error = job.error or {}
        return f"job {job.job_id} failed: {printable(str(error.get('message')))}"
    return (
        f"{job.status}, {line_of(job)}\n"
        f'goes on by itself: get_indexing_status with job_id "{job.job_id}"'
    )


def _done_text(report: Mapping[str, object]) -> str:
    took_ms = report.get("duration_ms")
    took = duration(took_ms) if isinstance(took_ms, int) else ""
    said = [f"indexed {printable(str(report['path']))} in {took}: {changes_of(report)}"]
    notes = report.get("notes")
    said += [f"note: {printable(str(note))}" for note in notes] if isinstance(notes, list) else []
    return "\n".join(said)


def failed_job(job: Job) -> Answer:
    """Give the error that a job ended with, with where to read more."""
    error = error_of(job)
    details = error["details"]
    assert isinstance(details, dict)
    hint = f"\nhint: {details['hint']}" if details.get("hint") else ""
    log = f"\nlog: {details['log']}" if "log" in details else ""
    return Answer(
        content=error,
        text=f"{error['error']}: {printable(str(error['message']))}{hint}{log}",
        is_error=True,
    )


def error_of(job: Job) -> dict[str, object]:
    """Give a failed job's error in the one shape, with the job and its log beside the details."""
    stored = job.error or {}
    found = stored.get("details")
    details = dict(found) if isinstance(found, Mapping) else {}
    details["job_id"] = job.job_id
    if job.log:
        details["log"] = log_uri(job.log, job.path)
    return {
        "error": stored.get("error", "internal_error"),
        "message": stored.get("message") or f"job {job.job_id} failed",
        "details": details,
    }


def log_uri(log: str | None, project: str) -> str | None:
    """Give the resource that is a log of a project; None when there is none yet.

    Args:
        log: Its path.
        project: The root.
    """
    if not log:
        return None
    name = log.rpartition("/")[2]
    return "logs://content?" + urlencode({"file": name, "project": project}, quote_via=quote)


_MB = 1_000_000

SHAPE = record(
    status="text",
    task_id="text?",
    files_indexed="integer",
    symbols_extracted="integer",
    embeddings_generated="integer",
    duration_ms="integer",
    cache_hit_rate="number|null",
    storage=part(sqlite_path="text", sqlite_size_mb="number"),
    logs=part(operation_log="text|null", operation_resource="text|null"),
    warnings="texts",
)

_FIXES: dict[type[EngineError], tuple[str, ...]] = {
    EmbedderUnavailableError: (
        "cairn model show: says whether the model answers, and why not",
        "start the embedding server, or set model to static (built in) in config.toml",
    ),
    DiskFullError: ("free space on the disk of the data directory, then call this again",),
    IndexBusyError: ("wait for the process that holds the database, then call this again",),
    DamagedIndexError: ("cairn forget PATH, then call this again: the index is built anew",),
    ConflictError: (
        "get_indexing_status with the job_id in details: wait for it",
        "cancel_indexing with that job_id, then call this again",
    ),
}
_FORBIDDEN = ("permission denied", "cannot be written", "cannot write")  # as messages say it
_FIXES_BY_CODE = {kind.code: fixes for kind, fixes in _FIXES.items()}


def answer_of(catalog: Catalog, job: Job, warnings: list[str]) -> Answer:
    """Give what became of a run.

    Args:
        catalog: Whose job it is.
        job: The job, as far as it is.
        warnings: What to say besides.
    """
    if job.status is JobState.FAILED:
        return _failed(catalog, job)
    done = job.result or {}
    counts = job.counts
    content: dict[str, object] = {
        "status": job.status,
        "files_indexed": done.get("files_indexed", counts.get("files_indexed", 0)),
        "symbols_extracted": done.get("symbols_extracted", counts.get("symbols", 0)),
        "embeddings_generated": done.get("embeddings_generated", counts.get("embeddings", 0)),
        "duration_ms": done.get("duration_ms", round(job.elapsed_seconds * 1000)),
        "cache_hit_rate": done.get("cache_hit_rate"),
        "storage": _storage_of(catalog, job.path),
        "logs": _logs_of(job),
        "warnings": [*warnings, *_warnings_of(done)],
    }
    if job.status not in TERMINAL:
        content["task_id"] = job.job_id
    return Answer(content=content, text=outcome_text(job))


def failure(error: EngineError) -> Answer:
    """Give an error that kept a run from starting: nothing was changed."""
    shape = error.as_json()
    shape["status"] = "failed"
    shape["errors"] = [error.message]
    shape["diagnostics"] = _diagnostics_of(shape, _fixes_of(error))
    shape["logs"] = {"operation_log": None, "operation_resource": None}
    shape["partial_results"] = _partial({})
    return Answer(content=shape, text=failure_text(error), is_error=True)


def _failed(catalog: Catalog, job: Job) -> Answer:
    """Give what a run that failed did, what was kept of it, and what to do."""
    shape = error_of(job)
    details = shape["details"]
    assert isinstance(details, dict)
    fixes = [*_hints(details), *_FIXES_BY_CODE.get(str(shape["error"]), ())]
    diagnostics = _diagnostics_of(shape, fixes)
    diagnostics["sqlite_path"] = _storage_of(catalog, job.path)["sqlite_path"]
    content = {
        **shape,
        "status": "failed",
        "errors": [str(shape["message"])],
        "diagnostics": diagnostics,
        "logs": _logs_of(job),
        "partial_results": _partial(job.counts, job.files_done),
    }
    return Answer(content=content, text=failed_job(job).text, is_error=True)


def _partial(counts: Mapping[str, int], files_done: int = 0) -> dict[str, int]:
    return {
        "files_processed": files_done,
        "symbols_extracted": counts.get("symbols", 0),
        "embeddings_generated": counts.get("embeddings", 0),
    }


def _diagnostics_of(shape: Mapping[str, object], fixes: list[str]) -> dict[str, object]:
    """Give the facts of an error, what the system forbade, and what to do.

    Args:
        shape: The error; its details may have ``diagnostics`` of what is away.
        fixes: What to do.
    """
    message = str(shape["message"])
    details = shape["details"]
    found: dict[str, object] = {"code": shape["error"]}
    if isinstance(details, Mapping):
        found.update({name: value for name, value in details.items() if name != "hint"})
    away = found.pop("diagnostics", None)
    if isinstance(away, Mapping):
        found.update(away)
        found["connection_error"] = message
    if any(said in message.lower() for said in _FORBIDDEN):
        found["permission_issues"] = [message]
    found["suggested_fixes"] = fixes
    return found


def _hints(details: Mapping[str, object]) -> list[str]:
    return [str(details["hint"])] if details.get("hint") else []


def _fixes_of(error: EngineError) -> list[str]:
    known = next((fixes for kind, fixes in _FIXES.items() if isinstance(error, kind)), ())
    return [*([error.hint] if error.hint else []), *known]


def add_database(error: EngineError, catalog: Catalog, folder: str) -> None:
    """Let an error name the database of a folder, if there is one; it need not be sound."""
    file = catalog.data_dir / f"{project_id_of(resolve(folder))}.db"
    with suppress(OSError):
        if file.exists():
            error.details["sqlite_path"] = str(file)


def _storage_of(catalog: Catalog, root: str) -> dict[str, object]:
    file = catalog.open(root).browse.overview.index_file()
    return {"sqlite_path": file.path, "sqlite_size_mb": round(file.size_bytes / _MB, 3)}


def _logs_of(job: Job) -> dict[str, object]:
    return {"operation_log": job.log, "operation_resource": log_uri(job.log, job.path)}


def _warnings_of(done: Mapping[str, object]) -> list[str]:
    notes = done.get("notes")
    said = [str(note) for note in notes] if isinstance(notes, list | tuple) else []
    errors = done.get("errors")
    failed = errors if isinstance(errors, list | tuple) else ()
    return said + [f"{each['file']}: {each['error']}" for each in failed]


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
            gives=SHAPE,
            run=work.index_symbol_graph,
            destroys=True,
            waits=True,
            fail=failure,
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
                add_database(error, self._desk.catalog, given.repository_path)
            raise
        return answer_of(self._desk.catalog, job, warnings)

    def _asked(self, path: str, field: str, options: IndexOptions, caller: Caller) -> Job:
        """Ask for a run and wait for its end, not longer than clients do."""
        folder = self._desk.projects.folder(path, field=field)
        try:
            asked = answers.index(
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
