"""Which project a call speaks of, and what to say when it is none."""

import os

from engine.catalog import Catalog
from engine.errors import InvalidInputError, InvalidPathError, ProjectNotFoundError
from engine.index import Index
from engine.records import display_path
from web.console.selection import root_of
from web.project_names import can_be_name, open_called

_MOST_LISTED = 50


class Projects:
    """The projects of a catalog, as agents name them.

    Args:
        catalog: Where they are.
        served: Folders that this server is about.
        is_local: Whether the server runs in the caller's folder, so that relative paths mean
            something.
    """

    def __init__(self, catalog: Catalog, served: tuple[str, ...], *, is_local: bool) -> None:
        self._catalog = catalog
        self._served = served
        self._is_local = is_local

    def index(self, path: str | None, *, field: str = "project_path") -> Index:
        """Open the project of a folder; of none, the one served, or the only one there is.

        Args:
            path: The folder, one inside it, or the name of a project.
            field: What the caller calls it, for the error.

        Raises:
            InvalidInputError: There are several, and none is named; ``projects`` lists them.
            ProjectNotFoundError: It is not indexed.
        """
        if path is not None:
            return self._open(self.root(path, field=field))
        if len(self._served) == 1:
            return self._open(self._served[0])
        roots = self.roots()
        if len(roots) == 1:
            return self._open(roots[0])
        if not roots:
            raise ProjectNotFoundError(
                "no project is indexed",
                hint="call index_repository with the path of a repository",
            )
        raise InvalidInputError(
            f"{len(roots)} projects are indexed, and {field} does not say which is meant",
            hint=f"give {field}, one of those in details.projects",
            field=field,
            projects=[display_path(root) for root in roots[:_MOST_LISTED]],
        )

    def roots(self) -> list[str]:
        """Give the roots of all projects that can be opened, sorted."""
        return [root_of(each) for each in self._catalog.projects() if each.error is None]

    def root(self, path: str, *, field: str) -> str:
        """Give the folder that a caller means by a path, or by the name of a project.

        Args:
            path: A folder, which need not be indexed; where there is none, a name.
            field: As for ``index``.

        Raises:
            ProjectNotFoundError: It is a name, of none or of several; ``projects`` lists them.
        """
        if not can_be_name(path) or (self._is_local and os.path.exists(path)):
            return self.folder(path, field=field)
        try:
            return open_called(self._catalog, path).root
        except ProjectNotFoundError as error:
            error.details["field"] = field
            if not error.details.get("projects"):
                error.hint = "call index_repository with the absolute path of a repository"
            raise

    def folder(self, path: str, *, field: str) -> str:
        """Check a folder that a caller names; it need not exist.

        Raises:
            InvalidPathError: It is relative, and the server is not where the caller is.
        """
        if not self._is_local and not os.path.isabs(os.path.expanduser(path)):
            raise InvalidPathError(
                f"{field} is {path!r}, wanted an absolute path",
                hint="this server does not run in your folder",
                field=field,
                path=path,
            )
        return path

    def _open(self, path: str) -> Index:
        try:
            return self._catalog.open(path)
        except ProjectNotFoundError as error:
            shown = display_path(path)
            raise ProjectNotFoundError(
                f"{shown} is not indexed",
                hint=f'call index_repository with path "{shown}"',
                path=shown,
                projects=[display_path(root) for root in self.roots()[:_MOST_LISTED]],
            ) from error
