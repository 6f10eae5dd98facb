"""Finding and reading the files that say what is ignored.

From the one that decides last to the one that decides first: git's global ignore file (or
``core.excludesFile``), the repository's ``info/exclude``, each ``.gitignore`` from the top of the
repository down, and each ``.cairnignore``. Files above the root count up to the repository's top,
unless they ignore the root itself: who asks for an ignored folder wants to see into it.
"""

import os
from typing import Final

from engine.source.folder_rules import FolderRules, GlobPosition, Tracking
from engine.source.git import Repository, find_repository, repository_at
from engine.source.git_config import GitSettings, git_settings
from engine.source.git_files import read_regular
from engine.source.ignore import (
    IgnoreChain,
    IgnoreFile,
    IgnoreRules,
    label_of,
    match_key,
)

#: Rule files of more than this, alone or together with those in force, are not read: rules take
#: 20 to 100 times their bytes in memory.
MAX_RULES_BYTES: Final = 2 << 20

#: How many small rule files are kept, as large trees have many equal ones.
_MAX_KNOWN: Final = 256
_MAX_KNOWN_BYTES: Final = 1 << 14

GIT_IGNORE: Final = ".gitignore"
CAIRN_IGNORE: Final = ".cairnignore"


class RuleFiles:
    """Reads rule files and keeps what they say, as many of them are equal in a large tree.

    Args:
        root: The root of the walk, an absolute path without links.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._known: dict[tuple[bytes, bool], IgnoreRules] = {}

    def at_root(self, globs: GlobPosition) -> FolderRules:
        """Give the rules that hold in the root, without the files in it."""
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
        """Give the rules that hold in a folder, with the rule files and the repository in it.

        Args:
            rules: What holds there without them.
            descriptor: Of the folder.
            prefix: The folder's path, with a slash unless it is the root.
            names: The names in the folder.
        """
        if ".git" in names and prefix:
            rules = self._nested(rules, prefix)
        files = []
        for name in (GIT_IGNORE, CAIRN_IGNORE):
            if name in names:
                room = MAX_RULES_BYTES - rules.ignore.size_bytes
                data = read_regular(name, room, folder=descriptor)
                if data:
                    known = self._rules(data, fold_case=rules.fold_case)
                    files.append(IgnoreFile(known, label_of(prefix, name), name == CAIRN_IGNORE))
        return rules.with_ignore(rules.ignore.with_files(files)) if files else rules

    def _nested(self, rules: FolderRules, prefix: str) -> FolderRules:
        """Start anew at a repository inside the tree, as git does; our own rules stay."""
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
        """Give the rules that reach the root from the repository's top and the folders between."""
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
