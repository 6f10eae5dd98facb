"""Which project a command speaks of when it is not told, or told by a path inside it."""

import os
from collections.abc import Callable, Sequence

from engine.catalog import Catalog
from engine.errors import (
    DamagedIndexError,
    EngineError,
    InvalidPathError,
    ProjectNotFoundError,
)
from engine.index import Index
from engine.project_filters import names_projects
from engine.records import ProjectSummary, SearchAnswer, SearchRequest, display_path
from engine.roots import project_id_of
from web.project_names import check_is_there, open_at, open_chosen

_NOT_UTF8 = "\ufffd"  # in a listed path: bytes that are not UTF-8, or that very character


def current_folder() -> str:
    """Give the folder that the command runs in.

    Raises:
        InvalidPathError: It has been deleted under the shell.
    """
    try:
        return os.getcwd()
    except FileNotFoundError as error:
        raise InvalidPathError("the current folder no longer exists", field="path") from error


def index_of(
    catalog: Catalog, path: str | None, *, by_name: bool = False, destroys: bool = False
) -> Index:
    """Open the project that a path belongs to.

    Args:
        catalog: The projects there are.
        path: A root or a folder inside one. ``None``: the current folder, and when that is in no
            project the only project there is.
        by_name: What is no such path may be the name of a project, as in ``project:``.
        destroys: The command deletes something: the only project there is must be named.

    Raises:
        InvalidPathError: The current folder no longer exists.
        ProjectNotFoundError: No project holds the path; the hint lists those there are.
        DamagedIndexError: The only project there is cannot be opened.
    """
    if path is not None:
        return open_chosen(catalog, path) if by_name else open_at(catalog, path)
    folder = current_folder()
    try:
        return catalog.open(folder)
    except ProjectNotFoundError as error:
        projects = catalog.projects()
        usable = [project for project in projects if project.error is None]
        if len(usable) == 1 and not destroys:
            return catalog.open(root_of(usable[0]))
        if projects and not usable:
            raise _damage_of(projects) from error
        paths = [project.path for project in usable]
        known = f", or name one of {', '.join(paths)}" if paths else ""
        raise ProjectNotFoundError(
            f"{folder} is in no indexed project", hint=f"cairn index{known}", projects=paths
        ) from error


def index_of_file(catalog: Catalog, project: str | None, path: str) -> Index:
    """Open the project of a file that was named on the command line.

    Args:
        catalog: The projects there are.
        project: As for ``index_of``.
        path: As typed. An absolute one outside of the project of the current folder speaks of its
            own project.

    Raises:
        EngineError: As of ``index_of``.
    """
    if project is None and os.path.isabs(path):
        for place in (current_folder(), path):
            try:
                index = catalog.open(place)
            except ProjectNotFoundError:
                continue
            if place == path or _holds(index, path):
                return index
    return index_of(catalog, project, by_name=True)


def _holds(index: Index, path: str) -> bool:
    """Say whether a typed path lies below the root of a project."""
    return f"{absolute(path, index, from_root=False)}/".startswith(f"{index.root.rstrip('/')}/")


def root_for(catalog: Catalog, path: str | None, *, destroys: bool = False) -> str:
    """Give the root of the project that a path belongs to, whose index may be damaged.

    Args:
        catalog: The projects there are.
        path: As for ``index_of``.
        destroys: As for ``index_of``.

    Raises:
        InvalidPathError: The current folder no longer exists.
        ProjectNotFoundError: No project holds the path; the hint lists those there are.
        DamagedIndexError: The only project there is cannot be opened, so that its root is unknown.
    """
    try:
        root = catalog.doctor(current_folder() if path is None else path).root
    except ProjectNotFoundError:
        if path is not None:
            raise
        return index_of(catalog, None, destroys=destroys).root
    if path is not None:
        check_is_there(path, root)
    return root


def _damage_of(projects: Sequence[ProjectSummary]) -> DamagedIndexError:
    """Give what is wrong with the first of projects that cannot be opened."""
    first = projects[0]
    return DamagedIndexError(
        first.error or f"the index {first.project_id}.db cannot be opened",
        hint="in the project's folder: cairn doctor --repair",
        projects=[project.project_id for project in projects],
    )


def root_of(project: ProjectSummary) -> str:
    """Give the root of a listed project as the disk spells it.

    Where bytes are not UTF-8, a listed path has U+FFFD. The folders that are listed in the same
    way are tried: the project's id, which is a hash of the root, tells the right one.
    """
    if _NOT_UTF8 not in project.path:
        return project.path
    candidates = ["/"]
    for name in project.path.strip("/").split("/"):
        if _NOT_UTF8 in name:
            names = [(folder, each) for folder in candidates for each in _names_like(folder, name)]
        else:
            names = [(folder, name) for folder in candidates]
        candidates = [os.path.join(folder, each) for folder, each in names]
    found = (path for path in candidates if project_id_of(path) == project.project_id)
    return next(found, project.path)


def _names_like(folder: str, shown: str) -> list[str]:
    try:
        return [name for name in os.listdir(folder) if display_path(name) == shown]
    except OSError:
        return []


def searcher_of(catalog: Catalog, paths: Sequence[str]) -> Callable[[SearchRequest], SearchAnswer]:
    """Give the function that answers searches in the chosen projects.

    Args:
        catalog: The projects there are.
        paths: Roots, folders in them, or names of projects. None: as ``index_of``, but a query
            with ``project:`` is put to all projects, of which it chooses.

    Raises:
        EngineError: The only path is in no project, or its index cannot be opened.
    """
    roots = [open_chosen(catalog, paths[0]).root] if len(paths) == 1 else _roots_of(catalog, paths)

    def search(request: SearchRequest) -> SearchAnswer:
        if roots:
            return catalog.search(roots, request)
        if names_projects(request):
            usable = [project for project in catalog.projects() if project.error is None]
            return catalog.search([root_of(project) for project in usable], request)
        return catalog.search([index_of(catalog, None).root], request)

    return search


def _roots_of(catalog: Catalog, paths: Sequence[str]) -> list[str]:
    """Give the root above each path; a path that has none stays, for the search to report."""
    roots: list[str] = []
    for path in paths:
        try:
            roots.append(open_chosen(catalog, path).root)
        except EngineError:
            if not os.path.lexists(path):
                raise
            roots.append(path)
    return roots


def absolute(path: str, index: Index, *, from_root: bool) -> str:
    """Give the absolute path of a file that was named on the command line.

    Links above the root are resolved; those below it stay, as the index knows files by the paths
    that the walk took.

    Args:
        path: As typed: absolute, or relative.
        index: The project.
        from_root: A relative path starts at the project's root, not at the current folder.

    Raises:
        InvalidPathError: The current folder no longer exists.
    """
    start = index.root if from_root else current_folder()
    typed = os.path.normpath(os.path.join(start, path))
    for end in (at for at, character in enumerate(f"{typed}/") if character == "/"):
        if os.path.realpath(typed[:end] or "/") == index.root:
            return os.path.join(index.root, typed[end:].lstrip("/"))
    folder, name = os.path.split(typed)  # a link from elsewhere leads into the project
    return os.path.join(os.path.realpath(folder), name)  # a link at the end is the file meant
