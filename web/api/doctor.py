"""Check, repair, compact, back up and rebuild a project's index, also one that cannot be opened."""

import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from litestar import Request, post
from litestar.params import QueryParameter

from engine.cancellation import CancelToken
from engine.doctor_records import Backup, Compaction, Finding, Remedy, Verification
from engine.errors import (
    ConflictError,
    EngineError,
    InvalidInputError,
    InvalidPathError,
    UnavailableError,
)
from engine.files import backups_in
from engine.index_records import IndexOptions
from engine.record_class import record
from engine.state_records import SubmittedJob, WaitMode
from web.api.long_work import run_long
from web.api.service import Service
from web.api.shapes import ProjectId
from web.schemas import values_of

_TAGS = ("doctor",)
_BASE = "/projects/{project_id:str}/doctor"
_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,150}\.db"

Result = TypeVar("Result")
Root = Annotated[
    str | None,
    QueryParameter(
        min_length=1,
        max_length=4096,
        description="the project's root; needed only when it cannot be read from a damaged index",
    ),
]


@record
class Call:
    """A request to this API."""

    method: str
    path: str
    body: dict[str, str] | None


@record
class Diagnostics:
    """The database file to look at."""

    sqlite_path: str
    sqlite_size_bytes: int


@record
class VerificationView:
    """The result of a check: a ``Verification``, and how to act on it over HTTP."""

    project_id: str
    path: Annotated[str, "the root; empty if a damaged index hides it"]
    status: Literal["sound", "damaged"]
    ok: Annotated[bool, "whether nothing is damaged"]
    checked: Annotated[
        Mapping[str, int], "how many of each kind were checked; `vectors` are of chunks"
    ]
    findings: Annotated[tuple[Finding, ...], "worst first"]
    warnings: Annotated[tuple[str, ...], "the findings as sentences"]
    suggested_fixes: Annotated[tuple[str, ...], "commands"]
    suggested_calls: Annotated[tuple[Call, ...], "the same as requests, in the order to send them"]
    diagnostics: Diagnostics
    took_ms: int
    log: Annotated[str | None, "the path of its log"]


@record
class RepairView:
    """The outcome of a repair: a ``Repair``, and the job that completes it."""

    project_id: str
    path: str
    ok: Annotated[bool, "whether nothing is damaged any more"]
    done: Annotated[tuple[str, ...], "sentences"]
    kept: Annotated[tuple[str, ...], "sentences"]
    needs_index: Annotated[bool, "whether files were removed and must be indexed again"]
    job_id: Annotated[str | None, "the job that indexes them again"]
    aside: Annotated[str | None, "where the damaged file was moved, if a new one was created"]
    before: VerificationView
    after: VerificationView
    took_ms: int


@post(
    f"{_BASE}/verify",
    operation_id="verifyIndex",
    summary="Check an index",
    tags=_TAGS,
    status_code=200,
)
async def verify_index(
    service: Service, request: Request[Any, Any, Any], project_id: ProjectId, path: Root = None
) -> VerificationView:
    """Check a whole index, which takes about 9 s for 100,000 chunks; writes nothing but a log.

    A damaged index is not an error: `status` is `damaged`, and `suggested_calls` lists the
    requests that help. The check is cancelled when the client disconnects.
    """

    def verify(cancelled: CancelToken) -> VerificationView:
        found = service.catalog.doctor_of_id(project_id, path=path).verify(cancelled=cancelled)
        return _verification(service, found)

    return await run_long(service, verify, awaited_by=request)


@post(
    f"{_BASE}/repair",
    operation_id="repairIndex",
    summary="Repair an index",
    tags=_TAGS,
    status_code=200,
)
async def repair_index(service: Service, project_id: ProjectId, path: Root = None) -> RepairView:
    """Repair only what is damaged, then check again; continues when the client disconnects.

    An index beyond repair is replaced by a new one with the jobs and memories that can still be
    read, and the damaged file is kept. `job_id` names the job that indexes removed files again.
    409 while the project is being indexed.
    """

    def repair(cancelled: CancelToken) -> RepairView:
        doctor = service.catalog.doctor_of_id(project_id, path=path)
        done = doctor.repair(cancelled=cancelled)
        job_id = submit_refill(service, doctor.root) if done.needs_index else None
        checks = {
            "before": _verification(service, done.before),
            "after": _verification(service, done.after),
        }
        return RepairView(**{**values_of(done), **checks}, job_id=job_id)

    return await run_long(service, repair)


@post(
    f"{_BASE}/compact",
    operation_id="compactIndex",
    summary="Compact an index",
    tags=_TAGS,
    status_code=200,
)
async def compact_index(service: Service, project_id: ProjectId) -> Compaction:
    """Return unused space to the disk; temporarily needs room for a second copy.

    409 while the project is being indexed.
    """
    return await run_long(service, lambda _: service.catalog.doctor_of_id(project_id).compact())


@post(f"{_BASE}/backup", operation_id="backUpIndex", summary="Back up an index", tags=_TAGS)
async def back_up_index(
    service: Service,
    project_id: ProjectId,
    name: Annotated[
        str | None,
        QueryParameter(
            pattern=f"^{_NAME}$",
            description="the file name; by default made from the project's id and the time",
        ),
    ] = None,
) -> Backup:
    """Write a copy to `backups` in the data directory, completely or not at all, also during jobs.

    An existing file is never replaced: 409. A damaged index is not copied.
    """

    def back_up(_cancelled: CancelToken) -> Backup:
        doctor = service.catalog.doctor_of_id(project_id)
        target = _room_for(backups_in(service.catalog.data_dir), name or _name_now(project_id))
        try:
            return doctor.back_up(target)
        except InvalidPathError as error:
            raise ConflictError(error.message, hint=error.hint, field="name") from error

    return await run_long(service, back_up)


@post(
    f"{_BASE}/rebuild",
    operation_id="rebuildIndex",
    summary="Rebuild an index",
    tags=_TAGS,
    status_code=202,
)
async def rebuild_index(service: Service, project_id: ProjectId, path: Root = None) -> SubmittedJob:
    """Start a job that builds a new index; the old one answers until then.

    An index too damaged to be read is put aside first, and an empty one answers.
    """

    def rebuild(_cancelled: CancelToken) -> SubmittedJob:
        root = service.catalog.doctor_of_id(project_id, path=path).root
        options = IndexOptions(force_clean=True)
        return service.catalog.jobs.submit(root, options, waits=WaitMode.NEVER)

    return await run_long(service, rebuild)


def submit_refill(service: Service, root: str) -> str | None:
    """Submit a job that indexes removed files again; return its id, or None on failure."""
    try:
        return service.catalog.jobs.submit(root, waits=WaitMode.NEVER).job_id
    except ConflictError as conflict:  # the run already requested indexes them as well
        job_id = conflict.details.get("job_id")
        return None if job_id is None else str(job_id)
    except EngineError:  # the repair is done, and its findings name the remaining steps
        return None


def _verification(service: Service, found: Verification) -> VerificationView:
    file = service.catalog.data_dir / f"{found.project_id}.db"
    size_bytes = 0
    with suppress(OSError):
        size_bytes = file.stat().st_size
    return VerificationView(
        **values_of(found),
        status="sound" if found.ok else "damaged",
        suggested_calls=tuple(_call(remedy, found) for remedy in found.remedies),
        diagnostics=Diagnostics(sqlite_path=str(file), sqlite_size_bytes=size_bytes),
    )


def _call(remedy: Remedy, found: Verification) -> Call:
    """Return the API request that applies a remedy."""
    if remedy is Remedy.INDEX:
        return Call(method="POST", path="/api/v1/projects", body={"path": found.path})
    path = f"/api/v1/projects/{found.project_id}/doctor/{remedy}"
    return Call(method="POST", path=path, body=None)


def _name_now(project_id: str) -> str:
    now = datetime.now(UTC)
    return f"{project_id}-{now:%Y-%m-%d-%H-%M-%S}-{now.microsecond:06d}.db"


def _room_for(folder: Path, name: str) -> Path:
    """Return the path for a backup, and create its folder.

    Raises:
        InvalidInputError: The name could escape the folder.
        UnavailableError: The folder cannot be created.
    """
    if not re.fullmatch(_NAME, name):
        raise InvalidInputError(f"{name!r} is not a valid backup name", field="name")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise UnavailableError(f"cannot create {folder}: {error.strerror}") from error
    return folder / name


HANDLERS = (verify_index, repair_index, compact_index, back_up_index, rebuild_index)
