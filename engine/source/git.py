"""Read the state of a git repository in Python; git itself is never run on a repository.

The repository is untrusted: reads are bounded, chains of references are limited, and the result is
"unknown" instead of an exception. Own code, because dulwich follows links and opens pipes in
``.git``, misreads indexes of version 4, skips split ones, lets one of 1.4 MB take 1.4 GB of memory,
and reads one of 30,000 entries 14 to 18 times slower.
"""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Final, NamedTuple

from engine.clock import now_ms
from engine.record_class import record
from engine.records import display_path
from engine.roots import real_path
from engine.source.git_files import TrackedPaths, git_settings, read_index, read_regular

_NO_REPOSITORY = "the folder is not in a git repository"
_NO_HEAD = "git's HEAD cannot be read"
NO_COMMIT_YET: Final = "there is no commit yet"

_MAX_SMALL_BYTES: Final = 4096  # of HEAD, a ref, a gitdir or commondir file
_MAX_PACKED_REFS_BYTES: Final = 32 << 20
_MOST_WORKTREES: Final = 100
_MAX_REF_HOPS: Final = 5  # git's own limit for refs that name refs
_DETACHED_DIGITS: Final = 12
_LIMITS_OF_HISTORY: Final = ("shallow", "objects/pack", "objects/info", "objects/info/alternates")
_COMMIT: Final = re.compile(rb"(?:[0-9a-f]{40}|[0-9a-f]{64})")
_PACKED_LINE: Final = re.compile(rb"#|\^?(?:[0-9a-f]{40}|[0-9a-f]{64})(?:\s|$)")
_BAD_IN_REF: Final = re.compile(rb"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(?:/|$)|[/.]$")


class GitHead(NamedTuple):
    """The branch and commit that are checked out."""

    branch: str  # "" without git, "detached@<12 hex>" without a branch
    commit: str | None  # None without git, before the first commit, and when it cannot be read


@record
class Repository:
    """The paths of a repository."""

    top: str  # the folder that holds .git
    git_dir: str  # holds HEAD and index

    @property
    def common_dir(self) -> str:
        """The folder of refs, config and info; that of the main work tree for a worktree."""
        return _path_in(os.path.join(self.git_dir, "commondir"), self.git_dir) or self.git_dir


def find_repository(folder: str) -> Repository | None:
    """Find the repository that a folder belongs to, as git does: up to the next file system.

    Args:
        folder: An absolute path without links.
    """
    try:
        device = os.stat(folder).st_dev
        while True:
            found = repository_at(folder)
            parent = os.path.dirname(folder)
            if found is not None or parent == folder or os.stat(parent).st_dev != device:
                return found
            folder = parent
    except (OSError, ValueError):
        return None


def repository_at(folder: str) -> Repository | None:
    """Return the repository whose work tree starts at this folder, or None."""
    dot_git = os.path.join(folder, ".git")
    if not os.access(dot_git, os.F_OK):  # asked at every search, of every folder up to the top
        return None
    git_dir: str | None = dot_git
    if not os.path.isdir(dot_git):
        git_dir = _path_in(dot_git, folder, prefix=b"gitdir:")
    if git_dir is None or not os.path.lexists(os.path.join(git_dir, "HEAD")):
        return None
    return Repository(top=folder, git_dir=git_dir)


def is_worktree_of(repository: Repository, folder: str, descriptor: int) -> bool:
    """Return whether a folder is a linked worktree of a repository that has another one.

    What its file ``.git`` names is compared, not opened. A bare repository has no files of its own,
    so its worktrees do not count: they are all there is. Never raises.

    Args:
        repository: The repository that the folder lies in.
        folder: An absolute path without links.
        descriptor: Of the folder.
    """
    git_dir = _path_in(".git", folder, prefix=b"gitdir:", folder=descriptor)
    if git_dir is None or not os.path.lexists(os.path.join(repository.git_dir, "index")):
        return False
    worktrees = os.path.join(real_path(repository.common_dir), "worktrees")
    return os.path.dirname(os.path.normpath(git_dir)) == worktrees


def read_head(root: str) -> GitHead:
    """Return the branch and commit that are checked out; never raises.

    Args:
        root: A folder inside the work tree, not necessarily its top.
    """
    repository = find_repository(real_path(root))
    head = _head_of(repository) if repository else b""
    if repository is None or not head:
        return GitHead("", None)
    if _COMMIT.fullmatch(head):
        return GitHead(_branch_of(head), head.decode("ascii"))
    return GitHead(_branch_of(head), _commit_of(repository, head))


def read_branch(root: str) -> str:
    """Return the branch of ``read_head`` with fewer reads.

    Args:
        root: A folder inside the work tree, its path without links.
    """
    repository = find_repository(root)
    return _branch_of(_head_of(repository)) if repository else ""


def why_no_branch(root: str) -> str:
    """Return why ``read_branch`` knows no branch, as a sentence; never raises."""
    is_in_repository = find_repository(real_path(root)) is not None
    return _NO_HEAD if is_in_repository else _NO_REPOSITORY


def why_no_commit(root: str) -> str:
    """Return why ``read_head`` knows no commit, as a sentence; never raises.

    ``NO_COMMIT_YET`` alone says that there is none.
    """
    repository = find_repository(real_path(root))
    if repository is None:
        return _NO_REPOSITORY
    if os.path.isdir(os.path.join(repository.common_dir, "reftable")):
        return "git keeps the branches in a reftable, which is not read"
    head = _head_of(repository)
    if not head:
        return _NO_HEAD
    ref = os.fsdecode(head)
    for folder in (repository.git_dir, repository.common_dir):
        path = os.path.join(folder, ref)
        if os.path.lexists(path) and not os.path.isdir(path):
            return f"git's file {display_path(ref)} cannot be read"
    packed = _read_packed(repository.common_dir)
    if packed is None:
        is_sound = not os.path.lexists(os.path.join(repository.common_dir, "packed-refs"))
    else:
        is_sound = _is_sound_packed(packed)
    return NO_COMMIT_YET if is_sound else "git's file packed-refs cannot be read"


def branch_exists(root: str, branch: str) -> bool:
    """Return whether a branch that was indexed still exists, or is a tag; never raises.

    A detached commit and "no git" are not branches: they exist while they are checked out. What
    cannot be read says nothing: a ref exists unless its file is known to be missing and
    ``packed-refs`` has been read.
    """
    if read_branch(root) == branch:
        return True
    root = real_path(root)
    repository = find_repository(root)
    if repository is None or not _head_of(repository) or _is_inner_unread(root, repository):
        return True
    return not _is_gone(repository, branch)


def commit_of_branch(repository: Repository, branch: str) -> str | None:
    """Return what a branch, a tag or a branch of a remote (``origin/main``) names, or None.

    A branch comes before a tag of the same name. A tag may name an object that names the commit.
    """
    commits = (_commit_of(repository, ref) for ref in _refs_of(branch))
    return next((commit for commit in commits if commit is not None), None)


def is_shallow(repository: Repository) -> bool:
    """Return whether a clone was made without the beginning of its history; never raises."""
    return os.path.lexists(os.path.join(repository.common_dir, "shallow"))


def objects_changed_ms(repository: Repository) -> int:
    """Return when the repository last got packs, or other limits to its history; never raises.

    So it does when a clone is made deeper, or takes in what it has borrowed. Single objects, which
    every commit adds, do not count, nor do times ahead of the clock.
    """
    newest_ms, latest_ms = 0, now_ms()
    for name in _LIMITS_OF_HISTORY:
        with suppress(OSError, ValueError):
            facts = os.lstat(os.path.join(repository.common_dir, name))
            changed_ms = facts.st_mtime_ns // 1_000_000
            if changed_ms <= latest_ms:
                newest_ms = max(newest_ms, changed_ms)
    return newest_ms


def sibling_folders(root: str) -> Iterator[str]:
    """Yield the same folder in the other worktrees of its repository, the main one first.

    A worktree that the repository does not list has no siblings. Never raises; the folders may
    be missing.

    Args:
        root: A folder inside a work tree, resolved.
    """
    repository = find_repository(root)
    if repository is None:
        return
    tops = list(_worktree_tops(repository.common_dir))
    if repository.top in tops:
        below = os.path.relpath(root, repository.top)
        for top in tops:
            if top != repository.top:
                yield os.path.normpath(os.path.join(top, below))


def _worktree_tops(common_dir: str) -> Iterator[str]:
    """Yield the resolved top folders of all worktrees of a repository."""
    common_dir = real_path(common_dir)
    if os.path.basename(common_dir) == ".git":
        yield os.path.dirname(common_dir)
    folder = os.path.join(common_dir, "worktrees")
    try:
        names = sorted(os.listdir(folder))[:_MOST_WORKTREES]
    except OSError:
        return
    for name in names:
        dot_git = _path_in(os.path.join(folder, name, "gitdir"), os.path.join(folder, name))
        if dot_git is not None:
            yield real_path(os.path.dirname(dot_git))


def tracked_paths(repository: Repository, folder: str) -> TrackedPaths:
    """Read which files git tracks below a folder, an absolute path in the work tree; never raises.

    With an index that cannot be read, nothing is known to be tracked.
    """
    below = os.path.relpath(folder, repository.top)
    prefix = b"" if below == "." else os.fsencode(below) + b"/"
    hash_bytes = git_settings(repository.top, repository.common_dir).hash_bytes
    return read_index(repository.git_dir, hash_bytes=hash_bytes, prefix=prefix)


def _path_in(path: str, base: str, *, prefix: bytes = b"", folder: int | None = None) -> str | None:
    """Return the path stored in a small file, or None if it is not such a file.

    Args:
        path: The file; relative to ``folder`` when that is given.
        base: What a relative path in the file starts from.
        prefix: What comes before it.
        folder: A descriptor.
    """
    content = read_regular(path, _MAX_SMALL_BYTES, folder=folder)
    if content is None or not content.startswith(prefix) or b"\0" in content:
        return None
    named = content[len(prefix) :].strip()
    return os.path.join(base, os.fsdecode(named)) if named else None


def _head_of(repository: Repository) -> bytes:
    """Return the ref or commit that is checked out, or empty bytes if unknown."""
    head = _ref_content(repository.git_dir, b"HEAD") or b""
    if head.startswith(b"ref:"):
        ref = head[4:].strip()
        return ref if _is_ref(ref) else b""
    return head if _COMMIT.fullmatch(head) else b""


def _branch_of(head: bytes) -> str:
    if _COMMIT.fullmatch(head):
        return f"detached@{head[:_DETACHED_DIGITS].decode('ascii')}"
    return head.removeprefix(b"refs/heads/").decode("utf-8", "replace")


def _ref_content(folder: str, name: bytes) -> bytes | None:
    path = os.path.join(folder, os.fsdecode(name))
    content = read_regular(path, _MAX_SMALL_BYTES)
    if content is not None:
        return content.strip()
    try:
        target = os.fsencode(os.readlink(path))
    except (OSError, ValueError):
        return None
    return b"ref: " + target if target.startswith(b"refs/") else None  # as git once wrote HEAD


def _is_ref(name: bytes) -> bool:
    return name.startswith(b"refs/") and not _BAD_IN_REF.search(name)


def _refs_of(branch: str) -> list[bytes]:
    """Return the full names that a branch, a tag or a branch of a remote can have, in order."""
    name = os.fsencode(branch)
    refs = (folder + name for folder in (b"refs/heads/", b"refs/tags/", b"refs/remotes/"))
    return [ref for ref in refs if branch and _is_ref(ref)]


def _is_gone(repository: Repository, branch: str) -> bool:
    """Return whether a repository is known to have no branch or tag of a name."""
    git_dir, common_dir = repository.git_dir, repository.common_dir
    if common_dir == git_dir and not _is_absent(os.path.join(git_dir, "commondir")):
        return False
    refs = _refs_of(branch)
    for folder in {git_dir, common_dir}:
        if not all(_is_absent(os.path.join(folder, os.fsdecode(ref))) for ref in refs):
            return False
    packed = _read_packed(common_dir)  # after the files: git writes it before it deletes them
    if packed is None:
        return _is_absent(os.path.join(common_dir, "packed-refs"))
    is_packed = any(b" " + ref + b"\n" in packed + b"\n" for ref in refs)
    return not is_packed and _is_sound_packed(packed)


def _is_absent(path: str) -> bool:
    """Return whether there is surely no file; a folder is where refs have a longer name."""
    return _is_missing(path) or (os.path.isdir(path) and not os.path.islink(path))


def _is_missing(path: str) -> bool:
    """Return whether there is surely nothing."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return False


def _is_inner_unread(root: str, repository: Repository) -> bool:
    """Return whether a folder seems to be in a repository inside the one that was found."""
    while root != repository.top:
        if not _is_missing(os.path.join(root, ".git")):
            return True
        root = os.path.dirname(root)
    return False


def _commit_of(repository: Repository, ref: bytes) -> str | None:
    for _ in range(_MAX_REF_HOPS):
        content = _ref_content(repository.git_dir, ref)
        if content is None and repository.common_dir != repository.git_dir:
            content = _ref_content(repository.common_dir, ref)
        if content is None:
            content = _packed_ref(repository.common_dir, ref)
        if content is None:
            return None
        if _COMMIT.fullmatch(content):
            return content.decode("ascii")
        ref = content.removeprefix(b"ref:").strip()
        if not _is_ref(ref):
            return None
    return None


def _read_packed(common_dir: str) -> bytes | None:
    return read_regular(os.path.join(common_dir, "packed-refs"), _MAX_PACKED_REFS_BYTES)


def _is_sound_packed(data: bytes) -> bool:
    """Return whether all lines of the packed refs can be read."""
    return all(map(_PACKED_LINE.match, data.splitlines()))


def _packed_ref(common_dir: str, ref: bytes) -> bytes | None:
    data = _read_packed(common_dir)
    if data is None:
        return None
    at = (data + b"\n").find(b" " + ref + b"\n")
    return data[data.rfind(b"\n", 0, at) + 1 : at] if at >= 0 else None
