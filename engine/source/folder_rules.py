"""Rules that apply in one folder of a walk: ignore rules, default excludes, globs, tracked files.

``FolderRules`` decides by names alone and opens nothing. An excluded folder is normally not
entered. It is entered when something in it may still be wanted (a file that git tracks, an include
glob, or a ``!`` rule of a ``.cairnignore`` that names it); its rules then carry the ``Refusal`` of
everything else in it.

``RuleFiles`` finds and reads the ignore files. From lowest to highest precedence: git's global
ignore file (or ``core.excludesFile``), the repository's ``info/exclude``, each ``.gitignore`` from
the top of the repository down, and each ``.cairnignore``. Files above the root apply up to the top
of the repository, unless they ignore the root itself: a user who opens an ignored folder wants to
see its contents.
"""

import os
from collections.abc import Callable, Collection
from dataclasses import replace
from enum import Enum
from typing import Final, NamedTuple

from engine.record_class import record
from engine.records import SkipReason
from engine.source.default_excludes import excluded_by_default
from engine.source.git import (
    Repository,
    find_repository,
    is_worktree_of,
    repository_at,
    tracked_paths,
)
from engine.source.git_files import (
    NO_TRACKED_PATHS,
    GitSettings,
    TrackedPaths,
    git_settings,
    read_regular,
)
from engine.source.ignore import (
    Decision,
    Globs,
    IgnoreChain,
    IgnoreFile,
    IgnoreRules,
    glob_key,
    label_of,
    match_key,
)
from engine.source.wildmatch import PatternSet

#: Rule files of more than this, alone or together with those in force, are not read: rules take
#: 20 to 200 times their bytes in memory.
MAX_RULES_BYTES: Final = 2 << 20

#: How many small rule files are cached, as large trees have many equal ones.
_MAX_KNOWN: Final = 256
_MAX_KNOWN_BYTES: Final = 1 << 14

GIT_IGNORE: Final = ".gitignore"
CAIRN_IGNORE: Final = ".cairnignore"


class Reinclusion(Enum):
    """Ways to re-include a file of a refused folder, besides ``!`` rules of a ``.cairnignore``."""

    BY_TRACKING = "git tracks it"
    BY_INCLUDE = "an include glob names it"
    BY_NOTHING = "nothing"


class Refusal(NamedTuple):
    """The reason why a name is excluded."""

    reason: SkipReason
    detail: str
    lifted: Reinclusion = Reinclusion.BY_NOTHING


_GIT = Refusal(SkipReason.DEFAULT_EXCLUDED, ".git: version control")


class Tracking:
    """Files that git tracks below a folder of the walk; the index is read on first use.

    Args:
        repository: The folder's repository; None without git.
        folder: The folder, an absolute path in the work tree.
        prefix: The folder's path in the walk, with a slash unless it is empty.
    """

    __slots__ = ("_folder", "_prefix_length", "_repository", "_tracked")

    def __init__(self, repository: Repository | None, folder: str, prefix: str = "") -> None:
        self._repository = repository
        self._folder = folder
        self._prefix_length = len(prefix)
        self._tracked = NO_TRACKED_PATHS if repository is None else None

    def has(self, path: str) -> bool:
        """Return whether git tracks exactly this path of the walk."""
        return self._paths().has(path[self._prefix_length :])

    def has_below(self, path: str) -> bool:
        """Return whether git tracks anything in that folder."""
        return self._paths().has_below(path[self._prefix_length :])

    def has_worktree(self, folder: str, descriptor: int) -> bool:
        """Return whether a folder is a worktree of the same repository.

        Args:
            folder: An absolute path without links.
            descriptor: Of the folder.
        """
        repository = self._repository
        return repository is not None and is_worktree_of(repository, folder, descriptor)

    @property
    def is_known(self) -> bool:
        """Whether git tracks anything at all."""
        return self._paths().is_known

    def _paths(self) -> TrackedPaths:
        if self._tracked is None:
            assert self._repository is not None  # __init__ sets _tracked without one
            self._tracked = tracked_paths(self._repository, self._folder)
        return self._tracked


class GlobPosition:
    """The state of the caller's globs in one folder of a walk.

    Args:
        include: None when everything is included.
        exclude: None when nothing is excluded.
        named: The include globs that name a path, if the folder is included as a whole.
        folder: The path of the folder from the root, between slashes.

    Attributes:
        is_silent: Whether no glob affects files here.
    """

    __slots__ = ("_exclude", "_folder", "_include", "_named", "is_silent")

    def __init__(
        self,
        include: Globs | None,
        exclude: Globs | None,
        *,
        named: PatternSet | None = None,
        folder: bytes = b"/",
    ) -> None:
        self._include = include if include else None
        self._exclude = exclude if exclude else None
        self._named = include.named if include else named
        self._folder = folder
        self.is_silent = self._include is None and self._exclude is None

    def refusal_of_file(self, name: str) -> Refusal | None:
        """Return why a file is excluded, or None."""
        refusal = self.exclusion_of_file(name)
        if refusal is not None or self._include is None:
            return refusal
        if self._include.all.last(self._folder, glob_key(name)) < 0:
            return Refusal(SkipReason.NOT_INCLUDED, "no include pattern matches")
        return None

    def exclusion_of_file(self, name: str) -> Refusal | None:
        """Return the exclusion of a file by a glob, or None."""
        if self._exclude is None:
            return None
        number = self._exclude.all.last(self._folder, glob_key(name))
        if number < 0:
            return None
        return Refusal(SkipReason.EXCLUDED, f"exclude pattern {self._exclude.pattern(number)}")

    def refusal_of_folder(self, name: str) -> Refusal | None:
        """Return why a folder is excluded with everything below it, or None."""
        refusal = self.exclusion_of_file(f"{name}/")
        if refusal is not None or self._include is None or self._covering(name) >= 0:
            return refusal
        if self._include.all.reaches_into(self._below(name)):
            return None
        return Refusal(SkipReason.NOT_INCLUDED, "no include pattern matches anything in it")

    def enter(self, name: str) -> "GlobPosition":
        """Return the state of the globs in a subfolder."""
        if self._exclude is None and self._named is None:
            return self
        include = self._include if self._covering(name) < 0 else None
        return GlobPosition(include, self._exclude, named=self._named, folder=self._below(name))

    def asks_for(self, name: str) -> bool:
        """Return whether an include glob matches this folder itself, by its name."""
        number = self._covering(name)
        if number < 0 or self._include is None:
            return False
        last = self._include.compiled(number).components[-1]
        return last is not None and last.spells_out

    def reaches_into(self, name: str) -> bool:
        """Return whether an include glob names this folder as part of a longer path."""
        return self._include is not None and bool(self._include.all.naming(self._below(name)))

    def wants_file(self, name: str) -> bool:
        """Return whether an include glob names the path to a file, not just a name at any depth."""
        return self._named is not None and self._named.last(self._folder, glob_key(name)) >= 0

    def asks_for_path(self, name: str) -> bool:
        """Return whether an include glob matches the path of this folder itself."""
        return self.wants_file(f"{name}/")

    def wants_folder(self, name: str) -> bool:
        """Return whether an include glob names the path of a folder or of something in it."""
        if self.asks_for_path(name):
            return True
        return self._named is not None and self._named.has_step(self._below(name))

    def _below(self, name: str) -> bytes:
        return self._folder + glob_key(f"{name}/")

    def _covering(self, name: str) -> int:
        return (
            -1
            if self._include is None
            else self._include.all.last(self._folder, glob_key(f"{name}/"))
        )


@record
class FolderRules:
    """The rules that apply in one folder."""

    ignore: IgnoreChain
    globs: GlobPosition
    tracking: Tracking
    fold_case: bool = False  # of the repository's ignore rules
    ambient: Refusal | None = None  # of everything here that nothing re-includes
    is_asked_for: bool = False  # the user named this folder itself

    def refusal_of_file(self, prefix: str, name: str) -> Refusal | None:
        """Return why a file is excluded by its name, or None.

        Args:
            prefix: The folder's path, with a slash unless it is the root.
            name: The file's name.
        """
        if name == ".git":
            return _GIT
        if self.ambient is not None or not self.ignore.is_empty:
            decision = self.ignore.of_file(self._key(name))
            if decision is not None or self.ambient is not None:
                refusal = self._refusal_by(decision, prefix, name)
                if refusal is not None:
                    return refusal
        return None if self.globs.is_silent else self.globs.refusal_of_file(name)

    def refusal_of_link(self, prefix: str, name: str) -> Refusal | None:
        """Return why a link is excluded whatever its target, or None if the target decides."""
        if name == ".git":
            return _GIT
        decision = self.ignore.of_file(self._key(name))
        return self._refusal_by(decision, prefix, name) or self.globs.exclusion_of_file(name)

    def into(self, prefix: str, name: str, siblings: Collection[str]) -> "FolderRules | Refusal":
        """Return the rules of a subfolder, without its own rule files.

        Args:
            prefix: This folder's path, with a slash unless it is the root.
            name: The subfolder's name.
            siblings: The names beside it.

        Returns:
            Its rules, or why it need not be entered.
        """
        if name == ".git":
            return _GIT
        key = self._key(name)
        path = prefix + name
        ambient, is_asked_for = self._ambient_of(path, key)
        if ambient is not None and not self._is_worth_entering(ambient, path, name, key):
            return ambient
        if (
            ambient is not None
            and ambient.lifted is Reinclusion.BY_INCLUDE
            and self.globs.asks_for_path(name)
        ):
            ambient = None
        is_open = ambient is None or ambient.lifted is Reinclusion.BY_TRACKING
        why = self._default_exclusion(prefix, name, siblings) if is_open else None
        if why is not None and not is_asked_for:
            if not self.globs.asks_for(name):
                refusal = Refusal(SkipReason.DEFAULT_EXCLUDED, why, Reinclusion.BY_INCLUDE)
                if not self.globs.reaches_into(name) and not self.ignore.reopens(key):
                    return refusal
                ambient = ambient or refusal
            is_asked_for = True
        refusal_by_glob = self.globs.refusal_of_folder(name)
        if refusal_by_glob is not None:
            return refusal_by_glob
        ignore, globs = self.ignore.enter(key), self.globs.enter(name)
        is_asked_for = (
            is_asked_for
            or ambient is not None
            or self.globs.asks_for(name)
            or self.globs.reaches_into(name)
        )
        before = (self.ignore, self.globs, self.ambient, self.is_asked_for)
        if before == (ignore, globs, ambient, is_asked_for):
            return self  # most folders of most trees
        return FolderRules(
            ignore=ignore,
            globs=globs,
            tracking=self.tracking,
            fold_case=self.fold_case,
            ambient=ambient,
            is_asked_for=is_asked_for,
        )

    def tracked_by(self, tracking: Tracking) -> "FolderRules":
        """Return these rules with other files that git tracks."""
        return replace(self, tracking=tracking)

    def with_ignore(self, ignore: IgnoreChain) -> "FolderRules":
        """Return these rules with the ignore rules replaced."""
        return replace(self, ignore=ignore)

    def _refusal_by(self, decision: Decision | None, prefix: str, name: str) -> Refusal | None:
        """Return why a file is excluded, given the decision of the folder's rules, or None."""
        if decision is not None and decision[0].is_cairn:
            return _ignored_by(decision)
        ambient = self.ambient
        if ambient is not None and ambient.lifted is not Reinclusion.BY_INCLUDE:
            is_lifted = ambient.lifted is Reinclusion.BY_TRACKING and self.tracking.has(
                prefix + name
            )
            return None if is_lifted else ambient
        refusal = _ignored_by(decision) if decision is not None else None
        if refusal is not None and not self.tracking.has(prefix + name):
            return refusal
        return ambient if ambient is not None and not self.globs.wants_file(name) else None

    def _ambient_of(self, path: str, key: bytes) -> tuple[Refusal | None, bool]:
        """Return a folder's refusal by ignore rules; whether ``.cairnignore`` re-includes it."""
        decision = self.ignore.of_folder(key)
        refusal = _ignored_by(decision) if decision is not None else None
        if decision is not None and decision[0].is_cairn:
            return refusal, refusal is None
        ambient = self.ambient
        if ambient is not None and ambient.lifted is Reinclusion.BY_NOTHING:
            return ambient, False
        if ambient is None or ambient.lifted is not Reinclusion.BY_TRACKING:
            if refusal is None:
                return ambient, False
            ambient = refusal
        return (None, False) if self.tracking.has(path) else (ambient, False)

    def _is_worth_entering(self, ambient: Refusal, path: str, name: str, key: bytes) -> bool:
        if self.ignore.reopens(key):
            return True
        if ambient.lifted is Reinclusion.BY_TRACKING:
            return self.tracking.has_below(path)
        return ambient.lifted is Reinclusion.BY_INCLUDE and self.globs.wants_folder(name)

    def _default_exclusion(self, prefix: str, name: str, siblings: Collection[str]) -> str | None:
        return excluded_by_default(
            name,
            siblings,
            is_in_root=not prefix,
            has_tracked_files=lambda: (
                self.tracking.has_below(prefix + name) if self.tracking.is_known else None
            ),
        )

    def _key(self, name: str) -> bytes:
        if self.fold_case or not name.isascii():
            return match_key(name, fold_case=self.fold_case)
        return name.encode()


def _ignored_by(decision: Decision) -> Refusal | None:
    file, number = decision
    if file.is_negated(number):
        return None
    lifted = Reinclusion.BY_NOTHING if file.is_cairn else Reinclusion.BY_TRACKING
    return Refusal(SkipReason.IGNORED, file.describe(number), lifted)


class RuleFiles:
    """Reader of rule files with a cache, as many of them are equal in a large tree.

    Args:
        root: The root of the walk, an absolute path without links.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._known: dict[tuple[bytes, bool], IgnoreRules] = {}

    def at_root(self, globs: GlobPosition) -> FolderRules:
        """Return the rules that apply in the root, without its own rule files."""
        repository = find_repository(self._root)
        settings = git_settings(
            repository.top if repository else self._root,
            repository.common_dir if repository else None,
        )
        fold_case = settings.ignores_case
        chain = IgnoreChain().with_files(self._global_files(settings))
        if repository is not None:
            chain = self._inherited(repository, chain, fold_case=fold_case)
        return FolderRules(
            ignore=chain,
            globs=globs,
            tracking=Tracking(repository, self._root),
            fold_case=fold_case,
        )

    def in_folder(
        self, rules: FolderRules, descriptor: int, prefix: str, names: frozenset[str] | set[str]
    ) -> FolderRules:
        """Return the rules that apply in a folder, including its rule files and repository.

        Args:
            rules: The rules that apply there without them.
            descriptor: Of the folder.
            prefix: The folder's path, with a slash unless it is the root.
            names: The names in the folder.
        """
        if ".git" in names and prefix:
            rules = self._nested(rules, prefix)

        def read(name: str, room: int) -> bytes | None:
            return read_regular(name, room, folder=descriptor)

        return self.with_files(rules, prefix, names, read)

    def with_files(
        self,
        rules: FolderRules,
        prefix: str,
        names: Collection[str],
        read: Callable[[str, int], bytes | None],
    ) -> FolderRules:
        """Return the rules that apply in a folder, including its rule files.

        Args:
            rules: The rules that apply there without them.
            prefix: The folder's path, with a slash unless it is the root.
            names: The names in the folder.
            read: Reads a file there of at most so many bytes.
        """
        files = []
        for name in (GIT_IGNORE, CAIRN_IGNORE):
            if name in names:
                room = MAX_RULES_BYTES - rules.ignore.size_bytes
                data = read(name, room)
                if data:
                    known = self._rules(data, fold_case=rules.fold_case)
                    files.append(IgnoreFile(known, label_of(prefix, name), name == CAIRN_IGNORE))
        return rules.with_ignore(rules.ignore.with_files(files)) if files else rules

    def _nested(self, rules: FolderRules, prefix: str) -> FolderRules:
        """Return the rules at a nested repository: git's start afresh, as in git; our own stay."""
        folder = os.path.join(self._root, prefix[:-1])
        repository = repository_at(folder)
        if repository is None:
            return rules
        settings = git_settings(folder, repository.common_dir)
        chain = rules.ignore.only_cairn().with_files(self._global_files(settings))
        return FolderRules(
            ignore=chain.with_files(
                self._exclude_file(repository, prefix, fold_case=settings.ignores_case)
            ),
            globs=rules.globs,
            tracking=Tracking(repository, folder, prefix),
            fold_case=settings.ignores_case,
            ambient=rules.ambient,
            is_asked_for=rules.is_asked_for,
        )

    def _inherited(
        self, repository: Repository, base: IgnoreChain, *, fold_case: bool
    ) -> IgnoreChain:
        """Return the rules that the root inherits from the folders above it in the repository."""
        below = os.path.relpath(self._root, repository.top)
        names = [] if below == "." else below.split(os.sep)
        chain = base.with_files(
            self._exclude_file(repository, "../" * len(names), fold_case=fold_case)
        )
        folder = repository.top
        for depth, name in enumerate(names):
            label = "../" * (len(names) - depth)
            chain = chain.with_files(self._files_at(folder, label, fold_case=fold_case))
            key = match_key(name, fold_case=fold_case)
            decision = chain.of_folder(key)
            if decision is not None and not decision[0].is_negated(decision[1]):
                return base
            chain, folder = chain.enter(key), os.path.join(folder, name)
        return chain

    def _global_files(self, settings: GitSettings) -> list[IgnoreFile]:
        data = read_regular(settings.excludes_path, MAX_RULES_BYTES, follow=True)
        if not data:
            return []
        rules = self._rules(data, fold_case=settings.ignores_case)
        shows_text = settings.excludes_is_users  # else a hostile repository could name any file
        return [IgnoreFile(rules, settings.excludes_label, shows_text=shows_text)]

    def _exclude_file(
        self, repository: Repository, prefix: str, *, fold_case: bool
    ) -> list[IgnoreFile]:
        path = os.path.join(repository.common_dir, "info", "exclude")
        data = read_regular(path, MAX_RULES_BYTES)
        if not data:
            return []
        rules = self._rules(data, fold_case=fold_case)
        shows_text = repository.common_dir == os.path.join(repository.top, ".git")
        return [IgnoreFile(rules, label_of(prefix, ".git/info/exclude"), shows_text=shows_text)]

    def _files_at(self, folder: str, label: str, *, fold_case: bool) -> list[IgnoreFile]:
        files = []
        for name in (GIT_IGNORE, CAIRN_IGNORE):
            data = read_regular(os.path.join(folder, name), MAX_RULES_BYTES)
            if data:
                rules = self._rules(data, fold_case=fold_case)
                files.append(IgnoreFile(rules, label_of(label, name), name == CAIRN_IGNORE))
        return files

    def _rules(self, data: bytes, *, fold_case: bool) -> IgnoreRules:
        rules = self._known.get((data, fold_case))
        if rules is None:
            rules = IgnoreRules(data, fold_case=fold_case)
            if len(data) <= _MAX_KNOWN_BYTES and len(self._known) < _MAX_KNOWN:
                self._known[data, fold_case] = rules
        return rules
