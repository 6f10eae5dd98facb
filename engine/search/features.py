"""What is known of the places that may answer a question, before anything is weighed.

``rank`` adds up what stands here by the numbers of ``weights``, and nothing else.

Which words of a question the paths of files hold.

What a path says of a file's worth as an answer: tests, examples, vendored code, stubs down.

How a score comes about: shares that are added, then factors that lower the sum.
"""

import functools
import math
import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from engine.search.lexical import Lexical
from engine.store.chunks import SymbolFacts
from engine.syntax.terms import words_of


class Part(NamedTuple):
    """One number that goes into a score."""

    name: str  # stands for the rule; once among the shares, once among the factors
    value: float
    why: str = ""  # for people; empty when the part says nothing to them


class Breakdown(NamedTuple):
    """All numbers of one score."""

    shares: tuple[Part, ...] = ()
    factors: tuple[Part, ...] = ()

    @property
    def score(self) -> float:
        """The score: the sum of the shares times the product of the factors."""
        return sum(part.value for part in self.shares) * math.prod(
            part.value for part in self.factors
        )

    @property
    def why(self) -> tuple[str, ...]:
        """The parts in words, in their order."""
        return tuple([part.why for part in self.shares + self.factors if part.why])


#: Of a place that no rule has seen yet.
NOT_SCORED = Breakdown()


def raised(name: str, value: float, why: str = "") -> Part:
    """Make a share, in words ``why +0.25``; its name when no other words are given."""
    return Part(name, value, f"{why or name} +{value:.2f}")


def lowered(name: str, value: float) -> Part:
    """Make a factor, in words ``name ×0.5``."""
    return Part(name, value, f"{name} ×{value:g}")


TEST_FACTOR = 0.3
EXAMPLE_FACTOR = 0.3
VENDORED_FACTOR = 0.3
GENERATED_FACTOR = 0.5
REEXPORT_FACTOR = 0.5
STUB_FACTOR = 0.7

_TEST = re.compile(
    r"(^|/)(tests?|testing|__tests__|specs?|testdata|fixtures?|mocks?|__mocks__|e2e|bench(es|marks?)?"
    r"|testutils?|test[_-]helpers?)(/|$)"
    r"|(^|/)(test_[^/]*|conftest|[^/]*[_.-](test|tests|spec|specs|bench|benchmark|mock))\.\w+$"
    r"|(^|/)\w*[a-z](Tests?|Spec|Specs|Suite|TestCase|IT)\.(java|kts?|cs|swift|scala|php|groovy)$"
)
_EXAMPLE = re.compile(r"(^|/)(_?examples?|samples?|demos?|docs?_src|playground|tutorials?)(/|$)")
_VENDORED = re.compile(
    r"(^|/)(vendor|vendored|_vendor|third[_-]?party|3rdparty|external|deps|node_modules"
    r"|compat|_compat|legacy|deprecated)(/|$)"
)
_STUB = re.compile(r"\.d\.[cm]?ts$|\.pyi$")
_REEXPORT = re.compile(r"(^|/)(__init__\.pyi?|package-info\.java)$")

_RULES = (
    (_EXAMPLE, EXAMPLE_FACTOR, "example"),
    (_VENDORED, VENDORED_FACTOR, "vendored or legacy"),
    (_STUB, STUB_FACTOR, "stub"),
    (_REEXPORT, REEXPORT_FACTOR, "re-exports"),
)


def is_test(path: str) -> bool:
    """Say whether a path looks like tests, benchmarks or their fixtures."""
    return _TEST.search(path) is not None


@functools.lru_cache(maxsize=8192)
def path_factors(
    path: str, *, is_generated: bool = False, asks_for_tests: bool = False
) -> tuple[Part, ...]:
    """Give the factors by which a path lowers its score; none for plain code.

    Args:
        path: Relative to the root.
        is_generated: The content says that a tool wrote it.
        asks_for_tests: The question is about tests, so that they are not lowered.
    """
    factors = []
    if not asks_for_tests and is_test(path):
        factors.append(lowered("test", TEST_FACTOR))
    factors += [lowered(reason, value) for pattern, value, reason in _RULES if pattern.search(path)]
    if is_generated:
        factors.append(lowered("generated", GENERATED_FACTOR))
    return tuple(factors)


def path_worth(path: str, *, is_generated: bool) -> float:
    """Give the product of the factors: 1 for plain code, less for all else."""
    return math.prod(part.value for part in path_factors(path, is_generated=is_generated))


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


class Cosines(NamedTuple):
    """How near a question is to places and to their files; 0 for what has no vector."""

    places: Sequence[float]
    files: Sequence[float]  # of the path of each place's file


class Evidence(NamedTuple):
    """What brought places in. A place is a number from 0 on; those of a file in a row, by line."""

    files: Sequence[RankedFile]  # of each place
    bm25: Sequence[float]  # of each place, 0 where the question's words are not, or do not count
    word_scores: Sequence[Sequence[float]]  # of each word alone, of each place
    definitions: Mapping[int, SymbolFacts]  # of places, the symbols asked for that start there
    cosines: Cosines | None  # None: by words alone


class Features(NamedTuple):
    """All that ranking knows of a question and the places that may answer it.

    All places of a file share its path and its factors, so files are numbered too: those of file
    ``n`` are ``begins[n]`` to ``ends[n]``, that one not included.
    """

    lexical: Lexical
    evidence: Evidence
    begins: list[int]
    ends: list[int]
    files: list[RankedFile]
    #: How many words of the question the name of a file holds, and how many more its folders; files
    #: whose path holds none are left out.
    path_words: dict[RankedFile, tuple[int, int]]
    #: How many words of the question a path could hold.
    most_path_words: int
    #: Whether tests are asked for, so that they are not lowered.
    asks_for_tests: bool


_TEST_WORDS = ("test", "mock", "spec", "bench", "fixture")


def features_of(lexical: Lexical, evidence: Evidence, vocabulary: PathVocabulary) -> Features:
    """Compute the features of the places that may answer a question.

    Args:
        lexical: The question.
        evidence: The places.
        vocabulary: The words of the paths of their files, or of more.
    """
    begins, ends, files = _runs_of(evidence.files)
    words = [word for word in lexical.words if len(word) >= LEAST_CHARS]
    return Features(
        lexical,
        evidence,
        begins,
        ends,
        files,
        words_held(files, vocabulary.akin(words)),
        len(words),
        any(word.startswith(_TEST_WORDS) for word in lexical.words),
    )


def _runs_of(files: Sequence[RankedFile]) -> tuple[list[int], list[int], list[RankedFile]]:
    """Give where the places of each file begin and end, and the files."""
    begins: list[int] = []
    last = None
    for place, file in enumerate(files):
        if file is not last:
            begins.append(place)
            last = file
    ends = [*begins[1:], len(files)] if begins else []
    return begins, ends, [files[begin] for begin in begins]
