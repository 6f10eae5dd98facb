"""Projects by their names, as ``project:`` of a query has them: one way for all faces."""

import os

from engine.catalog import Catalog
from engine.errors import ProjectNotFoundError
from engine.index import Index
from engine.misspelt import did_you_mean
from engine.project_filters import is_called
from engine.records import display_path

_MOST_LISTED = 50
_MOST_SHOWN = 200  # characters of a name that is none


def can_be_name(text: str) -> bool:
    """Say whether a text can be a project's name, or the end of its path: no path is begun so."""
    return not text.startswith(("/", "~")) and text.split("/", 1)[0] not in ("", ".", "..")


def open_chosen(catalog: Catalog, text: str) -> Index:
    """Open the project of a path, or the only one that is called so.

    A path wins where there is one; a name that stands for no folder is not looked for above the
    current one.

    Raises:
        ProjectNotFoundError: There is none, or there are several; the hint names those there are.
    """
    if can_be_name(text) and not os.path.exists(text):
        return open_called(catalog, text)
    try:
        return open_at(catalog, text)
    except ProjectNotFoundError:
        roots = catalog.roots()
        called = [root for root in roots if is_called(root, text)]
        if os.path.exists(text) and len(called) != 1:  # a folder that is not indexed yet
            raise
        if not roots:
            raise
        return catalog.open(_only(text, called, roots))


def open_at(catalog: Catalog, path: str) -> Index:
    """Open the project of a path, which is there, or is gone with its whole project.

    Raises:
        ProjectNotFoundError: Nothing is there, or it is in no project.
    """
    index = catalog.open(path)
    check_is_there(path, index.root)
    return index


def check_is_there(path: str, root: str) -> None:
    """Refuse a path that only looks as if it were in the project around it.

    Raises:
        ProjectNotFoundError: The project is on the disk, and the path is not.
    """
    if os.path.exists(root) and not os.path.lexists(os.path.expanduser(path)):
        raise ProjectNotFoundError(
            f"{path} is neither a folder nor an indexed project", hint="cairn projects", path=path
        )


def open_called(catalog: Catalog, name: str) -> Index:
    """Open the only project that is called so.

    Args:
        catalog: The projects.
        name: The end of a root's path, whole folders only, or the start of an id.

    Raises:
        ProjectNotFoundError: There is none, or there are several; ``projects`` lists them.
    """
    roots = catalog.roots()
    return catalog.open(_only(name, [root for root in roots if is_called(root, name)], roots))


def _only(name: str, called: list[str], roots: list[str]) -> str:
    if len(called) == 1:
        return called[0]
    known = [display_path(root) for root in (called or roots)[:_MOST_LISTED]]
    shown = display_path(name[:_MOST_SHOWN])
    if called:
        what = f"{shown!r} is what {len(called)} projects are called"
    else:
        names = [os.path.basename(path) for path in known]
        what = f"no indexed project is called {shown!r}{did_you_mean(shown, names)}"
    hint = f"the projects are {', '.join(known)}" if known else "no project is indexed"
    raise ProjectNotFoundError(what, hint=hint, projects=known)
