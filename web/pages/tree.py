"""A folder: what is indexed in it and what is not; and a level of the tree of files.

Where a page is: a file or folder of a project, the folders above it, and the tree of files.
"""

from dataclasses import dataclass
from typing import Any

from litestar import Request, Response, get

from engine.errors import FileNotIndexedError
from engine.project import Index
from engine.records import display_path
from web.api.service import Service
from web.pages.rendering import (
    Pages,
    Visit,
    file_path,
    name_of,
    page,
    redirect,
    tree_path,
    visit_of,
)

_MOST_LEVELS = 50  # of the tree; a template that nests hundreds ends in a recursion error
_MOST_NAMES = 400  # of a level of the tree; the folder's page has them all


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a page is."""

    index: Index
    path: str  # relative to the root, as it is shown; "" is the root

    @property
    def stored(self) -> str:
        """The path as the disk spells it."""
        return self.index.browse.stored_path(self.path)

    @property
    def project(self) -> str:
        """The root."""
        return display_path(self.index.root)

    @property
    def address(self) -> str:
        """Of the file's page."""
        return file_path(self.index.project_id, self.path)

    @property
    def name(self) -> str:
        """The last part of the path, or that of the root."""
        return name_of(self.path or self.project)

    @property
    def folder(self) -> str:
        """The path of the folder that it is in."""
        return self.path.rpartition("/")[0]

    @property
    def crumbs(self) -> list[tuple[str, str]]:
        """Names and addresses of the folders that it is in, the outermost first."""
        parts = self.path.split("/")[:-1]
        return [
            (name, tree_path(self.index.project_id, "/".join(parts[: depth + 1])))
            for depth, name in enumerate(parts)
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """A folder in the tree of files."""

    nodes: tuple["Node", ...]
    more: str  # address of the folder's page when something is left out; empty: nothing is


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A folder or file in the tree of files."""

    name: str
    address: str
    is_folder: bool
    is_here: bool  # this very file, or a folder around it
    inside: Level | None  # None: not looked at yet


def level_of(index: Index, folder: str, path: str = "", *, most: int = _MOST_LEVELS) -> Level:
    """Give a level of the tree, and those below it that lead to a path.

    Args:
        index: The project.
        folder: Relative to the root; "" is the root.
        path: What the page shows; empty: nothing is looked into.
        most: How many levels; folders below them unfold when they come into sight.

    Raises:
        InvalidPathError: The folder cannot be one of the project.
    """
    names = index.browse.folders.names(folder, most=_MOST_NAMES + 1)
    nodes = []
    for name, each, is_folder in names[:_MOST_NAMES]:
        is_here = path.startswith(f"{each}/") if is_folder else path == each
        inside = None
        if is_here and is_folder and most > 1:
            inside = level_of(index, each, path, most=most - 1)
        nodes.append(
            Node(
                name=name,
                address=(tree_path if is_folder else file_path)(index.project_id, each),
                is_folder=is_folder,
                is_here=is_here,
                inside=inside,
            )
        )
    is_cut = len(names) > _MOST_NAMES
    return Level(nodes=tuple(nodes), more=tree_path(index.project_id, folder) if is_cut else "")


_ON_A_PAGE = 500


@get(["/p/{project_id:str}/tree", "/p/{project_id:str}/tree/{path:path}"])
async def tree(
    request: Request[Any, Any, Any],
    service: Service,
    pages: Pages,
    project_id: str,
    path: str = "",
    after: int = 0,
) -> Response[bytes]:
    """Show a folder, after so many of its entries; for htmx a level of the tree of files."""
    visit = visit_of(request)
    folder = path.strip("/")

    def show() -> Response[bytes]:
        place = Place(index=service.index_of(project_id), path=folder)
        if visit.is_fragment:
            facts = {"level": level_of(place.index, folder)}
            return page(pages.html("parts/tree.html", visit, facts))
        return _folder(pages, visit, place, after)

    return await service.work(show)


def _folder(pages: Pages, visit: Visit, place: Place, after: int) -> Response[bytes]:
    index = place.index
    found = index.browse.folders.entries(place.path, limit=_ON_A_PAGE, offset=after)
    if not found.entries and place.path:
        outcome = index.why(place.path).outcome
        if outcome == "indexed":
            return redirect(place.address)
        if not found.total:
            raise FileNotIndexedError(
                f"there is no folder {place.path} in the index",
                hint="see the files of the project",
                path=place.path,
            )
    here = tree_path(index.project_id, place.path)
    later, before = after + _ON_A_PAGE, max(after - _ON_A_PAGE, 0)
    last = (found.total - 1) // _ON_A_PAGE * _ON_A_PAGE
    facts = {
        "place": place,
        "found": found,
        "first": after + 1,
        "last": f"{here}?after={last}" if last > 0 else here,
        "before": f"{here}?after={before}" if after else "",
        "later": f"{here}?after={later}" if later < found.total else "",
    }
    return page(pages.html("tree.html", visit, facts))
