"""What ``index_symbol_graph`` answers: figures, where they are stored, the log, and what to do."""

from collections.abc import Mapping
from contextlib import suppress

from engine.catalog import Catalog
from engine.errors import (
    ConflictError,
    DamagedIndexError,
    DiskFullError,
    EmbedderUnavailableError,
    EngineError,
    IndexBusyError,
)
from engine.job_records import TERMINAL, Job, JobState
from engine.roots import project_id_of, resolve
from web.mcp.job_reading import error_of, failed_job, log_uri, outcome_text
from web.mcp.shapes import part, record
from web.mcp.tool import Answer, failure_text

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
