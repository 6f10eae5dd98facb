"""The files of a commit that is not checked out, from git's objects, as a walk and a reader.

The same rules hold as for files on the disk, with the ``.cairnignore`` files of the commit. Git's
own ignore rules say nothing here: every file of a commit is tracked. Links are not followed, and
submodules are another repository's. What cannot be read is a skip, as on the disk.

The stat of a file is made of its object's name, so that a later run reads what has another one.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import TracebackType
from typing import Final, NamedTuple, Self

from engine.cancellation import CancelToken
from engine.config import LARGEST_FILE_BYTES
from engine.errors import Cancelled, InvalidInputError, NotFoundError, UnavailableError
from engine.records import FileEntry, FileStat, Skip, SkipReason, display_path
from engine.source.folder_rules import FolderRules, GlobPosition, Refusal, RuleFiles, Tracking
from engine.source.git import Repository, commit_of_branch, find_repository
from engine.source.git_files import git_settings
from engine.source.git_objects import (
    MOST_FILES,
    GitObjects,
    ObjectTooLargeError,
    TreeEntry,
    UnreadableObjectError,
)
from engine.source.reader import Content
from engine.source.secret_files import is_secret_file
from engine.source.walker import WalkRules, compiled

_CACHED_BYTES: Final = 32 << 20
_WORK_BYTES: Final = 256 << 20  # uncompressed, for one object with those that it is told by
_MAX_DEPTH: Final = 200
_BEYOND_BYTES: Final = 1 << 40  # the size of an object that is too large to be read
_VIRTUAL_ENVIRONMENT: Final = "pyvenv.cfg"
_FOLDER, _LINK, _SUBMODULE = b"40000", b"120000", b"160000"
_MARK: Final = 1  # in place of the time of a file


#: Returns the stat that is stored for a path, of a file or of a skip.
KnownStat = Callable[[str], FileStat | None]


class _Pending(NamedTuple):
    """A folder that is to be entered."""

    path: str
    name: bytes  # of its object
    rules: FolderRules


class CommitTree:
    """The files of one commit below a folder. A context manager; for one thread.

    Args:
        root: The root of the project, resolved, in the work tree of a repository.
        branch: A branch or a tag.
        rules: Which files belong to the project.
        cancelled: Polled for each folder and file.

    Raises:
        NotFoundError: There is no repository, or it has no such branch.
        UnavailableError: The commit cannot be read.
    """

    def __init__(self, root: str, branch: str, rules: WalkRules, cancelled: CancelToken) -> None:
        repository = _repository_of(root)
        self._root, self._branch = root, branch
        include, exclude, self._allowed = compiled(rules)
        self._globs = GlobPosition(include, exclude)
        self._limit_bytes = rules.max_file_size_bytes or LARGEST_FILE_BYTES
        self._cancelled = cancelled
        below = os.path.relpath(root, repository.top)
        self._below = [] if below == "." else list(map(os.fsencode, below.split(os.sep)))
        self._names: dict[str, bytes] = {}  # of objects, by path
        try:
            self._objects = _objects_of(repository)
        except UnreadableObjectError as error:
            raise _unreadable(branch, error) from error
        try:
            self.commit, self._tree = self._resolved(repository)
        except BaseException:
            self._objects.close()
            raise

    def __enter__(self) -> Self:
        """Return the tree."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the repository's files."""
        self._objects.close()

    def walk(self, known_stat: KnownStat) -> Iterator[FileEntry | Skip]:
        """Yield every file, and every excluded file or folder with the reason.

        Args:
            known_stat: Tells what is stored; a file with the same object has the same stat. Of
                others the size is not known yet, and is 0.

        Raises:
            UnavailableError: There are too many.
        """
        for number, item in enumerate(self._walk(known_stat)):
            if number >= MOST_FILES:
                why = ObjectTooLargeError(f"it has more than {MOST_FILES:,} files")
                raise _unreadable(self._branch, why)
            yield item

    def _walk(self, known_stat: KnownStat) -> Iterator[FileEntry | Skip]:
        rule_files = RuleFiles(self._root)
        rules = rule_files.at_root(self._globs).tracked_by(AllTracked())
        pending = [_Pending("", self._tree, rules)] if self._tree else []
        while pending:
            if self._cancelled():
                raise Cancelled
            folder = pending.pop()
            prefix = f"{folder.path}/" if folder.path else ""
            try:
                entries = self._entries_of(folder)
            except UnreadableObjectError as error:
                yield Skip(folder.path, SkipReason.UNREADABLE, str(error), is_folder=True)
                continue
            names = {each.path for each in entries}
            if prefix and _VIRTUAL_ENVIRONMENT in names and not folder.rules.is_asked_for:
                why = f"{_VIRTUAL_ENVIRONMENT}: a Python environment"
                yield Skip(folder.path, SkipReason.DEFAULT_EXCLUDED, why, is_folder=True)
                continue
            objects = {each.path: each.name for each in entries}

            def read(name: str, room: int, objects: dict[str, bytes] = objects) -> bytes | None:
                with suppress(UnreadableObjectError):
                    return self._read_object(objects[name], room)
                return None

            here = rule_files.with_files(folder.rules, prefix, names, read)
            folders: list[_Pending] = []
            for entry in entries:
                if entry.mode == _FOLDER:
                    inside = here.into(prefix, entry.path, names)
                    path = prefix + entry.path
                    if isinstance(inside, Refusal):
                        yield Skip(path, inside.reason, inside.detail, is_folder=True)
                    else:
                        folders.append(_Pending(path, entry.name, inside))
                else:
                    yield self._outcome(prefix, entry, here, known_stat)
            pending += reversed(folders)

    def read(self, entry: FileEntry, max_bytes: int) -> Content | Skip:
        """Read a file of the walk, or return a skip with the reason.

        Args:
            entry: The result of the walk.
            max_bytes: The largest size to read.
        """
        name = self._names[entry.path]
        try:
            data = self._read_object(name, max_bytes)
        except ObjectTooLargeError as error:
            stat = stat_of_object(name, min(error.size_bytes, _BEYOND_BYTES) or _BEYOND_BYTES)
            return _too_large(entry.path, stat, max_bytes)
        except UnreadableObjectError as error:
            return Skip(entry.path, SkipReason.UNREADABLE, str(error))
        return Content(data, stat_of_object(name, len(data)))

    def _resolved(self, repository: Repository) -> tuple[str, bytes | None]:
        """Return the commit, and the folder of the root in it, if it is there."""
        named = commit_of_branch(repository, self._branch)
        if named is None:
            of_remote = f"origin/{self._branch}"
            is_there = commit_of_branch(repository, of_remote) is not None
            raise NotFoundError(
                f"the repository has no branch and no tag {display_path(self._branch)!r}",
                hint=f"it has {display_path(of_remote)!r}: write that"
                if is_there
                else "git branch --all and git tag list what it has",
                field="branch",
            )
        try:
            commit, tree = self._objects.tree_of(bytes.fromhex(named))
            for part in self._below:
                inside = {each.path: each for each in self._objects.entries(tree)}
                found = inside.get(os.fsdecode(part))
                if found is None or found.mode != _FOLDER:
                    return commit.hex(), None
                tree = found.name
        except UnreadableObjectError as error:
            raise _unreadable(self._branch, error) from error
        return commit.hex(), tree

    def _entries_of(self, folder: _Pending) -> list[TreeEntry]:
        if folder.path.count("/") >= _MAX_DEPTH:
            raise UnreadableObjectError("folders are nested too deep")
        self._objects.allow(_WORK_BYTES)
        return sorted(self._objects.entries(folder.name), key=_by_name)

    def _read_object(self, name: bytes, limit_bytes: int) -> bytes:
        self._objects.allow(_WORK_BYTES)
        return self._objects.read(name, b"blob", limit_bytes=limit_bytes)

    def _outcome(
        self, prefix: str, entry: TreeEntry, rules: FolderRules, known_stat: KnownStat
    ) -> FileEntry | Skip:
        path = prefix + entry.path
        if entry.mode == _SUBMODULE:
            detail = "a submodule: its files are in another repository"
            return Skip(path, SkipReason.NOT_REGULAR, detail, is_folder=True)
        refusal = rules.refusal_of_file(prefix, entry.path)
        if refusal is not None:
            return Skip(path, refusal.reason, refusal.detail)
        if entry.mode == _LINK or not entry.mode.startswith(b"10"):
            detail = "a link, which is followed only on the branch that is checked out"
            return Skip(path, SkipReason.NOT_REGULAR, detail)
        rule = is_secret_file(path)
        if rule is not None and self._allowed.match(path, is_dir=False) is None:
            return Skip(path, SkipReason.SECRET_FILE, rule)
        stat = known_stat(path)
        if stat is None or stat != stat_of_object(entry.name, stat.size_bytes):
            stat = stat_of_object(entry.name, 0)
        if stat.size_bytes > self._limit_bytes:
            return _too_large(path, stat, self._limit_bytes)
        self._names[path] = entry.name
        return FileEntry(path, stat, path)


class AllTracked(Tracking):
    """Of a commit, git tracks every file."""

    def __init__(self) -> None:
        super().__init__(None, "")

    def has(self, path: str) -> bool:
        """Return true."""
        return True

    def has_below(self, path: str) -> bool:
        """Return true: a commit has no empty folders."""
        return True

    @property
    def is_known(self) -> bool:
        """Whether git tracks anything at all."""
        return True


def stat_of_object(name: bytes, size_bytes: int) -> FileStat:
    """Return the stat of a file with this content; none on a disk is like it.

    Its numbers are never taken for times: the one for the time of change is below zero.
    """
    first, second = (int.from_bytes(name[at : at + 8], "big") >> 1 for at in (0, 8))
    return FileStat(size_bytes, _MARK, -1 - second, first)


def check_branch(root: str, branch: str) -> None:
    """Check that a branch or tag can be indexed.

    Args:
        root: The root of the project, resolved.
        branch: The name.

    Raises:
        InvalidInputError: It is empty.
        NotFoundError: There is no repository, or it has no such branch.
        UnavailableError: The commit cannot be read.
    """
    if not branch:
        raise InvalidInputError("the name of the branch is empty", field="branch")
    with CommitTree(root, branch, WalkRules(), lambda: False):
        pass


def _repository_of(root: str) -> Repository:
    repository = find_repository(root)
    if repository is None:
        raise NotFoundError(
            f"{display_path(root)} is in no git repository, so it has no branches", field="branch"
        )
    return repository


def _objects_of(repository: Repository) -> GitObjects:
    common_dir = repository.common_dir
    hash_bytes = git_settings(repository.top, common_dir).hash_bytes
    return GitObjects(common_dir, hash_bytes=hash_bytes, cached_bytes=_CACHED_BYTES)


def _unreadable(branch: str, error: UnreadableObjectError) -> UnavailableError:
    return UnavailableError(
        f"branch {display_path(branch)!r} cannot be read: {error}",
        hint="git fsck tells what is wrong with the repository",
        field="branch",
    )


def _too_large(path: str, stat: FileStat, limit_bytes: int) -> Skip:
    is_beyond = stat.size_bytes >= _BEYOND_BYTES
    size = "more than can be read" if is_beyond else f"{stat.size_bytes:,} bytes"
    return Skip(path, SkipReason.TOO_LARGE, f"{size}, the limit is {limit_bytes:,}", stat=stat)


def _by_name(entry: TreeEntry) -> str:
    return entry.path
