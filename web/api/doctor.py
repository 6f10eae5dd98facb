"""The doctor of a project: check its index, mend it, make it small, copy it, begin it anew.

An index that cannot be opened has a doctor too: that is what it is for.
"""

import asyncio
import re
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from litestar import Request, post
from litestar.params import QueryParameter
from msgspec import Meta

from engine.errors import (
    Cancelled,
    ConflictError,
    EngineError,
    InvalidInputError,
    InvalidPathError,
    UnavailableError,
)
from engine.records import IndexOptions
from engine.state_records import Remedy, Repair, Verification, Waits
from web.api.service import Service
from web.api.shapes import Answer, Count, NewJob, ProjectId, shaped
from web.errors import Refusal
from web.schemas import as_json

_TAGS = ("doctor",)
_BASE = "/projects/{project_id:str}/doctor"
_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,150}\.db"

Result = TypeVar("Result")
Stop = Callable[[], bool]
Root = Annotated[
    str | None,
    QueryParameter(
        min_length=1,
        max_length=4096,
        description="the project's root; needed only when a damaged index does not tell it",
    ),
]
Milliseconds = Annotated[int, Meta(ge=0)]


class FindingView(Answer, frozen=True):
    """One thing that was found."""

    code: Annotated[str, Meta(examples=["words_missing"])]
    message: Annotated[str, Meta(examples=["Found 3 chunks that cannot be found by their words"])]
    count: Count
    places: Annotated[list[str], Meta(description="some of them", examples=[["app/session.py:9"]])]
    severity: Literal["damage", "note"]
    fix: Annotated[str, Meta(description="a command")]


class Call(Answer, frozen=True):
    """A request to this API."""

    method: Annotated[str, Meta(examples=["POST"])]
    path: str
    body: dict[str, str] | None


class Diagnostics(Answer, frozen=True):
    """Where to look."""

    sqlite_path: str
    sqlite_size_bytes: Count


class VerificationView(Answer, frozen=True):
    """What was checked, and what was found."""

    project_id: str
    path: Annotated[str, Meta(description="the root; empty when a damaged index does not tell it")]
    status: Literal["sound", "damaged"]
    ok: Annotated[bool, Meta(description="nothing is damaged")]
    checked: Annotated[dict[str, int], Meta(description="how many of what")]
    findings: Annotated[list[FindingView], Meta(description="the worst first")]
    warnings: Annotated[list[str], Meta(description="the findings in sentences")]
    suggested_fixes: Annotated[
        list[str],
        Meta(description="commands", examples=[["cairn doctor /home/me/src/app --repair"]]),
    ]
    suggested_calls: Annotated[
        list[Call], Meta(description="the same as requests, the first one first")
    ]
    diagnostics: Diagnostics
    took_ms: Milliseconds
    log: Annotated[str | None, Meta(description="the path of its log")]


class RepairView(Answer, frozen=True):
    """What a repair did."""

    project_id: str
    path: str
    ok: Annotated[bool, Meta(description="nothing is damaged any more")]
    done: Annotated[list[str], Meta(description="sentences")]
    kept: Annotated[list[str], Meta(description="sentences")]
    needs_index: Annotated[bool, Meta(description="files were taken out")]
    job_id: Annotated[str | None, Meta(description="the job that brings them back")]
    aside: Annotated[
        str | None, Meta(description="where the damaged file is, when a new one was begun")
    ]
    before: VerificationView
    after: VerificationView
    took_ms: Milliseconds


class CompactionView(Answer, frozen=True):
    """What a compaction did."""

    project_id: str
    path: str
    bytes_before: Count
    bytes_after: Count
    took_ms: Milliseconds


class BackupView(Answer, frozen=True):
    """A copy of an index; restoring means copying it back."""

    project_id: str
    path: str
    file: Annotated[str, Meta(examples=["/home/me/.local/share/codecairn/backups/app.db"])]
    size_bytes: Count
    took_ms: Milliseconds


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
    """Look at everything in an index, some 9 s for 100,000 chunks; only a log is written.

    A damaged index is an answer and no error: `status` is `damaged`, and `suggested_calls` say
    what helps. It ends when the client goes away.
    """

    def verify(stop: Stop) -> VerificationView:
        found = service.catalog.doctor_of_id(project_id, path=path).verify(cancelled=stop)
        return shaped(_verification(service, found), VerificationView)

    async with _attended(request) as is_gone:
        return await _treated(service, verify, is_gone)


@post(
    f"{_BASE}/repair",
    operation_id="repairIndex",
    summary="Mend an index",
    tags=_TAGS,
    status_code=200,
)
async def repair_index(service: Service, project_id: ProjectId, path: Root = None) -> RepairView:
    """Mend what is damaged and only that, and look again; it goes on when the client goes away.

    What cannot be mended is made anew, with the jobs and memories that can be read of it, and the
    damaged file is kept. `job_id` is that of the job that reads the files again which were taken
    out. 409 while the project is being indexed.
    """

    def repair(stop: Stop) -> RepairView:
        doctor = service.catalog.doctor_of_id(project_id, path=path)
        done = doctor.repair(cancelled=stop)
        job_id = refilled(service, doctor.root) if done.needs_index else None
        return shaped(_repair(service, done, job_id), RepairView)

    return await _treated(service, repair)


@post(
    f"{_BASE}/compact",
    operation_id="compactIndex",
    summary="Give space back",
    tags=_TAGS,
    status_code=200,
)
async def compact_index(service: Service, project_id: ProjectId) -> CompactionView:
    """Give the space that holds nothing back to the disk; needs room for a second copy meanwhile.

    409 while the project is being indexed.
    """
    return await _treated(
        service,
        lambda _: shaped(service.catalog.doctor_of_id(project_id).compact(), CompactionView),
    )


@post(f"{_BASE}/backup", operation_id="backUpIndex", summary="Copy an index", tags=_TAGS)
async def back_up_index(
    service: Service,
    project_id: ProjectId,
    name: Annotated[
        str | None,
        QueryParameter(
            pattern=f"^{_NAME}$",
            description="of the file; without one it is made of the id and the time",
        ),
    ] = None,
) -> BackupView:
    """Write a copy below `backups` of the data directory, whole or not at all, also while jobs run.

    A file that is there is never replaced: 409. A damaged index is not copied.
    """

    def back_up(_stop: Stop) -> BackupView:
        doctor = service.catalog.doctor_of_id(project_id)
        target = _room_for(service.catalog.data_dir / "backups", name or _name_now(project_id))
        try:
            return shaped(doctor.back_up(target), BackupView)
        except InvalidPathError as error:
            raise ConflictError(error.message, hint=error.hint, field="name") from error

    return await _treated(service, back_up)


@post(
    f"{_BASE}/rebuild",
    operation_id="rebuildIndex",
    summary="Begin an index anew",
    tags=_TAGS,
    status_code=202,
)
async def rebuild_index(service: Service, project_id: ProjectId, path: Root = None) -> NewJob:
    """Empty an index, damaged or not, and fill it again by a job; jobs and memories stay."""

    def rebuild(_stop: Stop) -> NewJob:
        root = service.catalog.doctor_of_id(project_id, path=path).root
        options = IndexOptions(force_clean=True)
        return shaped(service.catalog.jobs.submit(root, options, waits=Waits.NEVER), NewJob)

    return await _treated(service, rebuild)


@asynccontextmanager
async def _attended(request: Request[Any, Any, Any]) -> AsyncIterator[Stop]:
    """Give what says whether the client has gone away."""
    gone = threading.Event()

    async def listen() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        gone.set()

    listening = asyncio.create_task(listen())
    try:
        yield gone.is_set
    finally:
        listening.cancel()


async def _treated(
    service: Service, act: Callable[[Stop], Result], is_gone: Stop = lambda: False
) -> Result:
    """Do what may take long in the doctor's own threads; it stops when the server is to end."""
    try:
        return await service.lanes.doctor.run(lambda: act(lambda: service.is_ending or is_gone()))
    except Cancelled as error:
        raise Refusal(
            "unavailable", "the server is ending, and stopped the doctor", hint=str(error)
        ) from error


def refilled(service: Service, root: str) -> str | None:
    """Have the files read again that a repair has taken out; gives the id of the job."""
    try:
        return service.catalog.jobs.submit(root, waits=Waits.NEVER).job_id
    except ConflictError as conflict:  # a run that is asked for already brings them back as well
        job_id = conflict.details.get("job_id")
        return None if job_id is None else str(job_id)
    except EngineError:  # the repair is done, and its findings say what is left to do
        return None


def _verification(service: Service, found: Verification) -> dict[str, object]:
    shape = as_json(found)
    assert isinstance(shape, dict)
    file = service.catalog.data_dir / f"{found.project_id}.db"
    size_bytes = 0
    with suppress(OSError):
        size_bytes = file.stat().st_size
    return {
        **shape,
        "status": "sound" if found.ok else "damaged",
        "suggested_calls": [_call(remedy, found) for remedy in found.remedies],
        "diagnostics": {"sqlite_path": str(file), "sqlite_size_bytes": size_bytes},
    }


def _repair(service: Service, done: Repair, job_id: str | None) -> dict[str, object]:
    shape = as_json(done)
    assert isinstance(shape, dict)
    return {
        **shape,
        "job_id": job_id,
        "before": _verification(service, done.before),
        "after": _verification(service, done.after),
    }


def _call(remedy: Remedy, found: Verification) -> dict[str, object]:
    """Give the request that is the remedy."""
    if remedy is Remedy.INDEX:
        return {"method": "POST", "path": "/api/v1/projects", "body": {"path": found.path}}
    path = f"/api/v1/projects/{found.project_id}/doctor/{remedy}"
    return {"method": "POST", "path": path, "body": None}


def _name_now(project_id: str) -> str:
    now = datetime.now(UTC)
    return f"{project_id}-{now:%Y-%m-%d-%H-%M-%S}-{now.microsecond:06d}.db"


def _room_for(folder: Path, name: str) -> Path:
    """Give where a backup is to be; its folder is there then.

    Raises:
        InvalidInputError: The name could lead elsewhere.
        UnavailableError: The folder cannot be made.
    """
    if not re.fullmatch(_NAME, name):
        raise InvalidInputError(f"{name!r} is no name of a backup", field="name")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise UnavailableError(f"cannot make {folder}: {error.strerror}") from error
    return folder / name


HANDLERS = (verify_index, repair_index, compact_index, back_up_index, rebuild_index)
