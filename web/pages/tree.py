"""The page of a folder, the file tree beside files, and the place of a page in both."""

from typing import Any
from urllib.parse import urlencode

from litestar import Request, Response, get

from engine.errors import FileNotIndexedError
from engine.project import Project
from engine.record_class import record
from engine.records import display_path
from web.api.service import Service
from web.pages.facets import plain_value
from web.pages.rendering import (
    PageRequest,
    Pages,
    commits_path,
    file_path,
    name_of,
    page,
    page_request_of,
    redirect,
    tree_path,
)

_PAGE = 500
_MAX_LEVELS = 50  # of the tree; hundreds of nested levels are a recursion error in the template
_MAX_NAMES = 400  # of a level of the tree; the folder's page has all


@record
class Place:
    """A file or folder of a project."""

    index: Project
    path: str  # relative to the root, as displayed; "" is the root

    @property
    def stored(self) -> str:
        """The path as spelled on disk."""
        return self.index.browse.stored_path(self.path)

    @property
    def project(self) -> str:
        """The root."""
        return display_path(self.index.root)

    @property
    def address(self) -> str:
        """The address of the file's page."""
        return file_path(self.index.project_id, self.path)

    @property
    def name(self) -> str:
        """The last part of the path; for the root, the project's name."""
        return name_of(self.path or self.project)

    @property
    def folder(self) -> str:
        """The path of the parent folder."""
        return self.path.rpartition("/")[0]

    def crumbs(self, linked: int | None = None) -> list[tuple[str, str]]:
        """Return names and addresses of the parent folders, the outermost first.

        Args:
            linked: How many have a page; the address of the others is empty. None: all.
        """
        parts = self.path.split("/")[:-1]
        there = len(parts) if linked is None else linked
        return [
            (name, tree_path(self.index.project_id, "/".join(parts[:depth])))
            for depth, name in enumerate(parts[:there], start=1)
        ] + [(name, "") for name in parts[there:]]


@record
class Level:
    """A level of the file tree."""

    nodes: tuple["Node", ...]
    more: str  # address of the folder's page if entries are left out, or empty


@record
class Node:
    """A folder or file in the file tree."""

    name: str
    address: str
    is_folder: bool
    is_here: bool  # the current file, or a folder above it
    inside: Level | None  # None: not loaded


def level_of(index: Project, folder: str, path: str = "", *, depth: int = _MAX_LEVELS) -> Level:
    """Return a level of the tree, with the levels below it on the way to a path.

    Args:
        index: The project.
        folder: Relative to the root; "" is the root.
        path: The current file; empty: only one level.
        depth: The number of levels; deeper ones are loaded when they become visible.

    Raises:
        InvalidPathError: The folder cannot be in the project.
    """
    names = index.browse.folders.names(folder, most=_MAX_NAMES + 1)
    nodes = []
    for name, each, is_folder in names[:_MAX_NAMES]:
        is_here = path.startswith(f"{each}/") if is_folder else path == each
        inside = None
        if is_here and is_folder and depth > 1:
            inside = level_of(index, each, path, depth=depth - 1)
        nodes.append(
            Node(
                name=name,
                address=(tree_path if is_folder else file_path)(index.project_id, each),
                is_folder=is_folder,
                is_here=is_here,
                inside=inside,
            )
        )
    is_cut = len(names) > _MAX_NAMES
    return Level(nodes=tuple(nodes), more=tree_path(index.project_id, folder) if is_cut else "")


@get(["/p/{project_id:str}/tree", "/p/{project_id:str}/tree/{path:path}"])
async def tree(
    request: Request[Any, Any, Any],
    service: Service,
    pages: Pages,
    project_id: str,
    path: str = "",
    after: int = 0,
) -> Response[bytes]:
    """Render a folder from entry ``after`` on; for htmx a level of the file tree."""
    page_request = page_request_of(request)
    folder = path.strip("/")

    def show() -> Response[bytes]:
        place = Place(index=service.index_of(project_id), path=folder)
        if page_request.is_fragment:
            context = {"level": level_of(place.index, folder)}
            return page(pages.html("parts/tree.html", page_request, context))
        return _folder(pages, page_request, place, after)

    return await service.work(show)


def _folder(pages: Pages, page_request: PageRequest, place: Place, after: int) -> Response[bytes]:
    index = place.index
    found = index.browse.folders.entries(place.path, limit=_PAGE, offset=after)
    if not found.entries and place.path:
        outcome = index.why(place.path).outcome
        if outcome == "indexed":
            return redirect(place.address)
        if not found.total:
            raise FileNotIndexedError(
                f"folder {place.path} is not in the index",
                hint="browse the files of the project",
                path=place.path,
            )
    here = tree_path(index.project_id, place.path)
    later, before = after + _PAGE, max(after - _PAGE, 0)
    last = (found.total - 1) // _PAGE * _PAGE
    below = f"/{place.path}/" if place.path else ""
    # A search reads what begins with the root's own path as an absolute path.
    is_misread = below.startswith(f"{place.project}/")
    searched = f"{place.project}{below}" if is_misread else below
    context = {
        "place": place,
        "found": found,
        "search": urlencode({"q": _within(searched), "project": index.project_id}),
        "history": commits_path(index.project_id, _within(below)),
        "first": after + 1,
        "last": f"{here}?after={last}" if last > 0 else here,
        "before": f"{here}?after={before}" if after else "",
        "later": f"{here}?after={later}" if later < found.total else "",
    }
    return page(pages.html("tree.html", page_request, context))


def _within(path: str) -> str:
    return f"path:{plain_value(path)}" if path else ""
