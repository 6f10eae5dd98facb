"""The project that a call is about: the one it names, or else the one around the client.

A call that names no project is about the only one there is, or the one that the client works in:
its roots tell, and for a server that the client has started, the folder of the process. Roots are
asked for only when they are needed, each time, so that they are never out of date.
"""

import os
from collections.abc import Iterable, Sequence
from typing import Protocol
from urllib.parse import unquote, urlsplit

from engine.catalog import Catalog
from engine.errors import (
    DamagedIndexError,
    InvalidInputError,
    InvalidPathError,
    ProjectNotFoundError,
)
from engine.project import Project
from engine.records import display_path
from engine.roots import expanded, project_id_of, resolve, upwards
from web.project_selection import can_be_name, current_folder, problem_of_file, root_called, root_of

_MAX_LISTED = 50


class FoldersWanted(Exception):  # noqa: N818 - a signal: the call is made again with them
    """The project of a call depends on the folders that its client works in."""

    code = None  # nothing failed


class Asker(Protocol):
    """The part of the caller of a tool that tells where it works, and learns what is meant."""

    @property
    def folders(self) -> Sequence[str] | None:
        """The folders that the client works in; None until it was asked for them."""

    def on_project(self, root: str) -> None:
        """Receive the folder of the project that the call is about."""


def folders_of(uris: Iterable[str]) -> tuple[str, ...]:
    """Return the folders of the roots of a client; those that are no files are left out."""
    parts = map(urlsplit, uris)
    return tuple(
        unquote(each.path)
        for each in parts
        if each.scheme == "file" and each.netloc in ("", "localhost") and each.path
    )


class Projects:
    """Resolves the project that a call names.

    Args:
        catalog: The projects.
        served: Folders that this server serves by default.
        is_local: Whether the server runs in the caller's folder, so that relative paths are
            meaningful.
    """

    def __init__(self, catalog: Catalog, served: tuple[str, ...], *, is_local: bool) -> None:
        self._catalog = catalog
        self._served = served
        self._is_local = is_local

    def index(
        self,
        path: str | None,
        caller: Asker,
        *,
        field: str = "project_path",
        by_part: bool = True,
    ) -> Project:
        """Open a project; by default the one that the caller works in.

        Args:
            path: The folder, one inside it, or the name of a project.
            caller: Whoever calls.
            field: The name of the parameter, for errors.
            by_part: Whether a part of a name is enough; not for a call that changes something.

        Raises:
            InvalidInputError: There are several and none is named; ``projects`` lists them.
            ProjectNotFoundError: It is not indexed.
            FoldersWanted: The folders of the caller have to be known.
        """
        return self._open(self.root(path, caller, field=field, by_part=by_part), field)

    def index_of_file(self, path: str, project: str | None, caller: Asker) -> Project:
        """Open the project of a file; an absolute path tells it.

        Args:
            path: The file or folder.
            project: As the caller named it.
            caller: Whoever calls.

        Raises:
            EngineError: As for ``index``.
        """
        if project is None and os.path.isabs(path):
            found = _around([path], self.roots())
            project = found[0] if found else None
        return self.index(project, caller)

    def default(self, caller: Asker, *, field: str = "project_path") -> str:
        """Return the root of the project of a call that names none.

        Raises:
            DamagedIndexError: There are only projects that cannot be opened.
            EngineError: As for ``index``.
        """
        found = self._likely(caller)
        if len(found) == 1:
            return found[0]
        roots = self._known(caller)
        if not self.roots():
            raise self._nothing_to_open(field)
        folder = next(iter([*(caller.folders or ()), *self._here()]), None)
        raise _several(found or roots, None if found else folder, field)

    def is_ambiguous(self, caller: Asker) -> bool:
        """Return whether a call that names no project can be about any of several.

        Raises:
            FoldersWanted: As for ``index``.
        """
        return len(self._likely(caller)) != 1 and bool(self.roots())

    def _likely(self, caller: Asker) -> Sequence[str]:
        """Return the roots that a call without a project may be about; if one, it is clear.

        One that cannot be opened is among them: a client in it must not be given another one.
        """
        if len(self._served) == 1:
            return self._served
        if len(self._catalog.projects()) <= 1:
            return self.roots()
        if caller.folders is None:
            raise FoldersWanted
        roots = self._known(caller)
        found = _around(caller.folders, roots) or _below(caller.folders, roots)
        own = _around(self._here(), roots)
        if len(found) != 1 and own and (not found or own[0] in found):
            return own
        return found

    def _known(self, caller: Asker) -> list[str]:
        """Return the sorted roots of all projects, as far as they are known.

        The root of one that cannot be opened may be known from its logs alone, or is recognized
        by its id among the folders around the caller.
        """
        projects = self._catalog.projects()
        lost = {each.project_id for each in projects if not each.path}
        places = [*(caller.folders or ()), *self._here()] if lost else []
        around = {folder for place in places for folder in upwards(resolve(place))}
        found = [folder for folder in around if project_id_of(folder) in lost]
        return sorted([*found, *(root_of(each) for each in projects if each.path)])

    def _here(self) -> list[str]:
        """Return the folder of this process, if it is the caller's."""
        return [os.getcwd()] if self._is_local and os.path.exists(".") else []

    def _nothing_to_open(self, field: str) -> ProjectNotFoundError | DamagedIndexError:
        """Return the error when there is no project, or none that can be opened."""
        damaged = self._catalog.projects()
        if damaged:
            return DamagedIndexError(
                damaged[0].error or "no index can be opened",
                hint=f"call verify_index with repair, and the project's folder as {field}",
            )
        folder = f", such as {current_folder()}" if self._is_local else ""
        return ProjectNotFoundError(
            "no project is indexed",
            hint=f"call index_repository with the path of a repository{folder}",
        )

    def roots(self) -> list[str]:
        """Return the sorted roots of all projects that can be opened."""
        return [root_of(each) for each in self._catalog.projects() if each.error is None]

    def root(self, path: str | None, caller: Asker, *, field: str, by_part: bool = True) -> str:
        """Return the folder that a path or the name of a project stands for.

        Args:
            path: A folder, which need not be indexed, or the name of a project.
            caller: As for ``index``.
            field: As for ``index``.
            by_part: As for ``index``.

        Raises:
            ProjectNotFoundError: No project or several have that name; ``projects`` lists them.
            EngineError: As for ``default``.
        """
        found = self._root(path, caller, field=field, by_part=by_part)
        caller.on_project(found)
        return found

    def _root(self, path: str | None, caller: Asker, *, field: str, by_part: bool) -> str:
        if path is None:
            return self.default(caller, field=field)
        if not can_be_name(path) or (self._is_local and os.path.exists(path)):
            return self.folder(path, field=field)
        try:
            return root_called(self._catalog, path, by_part=by_part)
        except ProjectNotFoundError as error:
            error.details["field"] = field
            if not error.details.get("projects"):
                error.hint = "call index_repository with the absolute path of a repository"
            raise

    def folder(self, path: str, *, field: str) -> str:
        """Validate the path of a folder, which need not exist.

        Raises:
            InvalidPathError: It is relative and the server does not run in the caller's folder.
        """
        if not self._is_local and not os.path.isabs(expanded(path)):
            raise InvalidPathError(
                f"{field} is {path!r}, expected an absolute path",
                hint="this server does not run in your folder",
                field=field,
                path=path,
            )
        return path

    def new_folder(self, path: str, *, field: str, updates: bool = False) -> str:
        """Return the folder that is to be indexed.

        Args:
            path: The folder. If it is relative and lies in a project whose index has files of it, a
                second index would have to be wanted.
            field: The name of the parameter, for errors.
            updates: Whether the project around it will do then, of which it is a part.

        Raises:
            InvalidPathError: As for ``folder``; or a second index would have to be wanted.
        """
        folder = self.folder(path, field=field)
        root = resolve(folder)
        outer = [] if os.path.isabs(expanded(path)) else _around([root], self.roots())
        if not outer or outer[0] == root or not os.path.isdir(root):
            return folder
        index = self._catalog.open(outer[0])
        problem = problem_of_file(index, root)
        if problem is None or not problem.details.get("files"):  # ignored, or another repository
            return folder
        if updates:
            return outer[0]
        project, own = display_path(outer[0]), display_path(root)
        raise InvalidPathError(
            f"{path} lies in {project}, which is indexed already",
            hint=(
                f'call this with {field} "{project}" to update that index, or with "{own}" for a '
                "second index of this folder"
            ),
            field=field,
            path=path,
            projects=[project],
        )

    def _open(self, path: str, field: str) -> Project:
        try:
            return self._catalog.open(path)
        except ProjectNotFoundError as error:
            shown = display_path(path)
            projects = [display_path(root) for root in self.roots()[:_MAX_LISTED]]
            others = f", or set {field} to one of these projects" if projects else ""
            raise ProjectNotFoundError(
                f"{shown} is not indexed",
                hint=f'call index_repository with path "{shown}"{others}',
                path=shown,
                projects=projects,
            ) from error


def _around(folders: Iterable[str], roots: Sequence[str]) -> list[str]:
    """Return for each folder the nearest project at or above it, each once."""
    found = []
    for folder in map(resolve, folders):
        above = [root for root in roots if f"{folder}/".startswith(f"{root.rstrip('/')}/")]
        found += [max(above, key=len)] if above else []
    return list(dict.fromkeys(found))


def _below(folders: Iterable[str], roots: Sequence[str]) -> list[str]:
    """Return the projects below folders, each once."""
    tops = [f"{resolve(folder).rstrip('/')}/" for folder in folders]
    return [root for root in roots if any(root.startswith(top) for top in tops)]


def _several(roots: Sequence[str], folder: str | None, field: str) -> InvalidInputError:
    """Return the error when it is not known which of several projects is meant."""
    new = f', or call index_repository with path "{display_path(folder)}"' if folder else ""
    return InvalidInputError(
        f"{len(roots)} projects are indexed and {field} is missing",
        hint=f"set {field} to one of these projects{new}",
        field=field,
        projects=[display_path(root) for root in roots[:_MAX_LISTED]],
    )
