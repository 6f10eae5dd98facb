"""Answers to filters alone: the files that pass, or the definitions, plain code first."""

from dataclasses import replace
from itertools import accumulate

from engine.records import Mode, SearchRequest
from engine.search.breakdown import Breakdown, Part
from engine.search.candidates import Found
from engine.search.pathrules import path_factors, path_worth
from engine.search.query import Query
from engine.search.rank import Candidate
from engine.store import chunks, passing
from engine.store.chunks import ChunkFacts, SymbolFacts
from engine.store.connection import Handle
from engine.store.filters import Filters
from engine.store.passing import PassingFile


def find_passing(handle: Handle, query: Query, request: SearchRequest, filters: Filters) -> Found:
    """Give what passes the filters: definitions when their kind or the mode asks, else files.

    Plain code comes first, then by path and place: what is tests or generated lasts.

    Args:
        handle: A read transaction.
        query: The question.
        request: What it is part of.
        filters: Of both.
    """
    limit = request.limit
    kinds = any(not term.negated for term in query.values("kind"))
    if kinds or request.kind or request.mode is Mode.SYMBOL:
        return _definitions(handle, filters, limit)
    files = sorted(passing.files_with_chunks(handle, filters), key=_by_worth)
    ids = passing.first_chunks(handle, [file.blob_id for file in files[:limit]], filters)
    facts = chunks.read_chunks(handle, ids, filters)
    shown = [_listed(facts[id_]) for id_ in ids if id_ in facts]
    return Found(shown, [0.0] * len(files), is_capped=False)


def _definitions(handle: Handle, filters: Filters, limit: int) -> Found:
    files = sorted(passing.files_with_symbols(handle, filters), key=_by_worth)
    sums = list(accumulate(file.number for file in files))
    enough = next((at for at, sum_ in enumerate(sums, 1) if sum_ >= limit), len(files))
    blobs = [file.blob_id for file in files[:enough]]
    ids = passing.passing_symbols(handle, blobs, filters, limit)
    places = chunks.chunks_at(handle, ids)
    # A definition passes by itself: what is refused may stand beside it.
    of_files = replace(filters, chunk_condition="TRUE")
    facts = chunks.read_chunks(handle, sorted(set(places.values())), of_files)
    read = chunks.read_symbols(handle, ids)
    shown = [_listed(facts[places[id_]], read[id_]) for id_ in ids if places.get(id_) in facts]
    return Found(shown, [0.0] * (sums[-1] if sums else 0), is_capped=False)


def _by_worth(file: PassingFile) -> tuple[float, str]:
    return -path_worth(file.path, is_generated=file.is_generated), file.path


def _listed(chunk: ChunkFacts, symbol: SymbolFacts | None = None) -> Candidate:
    factors = path_factors(chunk.path, is_generated=chunk.is_generated)
    breakdown = Breakdown((Part("listed", 1.0, "passes the filters"),), factors)
    return Candidate(chunk, symbol=symbol, score=breakdown.score, breakdown=breakdown)
