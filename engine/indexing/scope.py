"""The scope of a project (its files), the paths of a call, and the contents' fingerprint.

The fingerprint is one hash of all that determines what the index stores of a file. Two programs
with the same fingerprint make the same rows of the same bytes. When it differs from the stored one,
contents are made anew, never migrated.
"""

import functools
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, fields, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from engine.config import LARGEST_FILE_BYTES
from engine.errors import InvalidInputError
from engine.index_records import IndexOptions
from engine.record_class import record
from engine.roots import path_within
from engine.source.partial_walk import PathSet
from engine.source.walker import WalkRules
from engine.store.project import BranchRow, ProjectRow
from engine.syntax.languages import grammar_packages

_ENGINE = Path(__file__).parents[1]
#: The packages that turn the bytes of a file into rows. Their source is hashed, so that nobody has
#: to remember to raise a version: a needless reindex is cheaper than a stale index.
_HASHED_PACKAGES = ("engine.embedding", "engine.source", "engine.syntax", "engine.syntax.queries")
#: The modules of ``engine.embedding`` that make the vectors of the built-in model; the identity of
#: each other model says what it is.
BUILT_IN_MODEL = ("static.py", "static_model.py", "static_weights.py", "word_cache.py")
#: Distributions of the extra ``documents``, which need not be installed.
_DOCUMENT_READERS = ("pypdf", "python-docx")
_METADATA = ".dist-info"  # the end of the folder of each distribution, ``name-version.dist-info``
_SEPARATORS = re.compile(r"[-_.]+")  # equal in names of distributions
#: Modules of ``engine.source`` that only decide which files are read, or read them.
_NOT_HASHED = frozenset(
    (
        "__init__.py commit_tree.py default_excludes.py folder_rules.py git.py git_changes.py "
        "git_files.py git_history.py git_objects.py git_packs.py ignore.py open_folders.py "
        "partial_walk.py reader.py secret_files.py walker.py wildmatch.py"
    ).split()
)


@record
class Scope:
    """The rules for the files of a project, and the paths that a run is restricted to."""

    include_patterns: tuple[str, ...]
    exclude_patterns: tuple[str, ...]
    max_file_size: int  # bytes; 0: the hard limit
    rules: WalkRules
    only: PathSet | None  # what the run is about; None: the whole project


def scope_of(options: IndexOptions, stored: ProjectRow, *, allowed: tuple[str, ...]) -> Scope:
    """Combine the options of a call with those stored for the project, and validate them.

    A field that the call sets replaces the stored one.

    Args:
        options: Of the call.
        stored: The stored project.
        allowed: Globs of secret files that belong to the project all the same: the user's setting,
            never anything that a repository says.

    Raises:
        InvalidInputError: A pattern cannot be read, the size is out of its range, or a path lies
            outside the root; ``details`` name the field.
    """
    include, exclude = options.include_patterns, options.exclude_patterns
    include = stored.include_patterns if include is None else include
    exclude = stored.exclude_patterns if exclude is None else exclude
    size = stored.max_file_size if options.max_file_size is None else options.max_file_size
    about = f"{size}, wanted 0 to {LARGEST_FILE_BYTES}"
    if size > LARGEST_FILE_BYTES:
        raise InvalidInputError(
            "max_file_size too large",
            about=about,
            field="max_file_size",
            max_allowed=LARGEST_FILE_BYTES,
            provided=size,
        )
    if size < 0:
        raise InvalidInputError(
            "max_file_size is negative",
            about=about,
            field="max_file_size",
            min_allowed=0,
            provided=size,
        )
    if options.branch is not None and (options.only or options.force_clean):
        raise InvalidInputError(
            "a branch is indexed as a whole, and not by a rebuild", field="branch"
        )
    rules = WalkRules(
        include=include, exclude=exclude, max_file_size_bytes=size, allow_secret_files=allowed
    )
    rules.check()
    return Scope(
        include_patterns=include,
        exclude_patterns=exclude,
        max_file_size=size,
        rules=rules,
        only=paths_of(os.fsdecode(stored.root), options.only),
    )


def check_options(options: IndexOptions) -> None:
    """Validate the options of a call, whatever is stored for the project.

    Raises:
        InvalidInputError: As ``scope_of`` says.
    """
    blank = ProjectRow("", b"", None, None, (), (), 0, None)
    scope_of(replace(options, only=()), blank, allowed=())  # paths mean nothing without a root


def parameters_of(options: IndexOptions) -> dict[str, object]:
    """Return options as a job stores them; equal options have equal parameters."""
    found = asdict(options)
    del found["confirmed"]  # matters until the project exists
    if found["branch"] is None:
        del found["branch"]
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in found.items()
    }


def options_of(parameters: Mapping[str, object]) -> IndexOptions:
    """Return the options that ``parameters_of`` wrote; unknown fields are ignored."""
    known = {each.name for each in fields(IndexOptions)}
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in parameters.items()
        if name in known
    }
    return IndexOptions(**values)


def paths_of(root: str, only: Iterable[str]) -> PathSet | None:
    """Return the paths that a call is about, or None for the whole project.

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
    """Return whether a run may be limited to some paths.

    It may not if the rest is out of date: the scope has changed since the last run, or the last
    complete run was over another branch.

    Args:
        scope: The scope of the run.
        stored: The stored project.
        branches: All branches, the most recently indexed first.
        branch: The name of the branch that is checked out.
    """
    kept = (stored.include_patterns, stored.exclude_patterns, stored.max_file_size)
    is_same = kept == (scope.include_patterns, scope.exclude_patterns, scope.max_file_size)
    is_same = is_same and stored.allow_secret_files == scope.rules.allow_secret_files
    return is_same and bool(branches) and branches[0].name == branch


def _shapes_contents(package: str, name: str) -> bool:
    if package == "engine.embedding":
        return name in BUILT_IN_MODEL
    if package == "engine.source" and name in _NOT_HASHED:
        return False
    return name.endswith((".py", ".scm"))


def _installed() -> dict[str, str]:
    """Return the versions of the installed distributions by name.

    As ``importlib.metadata`` finds them, which takes 40 ms to import and 0.2 ms for each.
    """
    versions: dict[str, str] = {}
    for folder in sys.path:
        with suppress(OSError):
            for entry in os.listdir(folder or os.curdir):
                if entry.endswith(_METADATA):
                    name, _, version = entry.removesuffix(_METADATA).partition("-")
                    versions.setdefault(_SEPARATORS.sub("-", name).lower(), version)
    return versions


def _version_of(package: str) -> str:
    """Return the version of a distribution that is not installed as a folder."""
    from importlib import metadata  # slow to import

    return metadata.version(package)


@functools.cache
def fingerprint() -> str:
    """Return the fingerprint of this program, 16 hexadecimal digits."""
    files: list[Path] = []
    for package in _HASHED_PACKAGES:
        folder = _ENGINE.joinpath(*package.split(".")[1:])
        found = sorted(folder.iterdir(), key=lambda item: item.name)
        files += (item for item in found if _shapes_contents(package, item.name))
    digest = sha256(_sources_of(files))
    installed = _installed()
    for package in ("tree-sitter", "charset-normalizer", *grammar_packages()):
        version = installed.get(package) or _version_of(package)
        digest.update(f"{package}={version};".encode())
    for package in _DOCUMENT_READERS:
        digest.update(f"{package}={installed.get(package, '')};".encode())
    return digest.hexdigest()[:16]


def code_fingerprint(modules: Iterable[str]) -> str:
    """Return a fingerprint of the source of some modules, 16 hexadecimal digits.

    Args:
        modules: Their files below ``engine``, as ``syntax/terms.py``.
    """
    return sha256(_sources_of(_ENGINE / each for each in modules)).hexdigest()[:16]


def _sources_of(files: Iterable[Path]) -> bytes:
    return b"".join(b"\0%b\0%b" % (file.name.encode(), file.read_bytes()) for file in files)
