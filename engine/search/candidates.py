"""Find what may answer a question: by words, by path, by definition. Ranked, best first."""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from engine.records import Mode
from engine.search.lexical import Lexical, lexical_of, refused_match
from engine.search.phrases import holds_phrases
from engine.search.query import Query
from engine.search.rank import Candidate, Ranking, rank
from engine.search.symbols import ScoredSymbol, find_scored
from engine.store import blobs, chunks, fulltext, symbols
from engine.store.chunks import ChunkFacts, Span, SymbolFacts
from engine.store.connection import Handle
from engine.store.filters import Filters
from engine.store.fulltext import Scored
from engine.syntax.languages import DOCUMENT_LANGUAGES
from engine.syntax.packing import unpack_text

if TYPE_CHECKING:
    from engine.search.tree import Tree, TreeFile

#: Chunks that are ranked at most; more may match.
MOST_CANDIDATES = 200
_PATH_CANDIDATES = 12
_SYMBOL_CANDIDATES = 100
# Chunks whose text is read at most for the quoted phrases of a query; 1 ms for 20 of them.
_MOST_READ = 4_000


class Found(NamedTuple):
    """What may answer a question."""

    shown: list[Candidate]  # the best, in order, each with its breakdown
    scores: Collection[float]  # BM25 of all that were ranked, in no order
    is_capped: bool  # more may match than were ranked
    notes: tuple[str, ...] = ()  # what to know about it, in sentences


def find_candidates(
    handle: Handle, query: Query, mode: Mode, filters: Filters, limit: int
) -> Found:
    """Find and rank; everything given passes the filters, which hold before anything is cut.

    Args:
        handle: A read transaction.
        query: The question.
        mode: How to search.
        filters: Of the question.
        limit: How many candidates to give at most.
    """
    lexical = lexical_of(query)
    if mode is Mode.SYMBOL or not lexical.chunk_match:
        return _by_name(handle, query, filters, limit)
    most = _MOST_READ if query.phrases else MOST_CANDIDATES
    matched = chunks.match_chunks(handle, lexical.chunk_match, filters, most)
    defined = _defined(handle, lexical, filters)
    scores = {chunk.id: score for chunk, score in matched}
    more = _best_by_path(handle, lexical, filters, scores)
    more.update((id_, 0.0) for id_ in defined.keys() - scores.keys() - more.keys())
    refused = refused_match(query)
    if refused and more:
        for id_ in chunks.matching(handle, refused, list(more)):
            del more[id_]
    found = matched + [
        (chunk, more[id_]) for id_, chunk in chunks.read_chunks(handle, list(more), filters).items()
    ]
    if query.phrases:
        found = _holding(handle, found, query)
    candidates = [
        Candidate(chunk=chunk, lexical=score, symbol=defined.get(chunk.id))
        for chunk, score in found
    ]
    rank(candidates, lexical, DOCUMENT_LANGUAGES, shown=limit)
    return Found(
        candidates[:limit], [candidate.lexical for candidate in candidates], len(matched) == most
    )


def find_in_tree(handle: Handle, lexical: Lexical, tree: "Tree", limit: int) -> Found:
    """Find and rank as ``find_candidates`` does for words alone, from what is kept of a branch.

    Args:
        handle: A read transaction on the state that the tree is of.
        lexical: A question of words only.
        tree: The branch.
        limit: How many candidates to give at most.
    """
    places, scores = tree.best_places(handle, lexical.alternatives, MOST_CANDIDATES)
    is_capped = len(places) == MOST_CANDIDATES
    files = tree.files_at(places)
    known = set(files)
    named = tree.best_paths(handle, lexical.path_words, _PATH_CANDIDATES)
    only_named = list(dict.fromkeys(file for file in named if file not in known))
    more = tree.best_place_of_each(handle, lexical.alternatives, only_named)
    defined = _defined_in(handle, lexical, tree)
    if defined:
        more.update(dict.fromkeys(defined.keys() - more.keys() - set(places), 0.0))
    for place, score in more.items():
        at = bisect_left(places, place)
        places.insert(at, place)
        scores.insert(at, score)
        files.insert(at, tree.file_at(place))
    definitions = {bisect_left(places, place): symbol for place, symbol in defined.items()}
    ranking = Ranking(lexical, scores, files, definitions, tree.vocabulary)
    best = ranking.best(limit)
    chunk_ids = [files[ranked.place].chunk_of(places[ranked.place]) for ranked in best]
    spans = tree.spans(handle, chunk_ids)
    shown = [
        Candidate(
            _facts(files[ranked.place], chunk_id, spans[chunk_id]),
            scores[ranked.place],
            definitions.get(ranked.place, spans[chunk_id].symbol),
            -ranked.negative_score,
            ranking.breakdown(ranked),
        )
        for ranked, chunk_id in zip(best, chunk_ids, strict=True)
    ]
    return Found(shown, scores, is_capped)


def _facts(file: "TreeFile", chunk_id: int, span: Span) -> ChunkFacts:
    return ChunkFacts(
        chunk_id,
        file.blob_id,
        file.file_id,
        file.path,
        file.language,
        file.is_generated,
        *span[:-1],
    )


def _best_by_path(
    handle: Handle, lexical: Lexical, filters: Filters, known: Mapping[int, float]
) -> dict[int, float]:
    """Give the best chunk, or the first, of files that only their path brings in."""
    if not lexical.path_match:
        return {}
    ranked = fulltext.match_paths(handle, lexical.path_match, filters, _PATH_CANDIDATES)
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
    rows = symbols.find_symbols(handle, names, filters, _SYMBOL_CANDIDATES)
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
    return _one_each(
        ((starts[symbol.id], symbol) for symbol in facts if symbol.id in starts), lexical
    )


def _defined_in(handle: Handle, lexical: Lexical, tree: "Tree") -> dict[int, SymbolFacts]:
    """Give the places of a branch that define a name of the question, each with that symbol."""
    names = [name.lower() for name in lexical.names]
    if not names:
        return {}
    rows = symbols.find_definitions(handle, names)
    shown = (
        (place, symbol)
        for chunk_id, symbol in rows
        if (place := tree.place_of(chunk_id)) is not None
    )
    return _one_each(islice(shown, _SYMBOL_CANDIDATES), lexical)


def _one_each(
    starts: Iterable[tuple[int, SymbolFacts]], lexical: Lexical
) -> dict[int, SymbolFacts]:
    """Keep one symbol where several start: the first one, or the first as it is written."""
    defined: dict[int, SymbolFacts] = {}
    for start, symbol in starts:
        known = defined.get(start)
        if known is None or (symbol.name in lexical.names and known.name not in lexical.names):
            defined[start] = symbol
    return defined


def _holding(
    handle: Handle, found: list[tuple[ChunkFacts, float]], query: Query
) -> list[tuple[ChunkFacts, float]]:
    """Keep the chunks whose text really holds the quoted phrases, at most ``MOST_CANDIDATES``."""
    kept: list[tuple[ChunkFacts, float]] = []
    texts: dict[int, bytes] = {}
    for chunk, score in found:
        if chunk.blob_id not in texts:
            packed = blobs.read_text(handle, chunk.blob_id)
            texts[chunk.blob_id] = unpack_text(packed) if packed else b""
        piece = texts[chunk.blob_id][chunk.byte_start : chunk.byte_end]
        if holds_phrases(piece.decode("utf-8", "replace"), query):
            kept.append((chunk, score))
            if len(kept) == MOST_CANDIDATES:
                break
    return kept


def _by_name(handle: Handle, query: Query, filters: Filters, limit: int) -> Found:
    """Answer with definitions only: one candidate a symbol, best first."""
    names = [term.text for term in (*query.words, *query.phrases) if not term.negated]
    names += [term.value for term in query.values("sym") if not term.negated]
    scored: dict[int, ScoredSymbol] = {}
    for name in dict.fromkeys(names):
        for symbol in find_scored(handle, name, filters, match="fuzzy", limit=_SYMBOL_CANDIDATES):
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
    return Found(candidates[:limit], [0.0] * len(candidates), is_capped=False)
