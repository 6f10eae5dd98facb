"""Features of the places that may answer a query, and the parts of a score.

``rank`` adds up these features by the numbers of ``weights``, and nothing else. A score is a sum of
shares times a product of factors. Factors come from paths: tests, examples, vendored code and stubs
are lowered.
"""

import functools
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from engine.search.lexical import Lexical
from engine.search.weights import (
    ASKED_TEST_FACTOR,
    DOCUMENT_FACTOR,
    EXAMPLE_FACTOR,
    GENERATED_FACTOR,
    MIN_PATH_WORD_CHARS,
    REEXPORT_FACTOR,
    STUB_FACTOR,
    TEST_FACTOR,
    VENDORED_FACTOR,
)
from engine.store.chunks import SymbolFacts
from engine.syntax.terms import words_of

_TEST = re.compile(
    r"(^|/)(tests?|testing|__tests__|specs?|testdata|fixtures?|mocks?|__mocks__|e2e|bench(es|marks?)?"
    r"|testutils?|test[_-]helpers?)(/|$)"
    r"|(^|/)(test_[^/]*|conftest|[^/]*[_.-](test|tests|spec|specs|bench|benchmark|mock))\.\w+$"
    r"|(^|/)\w*[a-z](Tests?|Spec|Specs|Suite|TestCase|IT)\.(java|kts?|cs|swift|scala|php|groovy)$"
)
_EXAMPLE = re.compile(r"(^|/)(_?examples?|samples?|demos?|docs?_src|playground|tutorials?)(/|$)")
_VENDORED = re.compile(
    r"(^|/)(vendor|vendored|_vendor|third[_-]?party|3rdparty|external|deps|node_modules)(/|$)"
)
_VENDORED_OR_LEGACY = re.compile(
    rf"{_VENDORED.pattern}|(^|/)(compat|_compat|legacy|deprecated)(/|$)"
)
_STUB = re.compile(r"\.d\.[cm]?ts$|\.pyi$")
_REEXPORT = re.compile(r"(^|/)(__init__\.pyi?|package-info\.java)$")

_TEST_WORDS = ("test", "mock", "spec", "bench", "fixture")
_NO_WORDS: frozenset[str] = frozenset()
_NO_FILES: frozenset["RankedFile"] = frozenset()

_RULES = (
    (_EXAMPLE, EXAMPLE_FACTOR, "example"),
    (_VENDORED_OR_LEGACY, VENDORED_FACTOR, "vendored or legacy"),
    (_STUB, STUB_FACTOR, "stub"),
    (_REEXPORT, REEXPORT_FACTOR, "re-exports"),
)


class Part(NamedTuple):
    """One number of a score."""

    name: str  # of the rule; unique among the shares and among the factors
    value: float
    why: str = ""  # for people; empty when it would not help them


class Breakdown(NamedTuple):
    """All numbers of one score."""

    shares: tuple[Part, ...] = ()
    factors: tuple[Part, ...] = ()

    @property
    def score(self) -> float:
        """The sum of the shares times the product of the factors."""
        return sum(part.value for part in self.shares) * math.prod(
            part.value for part in self.factors
        )

    @property
    def why(self) -> tuple[str, ...]:
        """The parts in words, in order."""
        return tuple([part.why for part in self.shares + self.factors if part.why])


#: Of a place that is not scored yet.
NOT_SCORED = Breakdown()


def share_part(name: str, value: float, why: str = "") -> Part:
    """Return a share that reads ``why +0.25``, with its name if ``why`` is empty."""
    return Part(name, value, f"{why or name} +{value:.2f}")


def scaled_part(part: Part, factor: float) -> Part:
    """Return a share times a factor, and the number in its words unless that is a cosine."""
    if factor == 1.0:
        return part
    text, _, number = part.why.rpartition(" ")
    value = part.value * factor
    if number.startswith("+"):
        return Part(part.name, value, f"{text} +{value:.2f}")
    if part.name == "words":
        return Part(part.name, value, f"{text} {float(number) * factor:.2f}")
    return part._replace(value=value)


def factor_part(name: str, value: float) -> Part:
    """Return a factor that reads ``name ×0.5``."""
    return Part(name, value, f"{name} ×{value:g}")


@functools.lru_cache(maxsize=8192)
def is_test(path: str) -> bool:
    """Return whether a path looks like tests, benchmarks or their fixtures."""
    folder, _, name = path.rpartition("/")
    return _TEST.search(name) is not None or (folder != "" and _is_test_folder(folder))


def is_vendored(path: str) -> bool:
    """Return whether a path is in a folder of code from elsewhere."""
    return _VENDORED.search(path.rpartition("/")[0]) is not None


@functools.lru_cache(maxsize=4096)
def _is_test_folder(folder: str) -> bool:
    return _TEST.search(folder + "/") is not None


@functools.lru_cache(maxsize=4096)
def _rules_of_folder(folder: str) -> tuple[bool, ...]:
    """Return for each rule whether the folders of a path fulfil it."""
    return tuple(pattern.search(folder + "/") is not None for pattern, _, _ in _RULES)


@functools.lru_cache(maxsize=8192)
def path_factors(
    path: str, *, is_generated: bool = False, test_factor: float = TEST_FACTOR
) -> tuple[Part, ...]:
    """Return the factors of a path; none for plain code.

    Args:
        path: Relative to the root.
        is_generated: Whether the content says that a tool wrote it.
        test_factor: What tests count; 1 when they are as good as any.
    """
    factors = []
    if test_factor < 1 and is_test(path):
        factors.append(factor_part("test", test_factor))
    folder, _, name = path.rpartition("/")
    factors += [
        factor_part(reason, value)
        for (pattern, value, reason), is_so in zip(_RULES, _rules_of_folder(folder), strict=True)
        if is_so or pattern.search(name)
    ]
    if is_generated:
        factors.append(factor_part("generated", GENERATED_FACTOR))
    return tuple(factors)


def path_worth(path: str, *, is_generated: bool) -> float:
    """Return the product of the factors: 1 for plain code, less for all else."""
    return math.prod(part.value for part in path_factors(path, is_generated=is_generated))


class RankedFile:
    """The properties of a file that ranking needs. Compares by identity.

    Args:
        path: Relative to the root.
        is_generated: Whether the content says that a tool wrote it.
        is_document: Whether it is prose or data rather than code.
        folders: The words of known folders, shared by their files; this file's folder is added.
    """

    __slots__ = (
        "_factors",
        "depth",
        "folders",
        "is_document",
        "is_generated",
        "path",
        "stem",
        "stem_words",
    )

    def __init__(
        self,
        path: str,
        *,
        is_generated: bool,
        is_document: bool,
        folders: dict[str, tuple[str, ...]],
    ) -> None:
        self.path = path
        self.depth = path.count("/")
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
        """Return the product of the factors."""
        known = self._factors[asks_for_tests]
        if known is None:
            known = 1.0
            for part in self.factors(asks_for_tests):
                known *= part.value
            self._factors[asks_for_tests] = known
        return known

    def factors(self, asks_for_tests: bool) -> tuple[Part, ...]:
        """Return the factors of all places of the file."""
        test_factor = ASKED_TEST_FACTOR if asks_for_tests else TEST_FACTOR
        parts = path_factors(self.path, is_generated=self.is_generated, test_factor=test_factor)
        return (*parts, factor_part("document", DOCUMENT_FACTOR)) if self.is_document else parts


def _matches(parts: Iterable[str], words: Iterable[str]) -> dict[str, frozenset[str]]:
    """Return those of the words of paths that match words of a query, each with these.

    Two words match when one is a prefix of the other: route, router, routes. Short ones of the
    query do not.
    """
    wanted = tuple(word for word in words if len(word) >= MIN_PATH_WORD_CHARS)
    sizes = range(MIN_PATH_WORD_CHARS, max(map(len, wanted), default=0))
    beginnings = {word[:size] for word in wanted for size in sizes}
    return {
        part: frozenset(
            word
            for word in wanted
            if part.startswith(word) or (part in beginnings and word.startswith(part))
        )
        for part in parts
        if part in beginnings or part.startswith(wanted)
    }


def count_path_words(
    files: Collection[RankedFile], words: Iterable[str]
) -> dict[RankedFile, tuple[int, int]]:
    """Count the words of the query in the paths of files; files without any are left out.

    Args:
        files: The files to look at.
        words: Of the query.

    Returns:
        How many words a file's name has, and how many more its folders have.
    """
    found: dict[RankedFile, tuple[int, int]] = {}
    folders = {file.folders for file in files}
    parts = set().union(*folders, *[file.stem_words for file in files])
    matching = _matches(parts, words)
    if not matching:
        return found
    by_folder = {folder: _words_matched(folder, matching) for folder in folders}
    for file in files:
        in_folders = by_folder[file.folders]
        if in_folders or not matching.keys().isdisjoint(file.stem_words):
            in_stem = _words_matched(file.stem_words, matching)
            found[file] = (len(in_stem), len(in_folders - in_stem))
    return found


def _words_matched(parts: Sequence[str], matching: Mapping[str, frozenset[str]]) -> frozenset[str]:
    found = [matching[part] for part in parts if part in matching]
    return frozenset().union(*found) if found else _NO_WORDS


class Cosines(NamedTuple):
    """The cosines of a query with places and with the paths of their files; 0 without a vector."""

    places: Sequence[float]
    files: Sequence[float]  # of the path of each place's file


class Evidence(NamedTuple):
    """Why places were found. They are numbered from 0, those of a file consecutively, by line."""

    files: Sequence[RankedFile]  # of each place
    bm25: Sequence[float]  # of each place; 0 if the words are absent or do not count
    word_scores: Sequence[Sequence[float]]  # of each word alone, of each place
    definitions: Mapping[int, SymbolFacts]  # by place, the requested symbols that start there
    cosines: Cosines | None  # None: by words alone


class Features(NamedTuple):
    """All that ranking knows of a query and its places.

    All places of a file share its path and its factors, so files are numbered too: the places of
    file ``n`` are ``begins[n]`` up to but not including ``ends[n]``.
    """

    lexical: Lexical
    evidence: Evidence
    begins: list[int]
    ends: list[int]
    files: list[RankedFile]
    #: How many words of the query the name of a file has, and how many more its folders; files
    #: whose path has none are left out.
    path_words: dict[RankedFile, tuple[int, int]]
    #: How many words of the query a path could have.
    max_path_words: int
    #: Files that the query names with folders or a line, as messages and stack traces do.
    named: frozenset[RankedFile]
    #: Whether the query has a word such as "test", so that tests are lowered less.
    asks_for_tests: bool


def is_named(path: str, named: Iterable[Sequence[str]]) -> bool:
    """Return whether a path is one of those that a text names.

    The text may have folders above the project, and fewer than there are: the last two parts, or
    all of either, must be equal.
    """
    parts = path.split("/")
    for other in named:
        least = min(2, len(parts), len(other))
        if parts[-least:] == list(other[-least:]):
            return True
    return False


def features_of(lexical: Lexical, evidence: Evidence) -> Features:
    """Compute the features of the places that may answer a query.

    Args:
        lexical: The words of the query.
        evidence: The places.
    """
    begins, ends, files = _runs_of(evidence.files)
    words = [word for word in lexical.words if len(word) >= MIN_PATH_WORD_CHARS]
    return Features(
        lexical,
        evidence,
        begins,
        ends,
        files,
        count_path_words(files, words),
        len(words),
        frozenset(file for file in files if is_named(file.path, lexical.files))
        if lexical.files
        else _NO_FILES,
        any(word.startswith(_TEST_WORDS) for word in lexical.words),
    )


def _runs_of(files: Sequence[RankedFile]) -> tuple[list[int], list[int], list[RankedFile]]:
    """Return where the places of each file begin and end, and the files."""
    begins: list[int] = []
    last = None
    for place, file in enumerate(files):
        if file is not last:
            begins.append(place)
            last = file
    ends = [*begins[1:], len(files)] if begins else []
    return begins, ends, [files[begin] for begin in begins]
