"""Answers without words: code similar to a place, and lists of what passes filters.

Similar code is found by the stored vectors, without a model. Filters alone list files or
definitions, plain code first.
"""

from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from engine.errors import InvalidInputError, UnavailableError
from engine.humanize import count
from engine.parameters import check_request
from engine.records import display_path
from engine.search.candidates import RankedCandidates
from engine.search.features import (
    Breakdown,
    Part,
    factor_part,
    is_test,
    path_factors,
    path_worth,
)
from engine.search.meaning import query_vector_of_chunks, reader_of
from engine.search.missing_paths import missing_file
from engine.search.query import Query
from engine.search.rank import Candidate, sort_diversified
from engine.search.weights import (
    COPY_FACTOR,
    DOCUMENT_FACTOR,
    MAX_RELATED,
    MEANING_WEIGHTS,
    SAME_FILE_FACTOR,
    TEST_FACTOR,
)
from engine.search_records import Mode, RelatedRequest, SearchRequest
from engine.store import chunks, files
from engine.store.chunks import ChunkFacts, PassingFile, SymbolFacts
from engine.store.connection import Handle
from engine.store.filters import Filters
from engine.store.models import ModelRow
from engine.syntax.languages import DOCUMENT_LANGUAGES

if TYPE_CHECKING:
    from engine.search.branch_vectors import BranchVectors
    from engine.search.usage import Uses


class Source(NamedTuple):
    """The place that others are compared with."""

    path: str
    language: str
    hashes: dict[int, bytes]  # of its chunks, by id


def request_of(wanted: RelatedRequest) -> SearchRequest:
    """Return the search request for which hits are made.

    Raises:
        InvalidInputError: A number is out of range.
    """
    check_request(wanted)
    last = wanted.line_start if wanted.line_end is None else wanted.line_end
    if last < wanted.line_start:
        raise InvalidInputError(
            f"lines {wanted.line_start} to {last} are not a valid range", field="line"
        )
    lines = str(last) if last == wanted.line_start else f"{wanted.line_start}-{last}"
    return SearchRequest(
        query=f"{display_path(wanted.path)}:{lines}",
        mode=Mode.MEANING,
        limit=wanted.limit,
        context=wanted.context,
        hashes=wanted.hashes,
    )


def source_of(handle: Handle, branch_id: int, wanted: RelatedRequest) -> Source:
    """Find the chunks at the lines of a place.

    Raises:
        FileNotIndexedError: The file is not in the index.
        InvalidInputError: It has no such line, or no text.
    """
    path = display_path(wanted.path)
    file = files.read_file(handle, branch_id, wanted.path)
    if file is None:
        raise missing_file(handle, branch_id, wanted.path)
    last = wanted.line_end or wanted.line_start
    if last > file.line_count:
        raise InvalidInputError(
            f"{path} has {count(file.line_count, 'line')}, not {last:,}", field="line"
        )
    hashes = chunks.hashes_on_lines(handle, file.blob_id, wanted.line_start, last)
    return Source(wanted.path, file.language, hashes)


def find_related(
    handle: Handle,
    model: ModelRow,
    source: Source,
    filters: Filters,
    limit: int,
    cached: "BranchVectors | None",
) -> RankedCandidates:
    """Find the places most similar to a place, without itself, best first.

    Args:
        handle: A read transaction.
        model: Whose vectors are compared.
        source: The place.
        filters: That choose the branch.
        limit: How many places to return.
        cached: The vectors of the branch, if a process has them.

    Raises:
        UnavailableError: The place has no vector.
    """
    query_vector = query_vector_of_chunks(handle, model, list(source.hashes))
    if query_vector is None:
        raise UnavailableError(
            "this place has no vectors yet", hint="run cairn index to complete the index"
        )
    most = MAX_RELATED + len(source.hashes)
    if cached:
        near = cached.most_alike(query_vector, most)
    else:
        reader = reader_of(handle, query_vector)
        near = reader.chunk_cosines(reader.nearest_chunks(most, filters))
    for chunk_id in source.hashes:
        near.pop(chunk_id, None)
    facts = chunks.read_chunks(handle, list(near), filters)
    copies = set(source.hashes.values())
    hashes = chunks.read_hashes(handle, list(near))
    candidates = []
    for chunk_id, chunk in facts.items():
        breakdown = _breakdown(chunk, near[chunk_id], source, is_copy=hashes[chunk_id] in copies)
        candidates.append(
            Candidate(
                chunk=chunk, cosine=near[chunk_id], score=breakdown.score, breakdown=breakdown
            )
        )
    sort_diversified(candidates, lambda before: MEANING_WEIGHTS.crowding**before)
    scores = [0.0] * len(candidates)
    return RankedCandidates(
        candidates[:limit], scores, is_capped=False, cosines=list(near.values())
    )


def _breakdown(chunk: ChunkFacts, cosine: float, source: Source, *, is_copy: bool) -> Breakdown:
    factors = list(
        path_factors(
            chunk.path,
            is_generated=bool(chunk.is_generated),
            test_factor=1.0 if is_test(source.path) else TEST_FACTOR,
        )
    )
    if chunk.language in DOCUMENT_LANGUAGES and source.language not in DOCUMENT_LANGUAGES:
        factors.append(factor_part("document", DOCUMENT_FACTOR))
    if chunk.path == source.path:
        factors.append(factor_part("same file", SAME_FILE_FACTOR))
    if is_copy:
        factors.append(Part("copy", COPY_FACTOR, "the same text"))
    return Breakdown((Part("meaning", cosine, f"meaning {cosine:.2f}"),), tuple(factors))


def find_by_filters(
    handle: Handle,
    query: Query,
    request: SearchRequest,
    filters: Filters,
    uses: "Uses | None" = None,
) -> RankedCandidates:
    """List what passes the filters: definitions if a kind or the mode requires them, else files.

    Filters by use list places, but for ``imports:``.

    Plain code comes first, then by path and place: tests and generated files come last.

    Args:
        handle: A read transaction.
        query: The query.
        request: The request it is part of.
        filters: Of both.
        uses: What the filters by use let pass, if there are any.
    """
    limit = request.limit
    kinds = any(not term.negated for term in query.values("kind"))
    if kinds or request.kind or request.mode is Mode.SYMBOL:
        return _definitions(handle, filters, limit)
    if uses and uses.lists_places:
        return uses.list_places(handle, filters, limit)
    files = sorted(chunks.files_with_chunks(handle, filters), key=_by_worth)
    ids = chunks.first_chunks(handle, [file.blob_id for file in files[:limit]], filters)
    facts = chunks.read_chunks(handle, ids, filters)
    importing = uses.importing_chunks(handle, filters) if uses else {}
    shown = [_listed(importing.get(facts[id_].blob_id, facts[id_])) for id_ in ids if id_ in facts]
    return RankedCandidates(shown, [0.0] * len(files), is_capped=False)


def _definitions(handle: Handle, filters: Filters, limit: int) -> RankedCandidates:
    files = sorted(chunks.files_with_symbols(handle, filters), key=_by_worth)
    sums = list(accumulate(file.number for file in files))
    enough = next((at for at, sum_ in enumerate(sums, 1) if sum_ >= limit), len(files))
    blobs = [file.blob_id for file in files[:enough]]
    ids = chunks.passing_symbols(handle, blobs, filters, limit)
    places = chunks.chunks_at(handle, ids)
    # The definition itself passes, though its chunk may contain an excluded term.
    of_files = replace(filters, chunk_condition="TRUE")
    facts = chunks.read_chunks(handle, sorted(set(places.values())), of_files)
    read = chunks.read_symbols(handle, ids)
    shown = [_listed(facts[places[id_]], read[id_]) for id_ in ids if places.get(id_) in facts]
    return RankedCandidates(shown, [0.0] * (sums[-1] if sums else 0), is_capped=False)


def _by_worth(file: PassingFile) -> tuple[float, str]:
    return -path_worth(file.path, is_generated=file.is_generated), file.path


def _listed(chunk: ChunkFacts, symbol: SymbolFacts | None = None) -> Candidate:
    factors = path_factors(chunk.path, is_generated=chunk.is_generated)
    breakdown = Breakdown((Part("listed", 1.0, "passes the filters"),), factors)
    return Candidate(chunk, symbol=symbol, score=breakdown.score, breakdown=breakdown)
