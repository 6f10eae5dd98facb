"""What filters ask of whole files: languages, and whether they are tests, vendored or generated.

It is read once in a state of the index, for all filters. What paths tell is kept for later states.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.search.features import is_test, is_vendored
from engine.store import files
from engine.store.connection import Handle
from engine.store.filters import Filters, TraitRule

Flags = NDArray[np.bool_]
_PATH_BYTES = 200  # of memory per path, with what it tells


class ToldPaths:
    """What paths tell, kept for later states of the index. For any number of threads."""

    def __init__(self) -> None:
        self._told: Mapping[bytes, tuple[bool, bool]] = {}

    @property
    def size_bytes(self) -> int:
        """The approximate memory."""
        return _PATH_BYTES * len(self._told)

    def of(self, paths: Sequence[bytes]) -> list[tuple[bool, bool]]:
        """Return of each path whether it is one of a test, and of code from elsewhere.

        These paths are known from now on, and no others.
        """
        known = self._told
        told = {path: known.get(path) or _told_by(os.fsdecode(path)) for path in paths}
        self._told = told
        return list(map(told.__getitem__, paths))


class Traits(NamedTuple):
    """The traits of some files, in their order."""

    languages: Sequence[str]
    language_of: NDArray[np.int64]
    properties: Mapping[str, Flags]

    @classmethod
    def read(
        cls, handle: Handle, filters: Filters, file_ids: NDArray[np.int64], told: ToldPaths
    ) -> "Traits":
        """Read the traits of files.

        Args:
            handle: A read transaction.
            filters: Of the branches that have them.
            file_ids: The files.
            told: What is known of paths.
        """
        rows = files.read_traits(handle, filters)
        ids = np.array([row[0] for row in rows], np.int64)
        order = np.searchsorted(ids, file_ids)
        of_paths = told.of([row[1] for row in rows])
        languages = list(dict.fromkeys(row[2] for row in rows))
        code_of = {language: code for code, language in enumerate(languages)}
        codes = np.array([code_of[row[2]] for row in rows], np.int64)
        properties = {
            "test": _flags(each[0] for each in of_paths),
            "vendored": _flags(each[1] for each in of_paths),
            "generated": _flags(bool(row[3]) for row in rows),
        }
        of_files = {name: flags[order] for name, flags in properties.items()}
        return cls(languages, codes[order], of_files)

    @property
    def size_bytes(self) -> int:
        """The memory that they take."""
        return self.language_of.nbytes + sum(each.nbytes for each in self.properties.values())

    def passing(self, rule: TraitRule) -> Flags:
        """Return of each file whether it passes."""
        passes = np.ones(len(self.language_of), np.bool_)
        wanted, refused = rule.languages
        if wanted:
            passes &= self._has_language(wanted)
        if refused:
            passes &= ~self._has_language(refused)
        for name, is_wanted in rule.properties:
            passes &= self.properties[name] == is_wanted
        return passes

    def _has_language(self, names: frozenset[str]) -> Flags:
        is_named = np.array([language in names for language in self.languages], np.bool_)
        return is_named[self.language_of] if len(is_named) else np.zeros(0, np.bool_)


#: One tuple for all paths that tell the same.
_TOLD = {(test, other): (test, other) for test in (False, True) for other in (False, True)}


def _told_by(path: str) -> tuple[bool, bool]:
    return _TOLD[is_test(path), is_vendored(path)]


def _flags(values: Iterable[bool]) -> Flags:
    return np.fromiter(values, np.bool_)
