"""The doctor's page of a project: check, repair, compact, rebuild and export its index.

The page stands apart from the project's because an index that cannot be opened has no other page.
An export is a copy that is finished before it is sent.
"""

import re
import shutil
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from litestar import Request, Response, get, post
from litestar.response import Stream

from engine.browse_records import IndexFile
from engine.cancellation import CancelToken
from engine.errors import (
    ConflictError,
    DamagedIndexError,
    EngineError,
    InvalidPathError,
    UnavailableError,
)
from engine.project import Project
from engine.records import IndexOptions, display_path
from engine.state_records import (
    ACTIVE,
    Compaction,
    Job,
    Remedy,
    Repair,
    Severity,
    Verification,
    Waits,
)
from web.api.doctor import submit_refill
from web.api.maintenance import Act, Export, MaintenanceKind, MaintenanceTask, Outcome
from web.api.service import Service
from web.errors import outcome_of
from web.pages.forms import perform, read_form
from web.pages.rendering import Pages, Visit, name_of, page, project_path, redirect, visit_of

_WAIT_S = 1.0  # checking a small index takes less, so the redirect shows the result
_COUNTED = ("file", "symbol", "chunk", "vector", "memory", "job")
#: The label of a remedy's button, and the path it posts to.
_REMEDIES = {
    Remedy.INDEX: ("Index again", "index"),
    Remedy.REPAIR: ("Repair", "doctor/repair"),
    Remedy.REBUILD: ("Rebuild the index", "doctor/rebuild"),
}
_DOES = {
    MaintenanceKind.VERIFY: "Checking the index",
    MaintenanceKind.REPAIR: "Repairing the index",
    MaintenanceKind.COMPACT: "Compacting the index file",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Refill:
    """What is still to be indexed."""

    is_all: bool  # the index is empty; otherwise a repair removed some files
    job: Job | None  # the job that indexes it, if there is one


def doctor_facts(service: Service, index: Project, project_id: str) -> dict[str, object]:
    """Return what the doctor's part of a page shows of an index that can be opened."""
    facts = _facts(service, project_id, file=index.browse.overview.index_file())
    return {**facts, "refill": _refill(service, index, facts["repaired"], facts["treatment"])}


@get("/p/{project_id:str}/doctor")
async def doctor(
    request: Request[Any, Any, Any], service: Service, pages: Pages, project_id: str
) -> Response[bytes]:
    """Show the last check and what is running; htmx gets only that part."""
    visit = visit_of(request)
    return page(await service.work(lambda: doctor_page(service, pages, visit, project_id)))


@post("/p/{project_id:str}/doctor/verify", status_code=303)
async def verify(
    request: Request[Any, Any, Any], service: Service, pages: Pages, project_id: str
) -> Response[bytes]:
    """Check the index; the page shows the progress."""

    def act(treatment: MaintenanceTask, cancelled: CancelToken) -> Outcome:
        project_doctor = service.catalog.doctor_of_id(project_id)
        return project_doctor.verify(on_progress=treatment.tell, cancelled=cancelled)

    return await _begun(request, service, pages, project_id, (MaintenanceKind.VERIFY, act))


@post("/p/{project_id:str}/doctor/repair", status_code=303)
async def repair(
    request: Request[Any, Any, Any], service: Service, pages: Pages, project_id: str
) -> Response[bytes]:
    """Repair what is damaged, and submit a job that indexes removed files again.

    The form names the project's folder when the damaged file no longer does.
    """
    path = (await read_form(request)).get("path", "").strip() or None

    def act(treatment: MaintenanceTask, cancelled: CancelToken) -> Outcome:
        project_doctor = service.catalog.doctor_of_id(project_id, path=path)
        done = project_doctor.repair(on_progress=treatment.tell, cancelled=cancelled)
        if done.needs_index:
            submit_refill(service, project_doctor.root)
        return done

    return await _begun(request, service, pages, project_id, (MaintenanceKind.REPAIR, act))


@post("/p/{project_id:str}/doctor/compact", status_code=303)
async def compact(
    request: Request[Any, Any, Any], service: Service, pages: Pages, project_id: str
) -> Response[bytes]:
    """Return unused space of the file to the disk."""

    def act(_treatment: MaintenanceTask, _cancelled: CancelToken) -> Outcome:
        return service.catalog.doctor_of_id(project_id).compact()

    return await _begun(request, service, pages, project_id, (MaintenanceKind.COMPACT, act))


@post("/p/{project_id:str}/doctor/stop", status_code=303)
async def stop(service: Service, project_id: str) -> Response[bytes]:
    """Stop what is running, within a second."""
    treatment = service.treatments.of(project_id)
    if treatment:
        treatment.stopping.set()
    return redirect(f"{project_path(project_id)}#doctor")


@post("/p/{project_id:str}/doctor/rebuild", status_code=303)
async def rebuild(
    request: Request[Any, Any, Any], service: Service, pages: Pages, project_id: str
) -> Response[bytes]:
    """Empty the index, damaged or not, and redirect to the job that fills it again."""
    visit = visit_of(request)

    def act() -> str:
        root = service.catalog.doctor_of_id(project_id).root
        options = IndexOptions(force_clean=True)
        return f"/jobs/{service.catalog.jobs.submit(root, options, waits=Waits.NEVER).job_id}"

    def show(error: EngineError) -> bytes:
        return doctor_page(service, pages, visit, project_id, error=error)

    return await perform(service, act, show)


async def refused(
    service: Service, pages: Pages, visit: Visit, project_id: str, error: EngineError
) -> Response[bytes]:
    """Return the doctor's page with an error."""
    body = await service.work(lambda: doctor_page(service, pages, visit, project_id, error=error))
    return page(body, status=outcome_of(error).http_status)


def doctor_page(
    service: Service,
    pages: Pages,
    visit: Visit,
    project_id: str,
    *,
    error: EngineError | None = None,
) -> bytes:
    """Render the page, or the part of it that shows what is running.

    Args:
        service: The server.
        pages: Makes pages.
        visit: How it is shown.
        project_id: The project's id.
        error: Of what was just asked for.

    Raises:
        ProjectNotFoundError: There is none.
    """
    root = ""
    needs_root = False
    try:
        index = service.index_of(project_id)
        root, known = index.root, doctor_facts(service, index, project_id)
    except DamagedIndexError as damage:
        error = error or damage
        known = _facts(service, project_id, file=None)
        try:
            root = service.catalog.doctor_of_id(project_id).root
        except InvalidPathError:
            needs_root = True
    facts = {
        **known,
        "name": name_of(display_path(root)) if root else project_id[:12],
        "here": project_path(project_id),
        "error": error,
        "is_open": known["file"] is not None,
        "needs_root": needs_root,
    }
    template = "parts/treatment.html" if visit.is_fragment else "doctor.html"
    return pages.html(template, visit, facts)


async def _begun(
    request: Request[Any, Any, Any],
    service: Service,
    pages: Pages,
    project_id: str,
    care: tuple[MaintenanceKind, Act],
) -> Response[bytes]:
    """Start a maintenance task and redirect to its progress, or show at once why it failed."""
    visit = visit_of(request)
    await service.work(lambda: service.catalog.doctor_of_id(project_id))  # there, or not found
    try:
        treatment = await service.treatments.begin(
            project_id,
            *care,
            lane=service.executors.doctor,
            cancelled=lambda: service.is_shutting_down,
            wait_s=_WAIT_S,
        )
    except ConflictError as error:
        return await refused(service, pages, visit, project_id, error)
    if treatment.error:
        return await refused(service, pages, visit, project_id, treatment.error)
    return redirect(f"{project_path(project_id)}#doctor")


def _facts(service: Service, project_id: str, *, file: IndexFile | None) -> dict[str, Any]:
    treatment = service.treatments.of(project_id)
    if treatment and _is_past(treatment, file):
        treatment = None
    outcome = treatment.outcome if treatment else None
    looked = outcome.after if isinstance(outcome, Repair) else outcome
    found = looked if isinstance(looked, Verification) else None
    return {
        "file": file,
        "treatment": treatment,
        "does": _DOES[treatment.care] if treatment else "",
        "found": found,
        "counted": _counted(found) if found else (),
        "fixes": [_REMEDIES[each] for each in found.remedies] if found else [],
        "repaired": outcome if isinstance(outcome, Repair) else None,
        "refill": None,
        "compacted": outcome if isinstance(outcome, Compaction) else None,
        "damage": Severity.DAMAGE,
        "needs_root": False,  # to be typed, because the damaged file does not tell it
    }


def _refill(
    service: Service, index: Project, repaired: Repair | None, treatment: MaintenanceTask | None
) -> Refill | None:
    """Describe what is still to be indexed after the index was emptied or files were removed."""
    read_at = index.summary().last_indexed_at
    lacks = repaired is not None and repaired.needs_index
    if read_at and not (lacks and treatment and _is_before(read_at, treatment.ended_at)):
        return None
    jobs = [
        job
        for pulse in service.catalog.feed.look()
        for job in pulse.jobs
        if pulse.project_id == index.project_id and job.status in ACTIVE
    ]
    return Refill(is_all=read_at is None, job=next(iter(jobs), None))


def _is_before(moment: str, other: str | None) -> bool:
    return other is not None and datetime.fromisoformat(moment) < datetime.fromisoformat(other)


def _is_past(treatment: MaintenanceTask, file: IndexFile | None) -> bool:
    """Return whether another process has checked the index since."""
    if treatment.ended_at is None or file is None or file.checked_at is None:
        return False
    return _is_before(treatment.ended_at, file.checked_at)


def _counted(found: Verification) -> list[tuple[str, int]]:
    names = {noun: f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s" for noun in _COUNTED}
    return [(noun, found.checked[name]) for noun, name in names.items() if found.checked.get(name)]


_PIECE_BYTES = 1 << 20
_PREFIX = "export-"
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_MOST_NAME_CHARS = 60


def delete_leftovers(data_dir: Path) -> None:
    """Delete copies that a killed server left behind; no other process makes any."""
    for folder in data_dir.glob(f"{_PREFIX}*"):
        shutil.rmtree(folder, ignore_errors=True)


class Copy(NamedTuple):
    """A copy whose file is unlinked already, so that it disappears when it is closed."""

    file: BinaryIO
    size_bytes: int
    name: str  # suggested for the download


@post("/p/{project_id:str}/export", status_code=200)
async def export(
    request: Request[Any, Any, Any], service: Service, pages: Pages, project_id: str
) -> Response[bytes] | Stream:
    """Send a copy of the index as it is now, also while jobs run; needs disk space for the copy.

    A few run at once; one whose receiver reads nothing for a minute is aborted.
    """
    visit = visit_of(request)
    try:
        running = service.exports.begin()
    except ConflictError as error:
        return await refused(service, pages, visit, project_id, error)
    try:
        copy = await service.executors.doctor.run(lambda: _copied(service, project_id))
    except EngineError as error:
        running.end()
        return await refused(service, pages, visit, project_id, error)
    except BaseException:
        running.end()
        raise
    running.hold(copy.file)
    return Stream(
        _pieces(service, copy, running),
        media_type="application/vnd.sqlite3",
        headers={
            "Content-Length": str(copy.size_bytes),
            "Content-Disposition": f'attachment; filename="{copy.name}"',
        },
    )


def _copied(service: Service, project_id: str) -> Copy:
    project_doctor = service.catalog.doctor_of_id(project_id)
    name = _UNSAFE.sub("-", name_of(display_path(project_doctor.root))).strip("-.")[
        :_MOST_NAME_CHARS
    ]
    try:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=service.catalog.data_dir))
        try:
            target = folder / "index.db"
            size_bytes = project_doctor.back_up(target).size_bytes
            file = open(target, "rb")  # noqa: SIM115 - closed when all is sent
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    except OSError as error:
        raise UnavailableError(
            f"cannot make a copy in the data directory: {error.strerror}"
        ) from error
    return Copy(file, size_bytes, f"{name or 'index'}-{datetime.now(UTC):%Y-%m-%d}.db")


async def _pieces(service: Service, copy: Copy, running: Export) -> AsyncIterator[bytes]:
    try:
        while not running.is_over:
            piece = await service.work(lambda: copy.file.read(_PIECE_BYTES))
            if not piece:
                return
            running.go_on()
            yield piece
    finally:
        running.end()
