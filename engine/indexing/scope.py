"""Which files belong to a project: an index call's globs and size, over those stored.

And which of them a call is about.

What makes index contents what they are, as one hash.

Two programs with the same fingerprint make the same rows of the same bytes. When it differs from
the stored one, contents are made again, never migrated.
"""

import functools
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from hashlib import sha256
from importlib import metadata, resources
from typing import Any

from engine.config import LARGEST_FILE_BYTES
from engine.errors import InvalidInputError, InvalidPathError
from engine.records import IndexOptions, display_path, is_path
from engine.source.partial_walk import PathSet
from engine.source.walker import WalkRules
from engine.store.project import BranchRow, ProjectRow
from engine.syntax.languages import grammar_packages


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The scope in force."""

    include_patterns: tuple[str, ...]
    exclude_patterns: tuple[str, ...]
    max_file_size: int  # bytes; 0 means the cap
    rules: WalkRules
    only: PathSet | None  # what the call is about; None: the whole project


def scope_of(options: IndexOptions, stored: ProjectRow) -> Scope:
    """Join what a call sets with what the project keeps, and check it.

    Each field that is given replaces what is stored of it.

    Raises:
        InvalidInputError: A pattern cannot be read, the size is out of its range, or a path lies
            outside the root; ``details`` name the field.
    """
    include, exclude = options.include_patterns, options.exclude_patterns
    include = stored.include_patterns if include is None else include
    exclude = stored.exclude_patterns if exclude is None else exclude
    size = stored.max_file_size if options.max_file_size is None else options.max_file_size
    if size > LARGEST_FILE_BYTES:
        raise InvalidInputError(
            "max_file_size too large",
            field="max_file_size",
            max_allowed=LARGEST_FILE_BYTES,
            provided=size,
        )
    if size < 0:
        raise InvalidInputError(
            "max_file_size is negative", field="max_file_size", min_allowed=0, provided=size
        )
    rules = WalkRules(include=include, exclude=exclude, max_file_size_bytes=size)
    rules.check()
    return Scope(
        include_patterns=include,
        exclude_patterns=exclude,
        max_file_size=size,
        rules=rules,
        only=paths_of(os.fsdecode(stored.root), options.only),
    )


def check_options(options: IndexOptions) -> None:
    """Make sure that what a call sets can be used, whatever the project keeps.

    Raises:
        InvalidInputError: As ``scope_of`` says.
    """
    blank = ProjectRow("", b"", None, None, (), (), 0, None)
    scope_of(replace(options, only=()), blank)  # whose paths mean something beneath a root alone


def parameters_of(options: IndexOptions) -> dict[str, object]:
    """Give options as a job keeps them; equal options give equal parameters."""
    found = asdict(options)
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in found.items()
    }


def options_of(parameters: Mapping[str, object]) -> IndexOptions:
    """Give back the options that ``parameters_of`` wrote; what is unknown is left out."""
    known = {each.name for each in fields(IndexOptions)}
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in parameters.items()
        if name in known
    }
    return IndexOptions(**values)


def paths_of(root: str, only: Iterable[str]) -> PathSet | None:
    """Give the paths that a call is about; None when it is about the whole project.

    Args:
        root: The resolved root.
        only: Paths, absolute or relative to the root; none means all.

    Raises:
        InvalidPathError: A path lies outside the root, or cannot be one.
    """
    paths = {path_within(root, os.path.join(root, path)) for path in only}
    return PathSet(paths) if paths and "" not in paths else None


def may_stay_partial(
    scope: Scope, stored: ProjectRow, branches: Sequence[BranchRow], branch: str
) -> bool:
    """Say whether a run over some paths leaves nothing of the rest untrue.

    It would when the rest is out of date: the scope is another one than that of the last run, or
    the last complete run was over another branch.

    Args:
        scope: The scope of the run.
        stored: The project as it is.
        branches: All branches, the most recently indexed first.
        branch: The name of the one that is checked out.
    """
    kept = (stored.include_patterns, stored.exclude_patterns, stored.max_file_size)
    is_same = kept == (scope.include_patterns, scope.exclude_patterns, scope.max_file_size)
    return is_same and bool(branches) and branches[0].name == branch


def path_within(root: str, path: str) -> str:
    """Give a path relative to the root, without following links.

    Args:
        root: The resolved root.
        path: Absolute, or relative to the root.

    Raises:
        InvalidPathError: The path lies outside the root, or cannot be one.
    """
    if not is_path(path):
        raise InvalidPathError("no path can have these characters", field="path")
    absolute = os.path.normpath(os.path.join(root, os.path.expanduser(path)))
    if absolute == root:
        return ""
    prefix = root.rstrip("/") + "/"
    if not absolute.startswith(prefix):
        raise InvalidPathError(
            f"{display_path(path)} is outside {display_path(root)}",
            field="path",
            path=display_path(path),
        )
    return absolute.removeprefix(prefix)


#: The rooms through which a file's bytes pass on their way into rows. Their source is hashed, so
#: that nobody has to remember to raise a version: a needless reindex is cheaper than a stale one.
_ROOMS = ("engine.source", "engine.syntax", "engine.syntax.queries")
#: Modules of ``engine.source`` that only decide which files are read, or read them.
_OUTSIDE = frozenset(
    (
        "__init__.py default_excludes.py folder_rules.py git.py git_files.py ignore.py "
        "open_folders.py partial_walk.py reader.py walker.py wildmatch.py"
    ).split()
)


def _shapes_contents(room: str, name: str) -> bool:
    if room == "engine.source" and name in _OUTSIDE:
        return False
    return name.endswith((".py", ".scm"))


@functools.cache
def fingerprint() -> str:
    """Give the fingerprint of this program, 16 hexadecimal digits."""
    digest = sha256()
    for room in _ROOMS:
        for item in sorted(resources.files(room).iterdir(), key=lambda item: item.name):
            if _shapes_contents(room, item.name):
                digest.update(f"\0{item.name}\0".encode())
                digest.update(item.read_bytes())
    for package in ("tree-sitter", "charset-normalizer", *grammar_packages()):
        digest.update(f"{package}={metadata.version(package)};".encode())
    return digest.hexdigest()[:16]
