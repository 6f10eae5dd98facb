"""Selection of a project by name (as in the ``project:`` filter), path, or current folder."""

import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engine.catalog import Catalog
from engine.did_you_mean import did_you_mean
from engine.errors import (
    DamagedIndexError,
    EngineError,
    FileNotIndexedError,
    InvalidPathError,
    ProjectNotFoundError,
)
from engine.project import Project
from engine.records import display_path
from engine.roots import is_project_id, matches_name, named, project_id_of, real_path, resolve
from engine.search_records import SearchAnswer, SearchRequest

if TYPE_CHECKING:  # not loaded for a search
    from engine.state_records import ContextProject, ProjectContext, ProjectSummary

PLACE = re.compile(r"(?P<path>.+?):(?P<place>[1-9]\d{0,8}(?::[1-9]\d{0,5})?)", re.DOTALL)
_MOST_LISTED = 50
_MOST_SHOWN = 200  # characters of an unknown name

_NOT_UTF8 = "\ufffd"  # in a listed path: bytes that are not UTF-8, or that very character


def can_be_name(text: str) -> bool:
    """Return whether a text can be a project's name or the end of its path."""
    return not text.startswith(("/", "~")) and text.split("/", 1)[0] not in ("", ".", "..")


def open_chosen(catalog: Catalog, text: str, *, by_part: bool = True) -> Project:
    """Open the project of a path, or the only one with this name.

    An existing path takes precedence, and is not read as a part of a name; a name that is not a
    path is not looked up in the folders above the current one. A part of a name is enough if
    ``by_part``, which is not for what is stored.

    Raises:
        ProjectNotFoundError: None or several match; the hint lists the projects.
    """
    if can_be_name(text) and not os.path.exists(text):
        return open_named(catalog, text, by_part=by_part)
    try:
        return open_at(catalog, text)
    except ProjectNotFoundError:
        known = _known(catalog)
        called = [root for root in known if matches_name(root, text)]
        if os.path.exists(text) and len(called) != 1:  # a folder that is not indexed yet
            raise
        if not known:
            raise
        return _opened(catalog, known[_only(text, called, known)])


def open_at(catalog: Catalog, path: str) -> Project:
    """Open the project of a path, which must exist unless its whole project is missing.

    Raises:
        ProjectNotFoundError: The path does not exist, or is in no project.
    """
    index = catalog.open(path)
    check_is_there(path, index.root)
    return index


def check_is_there(path: str, root: str) -> None:
    """Refuse a path that does not exist in an existing project.

    Raises:
        ProjectNotFoundError: The project exists on disk, and the path does not.
    """
    if os.path.exists(root) and not os.path.lexists(os.path.expanduser(path)):
        raise ProjectNotFoundError(
            f"{path} is neither a folder nor an indexed project", hint="cairn projects", path=path
        )


def open_named(catalog: Catalog, name: str, *, by_part: bool = True) -> Project:
    """Open the only project with this name.

    Args:
        catalog: The projects.
        name: As after ``project:``: the end of a root's path, whole folders only, or the start
            of an id; or else a part of the last folder's name.
        by_part: Whether a part is enough.

    Raises:
        ProjectNotFoundError: None or several match; ``projects`` lists them.
        DamagedIndexError: It cannot be opened.
    """
    known = _known(catalog)
    return _opened(catalog, known[_root_called(known, name, by_part=by_part)])


def root_called(catalog: Catalog, name: str, *, by_part: bool = True) -> str:
    """Return the root of the only project with this name; its index may be damaged.

    Arguments and errors as for ``open_named``; a damaged one raises its error if it has no root.
    """
    known = _known(catalog)
    root = _root_called(known, name, by_part=by_part)
    return _opened(catalog, root).root if is_project_id(root) else root


def _root_called(known: Mapping[str, str], name: str, *, by_part: bool) -> str:
    whole = [root for root in known if matches_name(root, name)]
    return _only(name, named(known, name) if by_part else whole, known)


def _known(catalog: Catalog) -> dict[str, str]:
    """Return for the root of each project what opens it: the root, or the id of a damaged one.

    Where the root is unknown, the id stands for it.
    """
    known = {}
    for each in catalog.roots_or_ids():
        root = catalog.root_of_id(each) if is_project_id(each) else each
        known[root or each] = each
    return known


def _opened(catalog: Catalog, root_or_id: str) -> Project:
    return catalog.open_id(root_or_id) if is_project_id(root_or_id) else catalog.open(root_or_id)


def _only(name: str, called: list[str], projects: Mapping[str, str]) -> str:
    if len(called) == 1:
        return called[0]
    usable = [root for root, opens in projects.items() if not is_project_id(opens)]
    known = [display_path(root) for root in (called or usable)[:_MOST_LISTED]]
    shown = display_path(name[:_MOST_SHOWN])
    if called:
        what = f"{shown!r} is what {len(called)} projects are called"
    else:
        names = [os.path.basename(path) for path in known]
        what = f"no indexed project is called {shown!r}{did_you_mean(shown, names)}"
    hint = f"the projects are {', '.join(known)}" if known else "no project is indexed"
    raise ProjectNotFoundError(what, hint=hint, projects=known)


def as_members(projects: Sequence[Project]) -> "tuple[ContextProject, ...]":
    """Return projects as members of a context."""
    from engine.state_records import ContextProject

    return tuple(
        ContextProject(project_id=each.project_id, path=display_path(each.root))
        for each in projects
    )


def member_ids(context: "ProjectContext", names: Sequence[str]) -> tuple[str, ...]:
    """Return the ids of projects of a context, which need not be indexed any more.

    Args:
        context: The context.
        names: Ids, paths or names as in ``project:``.

    Raises:
        ProjectNotFoundError: The context has no project of a name, or several.
    """
    return tuple(_member_id(context, name) for name in names)


def _member_id(context: "ProjectContext", name: str) -> str:
    exact = [each for each in context.projects if name in (each.project_id, each.path)]
    at_path = [each for each in context.projects if _is_at(each.path, name)]
    called = [each for each in context.projects if matches_name(each.path, name)]
    found = exact or at_path or called
    if len(found) == 1:
        return found[0].project_id
    shown = display_path(name[:_MOST_SHOWN])
    paths = [each.path for each in found or context.projects]
    raise ProjectNotFoundError(
        f"{shown!r} is what {len(found)} projects of the context {context.name} are called"
        if found
        else f"the context {context.name} has no project {shown!r}",
        hint=f"{'they' if found else 'its projects'} are {', '.join(paths[:_MOST_LISTED])}",
        field="drop",
        projects=paths,
    )


def _is_at(root: str, path: str) -> bool:
    return not can_be_name(path) and resolve(path) == root


def current_folder() -> str:
    """Return the current folder.

    Raises:
        InvalidPathError: It has been deleted.
    """
    try:
        return os.getcwd()
    except FileNotFoundError as error:
        raise InvalidPathError("the current folder no longer exists", field="path") from error


def root_here(catalog: Catalog) -> str:
    """Return the root of the project with the current folder; if there is none, that folder.

    Raises:
        InvalidPathError: It has been deleted.
    """
    folder = current_folder()
    try:
        return catalog.open(folder).root
    except ProjectNotFoundError:
        return folder


def index_of(
    catalog: Catalog, path: str | None, *, by_name: bool = False, destroys: bool = False
) -> Project:
    """Open the project that a path belongs to.

    Args:
        catalog: The projects there are.
        path: A root or a folder inside one. ``None``: the current folder, or if that is in no
            project, the only project that exists.
        by_name: Whether a project's name is accepted too, as in ``project:``.
        destroys: Whether the command deletes something, so that the project must be named.

    Raises:
        InvalidPathError: The current folder no longer exists.
        ProjectNotFoundError: No project contains the path; the hint lists the projects.
        DamagedIndexError: The only project cannot be opened.
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
            raise _damage_of(projects, catalog.data_dir) from error
        paths = [project.path for project in usable]
        known = f", or name one of {', '.join(paths)}" if paths else ""
        raise ProjectNotFoundError(
            f"{folder} is not in an indexed project", hint=f"cairn index{known}", projects=paths
        ) from error


def index_of_file(catalog: Catalog, project: str | None, path: str) -> Project:
    """Open the project of a file given on the command line.

    Args:
        catalog: The projects there are.
        project: As for ``index_of``.
        path: As typed. A path outside the current project selects its own project.

    Raises:
        EngineError: As for ``index_of``.
    """
    if project is None:
        typed = os.path.join(current_folder(), path)
        for place in (current_folder(), typed):
            try:
                index = catalog.open(place)
            except ProjectNotFoundError:
                continue
            if place == typed or _holds(index, path):
                return index
    return index_of(catalog, project, by_name=True)


def _holds(index: Project, path: str) -> bool:
    """Return whether a typed path is below the root of a project."""
    return f"{absolute(path, index, from_root=False)}/".startswith(f"{index.root.rstrip('/')}/")


def check_is_no_name(catalog: Catalog, text: str, command: str) -> None:
    """Refuse the name of a project for a command that deletes something and so takes its path.

    Raises:
        ProjectNotFoundError: No folder has this path, and a project elsewhere is called so.
    """
    if not _is_name(catalog, text):
        return
    called = [root for root in _known(catalog) if matches_name(root, text)]
    if not called:
        return
    known = [display_path(root) for root in called[:_MOST_LISTED]]
    raise ProjectNotFoundError(
        f"{display_path(text[:_MOST_SHOWN])} is the name of {' and of '.join(known)}",
        hint=f"give its path: cairn {command} {shlex.quote(called[0])}",
        projects=known,
    )


def _is_name(catalog: Catalog, text: str) -> bool:
    """Return whether a text can only be a name: it is the path of nothing, indexed or not."""
    is_path = os.path.lexists(text) or catalog.has_project(resolve(text))
    return can_be_name(text) and not is_path


def root_for(catalog: Catalog, path: str | None, *, destroys: bool = False) -> str:
    """Return the root of the project that a path belongs to; its index may be damaged.

    Args:
        catalog: The projects there are.
        path: As for ``index_of``, or the whole name of a project, as in ``project:``.
        destroys: As for ``index_of``.

    Raises:
        InvalidPathError: The current folder no longer exists.
        ProjectNotFoundError: No project contains the path; the hint lists the projects.
        DamagedIndexError: The only project cannot be opened, so its root is unknown.
    """
    if path is not None and _is_name(catalog, path):
        return root_called(catalog, path, by_part=False)
    try:
        root = catalog.doctor(current_folder() if path is None else path).root
    except ProjectNotFoundError:
        if path is not None:
            raise
        return index_of(catalog, None, destroys=destroys).root
    if path is not None:
        check_is_there(path, root)
    return root


def _damage_of(projects: "Sequence[ProjectSummary]", data_dir: Path) -> DamagedIndexError:
    """Return the error of the first project that cannot be opened."""
    first = projects[0]
    return DamagedIndexError(
        first.error or "the index cannot be opened",
        hint="in the project's folder: cairn doctor --repair",
        file=str(data_dir / f"{first.project_id}.db"),
        projects=[project.project_id for project in projects],
    )


def root_of(project: "ProjectSummary") -> str:
    """Return the root of a listed project with its original bytes.

    A listed path has U+FFFD where bytes are not UTF-8. All folders that are displayed the same are
    tried; the project's id, a hash of its root, identifies the right one.
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
    """Return a function that searches the selected projects.

    Args:
        catalog: The projects there are.
        paths: Roots, folders in them, or names of projects. Empty: as ``index_of``, but a query
            with ``project:`` selects from all projects.

    Raises:
        EngineError: The only path is in no project, or its index cannot be opened.
    """
    roots = _roots_of(catalog, paths)

    def search(request: SearchRequest) -> SearchAnswer:
        return catalog.search(roots or _roots_for(catalog, request), request)

    return search


def chosen_roots(catalog: Catalog, paths: Sequence[str], query: str) -> list[str]:
    """Return the roots that a query searches, for the projects named beside it as above.

    Raises:
        EngineError: As above, or none is named and there are several.
    """
    return _roots_of(catalog, paths) or _roots_for(catalog, SearchRequest(query=query))


def _roots_for(catalog: Catalog, request: SearchRequest) -> list[str]:
    """Return the roots to search if none are named: those that the query may choose from."""
    from engine.cross_project import names_projects  # most commands do not search

    if names_projects(request):
        return catalog.roots_or_ids()
    return [index_of(catalog, None).root]


def _roots_of(catalog: Catalog, paths: Sequence[str]) -> list[str]:
    """Return the root of each path; of several, one without a root is kept and then reported.

    Raises:
        EngineError: The only path is in no project, or a name is that of none or of several.
    """
    if len(paths) == 1:
        return [open_chosen(catalog, paths[0]).root]
    roots: list[str] = []
    for path in paths:
        try:
            roots.append(open_chosen(catalog, path).root)
        except EngineError:
            if not os.path.lexists(path):
                raise
            roots.append(path)
    return roots


def place_in(name: str, index: Project, *, from_root: bool) -> str:
    """Return a name; of a place, ``path:line`` or ``path:line:column``, with the path as stored.

    A path that is not indexed as it was typed is left as it is.

    Args:
        name: As typed.
        index: The project.
        from_root: As for ``absolute``.
    """
    place = PLACE.fullmatch(name.strip())
    if place is None:
        return name
    path = absolute(place["path"], index, from_root=from_root)
    if not is_indexed(index, path):
        return name
    return f"{index.browse.stored_path(path)}:{place['place']}"


def is_indexed(index: Project, path: str) -> bool:
    """Return whether a file, named from the root or by an absolute path, is in the index."""
    return problem_of_file(index, path) is None


def problem_of_file(index: Project, path: str) -> EngineError | None:
    """Return the error for a path that is no file of the index; None if it is one.

    Args:
        index: The project.
        path: From the root, or absolute.
    """
    try:
        index.outline(path)
    except (FileNotIndexedError, InvalidPathError) as error:
        return error
    return None


def absolute(path: str, index: Project, *, from_root: bool) -> str:
    """Return the absolute path of a file given on the command line.

    Links above the root are resolved; those below it are kept, as the index names files by the
    paths that the walk took.

    Args:
        path: As typed: absolute, or relative.
        index: The project.
        from_root: Whether a relative path starts at the root, not at the current folder.

    Raises:
        InvalidPathError: The current folder no longer exists.
    """
    start = index.root if from_root else current_folder()
    typed = os.path.normpath(os.path.join(start, path))
    for end in (at for at, character in enumerate(f"{typed}/") if character == "/"):
        if real_path(typed[:end] or "/") == index.root:
            return os.path.join(index.root, typed[end:].lstrip("/"))
    folder, name = os.path.split(typed)  # a link from elsewhere leads into the project
    return os.path.join(real_path(folder), name)  # a final link is itself the file
