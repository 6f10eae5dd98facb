"""The folder picker: the folders below the home folder, one level at a time."""

import os
from dataclasses import dataclass
from typing import Any

from litestar import Request, Response, get

from engine.errors import InvalidPathError
from web.api.service import Service
from web.pages.rendering import Pages, page, visit_of

_MOST_LISTED = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """A folder, and what is in it."""

    path: str
    name: str
    parents: tuple[tuple[str, str], ...]  # name and path, the home folder first
    children: tuple[tuple[str, str], ...]  # name and path
    is_cut: bool  # there are more
    is_repository: bool


@get("/folders")
async def folders(
    request: Request[Any, Any, Any], service: Service, pages: Pages, path: str = ""
) -> Response[bytes]:
    """Show the folders in one, which is in the home folder; hidden ones and links are left out."""
    visit = visit_of(request)
    template = "parts/folders.html" if visit.is_fragment else "folders.html"

    def show() -> bytes:
        home = os.path.realpath(os.path.expanduser("~"))
        return pages.html(template, visit, {"folder": look(home, path)})

    return page(await service.work(show))


def look(home: str, path: str) -> Folder:
    """Look into a folder.

    Args:
        home: The resolved folder above all that is shown.
        path: The folder; empty for that one.

    Raises:
        InvalidPathError: It is not in the home folder, hidden, a link, or cannot be read.
    """
    wanted = path or home
    if "\0" in wanted or os.path.normpath(wanted) != wanted or os.path.realpath(wanted) != wanted:
        raise _refused(path)
    inside = os.path.relpath(wanted, home)
    parts = [] if inside == "." else inside.split("/")
    if any(part.startswith(".") for part in parts):  # hidden, or above the home folder
        raise _refused(path)
    try:
        with os.scandir(wanted) as entries:
            names = sorted(
                (
                    entry.name
                    for entry in entries
                    if not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False)
                ),
                key=str.casefold,
            )
    except OSError as error:
        raise InvalidPathError(
            f"the folder cannot be read: {error.strerror}", field="path"
        ) from error
    parents = [("~", home)]
    for part in parts[:-1]:
        parents.append((part, f"{parents[-1][1]}/{part}"))
    shown = [name for name in names if name.isprintable()]
    return Folder(
        path=wanted,
        name=parts[-1] if parts else "~",
        parents=tuple(parents) if parts else (),
        children=tuple((name, f"{wanted}/{name}") for name in shown[:_MOST_LISTED]),
        is_cut=len(shown) > _MOST_LISTED,
        is_repository=os.path.exists(f"{wanted}/.git"),
    )


def _refused(path: str) -> InvalidPathError:
    return InvalidPathError(
        "only folders in the home folder are shown, and no hidden ones",
        hint="type the path of any other folder",
        field="path",
        path=path,
    )
