"""Find what may answer a question in the database: by words, meaning, path and definition."""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from engine.records import Mode
from engine.search.lexical import Lexical, refused_match
from engine.search.phrases import holds_phrases
from engine.search.query import Query
from engine.search.question import Question
from engine.search.rank import Candidate, rank
from engine.search.symbols import ScoredSymbol, find_scored
from engine.search.weights import (
    MOST_BY_DEFINITION,
    MOST_BY_PATH,
)
from engine.store import blobs, chunks, fulltext, scanning, symbols
from engine.store.chunks import ChunkFacts, SymbolFacts
from engine.store.connection import Handle
from engine.store.filters import Filters
from engine.store.fulltext import Scored
from engine.syntax.packing import unpack_text
from engine.telemetry.recording import span

if TYPE_CHECKING:
    from engine.search.meaning import TreeVectors  # imports numpy

# Chunks whose text is read at most for the quoted phrases of a query; 1 ms for 20 of them.
_MOST_READ = 4_000


class Found(NamedTuple):
    """What may answer a question."""

    shown: list[Candidate]  # the best, in order, each with its breakdown
    scores: Collection[float]  # BM25 of all that were ranked, in no order
    is_capped: bool  # more may match than were ranked
    notes: tuple[str, ...] = ()  # what to know about it, in sentences
    cosines: Collection[float] = ()  # of all that were ranked, when their meaning counts


def find_candidates(
    handle: Handle, question: Question, filters: Filters, kept: "TreeVectors | None" = None
) -> Found:
    """Find and rank; everything given passes the filters, which hold before anything is cut.

    Args:
        handle: A read transaction.
        question: The question.
        filters: Of the question.
        kept: The vectors of the branch, when they are kept and the filters choose whole files.
    """
    if is_by_name(question):
        return _by_name(handle, question.query, filters, question.limit)
    candidates, is_capped = gather(handle, question, filters, kept)
    with span("search.rank"):
        rank(candidates, question.lexical, question.weights, shown=question.limit)
    return Found(
        candidates[: question.limit],
        [candidate.lexical for candidate in candidates],
        is_capped,
        cosines=[each.cosine for each in candidates if each.cosine is not None],
    )


def is_by_name(question: Question) -> bool:
    """Say whether a question asks for definitions and nothing else."""
    return question.mode is Mode.SYMBOL or not question.lexical.chunk_match


def gather(
    handle: Handle, question: Question, filters: Filters, kept: "TreeVectors | None" = None
) -> tuple[list[Candidate], bool]:
    """Find what is to be ranked, in no order; and say whether more match the words."""
    query, lexical = question.query, question.lexical
    most = _MOST_READ if query.phrases else question.most_by_words
    matched: list[tuple[ChunkFacts, float]] = []
    more: dict[int, tuple[ChunkFacts, float]] = {}
    defined: dict[int, SymbolFacts] = {}
    with span("search.words"):
        if question.is_by_words or query.phrases:  # a phrase filters also where meaning ranks
            matched = chunks.match_chunks(handle, lexical.chunk_match, filters, most)
        found = {chunk.id: (chunk, score) for chunk, score in matched}
        if question.is_by_words:
            defined = _defined(handle, lexical, filters)
            scores = _best_by_path(handle, lexical, filters, found)
            scores.update((id_, 0.0) for id_ in defined.keys() - found.keys() - scores.keys())
            facts = chunks.read_chunks(handle, list(scores), filters)
            more = {id_: (chunk, scores[id_]) for id_, chunk in facts.items()}
    with span("search.vectors"):
        _add_near(handle, question, filters, kept, found, more)
    for id_ in _refused(handle, query, more):
        del more[id_]
    candidates = [
        Candidate(chunk=chunk, lexical=score, symbol=defined.get(chunk.id))
        for chunk, score in (*more.values(), *found.values())
    ]
    _set_word_scores(handle, question, candidates)
    _set_cosines(handle, question, candidates)
    if query.phrases:
        candidates = _holding(handle, candidates, query, question.most_by_words + len(more))
    return candidates, len(matched) == most


def _add_near(
    handle: Handle,
    question: Question,
    filters: Filters,
    kept: "TreeVectors | None",
    found: Collection[int],
    more: dict[int, tuple[ChunkFacts, float]],
) -> None:
    """Add to ``more`` what is near in meaning, and the exact keyword scores of all that is there.

    Args:
        handle: A read transaction.
        question: The question.
        filters: Of the question.
        kept: As for ``find_candidates``.
        found: The chunks that words bring.
        more: The chunks that anything else brings, with their scores.
    """
    if question.asked is None:
        return
    from engine.search import meaning  # numpy

    near_chunks = kept.near_chunks if kept else meaning.near_chunks
    for chunk in near_chunks(handle, question.asked, filters, question.least_nearness):
        if chunk.id not in found:
            more.setdefault(chunk.id, (chunk, 0.0))
    if question.is_by_words and more:
        scores = scanning.scores_among(handle, question.lexical.chunk_match, list(more))
        more.update((id_, (more[id_][0], score)) for id_, score in scores.items())


def _set_word_scores(handle: Handle, question: Question, candidates: Sequence[Candidate]) -> None:
    """Say of candidates what each word of the question is worth in them."""
    if not question.weights.file_words:
        return
    ids = [candidate.chunk.id for candidate in candidates]
    columns = [scanning.scores_among(handle, word, ids) for word in question.lexical.path_words]
    for candidate in candidates:
        candidate.word_scores = [column.get(candidate.chunk.id, 0.0) for column in columns]


def _set_cosines(handle: Handle, question: Question, candidates: list[Candidate]) -> None:
    """Say of candidates how near they are; where words do not count, forget those."""
    if question.asked is None:
        return
    from engine.search import meaning  # numpy

    pairs = [(each.chunk.id, each.chunk.file_id) for each in candidates]
    cosines = meaning.cosines_of(handle, question.asked, pairs)
    for candidate, cosine, of_file in zip(candidates, *cosines, strict=True):
        candidate.cosine, candidate.file_cosine = cosine, of_file
    if not question.is_by_words:
        candidates.sort(key=_by_cosine)
        for candidate in candidates:
            candidate.lexical = 0.0


def _refused(
    handle: Handle, query: Query, found: Mapping[int, tuple[ChunkFacts, float]]
) -> set[int]:
    """Give those that hold what the question refuses."""
    refused = refused_match(query)
    return chunks.matching(handle, refused, list(found)) if refused else set()


def _best_by_path(
    handle: Handle, lexical: Lexical, filters: Filters, known: Collection[int]
) -> dict[int, float]:
    """Give the best chunk, or the first, of files that only their path brings in."""
    if not lexical.path_match:
        return {}
    ranked = fulltext.match_paths(handle, lexical.path_match, filters, MOST_BY_PATH)
    ranges = chunks.chunks_of_files(handle, [row.id for row in ranked])
    ids = sorted(known)
    found: dict[int, float] = {}
    for first, last in ranges.values():
        at = bisect_left(ids, first)
        if at < len(ids) and ids[at] <= last:
            continue
        matching = fulltext.match_chunks_of_blob(handle, lexical.chunk_match, first, last)
        best = matching[0] if matching else Scored(first, 0.0)
        found[best.id] = best.score
    return found


def _defined(handle: Handle, lexical: Lexical, filters: Filters) -> dict[int, SymbolFacts]:
    """Give the chunks that define a name of the question, each with that symbol."""
    names = [name.lower() for name in lexical.names]
    if not names:
        return {}
    rows = symbols.find_symbols(handle, names, filters, MOST_BY_DEFINITION)
    starts = chunks.chunks_at(handle, [row.id for row in rows])
    facts = [
        SymbolFacts(
            row.id,
            row.name,
            row.qualified_name,
            row.kind,
            row.signature,
            row.line_start,
            row.line_end,
        )
        for row in rows
    ]
    return one_each(
        ((starts[symbol.id], symbol) for symbol in facts if symbol.id in starts), lexical
    )


def one_each(starts: Iterable[tuple[int, SymbolFacts]], lexical: Lexical) -> dict[int, SymbolFacts]:
    """Keep one symbol where several start: the first one, or the first as it is written."""
    defined: dict[int, SymbolFacts] = {}
    for start, symbol in starts:
        known = defined.get(start)
        if known is None or (symbol.name in lexical.names and known.name not in lexical.names):
            defined[start] = symbol
    return defined


def _holding(
    handle: Handle, candidates: list[Candidate], query: Query, most: int
) -> list[Candidate]:
    """Keep those whose text really holds the quoted phrases, the first ones."""
    kept: list[Candidate] = []
    texts: dict[int, bytes] = {}
    for candidate in candidates:
        chunk = candidate.chunk
        if chunk.blob_id not in texts:
            packed = blobs.read_text(handle, chunk.blob_id)
            texts[chunk.blob_id] = unpack_text(packed) if packed else b""
        piece = texts[chunk.blob_id][chunk.byte_start : chunk.byte_end]
        if holds_phrases(piece.decode("utf-8", "replace"), query):
            kept.append(candidate)
            if len(kept) == most:
                break
    return kept


def _by_name(handle: Handle, query: Query, filters: Filters, limit: int) -> Found:
    """Answer with definitions only: one candidate a symbol, best first."""
    names = [term.text for term in (*query.words, *query.phrases) if not term.negated]
    names += [term.value for term in query.values("sym") if not term.negated]
    scored: dict[int, ScoredSymbol] = {}
    is_capped = False
    for name in dict.fromkeys(names):
        found = find_scored(handle, name, filters, match="fuzzy", limit=MOST_BY_DEFINITION)
        is_capped = is_capped or len(found) == MOST_BY_DEFINITION
        for symbol in found:
            known = scored.get(symbol.row.id)
            if known is None or known.score < symbol.score:
                scored[symbol.row.id] = symbol
    places = chunks.chunks_at(handle, list(scored))
    facts = chunks.read_chunks(handle, sorted(set(places.values())), filters)
    shown = chunks.read_symbols(handle, list(scored))
    candidates = [
        Candidate(
            chunk=facts[places[id_]],
            symbol=shown[id_],
            score=symbol.score,
            breakdown=symbol.breakdown,
        )
        for id_, symbol in scored.items()
        if places.get(id_) in facts
    ]
    candidates.sort(key=lambda candidate: (-candidate.score, candidate.chunk.path))
    return Found(candidates[:limit], [0.0] * len(candidates), is_capped)


def _by_cosine(candidate: Candidate) -> float:
    return -(candidate.cosine or 0.0)
