"""Find and rank candidates: by words, meaning, path and definition.

There are two ways: ``find_candidates`` asks the database, ``find_in_branch`` what a process has
cached of a branch. They rank alike; see ``meaning.near_chunks`` for places that only one finds.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from engine.search.features import Evidence, features_of
from engine.search.lexical import Lexical, excluded_match, holds_phrases
from engine.search.meaning import cosines_of, near_chunks, reader_of
from engine.search.prepared_query import PreparedQuery
from engine.search.query import Query
from engine.search.rank import Candidate, Peaks, Ranking, rank
from engine.search.similar_names import FindSimilar, find_similar
from engine.search.symbols import ScoredSymbol, find_scored
from engine.search.weights import MAX_BY_DEFINITION, MAX_BY_PATH
from engine.search_records import Mode
from engine.store import blobs, chunks, fulltext, symbols
from engine.store.chunks import ChunkFacts, Span, SymbolFacts
from engine.store.compression import unpack_text
from engine.store.connection import Handle
from engine.store.filters import Filters
from engine.store.fulltext import Scored
from engine.store.vector_rows import VectorReader
from engine.telemetry.metrics import span

if TYPE_CHECKING:
    from engine.search.branch_index import BranchIndex, IndexedFile
    from engine.search.branch_vectors import BranchVectors, Similarities

# Chunks whose text is read at most to check quoted phrases; 20 of them take 1 ms.
_MAX_PHRASE_CHUNKS = 4_000


class RankedCandidates(NamedTuple):
    """Frozen record of the candidates of a query."""

    shown: list[Candidate]  # the best, in order, each with its breakdown
    scores: Collection[float]  # BM25 of all that were ranked, unordered
    is_capped: bool  # more may match than were ranked
    notes: tuple[str, ...] = ()  # on the search, in sentences
    cosines: Collection[float] = ()  # of all that were ranked, if meaning counts
    peaks: Peaks | None = None  # None: scores are no shares of the best


def find_candidates(
    handle: Handle,
    prepared: PreparedQuery,
    filters: Filters,
    cached: "BranchVectors | None" = None,
    similar: FindSimilar = find_similar,
) -> RankedCandidates:
    """Find and rank in the database; filters apply before any limit does.

    Args:
        handle: A read transaction.
        prepared: The query.
        filters: Of the query.
        cached: The cached vectors of the branch, if the filters only choose whole files.
        similar: Finds names that are like a text.
    """
    if is_symbol_search(prepared):
        return _by_name(handle, prepared, filters, similar)
    candidates, is_capped = gather(handle, prepared, filters, cached)
    with span("search.rank"):
        peaks = rank(
            candidates,
            prepared.lexical,
            prepared.weights,
            shown=prepared.limit,
            changed=prepared.changed,
        )
    return RankedCandidates(
        candidates[: prepared.limit],
        [candidate.lexical for candidate in candidates],
        is_capped,
        cosines=[each.cosine for each in candidates if each.cosine is not None],
        peaks=peaks,
    )


def is_symbol_search(prepared: PreparedQuery) -> bool:
    """Return whether only definitions can answer."""
    return prepared.mode is Mode.SYMBOL or not prepared.lexical.chunk_match


def gather(
    handle: Handle, prepared: PreparedQuery, filters: Filters, cached: "BranchVectors | None" = None
) -> tuple[list[Candidate], bool]:
    """Return the candidates to rank, unordered, and whether more match the words."""
    query, lexical = prepared.query, prepared.lexical
    most = _MAX_PHRASE_CHUNKS if query.phrases else prepared.max_by_words
    matched: list[tuple[ChunkFacts, float]] = []
    more: dict[int, tuple[ChunkFacts, float]] = {}
    defined: dict[int, SymbolFacts] = {}
    with span("search.words"):
        if prepared.is_by_words or query.phrases:  # a phrase also filters where meaning ranks
            matched = chunks.match_chunks(handle, lexical.chunk_match, filters, most)
        found = {chunk.id: (chunk, score) for chunk, score in matched}
        if prepared.is_by_words:
            defined = _definitions(handle, lexical, filters)
            scores = _best_chunks_by_path(handle, lexical, filters, found)
            scores.update((id_, 0.0) for id_ in defined.keys() - found.keys() - scores.keys())
            facts = chunks.read_chunks(handle, list(scores), filters)
            more = {id_: (chunk, scores[id_]) for id_, chunk in facts.items()}
    with span("search.vectors"):
        reader = reader_of(handle, prepared.query_vector) if prepared.query_vector else None
        if prepared.query_vector and reader:
            near = (
                cached.near_chunks(handle, prepared.query_vector, filters, prepared.min_similarity)
                if cached
                else near_chunks(handle, reader, filters, prepared.min_similarity)
            )
            for chunk in near:
                if chunk.id not in found:
                    more.setdefault(chunk.id, (chunk, 0.0))
            if prepared.is_by_words and more:
                scores = chunks.scores_among(handle, lexical.chunk_match, list(more))
                more.update((id_, (more[id_][0], score)) for id_, score in scores.items())
    for id_ in _excluded(handle, query, more):
        del more[id_]
    candidates = [
        Candidate(chunk=chunk, lexical=score, symbol=defined.get(chunk.id))
        for chunk, score in (*more.values(), *found.values())
    ]
    _set_word_scores(handle, prepared, candidates)
    if reader:
        _set_cosines(reader, prepared, candidates)
    if query.phrases:
        candidates = _with_phrases(handle, candidates, query, prepared.max_by_words + len(more))
    return candidates, len(matched) == most


def _set_word_scores(
    handle: Handle, prepared: PreparedQuery, candidates: Sequence[Candidate]
) -> None:
    """Set the score of each word of the query alone."""
    if not prepared.weights.file_words:
        return
    ids = [candidate.chunk.id for candidate in candidates]
    columns = [chunks.scores_among(handle, word, ids) for word in prepared.lexical.path_words]
    for candidate in candidates:
        candidate.word_scores = [column.get(candidate.chunk.id, 0.0) for column in columns]


def _set_cosines(
    reader: VectorReader, prepared: PreparedQuery, candidates: list[Candidate]
) -> None:
    """Set the cosines; where words do not count, clear the keyword scores."""
    pairs = [(each.chunk.id, each.chunk.file_id) for each in candidates]
    cosines = cosines_of(reader, pairs)
    for candidate, cosine, of_file in zip(candidates, *cosines, strict=True):
        candidate.cosine, candidate.file_cosine = cosine, of_file
    if not prepared.is_by_words:
        candidates.sort(key=_by_cosine)
        for candidate in candidates:
            candidate.lexical = 0.0


def _excluded(handle: Handle, query: Query, found: Iterable[int]) -> set[int]:
    """Return those of the chunks that contain what the query excludes."""
    excluded = excluded_match(query)
    return chunks.matching(handle, excluded, list(found)) if excluded else set()


def _best_chunks_by_path(
    handle: Handle, lexical: Lexical, filters: Filters, known: Collection[int]
) -> dict[int, float]:
    """Return the best chunk that passes, or the first, of each file found by its path alone."""
    if not lexical.path_match:
        return {}
    ranked = fulltext.match_paths(handle, lexical.path_match, filters, MAX_BY_PATH)
    ranges = chunks.chunks_of_files(handle, [row.id for row in ranked])
    passing = None if filters.chooses_files else chunks.passing_among(handle, ranges, filters)
    ids = sorted(known)
    found: dict[int, float] = {}
    for file_id, (first, last) in ranges.items():
        at = bisect_left(ids, first)
        if at < len(ids) and ids[at] <= last:
            continue
        matching = fulltext.match_chunks_of_blob(handle, lexical.chunk_match, first, last)
        ids_inside = [first] if passing is None else passing.get(file_id, [])
        if passing is not None:
            matching = [each for each in matching if each.id in ids_inside]
        for best in (matching or [Scored(id_, 0.0) for id_ in ids_inside])[:1]:
            found[best.id] = best.score
    return found


def _definitions(handle: Handle, lexical: Lexical, filters: Filters) -> dict[int, SymbolFacts]:
    """Return the chunks that define a name of the query, each with that symbol."""
    names = [name.lower() for name in lexical.names]
    if not names:
        return {}
    rows = symbols.find_symbols(handle, names, filters, MAX_BY_DEFINITION)
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
    return one_per_chunk(
        ((starts[symbol.id], symbol) for symbol in facts if symbol.id in starts), lexical
    )


def one_per_chunk(
    starts: Iterable[tuple[int, SymbolFacts]], lexical: Lexical
) -> dict[int, SymbolFacts]:
    """Keep one symbol where several start: the first, or the first in the case of the query."""
    defined: dict[int, SymbolFacts] = {}
    for start, symbol in starts:
        known = defined.get(start)
        if known is None or (symbol.name in lexical.names and known.name not in lexical.names):
            defined[start] = symbol
    return defined


def _with_phrases(
    handle: Handle, candidates: list[Candidate], query: Query, most: int
) -> list[Candidate]:
    """Keep the first candidates whose text really contains the quoted phrases."""
    cached: list[Candidate] = []
    texts: dict[int, bytes] = {}
    for candidate in candidates:
        chunk = candidate.chunk
        if chunk.blob_id not in texts:
            packed = blobs.read_text(handle, chunk.blob_id)
            texts[chunk.blob_id] = unpack_text(packed) if packed else b""
        piece = texts[chunk.blob_id][chunk.byte_start : chunk.byte_end]
        if holds_phrases(piece.decode("utf-8", "replace"), query):
            cached.append(candidate)
            if len(cached) == most:
                break
    return cached


def _by_name(
    handle: Handle, prepared: PreparedQuery, filters: Filters, similar: FindSimilar
) -> RankedCandidates:
    """Answer with definitions only: one candidate per symbol, best first."""
    query = prepared.query
    names = [term.text for term in (*query.words, *query.phrases) if not term.negated]
    names += [term.value for term in query.values("sym") if not term.negated]
    scored: dict[int, ScoredSymbol] = {}
    is_capped = False
    for name in dict.fromkeys(names):
        found = find_scored(handle, name, filters, similar, match="fuzzy", limit=MAX_BY_DEFINITION)
        is_capped = is_capped or len(found) == MAX_BY_DEFINITION
        for symbol in found:
            known = scored.get(symbol.row.id)
            if known is None or known.score < symbol.score:
                scored[symbol.row.id] = symbol
    places = chunks.chunks_at(handle, list(scored))
    # The definition itself passes, though the chunk in which it begins may not.
    of_files = replace(filters, chunk_condition="TRUE")
    facts = chunks.read_chunks(handle, sorted(set(places.values())), of_files)
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
    candidates = _without_excluded(handle, candidates, query)
    candidates.sort(key=lambda candidate: (-candidate.score, candidate.chunk.path))
    return RankedCandidates(candidates[: prepared.limit], [0.0] * len(candidates), is_capped)


def _without_excluded(handle: Handle, candidates: list[Candidate], query: Query) -> list[Candidate]:
    """Leave out the definitions whose text has an excluded word or phrase."""
    without = _excluded(handle, query, [each.chunk.id for each in candidates])
    kept = [each for each in candidates if each.chunk.id not in without]
    negated = tuple(phrase for phrase in query.phrases if phrase.negated)
    if not negated:
        return kept
    return _with_phrases(handle, kept, replace(query, phrases=negated), len(kept))


def _by_cosine(candidate: Candidate) -> float:
    return -(candidate.cosine or 0.0)


def find_in_branch(
    handle: Handle,
    prepared: PreparedQuery,
    branch_index: "BranchIndex",
    similarities: "Similarities | None",
) -> RankedCandidates:
    """Find and rank like ``find_candidates``, for words without any filter.

    Args:
        handle: A read transaction on the state of the branch index.
        prepared: A query of words.
        branch_index: The branch.
        similarities: Of its places to the query, if meaning counts.
    """
    with span("search.words"):
        found = _find_places(handle, prepared, branch_index, similarities)
    with span("search.rank"):
        return _rank_places(handle, prepared, branch_index, found, similarities)


class _Places(NamedTuple):
    """The places that may answer a query."""

    scores: dict[int, float]  # BM25
    defined: dict[int, SymbolFacts]  # by place, the requested names they define
    is_capped: bool  # more may match


def _find_places(
    handle: Handle,
    prepared: PreparedQuery,
    branch_index: "BranchIndex",
    similarities: "Similarities | None",
) -> _Places:
    lexical, words = prepared.lexical, prepared.lexical.alternatives
    near = similarities.nearest(prepared.min_similarity) if similarities else []
    if not prepared.is_by_words:
        return _Places(dict.fromkeys(near, 0.0), {}, is_capped=False)
    named = branch_index.best_paths(handle, lexical.path_words, MAX_BY_PATH)
    defined = _defined_in(handle, lexical, branch_index)
    places_of_named = [place for file in named for place in file.places]
    best, best_scores = branch_index.best_places(
        handle, words, prepared.max_by_words, [*near, *defined, *places_of_named]
    )
    scores = dict(zip(best, best_scores, strict=True))
    is_capped = len(scores) == prepared.max_by_words
    known = set(branch_index.files_at(handle, best))
    only_named = list(dict.fromkeys(file for file in named if file not in known))
    scores.update(branch_index.best_place_of_each(handle, words, only_named))
    more = [place for place in dict.fromkeys((*defined, *near)) if place not in scores]
    if similarities:
        scores.update(zip(more, branch_index.scores_at(handle, words, more), strict=True))
    else:
        scores.update(dict.fromkeys(more, 0.0))
    return _Places(scores, defined, is_capped)


def _rank_places(
    handle: Handle,
    prepared: PreparedQuery,
    branch_index: "BranchIndex",
    found: _Places,
    similarities: "Similarities | None",
) -> RankedCandidates:
    places = sorted(found.scores)
    scores = [found.scores[place] for place in places]
    files = branch_index.files_at(handle, places)
    definitions = {bisect_left(places, place): found.defined[place] for place in found.defined}
    cosines = similarities.cosines_at(places) if similarities else None
    words: list[list[float]] = []
    if prepared.weights.file_words:
        words = branch_index.word_scores_at(handle, prepared.lexical.path_words, places)
    evidence = Evidence(files, scores, words, definitions, cosines)
    ranking = Ranking(features_of(prepared.lexical, evidence), prepared.weights, prepared.changed)
    best = ranking.best(prepared.limit)
    chunk_ids = [files[ranked.place].chunk_of(places[ranked.place]) for ranked in best]
    spans = branch_index.spans(handle, chunk_ids)
    shown = [
        Candidate(
            _facts(files[ranked.place], chunk_id, spans[chunk_id]),
            scores[ranked.place],
            (),
            cosines.places[ranked.place] if cosines else None,
            cosines.files[ranked.place] if cosines else None,
            definitions.get(ranked.place),
            -ranked.negative_score,
            ranking.breakdown(ranked),
            owner=spans[chunk_id].symbol,
        )
        for ranked, chunk_id in zip(best, chunk_ids, strict=True)
    ]
    of_all = cosines.places if cosines else ()
    return RankedCandidates(shown, scores, found.is_capped, cosines=of_all, peaks=ranking.peaks)


def _facts(file: "IndexedFile", chunk_id: int, span: Span) -> ChunkFacts:
    return ChunkFacts(
        chunk_id,
        file.blob_id,
        file.file_id,
        file.path,
        file.language,
        file.is_generated,
        *span[:-1],
    )


def _defined_in(
    handle: Handle, lexical: Lexical, branch_index: "BranchIndex"
) -> dict[int, SymbolFacts]:
    """Return the places of a branch that define a name of the query, each with that symbol."""
    names = [name.lower() for name in lexical.names]
    if not names:
        return {}
    found: list[tuple[int, SymbolFacts]] = []
    for _, equal in groupby(symbols.find_definitions(handle, names), key=itemgetter(0)):
        by_chunk: dict[int, list[SymbolFacts]] = defaultdict(list)
        for _, chunk_id, symbol in equal:
            by_chunk[chunk_id].append(symbol)
        for chunk_id, place in branch_index.places_by_path(by_chunk).items():
            found += [(place, symbol) for symbol in by_chunk[chunk_id]]
        if len(found) >= MAX_BY_DEFINITION:
            break
    return one_per_chunk(found[:MAX_BY_DEFINITION], lexical)
