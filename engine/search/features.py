"""What is known of the places that may answer a question, before anything is weighed.

``rank`` adds up what stands here by the numbers of ``weights``, and nothing else.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from engine.search.lexical import Lexical
from engine.search.pathwords import LEAST_CHARS, PathVocabulary, RankedFile, words_held
from engine.store.chunks import SymbolFacts


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
