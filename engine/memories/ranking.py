"""Memories among the files that answer a question.

There is one ranking, that of every search (``search.rank``). A memory takes part as a file of one
place: its summary is the file's name, its summary, tags and text are the words of the place, and
its one vector says what both mean. So each share of a score is a share of the best that any file
or memory has, and the scores of both compare.

For that BM25 has to be on one scale too. FTS5 weighs a word by how rare it is in its own table, and
in a table of a few notes nothing is rare: the weight is taken out and replaced by that of the word
among all chunks and memories together.
"""

import math
from collections.abc import Iterable, Mapping
from heapq import nlargest

from engine.memories.cards import Owner
from engine.memories.meaning import cosines_of_memories
from engine.memories.tags import Choice
from engine.search.candidates import gather
from engine.search.query import MAX_TERM_CHARS, MAX_TERMS, Query, Term, storable
from engine.search.question import Question
from engine.search.rank import Candidate, rank
from engine.search.weights import FILE_SHARE, MOST_BY_MEANING, MOST_BY_WORDS
from engine.store import blobs, chunks, fulltext, memories
from engine.store.chunks import ChunkFacts
from engine.store.connection import Handle
from engine.store.memories import TagRule
from engine.syntax.terms import terms_of

#: A note that is asked for among notes alone need not be as near as one among files (0.21): there
#: are few, and a sentence says little. With the built-in model 10 sentences of notes had cosines of
#: 0.06 to 0.57 with questions that meant them in other words, and up to 0.15 with other questions.
_LEAST_NEARNESS_OF_NOTES = 0.15
_LEAST_RARITY = 1e-6  # what FTS5 gives a word that more than half of all rows have


def plain_query(text: str) -> Query:
    """Read a question as plain words: nothing in it is a filter or an operator.

    Whoever looks for a note quotes error messages and half sentences, in which a colon or a quote
    is no more than that.
    """
    words = storable(text).split()[:MAX_TERMS]
    return Query(text=text, words=tuple(Term(word[:MAX_TERM_CHARS], 0, False) for word in words))


def ranked_owners(
    handle: Handle, question: Question, choice: Choice, branch_id: int
) -> list[tuple[Owner, float]]:
    """Give the files of a branch and the memories that answer a question, best first.

    A file counts by its best place; of files with equal contents that pass, one is given. Tags hold
    before anything is cut.
    """
    if not question.lexical.chunk_match:  # no word in it
        return []
    candidates: list[Candidate] = []
    if choice.may_be_files and blobs.has_any(handle):
        candidates, _ = gather(handle, question, choice.filters(branch_id))
    if choice.may_be_memories:
        candidates += _memory_candidates(handle, question, choice)
    rank(candidates, question.lexical, question.weights, shown=0)
    best: dict[Owner, float] = {}
    for candidate in candidates:
        file_id = candidate.chunk.file_id
        best.setdefault(Owner(file_id > 0, abs(file_id)), round(candidate.score, 4))
    return list(best.items())


def _memory_candidates(handle: Handle, question: Question, choice: Choice) -> list[Candidate]:
    """Give the memories that pass and have a word of the question, or are near to it."""
    passing = frozenset(memories.read_passing(handle, choice.rule))
    if not passing:
        return []
    by_word = {
        word: {id_: score for id_, score in scores.items() if id_ in passing}
        for word, scores in _scores_by_word(handle, question.lexical.alternatives).items()
    }
    totals: dict[int, float] = {}
    for scores in by_word.values():
        for memory_id, score in scores.items():
            totals[memory_id] = totals.get(memory_id, 0.0) + score
    cosines: Mapping[int, float] = {}
    if question.asked:
        cosines = cosines_of_memories(handle, question.asked)
    # Beside files, they have to be as near as places have to be.
    among_files = question.least_nearness / (1 + FILE_SHARE)
    least = among_files if choice.may_be_files else _LEAST_NEARNESS_OF_NOTES
    near = [id_ for id_ in cosines.keys() & passing if cosines[id_] >= least]
    chosen = {
        *nlargest(MOST_BY_WORDS, totals, key=totals.__getitem__),
        *nlargest(MOST_BY_MEANING, near, key=cosines.__getitem__),
    }
    summaries = memories.read_summaries(handle, chosen)
    columns = question.lexical.path_words if question.weights.file_words else ()
    return [
        Candidate(
            chunk=_place_of(memory_id, summary),
            lexical=totals.get(memory_id, 0.0),
            word_scores=[by_word.get(word, {}).get(memory_id, 0.0) for word in columns],
            cosine=cosines.get(memory_id, 0.0) if question.asked else None,
            file_cosine=cosines.get(memory_id, 0.0) if question.asked else None,
        )
        for memory_id, summary in sorted(summaries.items())
    ]


def _scores_by_word(handle: Handle, words: Iterable[str]) -> dict[str, dict[int, float]]:
    """Give the BM25 scores of memories for each word, on the scale of chunks and memories."""
    memory_count = memories.count_memories(handle, TagRule())
    total = memory_count + chunks.count_chunks(handle)
    found: dict[str, dict[int, float]] = {}
    for word in words:
        scores = memories.read_word_scores(handle, word)
        if not scores:
            continue
        with_it = len(scores) + fulltext.count_chunks_with(handle, word)
        scale = _rarity(total, with_it) / _rarity(memory_count, len(scores))
        found[word] = {id_: score * scale for id_, score in scores}
    return found


def _rarity(rows: int, with_it: int) -> float:
    """Give what FTS5 multiplies by for a word (its inverse document frequency)."""
    value = math.log((rows - with_it + 0.5) / (with_it + 0.5))
    return value if value > 0 else _LEAST_RARITY


def _place_of(memory_id: int, summary: str) -> ChunkFacts:
    """Make a memory a place of a file.

    No file's path has a NUL, so it is nobody else's; what is behind the last dot is no part of the
    name, and a name of separate words is none of a test or an example.
    """
    name = terms_of(summary)
    return ChunkFacts(
        id=-memory_id,
        blob_id=0,
        file_id=-memory_id,
        path=f"\0 {name}.{memory_id}",
        language="",
        is_generated=False,
        byte_start=0,
        byte_end=0,
        line_start=1,
        line_end=1,
        symbol_id=None,
    )
