"""Which words of a question the paths of files hold."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence

from engine.search.breakdown import Part, lowered
from engine.search.pathrules import path_factors
from engine.syntax.terms import words_of

#: Shorter words are no sign of anything in a path.
LEAST_CHARS = 3
DOCUMENT_FACTOR = 0.5
_NO_WORDS: frozenset[str] = frozenset()


class RankedFile:
    """What ranking needs to know of a file. Compares by identity.

    Args:
        path: Relative to the root.
        is_generated: The content says that a tool wrote it.
        is_document: Prose or data rather than code.
        folders: The words of folders met before, to be shared; this file's are put in.
    """

    __slots__ = ("_factors", "folders", "is_document", "is_generated", "path", "stem", "stem_words")

    def __init__(
        self,
        path: str,
        *,
        is_generated: bool,
        is_document: bool,
        folders: dict[str, tuple[str, ...]],
    ) -> None:
        self.path = path
        self.is_generated = is_generated
        self.is_document = is_document
        folder, _, name = path.rpartition("/")
        self.stem = name.partition(".")[0]
        self.stem_words = tuple(words_of(self.stem or name))
        words = folders.get(folder)
        if words is None:
            words = folders[folder] = tuple(words_of(folder))
        self.folders = words
        self._factors: list[float | None] = [None, None]

    def factor(self, asks_for_tests: bool) -> float:
        """Give the product of the factors."""
        known = self._factors[asks_for_tests]
        if known is None:
            known = 1.0
            for part in self.factors(asks_for_tests):
                known *= part.value
            self._factors[asks_for_tests] = known
        return known

    def factors(self, asks_for_tests: bool) -> tuple[Part, ...]:
        """Give what lowers all places of the file."""
        parts = path_factors(
            self.path, is_generated=self.is_generated, asks_for_tests=asks_for_tests
        )
        return (*parts, lowered("document", DOCUMENT_FACTOR)) if self.is_document else parts


class PathVocabulary:
    """The words of the paths of some files, in order, so that akin ones are found by halving."""

    def __init__(self, files: Iterable[RankedFile]) -> None:
        words: set[str] = set()
        for file in files:
            words.update(file.stem_words, file.folders)
        self._members = words
        self._sorted = sorted(words)

    def akin(self, words: Iterable[str]) -> dict[str, set[str]]:
        """Give the words of paths that are akin to one of the question's, each with those.

        Two words are akin when one begins with the other: route, router, routes.
        """
        found: dict[str, set[str]] = {}
        for word in words:
            if len(word) < LEAST_CHARS:
                continue
            for size in range(LEAST_CHARS, len(word)):
                if word[:size] in self._members:
                    found.setdefault(word[:size], set()).add(word)
            at = bisect_left(self._sorted, word)
            while at < len(self._sorted) and self._sorted[at].startswith(word):
                found.setdefault(self._sorted[at], set()).add(word)
                at += 1
        return found


def words_held(
    files: Iterable[RankedFile], akin: dict[str, set[str]]
) -> dict[RankedFile, tuple[int, int]]:
    """Count the words of the question in the paths of files; files without any are left out.

    Args:
        files: The files to look at.
        akin: From ``PathVocabulary.akin``.

    Returns:
        How many words a file's name holds, and how many more its folders hold.
    """
    found: dict[RankedFile, tuple[int, int]] = {}
    if not akin:
        return found
    by_folder: dict[tuple[str, ...], frozenset[str]] = {}
    for file in files:
        in_folders = by_folder.get(file.folders)
        if in_folders is None:
            in_folders = by_folder[file.folders] = _akin_to(file.folders, akin)
        if in_folders or not akin.keys().isdisjoint(file.stem_words):
            in_stem = _akin_to(file.stem_words, akin)
            found[file] = (len(in_stem), len(in_folders - in_stem))
    return found


def _akin_to(parts: Sequence[str], akin: Mapping[str, set[str]]) -> frozenset[str]:
    held = [akin[part] for part in parts if part in akin]
    return frozenset().union(*held) if held else _NO_WORDS
