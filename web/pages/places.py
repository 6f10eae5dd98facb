"""Where a page is: a file or folder of a project, the folders above it, and the tree of files."""

from dataclasses import dataclass

from engine.index import Index
from engine.records import display_path
from web.pages.rendering import file_path, name_of, tree_path

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
