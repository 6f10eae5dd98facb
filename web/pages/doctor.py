"""The doctor's page of a project: check, repair, compact, rebuild and export its index.

The page stands apart from the project's because an index that cannot be opened has no other page.
An export is a copy that is finished before it is sent.
"""

import re
import shutil
import tempfile
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from litestar import Request, Response, get, post
from litestar.response import Stream

from engine.browse_records import IndexFile
from engine.cancellation import CancelToken
from engine.doctor_records import Compaction, Remedy, Repair, Severity, Verification
from engine.errors import (
    ConflictError,
    DamagedIndexError,
    EngineError,
    IndexTooNewError,
    InvalidPathError,
    UnavailableError,
)
from engine.index_records import IndexOptions
from engine.project import Project
from engine.record_class import record
from engine.records import display_path
from engine.state_records import ACTIVE, Job, WaitMode
from web.api.doctor import submit_refill
from web.api.maintenance import Export, MaintenanceKind, MaintenanceTask, MaintenanceWork, Outcome
from web.api.service import Service
from web.errors import outcome_of
from web.pages.forms import perform, read_form
from web.pages.rendering import (
    PageRequest,
    Pages,
    box_scope,
    name_of,
    page,
    page_request_of,
    project_path,
    redirect,
)
from web.wording import CHECKED

_WAIT_S = 1.0  # checking a small index takes less, so the redirect shows the result
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

_PIECE_BYTES = 1 << 20
_PREFIX = "export-"
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_MOST_NAME_CHARS = 60


@record
class Refill:
    """The indexing that is still needed."""

    is_all: bool  # the index is empty; otherwise a repair removed some files
    job: Job | None  # the job that indexes it, if there is one


def doctor_facts(service: Service, index: Project, project_id: str) -> dict[str, object]:
    """Return what the doctor's part of a page shows of an index that can be opened."""
    facts = _facts(service, project_id, index)
    return {**facts, "refill": _refill(service, index, facts["repaired"], facts["task"])}


@get("/p/{project_id:str}/doctor")
async def doctor(
    request: Request[Any, Any, Any], service: Service, pages: Pages, project_id: str
) -> Response[bytes]:
    """Show the last check and what is running; htmx gets only that part."""
    page_request = page_request_of(request)
    return page(await service.work(lambda: doctor_page(service, pages, page_request, project_id)))


@post("/p/{project_id:str}/doctor/verify", status_code=303)
async def verify(
    request: Request[Any, Any, Any], service: Service, pages: Pages, project_id: str
) -> Response[bytes]:
    """Check the index; the page shows the progress."""

    def work(task: MaintenanceTask, cancelled: CancelToken) -> Outcome:
        project_doctor = service.catalog.doctor_of_id(project_id)
        return project_doctor.verify(on_progress=task.report, cancelled=cancelled)

    return await _start_task(request, service, pages, project_id, (MaintenanceKind.VERIFY, work))


@post("/p/{project_id:str}/doctor/repair", status_code=303)
async def repair(
    request: Request[Any, Any, Any], service: Service, pages: Pages, project_id: str
) -> Response[bytes]:
    """Repair what is damaged, and submit a job that indexes removed files again.

    The form names the project's folder when the damaged file no longer does.
    """
    path = (await read_form(request)).get("path", "").strip() or None

    def work(task: MaintenanceTask, cancelled: CancelToken) -> Outcome:
        project_doctor = service.catalog.doctor_of_id(project_id, path=path)
        done = project_doctor.repair(on_progress=task.report, cancelled=cancelled)
        if done.needs_index:
            submit_refill(service, project_doctor.root)
        return done

    return await _start_task(request, service, pages, project_id, (MaintenanceKind.REPAIR, work))


@post("/p/{project_id:str}/doctor/compact", status_code=303)
async def compact(
    request: Request[Any, Any, Any], service: Service, pages: Pages, project_id: str
) -> Response[bytes]:
    """Return unused space of the file to the disk."""

    def work(_task: MaintenanceTask, _cancelled: CancelToken) -> Outcome:
        return service.catalog.doctor_of_id(project_id).compact()

    return await _start_task(request, service, pages, project_id, (MaintenanceKind.COMPACT, work))


@post("/p/{project_id:str}/doctor/stop", status_code=303)
async def stop(service: Service, project_id: str) -> Response[bytes]:
    """Stop what is running, within a second."""
    task = service.maintenance.of(project_id)
    if task:
        task.stopping.set()
    return redirect(f"{project_path(project_id)}/doctor#treatment")  # gets the focus


@post("/p/{project_id:str}/doctor/rebuild", status_code=303)
async def rebuild(
    request: Request[Any, Any, Any], service: Service, pages: Pages, project_id: str
) -> Response[bytes]:
    """Start a job that builds a new index beside the old one, and redirect to it."""
    page_request = page_request_of(request)

    def work() -> str:
        root = service.catalog.doctor_of_id(project_id).root
        options = IndexOptions(force_clean=True)
        return f"/jobs/{service.catalog.jobs.submit(root, options, waits=WaitMode.NEVER).job_id}"

    def show(error: EngineError) -> bytes:
        return doctor_page(service, pages, page_request, project_id, error=error)

    return await perform(service, work, show)


async def doctor_error_page(
    service: Service, pages: Pages, page_request: PageRequest, project_id: str, error: EngineError
) -> Response[bytes]:
    """Return the doctor's page with an error."""
    body = await service.work(
        lambda: doctor_page(service, pages, page_request, project_id, error=error)
    )
    return page(body, status=outcome_of(error).http_status)


def doctor_page(
    service: Service,
    pages: Pages,
    page_request: PageRequest,
    project_id: str,
    *,
    error: EngineError | None = None,
) -> bytes:
    """Render the page, or the part of it that shows what is running.

    Args:
        service: The server.
        pages: Makes pages.
        page_request: How it is shown.
        project_id: The project's id.
        error: Of what was just asked for.

    Raises:
        ProjectNotFoundError: There is none.
    """
    root = ""
    damage: DamagedIndexError | None = None
    needs_root = False
    try:
        index = service.index_of(project_id)
        root, known = index.root, doctor_facts(service, index, project_id)
    except DamagedIndexError as raised:
        damage = raised
        known = _facts(service, project_id, None)
        try:
            root = service.catalog.doctor_of_id(project_id).root
        except InvalidPathError:
            needs_root = True
    facts = {
        **known,
        "name": name_of(display_path(root)) if root else project_id[:12],
        "here": project_path(project_id),
        "project_id": project_id,
        "error": error or damage,
        "damage_too": damage if error and damage and error.message != damage.message else None,
        "is_open": known["file"] is not None,
        "is_too_new": isinstance(damage, IndexTooNewError),
        "scope": box_scope(project_id, root) if known["file"] else None,
        "needs_root": needs_root,
    }
    template = "parts/maintenance.html" if page_request.is_fragment else "doctor.html"
    return pages.html(template, page_request, facts)


async def _start_task(
    request: Request[Any, Any, Any],
    service: Service,
    pages: Pages,
    project_id: str,
    maintenance: tuple[MaintenanceKind, MaintenanceWork],
) -> Response[bytes]:
    """Start a maintenance task and redirect to its progress, or show at once why it failed."""
    page_request = page_request_of(request)
    await service.work(lambda: service.catalog.doctor_of_id(project_id))  # there, or not found
    try:
        task = await service.maintenance.start(
            project_id,
            *maintenance,
            executor=service.executors.doctor,
            cancelled=lambda: service.is_shutting_down,
            wait_s=_WAIT_S,
        )
    except ConflictError as error:
        return await doctor_error_page(service, pages, page_request, project_id, error)
    if task.error:
        return await doctor_error_page(service, pages, page_request, project_id, task.error)
    return redirect(f"{project_path(project_id)}/doctor#treatment")  # gets the focus


def _facts(service: Service, project_id: str, index: Project | None) -> dict[str, Any]:
    task = service.maintenance.of(project_id)
    has_ended = task is not None and not task.is_active  # before its log is looked for
    file = index.browse.overview.index_file() if index else None
    if task and file and has_ended and _is_superseded(task, file):
        task = None
    outcome = task.outcome if task else None
    found = _found_by(task) if task else None
    return {
        "file": file,
        "task": task,
        "does": _DOES[task.kind] if task else "",
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
    service: Service, index: Project, repaired: Repair | None, task: MaintenanceTask | None
) -> Refill | None:
    """Describe what is still to be indexed after the index was emptied or files were removed."""
    read_at = index.summary().last_indexed_at
    lacks = repaired is not None and repaired.needs_index
    if read_at and not (lacks and task and _is_before(read_at, task.ended_at)):
        return None
    jobs = [
        job
        for activity in service.catalog.activity.poll()
        for job in activity.jobs
        if activity.project_id == index.project_id and job.status in ACTIVE
    ]
    return Refill(is_all=read_at is None, job=next(iter(jobs), None))


def _is_before(moment: str, other: str | None) -> bool:
    return other is not None and datetime.fromisoformat(moment) < datetime.fromisoformat(other)


def _is_superseded(task: MaintenanceTask, file: IndexFile) -> bool:
    """Return whether the index was checked or rebuilt after a task, perhaps by another process."""
    if file.checked_at is None:
        found = _found_by(task)
        return found is not None and found.log is not None  # which holds no longer, or is gone
    return task.ended_at is not None and _is_before(task.ended_at, file.checked_at)


def _found_by(task: MaintenanceTask) -> Verification | None:
    """Return the check of a task; of a repair the one after it."""
    outcome = task.outcome
    looked = outcome.after if isinstance(outcome, Repair) else outcome
    return looked if isinstance(looked, Verification) else None


def _counted(found: Verification) -> list[tuple[str, int]]:
    return [(noun, found.checked[key]) for key, noun in CHECKED.items() if found.checked.get(key)]


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
    page_request = page_request_of(request)
    try:
        running = service.exports.begin()
    except ConflictError as error:
        return await doctor_error_page(service, pages, page_request, project_id, error)
    try:
        copy = await service.executors.doctor.run(lambda: _copied(service, project_id))
    except EngineError as error:
        running.close()
        return await doctor_error_page(service, pages, page_request, project_id, error)
    except BaseException:
        running.close()
        raise
    running.attach(copy.file)
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
        while not running.is_closed:
            piece = await service.work(lambda: copy.file.read(_PIECE_BYTES))
            if not piece:
                return
            running.restart_timeout()
            yield piece
    finally:
        running.close()
