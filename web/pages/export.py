"""An index as a file to download: a copy that SQLite opens, made whole and then sent."""

import re
import shutil
import tempfile
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from litestar import Request, Response, post
from litestar.response import Stream

from engine.errors import ConflictError, EngineError, UnavailableError
from engine.records import display_path
from web.api.exports import Export
from web.api.service import Service
from web.pages.doctor import refused
from web.pages.rendering import Pages, name_of, visit_of

_PIECE_BYTES = 1 << 20
_PREFIX = "export-"
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_MOST_NAME_CHARS = 60


def delete_leftovers(data_dir: Path) -> None:
    """Delete copies that a server which was killed has left; no other process makes any."""
    for folder in data_dir.glob(f"{_PREFIX}*"):
        shutil.rmtree(folder, ignore_errors=True)


class Copy(NamedTuple):
    """A copy whose file has no name any more: it goes when it is closed, whatever happens."""

    file: BinaryIO
    size_bytes: int
    name: str  # that it is to be saved under


@post("/p/{project_id:str}/export", status_code=200)
async def export(
    request: Request[Any, Any, Any], service: Service, pages: Pages, project_id: str
) -> Response[bytes] | Stream:
    """Send a copy of the index as it is now, also while jobs run; needs room for it meanwhile.

    A few at once; one that its receiver takes nothing of for a minute is given up.
    """
    visit = visit_of(request)
    try:
        running = service.exports.begin()
    except ConflictError as error:
        return await refused(service, pages, visit, project_id, error)
    try:
        copy = await service.lanes.doctor.run(lambda: _copied(service, project_id))
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
    patient = service.catalog.doctor_of_id(project_id)
    name = _UNSAFE.sub("-", name_of(display_path(patient.root))).strip("-.")[:_MOST_NAME_CHARS]
    try:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=service.catalog.data_dir))
        try:
            target = folder / "index.db"
            size_bytes = patient.back_up(target).size_bytes
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
