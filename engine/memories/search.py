"""Ranking of memories, among the files that answer a query or among those of several projects.

There is one ranking for all searches (``search.rank``). A memory takes part as a file with a single
chunk: its summary is the file name, its summary, tags and text are the words of the chunk, and its
one vector stands for both. Each component of a score is therefore a share of the best that any file
or memory has, and their scores are comparable.

BM25 must be on one scale for that. FTS5 weighs a word by its rarity in its own table, and in a
table of a few notes nothing is rare: that weight is divided out and replaced by the weight of the
word among all chunks and memories together. With several projects these are the chunks and memories
of all of them, and so is the mean length of a memory, to which BM25 relates that of each: equal
memories have equal scores, whatever the size of their projects.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nlargest
from typing import NamedTuple, Self

from engine.memories.cards import Choice, Owner
from engine.memories.limits import check_limit, check_query
from engine.memories.vectors import cosines_of_memories
from engine.memory_records import MAX_FOUND
from engine.search.cache import WordCounts
from engine.search.candidates import gather
from engine.search.file_tags import NO_RULES, TagRules
from engine.search.lexical import Lexical, lexical_of
from engine.search.prepared_query import PreparedQuery, prepare_query
from engine.search.query import MAX_TERM_CHARS, MAX_TERMS, Query, Term, storable
from engine.search.rank import Candidate, rank
from engine.search.weights import (
    FILE_SHARE,
    MAX_BY_MEANING,
    MAX_BY_WORDS,
    MIN_MEMORY_SIMILARITY,
    MIN_SIMILARITY,
    Weights,
    weights_of,
)
from engine.search_records import Mode
from engine.store import blobs, fulltext, memories
from engine.store.chunks import ChunkFacts
from engine.store.connection import Handle
from engine.store.memories import TagRule
from engine.store.vector_rows import QueryVector
from engine.syntax.terms import terms_of

#: Counts the chunks of a project that have each of some quoted words.
CountWords = Callable[[Handle, Sequence[str]], WordCounts]


class Corpus(NamedTuple):
    """The memories and chunks in which words are common or rare."""

    memories: int
    words: int  # of the memories
    chunks: int
    with_word: Mapping[str, int]  # memories and chunks that have it

    @property
    def mean_length(self) -> float:
        """The words of a memory, on average."""
        return self.words / self.memories if self.memories else 0.0

    def rarity(self, word: str) -> float:
        """Return the factor of BM25 for a word."""
        return fulltext.rarity(self.memories + self.chunks, self.with_word[word])


def _union(corpora: Sequence[Corpus]) -> Corpus:
    """Return the memories and chunks of several projects together."""
    with_word: Counter[str] = Counter()
    for each in corpora:
        with_word.update(each.with_word)
    return Corpus(
        sum(each.memories for each in corpora),
        sum(each.words for each in corpora),
        sum(each.chunks for each in corpora),
        with_word,
    )


class GatheredMemories(NamedTuple):
    """The memories of a project that may answer, with all that they are ranked by."""

    corpus: Corpus
    scores: Mapping[str, Mapping[int, float]]  # of a word: BM25 in the project without rarity
    summaries: Mapping[int, str]
    lengths: Mapping[int, int]  # in words
    cosines: Mapping[int, float] | None  # None: by words alone


class MemoryPlace(NamedTuple):
    """A memory of one of several projects."""

    project: int  # its number among them
    memory_id: int


@dataclass(frozen=True, slots=True)
class MemoryQuery:
    """A query for memories, or for files and memories, that was checked."""

    query: Query
    lexical: Lexical
    choice: Choice
    limit: int

    @classmethod
    def of(
        cls,
        query: str,
        tags: Sequence[str],
        limit: int,
        *,
        only_memories: bool,
        file_tags: TagRules = NO_RULES,
    ) -> Self:
        """Parse and check the parts of a request.

        Raises:
            InvalidInputError: The query, a tag or the limit is not valid.
        """
        check_query(query)
        check_limit(limit, MAX_FOUND)
        choice = Choice.of(tags, file_tags, only_memories=only_memories)
        parsed = _plain_query(query)
        return cls(parsed, lexical_of(parsed), choice, limit)

    @property
    def text(self) -> str:
        """The text to embed."""
        return " ".join(term.text for term in self.query.words)

    def prepared(self, query_vector: QueryVector | None) -> PreparedQuery:
        """Return the query prepared for one project."""
        prepared = prepare_query(self.query, Mode.HYBRID, self.limit, query_vector, self.lexical)
        return replace(prepared, weights=self.weights(has_meaning=query_vector is not None))

    def weights(self, *, has_meaning: bool) -> Weights:
        """Return the weights; a memory has no folder, and would count as a file at the root."""
        weights = weights_of(self.lexical, Mode.HYBRID, has_meaning=has_meaning)
        return weights._replace(shallow=0.0)


def _plain_query(text: str) -> Query:
    """Read a query as plain words: nothing in it is a filter or an operator.

    A search for a note often quotes error messages and fragments of sentences, in which a colon or
    a quote has no special meaning.
    """
    words = storable(text).split()[:MAX_TERMS]
    return Query(text=text, words=tuple(Term(word[:MAX_TERM_CHARS], 0, False) for word in words))


def ranked_owners(
    handle: Handle,
    asked: MemoryQuery,
    query_vector: QueryVector | None,
    branch_id: int,
    count_words: CountWords,
) -> list[tuple[Owner, float]]:
    """Return the files of a branch and the memories that answer a query, best first.

    A file counts by its best place; of files with equal contents that pass, one is given. Tags hold
    before anything is cut.
    """
    if not asked.lexical.chunk_match:  # no word in it
        return []
    prepared = asked.prepared(query_vector)
    candidates: list[Candidate] = []
    places: Sequence[MemoryPlace] = ()
    if asked.choice.may_be_files and blobs.has_any(handle):
        candidates, _ = gather(handle, prepared, asked.choice.filters(handle, branch_id))
    if asked.choice.may_be_memories and memories.read_passing(handle, asked.choice.rule):
        gathered = gather_memories(handle, asked, query_vector, count_words)
        found, places = _candidates_of([gathered], asked.lexical, prepared.weights)
        candidates += found
    rank(candidates, asked.lexical, prepared.weights, shown=0)
    best: dict[Owner, float] = {}
    for candidate in candidates:
        file_id = candidate.chunk.file_id
        owner = Owner(True, file_id) if file_id > 0 else Owner(False, places[~file_id].memory_id)
        best.setdefault(owner, round(candidate.score, 4))
    return list(best.items())


def ranked_places(
    gathered: Sequence[GatheredMemories], asked: MemoryQuery
) -> list[tuple[MemoryPlace, float]]:
    """Return the memories of several projects that answer a query, best first."""
    if not asked.lexical.chunk_match:  # no word in it
        return []
    weights = asked.weights(has_meaning=any(each.cosines is not None for each in gathered))
    candidates, places = _candidates_of(gathered, asked.lexical, weights)
    rank(candidates, asked.lexical, weights, shown=0)
    return [(places[~each.chunk.file_id], round(each.score, 4)) for each in candidates]


def gather_memories(
    handle: Handle, asked: MemoryQuery, query_vector: QueryVector | None, count_words: CountWords
) -> GatheredMemories:
    """Return the memories that pass and share a word with the query, or are close to it."""
    passing = frozenset(memories.read_passing(handle, asked.choice.rule))
    corpus, scores = _scores_by_word(handle, asked.lexical.alternatives, passing, count_words)
    totals: dict[int, float] = defaultdict(float)
    for word, of_word in scores.items():
        rarity = corpus.rarity(word)
        for memory_id, score in of_word.items():
            totals[memory_id] += score * rarity
    cosines = cosines_of_memories(handle, query_vector) if query_vector else None
    # Beside files, they have to be as near as places have to be.
    among_files = MIN_SIMILARITY / (1 + FILE_SHARE)
    least = among_files if asked.choice.may_be_files else MIN_MEMORY_SIMILARITY
    near = {id_: each for id_, each in (cosines or {}).items() if id_ in passing and each >= least}
    chosen = {
        *nlargest(MAX_BY_WORDS, totals, key=totals.__getitem__),
        *nlargest(MAX_BY_MEANING, near, key=near.__getitem__),
    }
    return GatheredMemories(
        corpus,
        scores,
        memories.read_summaries(handle, chosen),
        memories.read_lengths(handle, chosen),
        cosines,
    )


def _scores_by_word(
    handle: Handle, words: Sequence[str], passing: Collection[int], count_words: CountWords
) -> tuple[Corpus, dict[str, dict[int, float]]]:
    """Return how common words are, and the scores of the memories that pass for each of them."""
    counts = count_words(handle, words)
    with_word = Counter(counts.with_word)
    memory_count = memories.count_memories(handle, TagRule())
    found: dict[str, dict[int, float]] = {}
    for word in words:
        scores = memories.read_word_scores(handle, word)
        if scores:
            with_word[word] += len(scores)
            rarity = fulltext.rarity(memory_count, len(scores))
            found[word] = {id_: score / rarity for id_, score in scores if id_ in passing}
    return Corpus(memory_count, memories.count_words(handle), counts.chunks, with_word), found


def _candidates_of(
    gathered: Sequence[GatheredMemories], lexical: Lexical, weights: Weights
) -> tuple[list[Candidate], list[MemoryPlace]]:
    """Return the memories of all projects to rank, and where they are.

    The id of the file of a candidate is that of its place, inverted: no file has a negative one.
    """
    corpus = _union([each.corpus for each in gathered])
    columns = lexical.path_words if weights.file_words else ()
    candidates: list[Candidate] = []
    places: list[MemoryPlace] = []
    for project, each in enumerate(gathered):
        for memory_id, summary in sorted(each.summaries.items()):
            scores = _scores_in(corpus, each, memory_id)
            cosine = None if each.cosines is None else each.cosines.get(memory_id, 0.0)
            candidates.append(
                Candidate(
                    chunk=_chunk_of(~len(places), summary),
                    lexical=sum(scores.values()),
                    word_scores=[scores.get(word, 0.0) for word in columns],
                    cosine=cosine,
                    file_cosine=cosine,
                )
            )
            places.append(MemoryPlace(project, memory_id))
    return candidates, places


def _scores_in(corpus: Corpus, gathered: GatheredMemories, memory_id: int) -> dict[str, float]:
    """Return the BM25 of a memory for each word that it has, among the memories of a corpus."""
    length, mean = gathered.lengths[memory_id], gathered.corpus.mean_length
    return {
        word: fulltext.at_mean_length(scores[memory_id], length, mean, corpus.mean_length)
        * corpus.rarity(word)
        for word, scores in gathered.scores.items()
        if memory_id in scores
    }


def _chunk_of(file_id: int, summary: str) -> ChunkFacts:
    """Return a memory as a chunk of a file.

    The path is unique, because no file's path has a NUL. What follows the last dot is not part of
    the name, and a name of separate words is not taken for a test or an example.
    """
    name = terms_of(summary)
    return ChunkFacts(
        id=file_id,
        blob_id=0,
        file_id=file_id,
        path=f"\0 {name}.{file_id}",
        language="",
        is_generated=False,
        byte_start=0,
        byte_end=0,
        line_start=1,
        line_end=1,
        symbol_id=None,
    )
