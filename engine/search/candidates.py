"""Find what may answer a question: by words, by path, by definition. Ranked, best first."""

from bisect import bisect_left
from collections.abc import Mapping

from engine.records import Mode
from engine.search.lexical import Lexical, lexical_of, refused_match
from engine.search.phrases import holds_phrases
from engine.search.query import Query
from engine.search.rank import Candidate, rank
from engine.search.symbols import ScoredSymbol, find_scored
from engine.store import blobs, chunks, fulltext, symbols
from engine.store.chunks import ChunkFacts, SymbolFacts
from engine.store.connection import Handle
from engine.store.filters import Filters
from engine.store.fulltext import Scored
from engine.syntax.languages import DOCUMENT_LANGUAGES
from engine.syntax.packing import unpack_text

#: Chunks that are ranked at most; more may match.
MOST_CANDIDATES = 200
_PATH_CANDIDATES = 12
_SYMBOL_CANDIDATES = 100
# Chunks whose text is read at most for the quoted phrases of a query; 1 ms for 20 of them.
_MOST_READ = 4_000


def find_candidates(
    handle: Handle, query: Query, mode: Mode, filters: Filters
) -> tuple[list[Candidate], bool]:
    """Find and rank; everything given passes the filters.

    Returns:
        The candidates, best first, and whether more may match than were looked at.
    """
    lexical = lexical_of(query)
    if mode is Mode.SYMBOL or not lexical.chunk_match:
        return _by_name(handle, query, filters), False
    limit = _MOST_READ if query.phrases else MOST_CANDIDATES
    matched = chunks.match_chunks(handle, lexical.chunk_match, filters, limit)
    is_capped = len(matched) == limit
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
    rank(candidates, lexical, DOCUMENT_LANGUAGES)
    return candidates, is_capped


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
    rows = symbols.find_symbols(handle, names, filters, _SYMBOL_CANDIDATES) if names else []
    by_id = {row.id: row for row in rows}
    defined: dict[int, SymbolFacts] = {}
    for symbol_id, chunk_id in chunks.chunks_at(handle, list(by_id)).items():
        row = by_id[symbol_id]
        known = defined.get(chunk_id)
        if known is None or (row.name in lexical.names and known.name not in lexical.names):
            defined[chunk_id] = SymbolFacts(
                row.id,
                row.name,
                row.qualified_name,
                row.kind,
                row.signature,
                row.line_start,
                row.line_end,
            )
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


def _by_name(handle: Handle, query: Query, filters: Filters) -> list[Candidate]:
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
            chunk=facts[places[id_]], symbol=shown[id_], score=symbol.score, why=list(symbol.why)
        )
        for id_, symbol in scored.items()
        if places.get(id_) in facts
    ]
    candidates.sort(key=lambda candidate: (-candidate.score, candidate.chunk.path))
    return candidates
